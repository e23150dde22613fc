"""Domains kept ready."""

import threading
from ctypes import c_int

import lockgate
import pytest


def test_each_user_gets_a_pristine_domain(hostile_module, values_module):
    with lockgate.Pool(values_module, 1, name="pooled") as pool:
        with pool.take() as domain:
            marked = domain.place(b"of the first user")
            address, base, count = marked.address, domain.base, domain["count"]
            first = domain
            assert count() == 1
        assert pool.ready == 1
        with pool.take() as domain:
            assert (domain.base, domain.name, domain["count"]()) == (base, "pooled", 1)
            # What the first user has kept does not reach the second.
            assert first.closed
            with pytest.raises(lockgate.Closed):
                count()
            try:
                assert domain.string(address) != b"of the first user"
            except lockgate.BadPointer:
                pass
            with pool.take() as other:
                assert other is not domain
        # More than are kept are ended.
        assert pool.ready == 1 and pool.capacity == 1
        assert domain.closed and other.closed


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


def test_users_may_reset_their_domain(values_module):
    with lockgate.Pool(values_module, 1) as pool, pool.take() as domain:
        count = domain["count"]
        assert [count(), count()] == [1, 2]
        domain.reset()
        assert count() == 1


def test_a_domain_with_a_call_in_progress_is_ended(hostile_module):
    inside, go, ended = threading.Event(), threading.Event(), []

    def pause(value):
        inside.set()
        go.wait()
        return value

    def use(call):
        try:
            call(lockgate.CFUNCTYPE(c_int, c_int)(pause), 1)
        except lockgate.Killed as error:
            ended.append(error)

    with lockgate.Pool(hostile_module, 1) as pool:
        with pool.take() as domain:
            thread = threading.Thread(target=use, args=(domain["call"],))
            thread.start()
            inside.wait()
            with pytest.raises(lockgate.Busy):
                domain.reset()
        go.set()
        thread.join()
        assert ended and pool.ready == 0


def test_pools_have_imports(build):
    module = lockgate.Module(build("imports"))
    with lockgate.Pool(module, 1, imports={"host_add": lambda a, b: a + b, "host_scale": lambda v, n: 0.0}) as pool:
        for _ in range(2):
            with pool.take() as domain:
                assert domain["add_three"](1, 2, 3) == 6
