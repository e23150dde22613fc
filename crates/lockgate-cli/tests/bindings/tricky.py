"""The bindings of a library with one function for everything, first as it should be, then hostile."""

import array
import copy
import errno
import faulthandler
import gc
import pickle
import signal
import threading

from checks import raises
import tricky_protected as tricky
from tricky_protected import Error, Fault, Kind, colour, notify, number, point


def good():
    assert tricky.tricky_sum([1, 2, 3, -4]) == 2
    assert tricky.tricky_sum(array.array("i", [1, 2])) == 3
    buffer = bytearray(6)
    assert tricky.tricky_fill(buffer) == 3 and buffer == b"aaa\0\0\0"
    assert tricky.tricky_grow(memoryview(buffer)[1:]) == (0, 3) and buffer[:4] == b"aggg"
    assert tricky.tricky_text(1) == b"some text" and tricky.tricky_text(0) is None
    room = bytearray(32)
    assert tricky.tricky_print(room, "50 %s") == 5 and room[:6] == b"50 %s\0"

    with tricky.tricky_open(5) as thing:
        assert tricky.tricky_value(thing) == 5
        before, other = tricky.tricky_replace(thing)
        assert (before, tricky.tricky_value(other)) == (5, 6)
        tricky.tricky_close(other)
    before, thing = tricky.tricky_replace(None)
    assert before == -1 and tricky.tricky_value(thing) == 0
    raises(Fault, tricky.tricky_value, None)
    del thing
    gc.collect()

    heard = []

    def on_notify(text, numbers, n):
        # Calls nest: what went in with the outer one stays.
        assert tricky.tricky_sum(numbers) == 6
        heard.append((text, numbers, n))
        return 42

    assert tricky.tricky_call(on_notify) == 42 and heard == [(b"called", [1, 2, 3], 3)]
    keeps = notify(on_notify)
    with tricky.tricky_open(5) as thing:
        for one in thing, keeps:
            for copied in copy.copy, copy.deepcopy, pickle.dumps:
                assert "the library has it once" in str(raises(TypeError, copied, one))
        assert tricky.tricky_value(thing) == 5
    tricky.tricky_set(None)
    assert not tricky.tricky_set(keeps) and tricky.tricky_set(None)

    swapped = tricky.tricky_mirror(point(1, 2), colour.GREEN)
    assert (swapped.x, swapped.y) == (2, 1)
    half = number.from_buffer_copy(array.array("d", [5.0]))
    tricky.tricky_halve(half)
    assert memoryview(bytes(half)).cast("d")[0] == 2.5
    named = tricky.named(name="abc", values=[1, 2, 3], colour=colour.GREEN, at=point(8, 9))
    total, at = tricky.tricky_named(named)
    assert (total, at.x, at.y) == (13, 3, 9)
    shown = tricky.tricky_show()
    assert [one.name for one in shown] == [b"first", b"second"] and shown[1].at.y == 8 and shown[0].values == [1, 2, 3]
    assert tricky.tricky_matrix(array.array("d", [1, 2, 3, 4]), 2, 2) == 10
    assert tricky.tricky_find("find me", ord("m")) == 5 and tricky.tricky_find("find me", ord("z")) is None
    raises(FileNotFoundError, tricky.tricky_open_file, "/no/such/file").errno == errno.ENOENT
    assert tricky.tricky_count(200) == 200


def careless():
    """What Python's own side refuses: the library is not called."""
    error = raises(Error, tricky.tricky_matrix, [1.0, 2.0, 3.0], 2, 2)
    assert (error.kind, error.what) == (Kind.SIZE, "m")
    for rows, columns in [(2**62, 2**62), (-1, 2)]:
        assert raises(Error, tricky.tricky_matrix, [], rows, columns).kind == Kind.SIZE
    assert raises(Error, tricky.tricky_find, "a\0b", 0).kind == Kind.SIZE
    raises(OverflowError, tricky.tricky_text, 2**32)
    raises(TypeError, tricky.tricky_fill, b"read-only")
    raises(TypeError, tricky.tricky_fill, array.array("i", [1]))
    raises(TypeError, tricky.tricky_value, "no thing")
    raises(TypeError, tricky.thing)
    thing = tricky.tricky_open(1)
    thing.close()
    assert raises(Error, tricky.tricky_value, thing).kind == Kind.HANDLE
    assert raises(Error, tricky.tricky_close, thing).kind == Kind.HANDLE

    class Own(Exception):
        pass

    def fails(*_):
        raise Own("on purpose")

    # It goes through the library's call, and ends it.
    assert str(raises(Own, tricky.tricky_call, fails)) == "on purpose"
    raises(TypeError, tricky.tricky_call, lambda *_: "no number")
    assert tricky.tricky_call(lambda *_: 3) == 3


def hostile():
    def fails(mode, kind, what, function, *arguments):
        tricky.tricky_mode(mode)
        error = raises(Error, function, *arguments)
        assert (error.kind, error.what) == (kind, what), (mode, error.kind, error.what, str(error))
        tricky.tricky_mode(0)
        return error

    fails(1, Kind.POINTER, "result", tricky.tricky_text, 1)
    fails(9, Kind.POINTER, "result", tricky.tricky_text, 1)
    fails(2, Kind.STRING, "result", tricky.tricky_text, 1)
    buffer = bytearray(b"before")
    fails(2, Kind.STRING, "out", tricky.tricky_print, buffer, "x")
    fails(3, Kind.LENGTH, "out", tricky.tricky_fill, buffer)
    fails(3, Kind.LENGTH, "out", tricky.tricky_grow, buffer)
    # Nothing of what a refused call wrote has arrived.
    assert buffer == b"before"
    fails(3, Kind.LENGTH, "result", tricky.tricky_count, 9)
    fails(4, Kind.HANDLE, "result", tricky.tricky_open, 1)
    fails(10, Kind.HANDLE, "result", tricky.tricky_open, 1)
    fails(4, Kind.HANDLE, "thing", tricky.tricky_replace, tricky.tricky_open(1))
    fails(1, Kind.POINTER, "name", tricky.tricky_show)
    fails(1, Kind.POINTER, "result", tricky.tricky_find, "text", ord("t"))

    calls = []
    on_notify = notify(lambda *arguments: calls.append(arguments) or 0)
    fails(5, Kind.CALLBACK, "result", tricky.tricky_set, on_notify)
    fails(1, Kind.POINTER, "text", tricky.tricky_call, on_notify)
    fails(3, Kind.SIZE, "numbers", tricky.tricky_call, on_notify)
    fails(6, Kind.DATA, "data", tricky.tricky_call, on_notify)
    fails(7, Kind.NULL, "text", tricky.tricky_call, on_notify)
    fails(8, Kind.SIZE, "numbers", tricky.tricky_call, on_notify)
    assert not calls, "a refused call has reached the function"
    # A function pointer of a function that is gone.
    keeps = notify(lambda *_: 5)
    del on_notify
    gc.collect()
    fails(12, Kind.CALLBACK, "notify", tricky.tricky_call, keeps)
    fails(13, Kind.VALUE, "result", tricky.tricky_colour)

    crash = raises(Fault, tricky.tricky_crash)
    assert crash.kind == Kind.FAULT and "tricky.c:" in str(crash)
    assert "time limit" in str(raises(Fault, tricky.tricky_loop))
    # Python's own handlers for faults come and go past the library.
    for install in (faulthandler.enable, faulthandler.disable, faulthandler.enable, lambda: signal.signal(signal.SIGSEGV, lambda *_: None)):
        install()
        assert raises(Fault, tricky.tricky_crash).kind == Kind.FAULT
    # And on it goes, on another thread, too.
    good()
    failures = []

    def on_thread():
        try:
            good()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=on_thread)
    thread.start()
    thread.join()
    assert not failures, failures


good()
careless()
hostile()
