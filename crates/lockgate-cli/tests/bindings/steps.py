"""A call's steps: all arguments are checked before anything is stored, and what comes between two steps changes neither."""

import _thread
import array
import ctypes
import gc
import signal
import sys
import threading

from checks import raises
import steps_protected as steps
from steps_protected import Error, Kind, flow, label, large, pair, steps_heard


def buffers():
    doubles = array.array("d", [1.0, 2.0])
    for good in (doubles, memoryview(doubles), bytes(doubles), bytearray(doubles), (ctypes.c_double * 2)(1, 2), [1, 2.0], (1.0, 2)):
        assert steps.steps_sum(good) == 3.0, good
    assert steps.steps_sum(memoryview(bytes(doubles)).cast("d")) == 3.0
    two = (ctypes.c_double * 2 * 1)((1, 2))
    assert steps.steps_sum(two) == 3.0
    bad = [
        (ctypes.py_object * 2)(object(), None),
        (ctypes.c_char_p * 2)(b"a", b"b"),
        (ctypes.c_void_p * 2)(1, 2),
        (ctypes.c_double.__ctype_be__ * 2)(1, 2),
        (large * 1)(),
        array.array("q", [1, 2]),
        array.array("f", [1, 2]),
        array.array("b", bytes(16)),
        (ctypes.c_bool * 16)(),
        memoryview(doubles)[::-1],
        bytes(15),
    ]
    for value in bad:
        for function in (steps.steps_sum, steps.steps_fill):
            raises(TypeError, function, value)
    objects = (ctypes.py_object * 2)("first", "second")
    raises(TypeError, steps.steps_fill, objects)
    assert list(objects) == ["first", "second"]
    assert steps.steps_count(array.array("i", [-1, 2])) == 1 and steps.steps_count((ctypes.c_int32 * 1)(-7)) == -7
    for value in (array.array("I", [1]), array.array("f", [1]), (ctypes.c_int32.__ctype_be__ * 1)(1), array.array("h", [1, 2])):
        raises(TypeError, steps.steps_count, value)
    assert steps.steps_bytes(b"abc") == 3 and steps.steps_bytes(array.array("b", [-1])) == 1
    for value in (array.array("i", [1]), (ctypes.py_object * 1)("x"), "text"):
        raises(TypeError, steps.steps_bytes, value)
    assert steps.steps_bools((ctypes.c_bool * 3)(True, False, True)) == 2 and steps.steps_bools([True, False]) == 1
    raises(OverflowError, steps.steps_bools, [2])


def numbers():
    class Sly(int):
        """Four, and no less: but it multiplies to nothing."""

        def __mul__(self, other):
            return 0

        __rmul__ = __mul__

    assert raises(Error, steps.steps_matrix, [1.0], Sly(4), Sly(4)).kind == Kind.SIZE
    assert steps.steps_half(3) == 1.5
    for number in (1e300, 10**400):
        raises(OverflowError, steps.steps_half, number)
    assert steps.steps_half(float("inf")) == float("inf")
    for wrong in (5, [65, 66]):
        raises(TypeError, steps.steps_label, label(name=wrong))


def lengths():
    """They are those of what is passed, whatever the program's object says of itself, and whatever becomes of it while it is converted."""

    class Grows(int):
        def __ne__(self, other):
            into.extend([0] * 1000)
            return False

    into = []
    into.append(Grows(5))
    assert steps.steps_bytes(into) == 1 and len(into) > 1

    class Longer(list):
        def __len__(self):
            return 1000

    class Lazy:
        """Another thread adds to it."""

        length = 0

        def __len__(self):
            self.length += 1000
            return self.length

        def __iter__(self):
            return iter([pair(1, 2)])

    class Array(pair * 2):
        def __len__(self):
            return 1000

    class Bytes(bytes):
        def __buffer__(self, flags):
            return memoryview(bytes(4000))

    class Text(str):
        def encode(self, *_):
            return b"another text"

    assert steps.steps_bytes(Longer([1, 2])) == 2 and steps.steps_bools(Longer([1])) == 1
    for pairs, count in ((Lazy(), 1), (Longer([pair(1, 2)]), 1), (Array(), 2), ([(1, 2), pair(3, 4)], 2)):
        assert steps.steps_pairs(pairs) == count, pairs
    array = Array(pair(1, 2))
    assert steps.steps_swap(array) == 2 and (array[0].first, array[0].second) == (2, 1)
    # (From Python 3.12 on it is the other buffer.)
    assert steps.steps_count(Bytes(b"")) == 0
    assert steps.steps_label(label(Text("abc"), 1, [0, 0])) == 4
    # Another thread writes a longer name when the first one has been measured.
    name = bytearray(b"abc\0....")

    def writes(frame, event, _):
        if event == "return" and frame.f_code.co_name == "_strlen":
            name[:] = b"abcdefg\0"
        return writes

    sys.settrace(writes)
    try:
        assert steps.steps_named(name, b"123") == 3 and name[-2:] == b"g\0"
    finally:
        sys.settrace(None)


def rooms():
    """What a function fills is as long afterwards as it was before."""

    def fills(room, n):
        assert len(room) == n == 8
        room[:3] = b"abc"
        return n

    assert steps.steps_filled(fills, 8) == sum(b"abc")
    for wrong in (b"A" * 60, b"A", b""):

        def stores(room, n):
            room[:] = wrong
            return n

        def adds(room, n):
            room += wrong
            return n

        raises(ValueError, steps.steps_filled, stores, 8)
        raises(TypeError, steps.steps_filled, adds, 8)

    def lengthens(room, n):
        own = room.obj
        room.release()
        own.extend(bytes(100_000))
        return n

    raises(BufferError, steps.steps_filled, lengthens, 8)


def no_circles():
    """A call leaves the program's objects as it found them, and not to the collector."""
    gc.collect()
    gc.disable()
    try:
        with flow() as one:
            steps.flow_init(one, bytearray(), b"")
            room = bytearray(4)
            assert steps.flow_step(one, room, b"abc", 9, lambda text, n: n) == 3
            room.extend(b"more")
        assert steps.steps_label(label("abc", 1, [0, 0])) == 4
        assert steps.steps_filled(lambda room, n: n, 8) == 0
        del one
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        data = ctypes.c_int.__mro__[-2]
        assert not [one for one in gc.garbage if isinstance(one, data)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def structures():
    class Small(ctypes.Structure):
        _fields_ = [("first", ctypes.c_int32)]

    own = large(first=1)
    assert steps.steps_large(own) == 2 and own.rest[:] == [ord("l")] * 4096
    class Masked(Small):
        __class__ = large

    for wrong in (Small(1), Masked(1), ctypes.c_char(b"a"), ctypes.c_double(1), None, b"x", 5, label("a", 1)):
        raises(TypeError, steps.steps_large, wrong)
    assert steps.steps_label(label("abc", 1, [2, 3])) == 9
    for wrong in (own, Small(1), None):
        raises(TypeError, steps.steps_label, wrong)
    # ctypes would cut these off.
    raises(OverflowError, steps.steps_label, label("abc", 2**32 + 5))
    raises(OverflowError, steps.steps_label, label("abc", 1, [2, 2**16]))
    raises(OverflowError, large, 2**32)
    raises(OverflowError, setattr, own, "first", -(2**31) - 1)
    assert own.first == 2


def remembered():
    """A refused call leaves nothing in the structure."""
    unraisable = []
    sys.unraisablehook = unraisable.append
    raises(TypeError, flow, 1)
    sys.unraisablehook = sys.__unraisablehook__
    assert not unraisable, "one that was never made has nothing to end"
    with flow() as one:
        steps.flow_init(one, bytearray(), b"")
        room = bytearray(4)
        assert steps.flow_step(one, room, b"abc", 9, None) == 3 and room == b"abc\0" and one.avail_out == 1
        for refused in [("no buffer", 9, None), (b"", 2**40, None), (b"", 9, "no function")]:
            freed = bytearray(b"." * 100_000)
            raises((TypeError, OverflowError), steps.flow_step, one, freed, *refused)
            assert one._raw.next_out is None, "the address of a buffer that may be gone"
        raises(TypeError, steps.flow_step, steps.steps_new(), bytearray(1), b"", 9, None)
        # Another call of the same structure would take these for its own buffers.
        within = []

        def nested(*_):
            within.append(raises(Error, steps.flow_step, one, bytearray(1), b"x", 1, None).kind)
            within.append(raises(Error, one.close).kind)
            return 7

        assert steps.flow_step(one, room, b"zz", 9, nested) == 7 and room == b"zzc\0"
        assert within == [Kind.HANDLE, Kind.HANDLE]
        # What an interrupted call may have left there does not come to its end.
        victim = bytearray(b"." * 8)
        one._raw.next_out, one._raw.avail_out = ctypes.addressof((ctypes.c_char * 8).from_buffer(victim)), 8
    assert victim == b"........"


def handles():
    """A refused call does not end the handle that it was to end."""
    one = steps.steps_new()
    raises(TypeError, steps.steps_free, "one")
    raises(OverflowError, steps.steps_end, one, 2**40)
    assert steps.steps_twice(one, 4) == 8

    class Ended(type(one)):
        """Another thread ends it when it has been looked at."""

        answers = iter([one._raw])
        _raw = property(lambda self: next(self.answers, None))

    own, one.__class__ = type(one), Ended
    assert steps.steps_twice(one, 4) == 8
    assert raises(Error, steps.steps_twice, one, 4).kind == Kind.HANDLE
    one.__class__ = own
    steps.steps_free(one)
    assert raises(Error, steps.steps_free, one).kind == Kind.HANDLE


def kept_functions():
    """No function is called in another's place."""
    first, second = steps.steps_new(), steps.steps_new()
    heard = []

    def hears(name):
        return steps_heard(lambda said, n: heard.append((name, said)) or n)

    for drop in (steps_heard.close, lambda function: None):
        function = hears("first")
        steps.steps_set(first, function)
        assert steps.steps_say(first, "to the first", 3) == 3
        drop(function)
        del function
        gc.collect()
        others = [hears(f"other {n}") for n in range(40)]
        for other in others:
            steps.steps_set(second, other)
            assert raises(Error, steps.steps_say, first, "to the first", 3).kind == Kind.CALLBACK
            assert steps.steps_say_once(lambda *_: 5, 1) == 5
        assert steps.steps_say(second, "to the last", 4) == 4
    assert heard == [("first", "to the first".encode()), ("other 39", b"to the last")] * 2


    class Closed(steps_heard):
        """Another thread closes it when it has been looked at, and its pointer may lead to another function."""

        _slot = property(lambda self: next(self.answers, None))

    closed = hears("closed")
    Closed.answers = iter([closed._slot])
    closed.__class__ = Closed
    raises(TypeError, steps.steps_set, first, closed)
    closed.__class__ = steps_heard
    # One that is passed as it is, and kept all the same.
    steps.steps_set(first, lambda *_: heard.append("kept") or 1)
    for _ in range(5):
        assert raises(Error, steps.steps_say, first, "to the first", 3).kind == Kind.CALLBACK
        assert steps.steps_say_once(lambda *_: 6, 1) == 6
    # With their handle they end, and there are as many as one likes.
    for n in range(1500):
        handle = steps.steps_new()
        function = hears(n)
        steps.steps_set(handle, function)
        steps.steps_free(handle)
    assert steps_heard._made < 500, steps_heard._made


def handles_of_two_threads():
    """What one thread's call has freed in the library, another's may make again before that call is over."""
    for make, free, twice in (
        (steps.steps_only, steps.steps_only_free, steps.steps_twice),
        (steps.plain_only, steps.plain_only_free, steps.plain_twice),
    ):
        one = make()
        assert twice(one, 1) == 2
        if make is steps.steps_only:
            steps.steps_set(one, steps_heard(lambda *_: 1))
        thread = threading.Thread(target=free, args=[one])
        thread.start()
        while not steps.steps_waiting():
            pass
        other = make()
        assert twice(other, 2) == 4
        heard = steps_heard(lambda text, n: n)
        if make is steps.steps_only:
            steps.steps_set(other, heard)
        steps.steps_go()
        thread.join()
        assert twice(other, 3) == 6
        if make is steps.steps_only:
            assert steps.steps_say(other, "again", 9) == 9
        assert raises(Error, twice, one, 1).kind == Kind.HANDLE
        other._owned = False


def between(waits, arguments, handler):
    """What `waits(*arguments)` returns or raises, with `handler` called as soon as Python comes to it again."""
    other = []

    def interrupt():
        while not steps.steps_waiting():
            pass
        _thread.interrupt_main()
        steps.steps_go()

    before = signal.signal(signal.SIGINT, lambda *_: other.append(handler()))
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        return waits(*arguments), other
    except Exception as error:
        return error, other
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


def steps_of_a_call():
    given, other = between(steps.steps_wait_and_give, [10], lambda: steps.steps_give(5000, ord("i")))
    assert given == b"o" * 10 and other == [b"i" * 5000]
    error, other = between(steps.steps_wait_and_fail, [1], lambda: steps.steps_give(3, ord("i")))
    assert isinstance(error, Error) and error.kind == Kind.POINTER and other == [b"iii"]
    given, other = between(steps.steps_wait_and_give, [10], lambda: raises(Error, steps.steps_wait_and_fail, 0).kind)
    assert given == b"o" * 10 and other == [Kind.POINTER]
    error, other = between(steps.steps_wait_and_explain, [2], lambda: raises(OSError, steps.steps_explain, 13).errno)
    assert isinstance(error, FileNotFoundError) and other == [13]

    class Own(Exception):
        pass

    def fails(*_):
        raise Own("inner")

    def handler():
        return str(raises(Own, steps.steps_say_once, fails, 1))

    error, other = between(steps.steps_wait_and_fail, [1], handler)
    assert isinstance(error, Error) and error.kind == Kind.POINTER and other == ["inner"]


def interrupts():
    """Ctrl-C while the library runs, before it calls back: before the function's first line."""
    unraisable = []
    sys.unraisablehook = unraisable.append
    called = []

    def handler():
        raise KeyboardInterrupt("now")

    for function in (lambda *_: called.append(1) or 7, steps_heard(lambda *_: called.append(1) or 7)):
        try:
            result = between(steps.steps_wait_and_say, [function], handler)
        except KeyboardInterrupt as interrupt:
            assert str(interrupt) == "now"
        else:
            raise AssertionError(f"Ctrl-C is lost, and the library had an answer: {result}")
    sys.unraisablehook = sys.__unraisablehook__
    assert not unraisable and not called
    assert steps.steps_say_once(lambda said, n: n, 8) == 8


buffers()
numbers()
lengths()
rooms()
no_circles()
structures()
remembered()
handles()
kept_functions()
handles_of_two_threads()
steps_of_a_call()
interrupts()
