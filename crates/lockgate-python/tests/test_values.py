"""Arguments and results by value."""

import ctypes
import math
from ctypes import Structure, c_bool, c_char, c_double, c_float, c_int, c_int32, c_int64, c_long, c_uint8, c_uint64

import lockgate
import pytest


class Pair(Structure):
    _fields_ = [("x", c_double), ("n", c_int32)]


class Big(Structure):
    _fields_ = [("values", c_int64 * 5)]


class Nested(Structure):
    _fields_ = [("pairs", Pair * 2), ("tail", c_uint8)]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_keep_their_values_and_refuse_what_does_not_fit(values, bits):
    signed, unsigned = values[f"same_i{bits}"], values[f"same_u{bits}"]
    half = 1 << (bits - 1)
    for number in (0, 1, -1, half - 1, -half):
        assert signed(number) == number
    for number in (0, 1, half, 2 * half - 1):
        assert unsigned(number) == number
    for function, number in [(signed, half), (signed, -half - 1), (unsigned, -1), (unsigned, 2 * half)]:
        with pytest.raises(lockgate.ArgumentError):
            function(number)


def test_real_numbers_are_exact(values):
    for number in (0.0, -0.0, 0.1, 1e300, math.inf):
        assert values.same_double(number) == number
    assert math.isnan(values.same_double(math.nan))
    assert values.same_float(0.1) == ctypes.c_float(0.1).value
    assert values.same_double(3) == 3.0


def test_characters_and_truth_values(values):
    values.same_char.argtypes, values.same_char.restype = [c_char], c_char
    assert values.same_char(b"x") == b"x"
    assert values.same_char(0xFF) == b"\xff"
    values.same_bool.argtypes, values.same_bool.restype = [c_bool], c_bool
    assert values.same_bool([1]) is True
    assert values.same_bool("") is False
    # The note knows the size of a bool.
    assert values["same_bool"](1) == 1


def test_ctypes_instances_are_their_values(values):
    assert values.same_i32(c_int(-7)) == -7
    assert values.same_double(c_double(0.5)) == 0.5
    assert values.same_u64(c_uint64(-1)) == 2**64 - 1


def test_numpy_scalars_are_numbers(values):
    numpy = pytest.importorskip("numpy")
    assert values.same_i64(numpy.int64(-5)) == -5
    assert values.same_double(numpy.float32(0.5)) == 0.5


def test_arguments_travel_in_registers_and_on_the_stack(values):
    given = (-1, 0.5, 3, 0.25, 5, 6, 7, 8, 9, 10.5)
    weights = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert values.mixed(*given) == sum(w * x for w, x in zip(weights, given))


def test_structures_by_value(values):
    values.swap.argtypes, values.swap.restype = [Pair], Pair
    pair = values.swap(Pair(2.0, 7))
    assert (pair.x, pair.n) == (7.0, 2)
    values.make_big.restype = Big
    assert list(values.make_big(3).values) == [0, 3, 6, 9, 12]
    values.sum_big.argtypes = [Big, c_long]
    assert values.sum_big(Big((1, 2, 3, 4, 5)), 100) == 115
    values.turn.argtypes, values.turn.restype = [Nested], Nested
    turned = values.turn(Nested(((1.5, 1), (2.5, 2)), 9))
    assert [(p.x, p.n) for p in turned.pairs] == [(2.5, 2), (1.5, 1)]
    assert turned.tail == 10


def test_a_structure_of_another_class_is_refused(values):
    values.swap.argtypes, values.swap.restype = [Pair], Pair
    with pytest.raises(lockgate.ArgumentError, match="argument 1.*instance of Pair"):
        values.swap(Big())
    # Until its class is known, a structure cannot be passed.
    with pytest.raises(lockgate.SignatureError, match="ctypes.Structure"):
        values["swap"](Pair())


def test_void_is_none(values):
    assert values.nothing() is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("same_i32", (), "takes 1 argument, 0 given"),
        ("same_i32", (1, 2), "takes 1 argument, 2 given"),
        ("nothing", (1,), "takes 0 arguments, 1 given"),
        ("same_i32", ("1",), "argument 1 of int32_t same_i32"),
        ("same_i32", (1.5,), "argument 1"),
        ("same_i32", (None,), "argument 1"),
        ("same_double", ("x",), "argument 1"),
        ("same_double", (1j,), "argument 1"),
        ("mixed", (1, 2, 3, 4, 5, 6, 7, 8, 9, object()), "argument 10"),
        ("length", ("text",), "encoded"),
        ("length", (1.5,), "float cannot be passed as a pointer"),
        ("length", (-1,), "argument 1"),
        ("length", (2**64,), "argument 1"),
    ],
)
def test_wrong_arguments_are_explained(values, name, arguments, message):
    with pytest.raises(lockgate.ArgumentError, match=message) as caught:
        values[name](*arguments)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(TypeError):
        values[name](*arguments, keyword=1)


def test_what_the_note_says_can_be_asked_and_must_be_kept(values):
    assert values.mixed.argtypes[:2] == [ctypes.c_int8, c_double]
    assert values.same_double.restype is c_double
    values.same_double.argtypes = [c_float]
    with pytest.raises(lockgate.SignatureError, match="parameter 1: double against float"):
        values.same_double(1.0)
    values.same_i32.restype = c_int64
    with pytest.raises(lockgate.SignatureError, match="result: int32_t against int64_t"):
        values.same_i32(1)


def test_without_a_note_ctypes_rules_hold(build):
    with lockgate.CDLL(build("values", "-O1")) as library:
        with pytest.raises(lockgate.SignatureError, match="set its argtypes"):
            library.same_i32(1)
        library.same_i32.argtypes = [c_int]
        assert library.same_i32(-3) == -3  # the result is an int unless somebody says otherwise
        library.same_double.argtypes, library.same_double.restype = [c_double], c_double
        assert library.same_double(0.25) == 0.25


def test_results_pass_through_what_ctypes_knows(values):
    class Celsius(c_double):
        pass

    values.same_double.restype = Celsius
    assert isinstance(values.same_double(1.5), Celsius)
    values.same_i32.restype = lambda number: f"<{number}>"
    assert values.same_i32(4) == "<4>"
    seen = []
    values.same_i64.errcheck = lambda *given: seen.append(given) or "checked"
    assert values.same_i64(5) == "checked"
    assert seen == [(5, values.same_i64, (5,))]


@pytest.mark.parametrize(
    "kind",
    [
        ctypes.c_longdouble,
        ctypes.py_object,
        ctypes.c_wchar_p,
        ctypes.c_wchar,
        ctypes.POINTER(ctypes.c_wchar),
        int,
        "int",
        Pair * 2,
    ],
)
def test_types_without_a_counterpart_are_refused(values, kind):
    with pytest.raises(lockgate.SignatureError):
        values.same_i32.restype = kind


def test_structures_that_c_would_lay_out_otherwise_are_refused(values):
    class Bits(Structure):
        _fields_ = [("a", c_int, 3), ("b", c_int, 5)]

    class Packed(Structure):
        _pack_ = 1
        _fields_ = [("a", c_char), ("b", c_int)]

    class Either(ctypes.Union):
        _fields_ = [("a", c_int), ("b", c_double)]

    for kind in (Bits, Packed, Either):
        with pytest.raises(lockgate.SignatureError):
            values.swap.argtypes = [kind]


def test_libraries_look_like_those_of_ctypes(values, values_module):
    assert values.count is values.count
    assert (values.count(), values.count(), values["count"]()) == (1, 2, 3)
    assert not hasattr(values, "missing")
    assert "count" in values.domain and "missing" not in values.domain
    with pytest.raises(lockgate.SymbolError, match="no function 'contu'; did you mean 'count'"):
        values.contu
    assert "count" in values_module.exports
    with lockgate.PyDLL(values_module) as other:
        assert other.count() == 1


def test_a_double_that_is_no_float_is_refused(values):
    for wrong in (1e300, -1e39):
        with pytest.raises(lockgate.ArgumentError, match="does not fit"):
            values.same_float(wrong)
    assert values.same_float(float("inf")) == float("inf") and values.same_float(3.4e38) > 3e38


class Asked:
    """What decides by itself what may be an argument."""

    def __init__(self, answer=None):
        self.answer, self.seen = answer, []

    def kind(self):
        asked = self

        class Kind:
            @classmethod
            def from_param(cls, argument):
                asked.seen.append(argument)
                if asked.answer is None:
                    raise TypeError("refused by from_param")
                return asked.answer

        return Kind


def test_from_param_is_asked_for_whatever_is_passed(values):
    np, asked = pytest.importorskip("numpy"), Asked()
    values.first.argtypes = [asked.kind()]
    given = [b"12345678", None, 5, True, bytearray(8), (c_int64 * 1)(3), "s", 1.5, np.zeros(1, "i8"), lockgate.Region(4096)]
    given += [values.domain.alloc(8), memoryview(b"12345678"), lockgate.CFUNCTYPE(c_int)(int), c_int64(3)]
    for argument in given:
        asked.seen.clear()
        with pytest.raises(lockgate.ArgumentError, match="refused by from_param"):
            values.first(argument)
        assert len(asked.seen) == 1 and asked.seen[0] is argument
    # What it answers is an argument as any other.
    other = lockgate.CDLL(values.domain.module)
    for answer in ((c_int64 * 1)(7), values.domain.place((c_int64 * 1)(7)), (7).to_bytes(8, "little"), np.full(1, 7)):
        values.first.argtypes = [Asked(answer).kind()]
        assert values.first(None) == 7
    values.first.argtypes = [Asked(other.domain.alloc(8)).kind()]
    with pytest.raises(lockgate.ArgumentError, match="this pointer is of domain"):
        values.first(None)


def test_ndpointer_takes_what_numpy_says(values):
    np = pytest.importorskip("numpy")
    from numpy.ctypeslib import ndpointer

    values.first.argtypes = [ndpointer(np.int64, flags="C_CONTIGUOUS", shape=(1,))]
    assert values.first(np.full(1, 5)) == 5
    for argument in (None, 5, b"12345678", bytearray(8), np.zeros(1, "f8"), np.zeros(2, "i8"), values.domain.alloc(8)):
        with pytest.raises(lockgate.ArgumentError):
            values.first(argument)


def test_an_array_type_takes_arrays_of_its_length(values):
    np = pytest.importorskip("numpy")
    values.first.argtypes = [c_int64 * 2]
    pair = (c_int64 * 2)(6, 1)
    for argument in (pair, ctypes.byref(pair), np.array([6, 1]), memoryview(pair), values.domain.place(pair)):
        assert values.first(argument) == 6
    for argument in ((c_int64 * 1)(), (c_int64 * 3)(), (ctypes.c_uint64 * 2)(), b"x" * 16, None, 5, c_int64(5), np.zeros(1, "i8"), np.zeros(3, "i8"), np.zeros(2, "f8"), bytearray(15), "s"):  # fmt: skip
        with pytest.raises(lockgate.ArgumentError):
            values.first(argument)


def test_argtypes_are_read_once(values):
    values.first.argtypes = (kind for kind in [ctypes.POINTER(c_int64)])
    assert values.first.argtypes == [ctypes.POINTER(c_int64)] and values.first((c_int64 * 1)(3)) == 3
    values.first.argtypes = None
    assert values.first.argtypes == [ctypes.c_void_p] and values.first((c_int64 * 1)(4)) == 4


@pytest.mark.parametrize("flags", [(), ("-O1",)], ids=["with notes", "without"])
def test_what_a_structure_derives_from_is_a_member_of_it(build, flags):
    """C lays out the base with its own padding: else the call goes by registers where the function looks on the stack."""

    class Base(ctypes.Structure):
        _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_int8)]

    class Derived(Base):
        _fields_ = [("c", ctypes.c_int8)]

    class Same(Derived):
        pass

    library = lockgate.CDLL(build("values", *flags))
    for kind in (Derived, Same):
        library.derive.argtypes, library.derive.restype = [kind, ctypes.c_int8], kind
        given = library.derive(kind(1.5, 2, 3), 4)
        assert (given.a, given.b, given.c) == (1.5, 6, 7)
    told = lockgate.CFUNCTYPE(c_int, Derived)(lambda given: int(given.a * 2) * 100 + given.b * 10 + given.c)
    library.call_derived.argtypes, library.call_derived.restype = [type(told), ctypes.c_int8], c_int
    assert library.call_derived(told, 7) == 172


def test_two_sizes_of_one_structure_are_no_structure(values):
    class Strange(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int64), ("m", ctypes.c_int64)]

    Strange._fields_[0:] = [("n", ctypes.c_int64)]
    values.swap.argtypes = [Strange]
    with pytest.raises(TypeError):
        values.swap(Strange())
