"""Domains call Python."""

import ctypes
import gc
import sys
import threading
import weakref
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_uint64, c_void_p

import lockgate
import pytest

UNARY = lockgate.CFUNCTYPE(c_int, c_int)


def test_functions_of_every_make(hostile):
    triple = lambda x: 3 * x  # noqa: E731
    assert hostile.call(UNARY(triple), 5) == 15
    assert hostile.call(CFUNCTYPE(c_int, c_int)(triple), 6) == 18
    for kind in (UNARY, CFUNCTYPE(c_int, c_int)):
        hostile.call.argtypes = [kind, c_int]
        assert hostile.call(triple, 7) == 21
    with pytest.raises(lockgate.ArgumentError, match="expected a function"):
        hostile.call("triple", 7)
    with pytest.raises(lockgate.ArgumentError, match="needs a signature"):
        hostile["call"](triple, 7)


def test_native_functions_of_the_host_are_refused(hostile):
    with pytest.raises(lockgate.ArgumentError, match="native code"):
        hostile.call(ctypes.CDLL(None).abs, 1)
    # With an errcheck, too, which is a function of Python's, but another.
    native = CFUNCTYPE(c_int, c_int)(("abs", ctypes.CDLL(None)))
    native.errcheck = lambda result, function, arguments: 7
    with pytest.raises(lockgate.ArgumentError, match="native code"):
        hostile.call(native, 1)


def test_whatever_can_be_called_is_a_function(hostile):
    class Number(int):
        pass

    class Doubling:
        def __call__(self, x):
            return 2 * x

    for function, result in ((Number, 5), (int, 5), (Doubling(), 10), (Doubling().__call__, 10)):
        for make in (UNARY, CFUNCTYPE(c_int, c_int)):
            callback = make(function)
            assert hostile.call(callback, 5) == hostile.call(callback, 5) == result


def test_an_exception_comes_out_of_the_call_as_it_was_raised(hostile):
    class Special(Exception):
        pass

    raised = Special("from the callback")

    def fail(_):
        raise raised

    with pytest.raises(Special) as caught:
        hostile.call(UNARY(fail), 1)
    assert caught.value is raised
    assert any(frame.name == "fail" for frame in caught.traceback)
    for exception in (KeyboardInterrupt, SystemExit, lockgate.Timeout):
        with pytest.raises(exception):
            hostile.call(UNARY(lambda _, exception=exception: (_ for _ in ()).throw(exception("x"))), 1)


@pytest.mark.parametrize("result", ["text", None, 2**31, 1.5, object()])
def test_a_result_of_the_wrong_kind_ends_the_call(hostile, result):
    with pytest.raises((TypeError, OverflowError)):
        hostile.call(UNARY(lambda _: result), 1)


def test_calls_nest(hostile):
    def again(depth):
        return depth if depth == 0 else hostile.call(UNARY(again), depth - 1) + 1

    assert hostile.call(UNARY(again), 10) == 10


def test_a_fault_in_a_nested_call_is_the_inner_calls(hostile):
    def crash(_):
        with pytest.raises(lockgate.Fault):
            hostile.null_write()
        return 9

    assert hostile.call(UNARY(crash), 1) == 9


def test_pointers_in_callbacks_are_checked(hostile, build):
    with lockgate.CDLL(build("sort", "-g", "-O1"), time_limit=5) as library:
        numbers = (c_int * 6)(5, 3, 6, 1, 4, 2)
        for make in (CFUNCTYPE, lockgate.CFUNCTYPE):
            order = make(c_int, POINTER(c_int), POINTER(c_int))(lambda a, b: b[0] - a[0])
            library.sort(numbers, 6, order)
            assert list(numbers) == [6, 5, 4, 3, 2, 1]
    seen = []

    def look(pointer):
        seen.append(pointer)
        return pointer[0]

    with pytest.raises(lockgate.BadPointer, match="not all readable"):
        hostile.call_with_wild(lockgate.CFUNCTYPE(c_int, POINTER(c_int))(look))
    with pytest.raises(lockgate.BadPointer):
        hostile.call_with_wild(CFUNCTYPE(c_int, POINTER(c_int))(look))
    assert all(isinstance(pointer, lockgate.Pointer) for pointer in seen) and len(seen) == 2


def test_strings_in_callbacks_end(hostile):
    with pytest.raises(lockgate.BadPointer, match="no string"):
        hostile.call_with_string(lockgate.CFUNCTYPE(c_int, c_char_p)(len))


def test_any_number_of_its_type_may_come(hostile):
    assert hostile.call_with_huge(lockgate.CFUNCTYPE(c_int, c_uint64)(lambda n: n == 2**64 - 1)) == 1


def test_a_callback_ends_with_its_owner(hostile):
    callback = UNARY(lambda x: x + 1)
    hostile.keep(callback)
    assert hostile.call_kept(1) == 2
    gone = weakref.ref(callback)
    del callback
    gc.collect()
    assert gone() is None
    with pytest.raises(lockgate.Fault, match="not given") as caught:
        hostile.call_kept(1)
    assert caught.value.kind == "gate"
    # A function that was passed as it is lives as long as the call.
    hostile.keep.argtypes = [UNARY]
    hostile.keep(lambda x: x)
    with pytest.raises(lockgate.Fault):
        hostile.call_kept(1)


def test_a_ctypes_callback_lives_as_long_as_its_object(hostile):
    callback = CFUNCTYPE(c_int, c_int)(lambda x: x + 2)
    hostile.keep(callback)
    gc.collect()
    assert hostile.call_kept(1) == 3
    del callback
    gc.collect()
    with pytest.raises(lockgate.Fault):
        hostile.call_kept(1)


def test_forged_function_pointers_lead_nowhere(hostile):
    with pytest.raises(lockgate.Fault):
        hostile.call_forged(1)


def test_many_callbacks_need_few_places(hostile):
    hostile.call.argtypes = [UNARY, c_int]
    for number in range(5000):
        assert hostile.call(lambda x, number=number: x + number, 1) == number + 1
    kept = []
    with pytest.raises(lockgate.QuotaExceeded, match="no function pointers left"):
        for _ in range(100_000):
            kept.append(UNARY(lambda x: x))
            kept[-1].address(hostile.domain)
    kept.clear()
    assert hostile.call(lambda x: x, 3) == 3


def test_structures_in_callbacks(build):
    class Pair(ctypes.Structure):
        _fields_ = [("x", c_double), ("n", c_int)]

    with lockgate.CDLL(build("sort", "-g", "-O1")) as library:
        turn = lockgate.CFUNCTYPE(Pair, Pair)(lambda pair: Pair(pair.n, int(pair.x)))
        library.through.restype, library.through.argtypes = c_double, [type(turn)]
        assert library.through(turn) == 4.0 * 100 + 3
        bad = lockgate.CFUNCTYPE(Pair, Pair)(lambda pair: 1.5)
        with pytest.raises(TypeError):
            library.through(bad)


def test_imports_are_answered_by_python(build):
    module = lockgate.Module(build("imports"))
    assert set(module.imports) == {"host_add", "host_scale"}
    scale = lockgate.CFUNCTYPE(c_double, POINTER(c_double), c_uint64)(lambda values, count: sum(values[0:count]))
    with lockgate.CDLL(module, imports={"host_add": lambda a, b: a + b, "host_scale": scale}) as library:
        assert library.add_three(1, 2, 3) == 6
        assert library.scale() == 7
    with lockgate.CDLL(module) as library, pytest.raises(lockgate.Fault, match="not given"):
        library.add_three(1, 2, 3)
    with pytest.raises(lockgate.SignatureError, match="host_sub"):
        lockgate.CDLL(module, imports={"host_sub": UNARY(lambda x: x)})
    with pytest.raises(lockgate.SignatureError, match="host_add"):
        lockgate.CDLL(module, imports={"host_add": UNARY(lambda x: x)})


def test_results_that_python_would_have_to_allocate_are_refused():
    for kind in (c_char_p, POINTER(c_int)):
        with pytest.raises(lockgate.SignatureError):
            lockgate.CFUNCTYPE(kind)(lambda: None)._signature()
    assert lockgate.CFUNCTYPE(c_void_p)(lambda: None)._signature()


def test_a_callback_has_one_place_in_a_domain(hostile):
    """Whichever thread passes it first."""
    pace = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            callback, places, start = UNARY(lambda x: x + 1), [], threading.Barrier(2)

            def place(callback=callback, places=places, start=start):
                start.wait()
                places.append(callback.address(hostile.domain))

            threads = [threading.Thread(target=place) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert places[0] == places[1] and hostile.call(places[0], 1) == 2
    finally:
        sys.setswitchinterval(pace)


def test_a_pointer_that_was_kept_leads_nowhere_for_long(hostile):
    """The place of a callback that is gone is used again when all others have been, and not by the next one."""
    hostile.keep.argtypes = [UNARY]
    hostile.keep(lambda x: 5)
    wide = lockgate.CFUNCTYPE(c_double, c_double, c_double)
    others = [kind(lambda *x: pytest.fail("another function answered")) for kind in (UNARY, wide, UNARY)]
    for other in others:
        other.address(hostile.domain)
    for _ in range(200):  # each in a place of its own, too
        UNARY(lambda x: 7).address(hostile.domain)
    with pytest.raises(lockgate.Fault) as caught:
        hostile.call_kept(1)
    assert caught.value.kind == "gate"


def test_a_structure_that_a_callback_returns_is_of_its_type(build):
    class Pair(ctypes.Structure):
        _fields_ = [("a", c_double), ("b", c_double)]

    class More(Pair):
        pass

    class Longer(Pair):
        _fields_ = [("c", c_double * 100)]

    class Own(Pair):
        def __bytes__(self):
            return b"own"

    class Other(ctypes.Structure):
        _fields_ = [("a", c_uint64), ("b", c_uint64)]

    lib = lockgate.CDLL(build("values"))
    lib.call_pair.argtypes, lib.call_pair.restype = [lockgate.CFUNCTYPE(Pair, c_int), c_int], Pair
    resized = Pair(1, 2)
    ctypes.resize(resized, 1000)
    for value in (Pair(1, 2), More(1, 2), Longer(1, 2), Own(1, 2), resized):
        pair = lib.call_pair(lambda _, value=value: value, 1)
        assert (pair.a, pair.b) == (1, 2)
    for value in (16, bytes(16), bytearray(16), [0] * 16, (1, 2), None, "x", Other(1, 2), (c_double * 2)(1, 2)):
        with pytest.raises(TypeError, match="a callback returned .*, not Pair"):
            lib.call_pair(lambda _, value=value: value, 1)
