"""Domains kept ready."""

import threading

import lockgate
import pytest


def test_each_user_gets_a_pristine_domain(hostile_module, values_module):
    with lockgate.Pool(values_module, 1, name="pooled") as pool:
        with pool.take() as domain:
            marked = domain.place(b"of the first user")
            address = marked.address
            first = domain
        assert pool.ready == 1
        with pool.take() as domain:
            assert domain is first and domain.name == "pooled"
            try:
                assert domain.string(address) != b"of the first user"
            except lockgate.BadPointer:
                pass
            with pool.take() as other:
                assert other is not domain
        # More than are kept are closed.
        assert pool.ready == 1 and pool.capacity == 1
        assert domain.closed != other.closed


def test_a_crash_does_not_reach_the_next_user(hostile_module):
    with lockgate.Pool(hostile_module, 1) as pool:
        with pytest.raises(lockgate.Fault), pool.take() as domain:
            domain["null_write"]()
        assert pool.ready == 1
        with pool.take() as domain:
            assert domain["fine"]() == 42


def test_a_domain_that_cannot_be_reset_is_given_up(values_module):
    with lockgate.Pool(values_module, 2) as pool:
        with pool.take() as domain:
            domain.close()
        assert pool.ready == 0


def test_a_closed_pool_gives_none_and_keeps_none(values_module):
    pool = lockgate.Pool(values_module, 2)
    with pool.take() as domain:
        pool.close()
    assert domain.closed and pool.ready == 0
    with pytest.raises(lockgate.Closed), pool.take():
        pass
    with pytest.raises(ValueError):
        lockgate.Pool(values_module, -1)


def test_threads_share_a_pool(values_module):
    seen, failures = set(), []
    barrier = threading.Barrier(4)

    def use(pool):
        try:
            with pool.take() as domain:
                barrier.wait()
                seen.add(domain)
                barrier.wait()
        except BaseException as error:
            failures.append(error)

    with lockgate.Pool(values_module, 4) as pool:
        threads = [threading.Thread(target=use, args=(pool,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures and len(seen) == 4 and pool.ready == 4
