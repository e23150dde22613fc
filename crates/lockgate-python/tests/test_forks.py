"""Forked children, by os.fork and by multiprocessing: nothing of their parent's domains, everything else."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
import traceback
from ctypes import byref, c_int32

import lockgate
import pytest
from conftest import times

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def in_child(work):
    """Runs work in a forked child, which must end without an exception within a minute."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def works(path):
    """A library of the calling process's own works, and its time limit comes."""
    lib = lockgate.CDLL(path, time_limit=0.5)
    assert lib.fine() == 42
    begun = time.monotonic()
    with pytest.raises(lockgate.Timeout):
        lib.loop()
    assert time.monotonic() - begun < 20
    return lib


def test_a_child_opens_libraries_with_limits(values, build):
    in_child(lambda: works(build("hostile")))
    works(build("hostile"))
    in_child(lambda: works(build("hostile")))
    in_child(lambda: in_child(lambda: works(build("hostile"))))


def test_what_a_child_may_not_use_raises_forked(values):
    number, domain = c_int32(1), values.domain
    grant = domain.grant(lockgate.Region(4096))

    def use():
        for work in (
            lambda: values.same_i32(1),
            lambda: values.increment(byref(number)),
            domain.usage,
            domain.kill,
            domain.reset,
            grant.revoke,
            lambda: domain.base,
            lambda: domain.threads_inside,
        ):
            with pytest.raises(lockgate.Forked):
                work()
        domain.close()  # what a `with` block of the parent's does in the child

    values.increment(byref(number))
    in_child(use)
    assert values.same_i32(3) == 3
    values.increment(byref(number))
    assert number.value == 3


def test_what_a_child_lets_go_of_its_parent_keeps(build):
    lib = lockgate.CDLL(build("values"))
    assert lib.same_i32(1) == 1

    def let_go():
        nonlocal lib
        del lib
        import gc

        gc.collect()

    in_child(let_go)
    assert lib.same_i32(2) == 2


def test_modules_and_pools_are_inherited(build):
    module = lockgate.Module(build("values"))
    pool = lockgate.Pool(module, 2, time_limit=60.0)
    with pool.take() as domain:
        assert domain["count"]() == 1

    def use():
        for _ in range(3):
            with pool.take() as domain:
                assert domain["count"]() == 1
        assert lockgate.Domain(module)["count"]() == 1

    in_child(use)
    with pool.take() as domain:
        assert domain["count"]() == 1


def worker(path, number):
    lib = works(path)
    return lib.fine() + number


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(values, build, method):
    context = multiprocessing.get_context(method)
    path = str(build("hostile"))
    with context.Pool(2) as pool:
        assert pool.starmap(worker, [(path, number) for number in range(6)]) == [42, 43, 44, 45, 46, 47]


def test_children_of_a_process_with_busy_threads(build):
    path, hostile = build("values"), build("hostile")
    over = threading.Event()
    failed = []

    def busy():
        try:
            while not over.is_set():
                lib = lockgate.CDLL(path, time_limit=60.0)
                assert lib.same_i32(7) == 7
                number = c_int32(1)
                lib.increment(byref(number))
                assert number.value == 2
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(times(20, 6)):
            in_child(lambda: works(hostile))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failed


def test_asynchronous_calls_of_a_child(build):
    workers = lockgate.Workers(2, 10)
    lib = lockgate.CDLL(build("values"))
    assert lib.same_i32.submit(workers, 1).wait() == 1

    async def add(own):
        return await own.same_i32.submit(workers, 4)

    def use():
        own = lockgate.CDLL(build("values"))
        assert own.same_i32.submit(workers, 3).wait() == 3
        assert asyncio.run(add(own)) == 4
        with pytest.raises(lockgate.Forked):
            lib.same_i32.submit(workers, 1).wait()

    in_child(use)
    assert lib.same_i32.submit(workers, 2).wait() == 2


def test_a_child_does_not_write_to_what_its_parent_passes(build):
    lib = lockgate.CDLL(build("hostile"), time_limit=1.0)
    with pytest.raises(lockgate.Timeout):
        lib.meet((c_int32 * 2)(0, 0))  # its memory is free again
    begin, begun = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            os.read(begin, 1)
            with pytest.raises(lockgate.Forked):
                lib.meet((c_int32 * 2)(0, 1))  # would let the parent's call return
            status = 0
        finally:
            os._exit(status)
    ended = []

    def call():
        try:
            ended.append(lib.meet((c_int32 * 2)(0, 0)))
        except lockgate.Timeout as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while lib.domain.usage().calls == 0:
        time.sleep(0.001)
    os.write(begun, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert isinstance(ended[0], lockgate.Timeout)


def test_what_a_callback_raises_in_a_child_comes_out_there(hostile):
    """As everywhere: what ends the call is what it raised, be it `sys.exit`."""
    for raised, status in (SystemExit(3), 3), (ValueError("the child's"), 4), (None, 5):
        parent, children = os.getpid(), []

        def fork(n, raised=raised, children=children):
            children.append(os.fork())
            if children[0] == 0 and raised:
                raise raised
            return n

        try:
            result = hostile.call(lockgate.CFUNCTYPE(c_int32, c_int32)(fork), 6)
        except BaseException as error:  # in the child only
            result = error
        if os.getpid() != parent:
            right = result is raised if raised else isinstance(result, lockgate.Forked)
            os._exit(status if right else 1)
        assert result == 6
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == status


def test_a_callback_that_another_thread_is_placing_works_in_a_child(hostile_module):
    """The fork comes while a thread is in the middle of giving the callback a place."""
    kind = lockgate.CFUNCTYPE(c_int32, c_int32)
    callback = kind(lambda x: x + 1)
    inside, go = threading.Event(), threading.Event()

    class Slow(lockgate.Domain):
        def _callback(self, *given):
            inside.set()
            go.wait()
            return super()._callback(*given)

    def use():
        with lockgate.CDLL(hostile_module) as own:
            own.call.argtypes = [kind, c_int32]
            assert own.call(callback, 1) == 2

    domain = Slow(hostile_module)
    thread = threading.Thread(target=lambda: callback.address(domain))
    thread.start()
    inside.wait()
    try:
        in_child(use)
    finally:
        go.set()
        thread.join()
    use()


def test_a_registry_that_other_threads_are_changing_works_in_a_child(values_module):
    registry = lockgate.Registry.process()
    over = threading.Event()

    def change(name):
        with lockgate.Domain(values_module, name=name) as domain:
            while not over.is_set():
                registry.export(domain, name, of="count")
                registry.unexport(name)

    def use():
        with lockgate.Domain(values_module, name="of the child") as domain:
            registry.export(domain, "of the child", of="count")
            registry.unexport("of the child")

    threads = [threading.Thread(target=change, args=(f"changed {n}",)) for n in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            in_child(use)
    finally:
        over.set()
        for thread in threads:
            thread.join()
