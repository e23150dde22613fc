"""Calls that workers make, and asyncio."""

import asyncio
import gc
import signal
import threading
import time
from ctypes import byref, c_int32

import lockgate
import pytest


@pytest.fixture
def workers():
    with lockgate.Workers(2, 10) as workers:
        yield workers


def test_results_and_what_was_passed_by_reference(values, workers):
    number = c_int32(1)
    calls = [values.same_i64.submit(workers, n) for n in range(5)]
    assert [call.wait() for call in calls] == list(range(5))
    assert calls[0].wait() == 0 and calls[0].done()
    increment = values.increment.submit(workers, byref(number))
    assert increment.wait() is None and number.value == 2
    assert values.greeting.submit(workers).wait() == b"hello"
    with pytest.raises(lockgate.ArgumentError):
        values.increment.submit(workers, 1.5)


def test_errors_come_to_whoever_waits(hostile, workers):
    call = hostile.null_write.submit(workers)
    for _ in range(2):
        with pytest.raises(lockgate.Fault):
            call.wait()


def test_a_wait_may_end_before_the_call(hostile, workers):
    call = hostile.loop.submit(workers)
    with pytest.raises(TimeoutError):
        call.wait(0.01)
    assert not call.done()
    call.cancel()
    with pytest.raises(lockgate.Cancelled):
        call.wait()


def test_deadlines(hostile, workers):
    with pytest.raises(lockgate.Timeout, match="deadline"):
        hostile.loop.submit(workers, timeout=0.05).wait()
    assert hostile.fine.submit(workers, timeout=60).wait() == 42


def test_queues_are_bounded(hostile):
    with lockgate.Workers(1, 1) as workers:
        running = hostile.loop.submit(workers)
        while hostile.domain.threads_inside == 0:
            pass
        waiting = hostile.fine.submit(workers)
        with pytest.raises(lockgate.QuotaExceeded, match="wait for domain"):
            hostile.fine.submit(workers)
        assert workers.pending == 2
        running.cancel()
        assert waiting.wait() == 42


def test_closed_workers(hostile):
    workers = lockgate.Workers(1)
    call = hostile.loop.submit(workers)
    workers.close()
    with pytest.raises(lockgate.Cancelled):
        call.wait()
    with pytest.raises(lockgate.Closed):
        hostile.fine.submit(workers)


def test_calls_keep_their_workers(hostile):
    workers = lockgate.Workers(1)
    callback = lockgate.CFUNCTYPE(c_int32, c_int32)(lambda x: x + 1)
    calls = [hostile.call.submit(workers, callback, n) for n in range(3)]
    del workers
    gc.collect()
    assert [call.wait() for call in calls] == [1, 2, 3]


def test_workers_that_are_dropped_end(hostile):
    workers = lockgate.Workers(1)
    calls = [hostile.loop.submit(workers) for _ in range(3)]
    del workers, calls
    gc.collect()
    while hostile.domain.threads_inside:
        time.sleep(0)


def test_dropped_calls_go_on(values):
    workers = lockgate.Workers(2, 100)
    for n in range(50):
        values.increment.submit(workers, byref(c_int32(n)))
        gc.collect(0)
    workers.finish()
    assert values.same_i32(1) == 1


def test_asyncio(hostile):
    async def main():
        results = await asyncio.gather(*(hostile.divide.call_async(10 * n, 10) for n in range(5)))
        assert results == [0, 1, 2, 3, 4]
        with pytest.raises(lockgate.Fault):
            await hostile.divide.call_async(1, 0)
        with pytest.raises(lockgate.Timeout):
            await hostile.loop.call_async(timeout=0.05)
        with pytest.raises(asyncio.TimeoutError):  # not TimeoutError before CPython 3.11
            await asyncio.wait_for(hostile.loop.call_async(), 0.05)
        task = asyncio.ensure_future(hostile.loop.call_async())
        while hostile.domain.threads_inside == 0:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while hostile.domain.threads_inside:
            await asyncio.sleep(0)
        assert await hostile.fine.call_async() == 42

    asyncio.run(main())


def test_ctrl_c_interrupts_a_wait_and_cancels_the_call(hostile, workers):
    call = hostile.loop.submit(workers)

    def wait():
        call.wait()

    def interrupt(_, frame):
        if frame.f_code in (wait.__code__, lockgate.AsyncCall.wait.__code__):
            raise KeyboardInterrupt

    def press():
        while not call.done():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    thread = threading.Thread(target=press)
    interrupted = 0
    try:
        thread.start()
        while True:
            try:
                wait()
            except KeyboardInterrupt:
                interrupted += 1
            except lockgate.Cancelled:
                break
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert interrupted


def started(target):
    """A thread that does not keep the interpreter from ending."""
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_cancelling_does_not_wait_for_those_who_wait(hostile, workers):
    call = hostile.loop.submit(workers)
    ended = []

    def wait():
        with pytest.raises(lockgate.Cancelled):
            call.wait()
        ended.append(True)

    waiting = [started(wait) for _ in range(3)]
    while hostile.domain.threads_inside == 0:
        pass
    cancelling = started(call.cancel)
    for thread in [cancelling, *waiting]:
        thread.join(60)
        assert not thread.is_alive()
    assert len(ended) == 3


def held_callback():
    """Returns its argument when the event is set."""
    released = threading.Event()

    @lockgate.CFUNCTYPE(c_int32, c_int32)
    def callback(x):
        released.wait(60)
        return x

    return callback, released


def test_an_event_loop_runs_while_a_thread_waits_for_the_same_call(hostile, workers):
    turns = []
    callback, released = held_callback()

    async def main():
        call = hostile.call.submit(workers, callback, 7)
        thread = started(call.wait)
        awaiting = asyncio.ensure_future(until(call))
        for _ in range(100):
            await asyncio.sleep(0)
            turns.append(call.done())
        released.set()
        assert await asyncio.wait_for(awaiting, 60) == 7
        thread.join(60)
        assert not thread.is_alive()

    async def until(call):
        return await call

    asyncio.run(main())
    assert turns == [False] * 100


def test_everyone_who_awaits_a_call_wakes(hostile, workers):
    callback, released = held_callback()

    async def main():
        call = hostile.call.submit(workers, callback, 7)

        async def one():
            return await call

        tasks = [asyncio.ensure_future(one()) for _ in range(5)]
        await asyncio.sleep(0)
        released.set()
        assert await asyncio.wait_for(asyncio.gather(*tasks), 60) == [7] * 5
        assert await call == 7

    asyncio.run(main())


def test_a_wait_that_ends_early_has_no_result(hostile, workers):
    call = hostile.loop.submit(workers)
    with pytest.raises(TimeoutError, match="goes on after 0.001 seconds"):
        call._call.wait(0.001)
    call.cancel()

    # A wait that ends while another thread converts the result has none either.
    converting, released = threading.Event(), threading.Event()

    def check(result, _function, _arguments):
        converting.set()
        released.wait(60)
        return result

    function = hostile["fine"]
    function.errcheck = check
    call = function.submit(workers)
    results = []
    thread = started(lambda: results.append(call.wait()))
    assert converting.wait(60)
    with pytest.raises(TimeoutError):
        call.wait(0.001)
    released.set()
    assert call.wait() == 42
    thread.join(60)
    assert results == [42]


def test_a_result_that_waits_for_itself_is_an_error(hostile, workers):
    function, calls = hostile["fine"], []
    function.errcheck = lambda result, _function, _arguments: calls[0].wait() if calls else result
    calls.append(function.submit(workers))
    with pytest.raises(RuntimeError, match="waits for the call itself"):
        calls[0].wait()


def test_a_callback_that_waits_for_its_own_call_is_an_error(hostile, workers):
    calls, found, ready = [], [], threading.Event()

    @lockgate.CFUNCTYPE(c_int32, c_int32)
    def callback(x):
        assert ready.wait(60)
        try:
            calls[0].wait()
        except lockgate.Busy as error:
            found.append(str(error))
        return x

    calls.append(hostile.call.submit(workers, callback, 7, timeout=60))
    ready.set()
    assert calls[0].wait(60) == 7
    assert len(found) == 1 and "wait on another thread" in found[0]


def test_workers_closed_while_an_argument_is_converted(build, child):
    """Their threads need the interpreter to end, so that nobody may hold it while they are waited for."""
    code = """
import ctypes, sys, threading, lockgate
library = lockgate.CDLL(sys.argv[1])
workers = lockgate.Workers(2)
entered = threading.Event()

@lockgate.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
def callback(x):
    entered.set()
    while not closing.wait(0):
        pass
    return x

closing = threading.Event()
running = library.call.submit(workers, callback, 1)
assert entered.wait(60)

class Closes:
    @property
    def _as_parameter_(self):
        threading.Timer(0.05, closing.set).start()
        workers.close()
        return b"x"

try:
    library.use_text.submit(workers, Closes())
except lockgate.Closed:
    print("closed")
"""
    done = child(code, build("hostile"))
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr


def test_a_callback_may_end_its_own_workers(hostile):
    outcome = []
    for end in ("close", "finish"):
        workers = lockgate.Workers(2)

        @lockgate.CFUNCTYPE(c_int32, c_int32)
        def callback(x, end=end, workers=workers):
            getattr(workers, end)()
            outcome.append(end)
            return x

        call = hostile.call.submit(workers, callback, 7)
        try:
            assert call.wait(60) == 7
        except lockgate.Cancelled:
            assert end == "close"
        with pytest.raises(lockgate.Closed):
            hostile.fine.submit(workers)
    assert outcome == ["close", "finish"]
