"""Calls that go on without their callers."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import lockgate
import pytest

LIMIT = 0.02


@pytest.fixture
def make(build):
    """Libraries, whose calls end with the test."""
    made = []

    def new(**options):
        made.append(lockgate.CDLL(build("detached"), **options))
        return made[-1]

    yield new
    for library in made:
        library.domain.close()


def within(library, name, limit=LIMIT, on_expiry="detach"):
    """A function whose calls go on beyond a limit."""
    function = library.domain[name]
    function.time_limit, function.on_expiry = limit, on_expiry
    return function


def word(library):
    """A number of the domain's."""
    return library.domain.place(ctypes.c_int(0))


def let_go(go):
    go.write(bytes(ctypes.c_int(1)))


def settled(library, calls):
    """Waits until the first `calls` of those that went on have ended."""
    while library.domain.usage().detached_settled < calls:
        time.sleep(0)


def reset(library):
    """Resets the domain as soon as the thread of a call that has ended has left it, which is a moment later."""
    while True:
        try:
            return library.domain.reset()
        except lockgate.Busy:
            time.sleep(0)


def test_buffers_are_the_callers_again(make):
    library = make()
    go, text = word(library), bytearray(b"a" * 100)
    with pytest.raises(lockgate.Detached, match="goes on without its caller") as raised:
        within(library, "fill")(go, text, len(text))
    assert (raised.value.domain, raised.value.function) == (library.domain.name, "fill")
    assert not isinstance(raised.value, (lockgate.Timeout, TimeoutError))
    usage = library.domain.usage()
    assert (usage.detached, usage.detached_settled) == (1, 0)
    # It is not held: an array that a buffer of is asked for cannot grow.
    text.append(0)
    let_go(go)
    settled(library, 1)
    assert text == b"a" * 100 + b"\0"
    usage = library.domain.usage()
    assert (usage.detached, usage.detached_ended, usage.detached_failed) == (0, 1, 0)
    assert library.domain.detached_fault is None


def others_are_called(library):
    """Calls that are passed something, which lies where what was passed to one that goes on would be."""
    for _ in range(20):
        assert library.length(b"another" * 100) == 700


@pytest.mark.parametrize("by_workers", [False, True])
def test_what_was_passed_is_the_calls(make, by_workers):
    """Red if the copies of a call that goes on are used for the next one."""
    library = make()
    go, told = word(library), library.domain.alloc(ctypes.c_char, 8)
    tell = within(library, "tell_later")
    with lockgate.Workers(1) as workers:
        with pytest.raises(lockgate.Detached):
            if by_workers:
                workers.submit(tell, go, b"first", told).wait()
            else:
                tell(go, b"first", told)
        gc.collect()
        others_are_called(library)
        let_go(go)
        settled(library, 1)
    assert library.domain.string(told) == b"first"


def test_memory_of_calls_that_have_ended_is_used_again(make):
    """A domain can have 64 grants. Red if what calls have left is kept."""
    library = make()
    tell = within(library, "tell_later", 0.001)
    told = library.domain.alloc(ctypes.c_char, 8)
    before = word(library)
    with pytest.raises(lockgate.Detached):
        tell(before, b"0", told)
    for number in range(1, 80):
        # One of them is always in progress.
        go = word(library)
        with pytest.raises(lockgate.Detached):
            tell(go, b"%d" % number, told)
        let_go(before)
        settled(library, number)
        before = go
    let_go(before)
    settled(library, 80)


def test_in_a_callback_it_is_stopped(make):
    library = make()
    go = word(library)
    let_go(go)

    @lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    def lasts(x):
        end = time.monotonic() + 3 * LIMIT
        while time.monotonic() < end:
            pass
        return x

    apply = within(library, "apply")
    apply.argtypes = [ctypes.c_void_p, type(lasts), ctypes.c_int]
    with pytest.raises(lockgate.Timeout):
        apply(go, lasts, 1)
    assert library.domain.usage().detached_ended == 0


def test_a_callback_of_a_call_that_goes_on(make, monkeypatch):
    """It runs on another thread; what it raises ends the call, and comes out nowhere else than as unraisable."""
    library = make()
    seen, unraisable = [], []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)

    @lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    def called(x):
        seen.append((x, threading.get_ident()))
        if x == 2:
            raise KeyError("in the middle")
        return x

    apply = within(library, "apply")
    apply.argtypes = [ctypes.c_void_p, type(called), ctypes.c_int]
    for x in (1, 2):
        go = word(library)
        with pytest.raises(lockgate.Detached):
            apply(go, called, x)
        let_go(go)
        settled(library, x)
    assert [x for x, _ in seen] == [1, 2]
    assert threading.get_ident() not in [thread for _, thread in seen]
    assert [one.exc_type for one in unraisable] == [KeyError]
    assert library.domain.usage().detached_failed == 1


def test_a_callback_is_the_calls(make):
    """Red if its place goes to another one while the call goes on that has it."""
    library = make()
    seen = []

    def callback(name):
        return lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: seen.append(name) or x)

    def apply(go, function, limit=LIMIT):
        called = within(library, "apply", limit)
        called.argtypes = [ctypes.c_void_p, type(function), ctypes.c_int]
        called(go, function, 1)

    go, other = word(library), word(library)
    let_go(other)
    with pytest.raises(lockgate.Detached):
        apply(go, callback("first"))
    gc.collect()
    for _ in range(20):
        apply(other, callback("another"), 60)
    let_go(go)
    settled(library, 1)
    assert (seen.count("another"), seen.count("first")) == (20, 1)
    assert library.domain.usage().detached_failed == 0


def test_a_callback_goes_when_its_call_has_ended(make):
    library = make()
    go, function = word(library), lambda x: x
    callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(function)
    apply = within(library, "apply")
    apply.argtypes = [ctypes.c_void_p, type(callback), ctypes.c_int]
    with pytest.raises(lockgate.Detached):
        apply(go, callback, 1)
    gone, _ = weakref.ref(function), (function := None)
    del callback
    gc.collect()
    assert gone() is not None
    let_go(go)
    settled(library, 1)
    gc.collect()
    assert gone() is None


def test_a_domain_is_collected_with_what_its_calls_have(make, build):
    """Red if the collector does not see what a call has left: the domain would stay, and the call."""
    domain = lockgate.Domain(build("detached"))
    function = domain["apply"]
    callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(functools.partial(lambda domain, x: domain.usage().calls, domain))
    function.argtypes = [ctypes.c_void_p, type(callback), ctypes.c_int]
    function.time_limit, function.on_expiry = LIMIT, "detach"
    with pytest.raises(lockgate.Detached):
        function(domain.place(ctypes.c_int(0)), callback, 1)
    gone, _ = weakref.ref(domain), (domain := None)
    del function, callback
    gc.collect()
    assert gone() is None


def test_a_callback_that_is_gone(make):
    """One that the call has by its address alone is the program's to keep."""
    library = make()
    go = word(library)
    callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x)
    apply = within(library, "apply")
    apply.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    with pytest.raises(lockgate.Detached):
        apply(go, callback.address(library.domain), 1)
    del callback
    gc.collect()
    let_go(go)
    settled(library, 1)
    assert library.domain.usage().detached_failed == 1
    assert library.domain.detached_fault.kind is not None


def test_an_array_is_the_calls(make):
    """Red if the memory is taken from a domain whose call goes on with it."""
    library = make()
    go, fill = word(library), within(library, "fill")
    with pytest.raises(lockgate.Detached):
        fill(go, library.domain.array(4096, "u1"), 4096)
    gc.collect()
    let_go(go)
    settled(library, 1)
    assert (library.domain.usage().detached_failed, library.domain.detached_fault) == (0, None)


def test_a_block_ends_after_the_calls_in_it(make):
    """Red if the end of a ``with`` block frees what a call goes on with."""
    library = make()
    told = library.domain.alloc(ctypes.c_char, 8)
    tell = within(library, "tell_later", 0.001)
    for number in range(1, 101):
        go = word(library)
        # More than the domain can have of it at a time, unless it is freed in the end.
        with library.domain.alloc(1 << 20) as room:
            room.write(b"first\0")
            with pytest.raises(lockgate.Detached):
                tell(go, room, told)
        with library.domain.alloc(1 << 20) as other:
            other.write(b"other\0")
        let_go(go)
        settled(library, number)
        assert library.domain.string(told) == b"first"
    assert library.domain.usage().detached_failed == 0


def test_a_block_ends_after_a_reset(make):
    """There is nothing left to free: red if that is tried, in the next instance."""
    library = make()
    go = word(library)
    with library.domain.place(b"first") as text, pytest.raises(lockgate.Detached):
        within(library, "tell_later")(go, text, library.domain.alloc(8))
    let_go(go)
    settled(library, 1)
    reset(library)
    with library.domain.place(b"next") as text:
        assert library.length(text) == 4
    assert library.domain.__dict__["_left"] == []


def test_usage_is_what_it_was(make):
    """Programs unpack it: what is new comes last."""
    usage = make().domain.usage()
    before = ("memory", "peak_memory", "memory_limit", "threads", "descriptors", "calls", "cpu_time")
    assert usage._fields[: len(before)] == before
    assert usage[len(before) :] == (0, 0, 0, 0)


def test_limits(make):
    library = make(detached_limit=LIMIT)
    with pytest.raises(lockgate.Detached):
        within(library, "spin")()
    settled(library, 1)
    assert isinstance(library.domain.detached_fault, lockgate.Timeout)
    with pytest.raises(lockgate.Timeout):
        within(library, "spin", on_expiry="stop")()
    unwilling = make(detached_limit=0)
    with pytest.raises(lockgate.Timeout):
        within(unwilling, "spin")()
    assert unwilling.domain.usage().detached_ended == 0


def test_no_such_limits(make):
    function = make().spin
    for limit in (-1, float("nan"), float("inf"), 1e300):
        with pytest.raises(lockgate.OptionError):
            function.time_limit = limit
    with pytest.raises(lockgate.OptionError, match='"stop" or "detach"'):
        function.on_expiry = "go on"
    with pytest.raises(TypeError):
        function.time_limit = []
    assert (function.time_limit, function.on_expiry) == (None, "stop")
    with pytest.raises(lockgate.OptionError):
        make(detached_limit=-1)


def test_its_fault_ends_the_call_only(make):
    library = make()
    go = word(library)
    with pytest.raises(lockgate.Detached):
        within(library, "crash")(go)
    let_go(go)
    settled(library, 1)
    fault = library.domain.detached_fault
    assert isinstance(fault, lockgate.Fault) and fault.location.function == "crash"
    assert library.length(b"four") == 4


def test_many_reach_the_limit_of_threads(make):
    library = make(thread_limit=3)
    go = word(library)
    crash = within(library, "crash")
    for _ in range(3):
        with pytest.raises(lockgate.Detached):
            crash(go)
    with pytest.raises(lockgate.QuotaExceeded, match="threads"):
        crash(go)
    assert library.domain.usage().detached == 3
    let_go(go)
    settled(library, 3)


def test_the_domain_ends_meanwhile(make):
    killed, closed, dropped = make(), make(), make()
    with pytest.raises(lockgate.Detached):
        within(killed, "crash")(word(killed))
    killed.domain.kill()
    settled(killed, 1)
    for library in (closed, dropped):
        with pytest.raises(lockgate.Detached):
            within(library, "tell_later")(word(library), b"text", library.domain.alloc(8))
    closed.domain.close()
    with pytest.raises(lockgate.Closed):
        closed.domain.usage()


def test_a_reset_is_refused_meanwhile(make):
    library = make()
    go, length = word(library), library.length
    assert length(b"four") == 4
    with pytest.raises(lockgate.Detached):
        within(library, "tell_later")(go, b"text", library.domain.alloc(8))
    with pytest.raises(lockgate.Busy):
        library.domain.reset()
    assert length(b"four") == 4
    let_go(go)
    settled(library, 1)
    reset(library)
    assert length(b"four") == 4
    assert library.domain.usage().detached_settled == 0


def test_the_registry_has_limits(make):
    library, registry = make(name="detached", time_limit=30), lockgate.Registry()
    registry.export(library.domain, "spin", allow=[lockgate.Allow.everyone()])
    spin = registry.bind(lockgate.Principal.process(), "spin")
    spin.time_limit, spin.on_expiry = LIMIT, "detach"
    with pytest.raises(lockgate.Detached):
        spin()
    spin.on_expiry = "stop"
    with pytest.raises(lockgate.Timeout):
        spin()
    registry.remove("detached")


def test_a_child_has_not_the_call(make):
    library = make()
    go, told = word(library), library.domain.alloc(ctypes.c_char, 8)
    tell = within(library, "tell_later")
    with pytest.raises(lockgate.Detached):
        tell(go, b"first", told)
    child = os.fork()
    if child == 0:
        try:
            tell(go, b"child", told)
        except lockgate.Forked:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    let_go(go)
    settled(library, 1)
    assert library.domain.string(told) == b"first"


PROGRAM = """
import ctypes, sys, threading, lockgate
library = lockgate.CDLL(sys.argv[1])
go = library.domain.place(ctypes.c_int(0))
callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x)
repeat = library.domain["repeat"]
repeat.argtypes = [ctypes.c_void_p, type(callback)]
repeat.time_limit, repeat.on_expiry = 0.02, "detach"
for _ in range(8):
    try:
        repeat(go, callback)
    except lockgate.Detached:
        pass
    else:
        sys.exit("it has returned")
# They go on calling back while the interpreter ends.
if sys.argv[2] == "released":
    go.write(bytes(ctypes.c_int(1)))
print("ended")
"""


@pytest.mark.parametrize("how", ["held", "released"])
def test_the_interpreter_ends_meanwhile(build, how):
    for _ in range(5):
        command = [sys.executable, "-c", PROGRAM, build("detached"), how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
