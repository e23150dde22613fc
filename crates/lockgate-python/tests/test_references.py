"""Arguments by reference: what is copied, what is shared, what is refused."""

import array
import ctypes
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p, create_string_buffer, pointer

import lockgate
import pytest


@pytest.fixture
def numpy():
    return pytest.importorskip("numpy")


class Pair(Structure):
    _fields_ = [("x", c_double), ("n", c_int32)]


def test_what_the_domain_writes_comes_back(values):
    number = c_int32(41)
    values.increment(byref(number))
    assert number.value == 42
    values.increment(pointer(number))
    assert number.value == 43
    values.increment.argtypes = [POINTER(c_int32)]
    values.increment(byref(number))
    values.increment(number)
    assert number.value == 45
    pair = Pair(1.5, 2)
    values.move_pair.argtypes = [POINTER(Pair), c_double]
    values.move_pair(byref(pair), 0.5)
    values.move_pair(pair, 0.5)
    assert (pair.x, pair.n) == (2.5, 4)


def test_what_is_written_to_what_cannot_be_changed_is_an_error(values):
    """Red if it is lost without a word."""
    numpy = pytest.importorskip("numpy")
    doubles = numpy.array([1.0, 2.0, 3.0])
    values.twice(doubles, 3)
    assert doubles.tolist() == [2, 4, 6]
    doubles.flags.writeable = False
    for fixed in (doubles, doubles.tobytes(), memoryview(doubles.tobytes())):
        with pytest.raises(lockgate.ArgumentError, match="it wrote to argument 1, which cannot be changed"):
            values.twice(fixed, 3)
    assert doubles.tolist() == [2, 4, 6]
    many = numpy.zeros(5000)
    many.flags.writeable = False
    assert values.sum(numpy.zeros(4000, dtype="int64").tobytes(), 4000) == 0
    values.twice(many, 5000)  # twice nothing is nothing


@pytest.mark.parametrize("typed", [False, True])
def test_arrays_and_buffers(values, typed):
    if typed:
        values.sum.argtypes = [POINTER(c_int64), ctypes.c_size_t]
        values.twice.argtypes = [POINTER(c_double), ctypes.c_size_t]
    assert values.sum((c_int64 * 4)(1, 2, 3, 4), 4) == 10
    assert values.sum(array.array("q", [5, 6]), 2) == 11
    assert values.sum(bytes(16), 2) == 0
    doubles = (c_double * 3)(1, 2, 3)
    values.twice(doubles, 3)
    assert list(doubles) == [2, 4, 6]
    values.twice(memoryview(doubles)[1:], 2)
    assert list(doubles) == [2, 8, 12]


def test_strings(values):
    assert values.length(b"hello") == 5
    assert values.length(c_char_p(b"four")) == 4
    assert values.length(bytearray(b"in place\0")) == 8
    values.length.argtypes = [c_char_p]
    assert values.length(b"") == 0
    buffer = create_string_buffer(8)
    values.fill(buffer, 8)
    assert buffer.value == b"xxxxxxx"
    assert values.greeting() == b"hello"
    assert values.no_greeting() is None
    values.greeting.restype = c_void_p
    assert values.domain.string(values.greeting()) == b"hello"


def test_bytes_are_never_changed(values):
    text = b"immutable"
    with pytest.raises(lockgate.ArgumentError, match="it wrote to argument 1"):
        values.fill(text, 9)
    assert text == b"immutable"


def test_the_same_object_twice_is_one_copy(values):
    number = c_int32()
    assert values.same_place(byref(number), byref(number)) == 1
    assert values.same_place(byref(number), byref(c_int32())) == 0


def test_large_arguments(values):
    count = 1 << 20
    numbers = (c_int64 * count)(*range(count))
    assert values.sum(numbers, count) == count * (count - 1) // 2


def test_numpy_arrays_are_copied_in_and_back(values):
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(4.0)
    values.twice(numbers, 4)
    assert numbers.tolist() == [0, 2, 4, 6]
    values.twice.argtypes = [numpy.ctypeslib.ndpointer(c_double, flags="C"), ctypes.c_size_t]
    fresh = numpy.ones(2)
    values.twice(fresh, 2)
    assert fresh.tolist() == [2, 2]
    with pytest.raises(lockgate.ArgumentError):
        values.twice(numpy.ones(2, dtype="int32"), 2)
    assert values.same_place(numpy.ones(2, dtype=complex), None) == 0


def test_arrays_of_another_type_are_refused(values):
    numpy = pytest.importorskip("numpy")
    values.sum.argtypes = [POINTER(c_int64), ctypes.c_size_t]
    for wrong in ((c_double * 2)(), byref(c_int32()), numpy.ones(2), numpy.ones(2, dtype="int32"), Pair()):
        with pytest.raises(lockgate.ArgumentError, match="argument 1"):
            values.sum(wrong, 2)


def test_memory_that_is_not_contiguous_is_refused(values):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(lockgate.ArgumentError, match="ascontiguousarray"):
        values.twice(numpy.ones(8)[::2], 4)
    with pytest.raises(lockgate.ArgumentError):
        values.twice(memoryview(bytearray(8))[::2], 4)


def test_pointers_to_an_unknown_amount_of_memory_are_refused(values):
    numbers = (c_int64 * 4)(1, 2, 3, 4)
    with pytest.raises(lockgate.ArgumentError, match="pass the array itself"):
        values.sum(ctypes.cast(numbers, POINTER(c_int64)), 4)
    with pytest.raises(lockgate.ArgumentError, match="offset"):
        values.sum(byref(numbers, 8), 3)
    assert values.same_pointer(POINTER(c_int64)()) is not None  # a null pointer is none at all
    assert not values.same_pointer(POINTER(c_int64)())


def test_pointers_of_the_domain(values):
    values.numbers.restype = POINTER(c_int64)
    numbers = values.numbers(4)
    assert (numbers[0], numbers[3], numbers[1:4]) == (0, 9, [1, 4, 9])
    assert numbers.contents.value == 0
    numbers[2] = -1
    assert values.sum(numbers, 4) == 0 + 1 - 1 + 9
    assert values.sum(numbers + 2, 2) == 8
    assert (numbers + 1) == numbers + 2 - 1 and len({numbers, numbers + 0}) == 1
    numbers.free()
    copied = values.copy(b"text")
    assert copied == b"text"
    untyped = values["numbers"](2)
    assert untyped.read(16) == bytes(8) + (1).to_bytes(8, "little")


def test_memory_of_the_domain(values):
    domain = values.domain
    with domain.alloc(c_int64, 3) as numbers:
        for index in range(3):
            numbers[index] = index + 1
        assert values.sum(numbers, 3) == 6
    text = domain.place(b"placed")
    assert values.length(text) == 6 and text.string() == b"placed"
    pair = domain.place(Pair(0.5, 1))
    values.move_pair(pair, 1.0)
    assert (pair.contents.x, pair.contents.n) == (1.5, 2)
    pair[0] = Pair(7.0, 7)
    assert pair[0].x == 7.0
    raw = domain.alloc(8)
    raw.write(memoryview(b"12345678"))
    assert raw.cast(c_char)[0:4] == b"1234"


def test_pointers_stay_in_their_domain(values, values_module):
    with lockgate.CDLL(values_module, name="other") as other:
        theirs = other.domain.place(b"theirs")
        with pytest.raises(lockgate.ArgumentError, match="of domain other, not of values"):
            values.length(theirs)


class Holder(Structure):
    _fields_ = [("text", c_char_p), ("n", c_int32)]


class Linked(Structure):
    _fields_ = [("next", POINTER(c_int32)), ("n", c_int32)]


class Hooked(Structure):
    _fields_ = [("hook", ctypes.CFUNCTYPE(None)), ("n", c_int32)]


class Deep(Structure):
    _fields_ = [("inner", Linked * 2)]


class Hidden(ctypes.Union):
    _fields_ = [("inner", Holder), ("bytes", c_char * 16)]


@pytest.mark.parametrize("kind", [Holder, Linked, Hooked, Deep, Hidden])
def test_what_ctypes_would_follow_is_never_shared(values, kind):
    """A domain that wrote there would choose what Python reads, writes or calls."""
    for attempt in (byref(kind()), kind(), pointer(kind()), (kind * 2)()):
        with pytest.raises((lockgate.ArgumentError, lockgate.SignatureError), match="Address"):
            values.same_place(attempt, None)
    with pytest.raises(lockgate.SignatureError, match="Address"):
        values.same_place.argtypes = [POINTER(kind), c_void_p]
    with pytest.raises(lockgate.SignatureError, match="Address"):
        values.numbers.restype = POINTER(kind)
    with pytest.raises(lockgate.SignatureError):
        values.domain.place(kind())
    with pytest.raises(lockgate.SignatureError):
        values.domain.alloc(kind).contents


def test_objects_of_python_are_never_shared(values):
    numpy = pytest.importorskip("numpy")
    for attempt in (
        numpy.array([object()], dtype=object),
        numpy.zeros(2, dtype=[("a", "i4"), ("O", object)]),
        (ctypes.py_object * 2)(1, 2),
        (c_char_p * 2)(b"a", b"b"),
    ):
        with pytest.raises((lockgate.ArgumentError, lockgate.SignatureError)):
            values.same_place(attempt, None)
    # A field may be called what it likes.
    assert values.same_place(numpy.zeros(2, dtype=[("O", "i4"), ("&", "f8")]), None) == 0


def test_addresses_in_structures(values):
    class Node(Structure):
        _fields_ = [("next", lockgate.Address), ("n", c_int64)]

    domain = values.domain
    last = domain.place(Node(0, 2))
    first = domain.place(Node(last.address, 1))
    follow = domain.pointer(first[0].next, Node)
    assert follow == last and follow[0].n == 2
    assert not domain.pointer(follow[0].next)


def test_classes_with_from_param(values):
    class Doubled:
        @classmethod
        def from_param(cls, value):
            return (c_int64 * len(value))(*(2 * x for x in value))

    values.sum.argtypes = [Doubled, ctypes.c_size_t]
    assert values.sum([1, 2, 3], 3) == 12


def test_what_a_module_keeps_of_a_call_is_no_memory_of_the_host(hostile):
    number = c_int32(5)
    hostile.borrow(byref(number))
    assert number.value == 1
    number.value = 1234
    assert hostile.use_borrowed() != 1234


def test_arrays_that_know_only_where_they_are(numpy, values):
    """numpy's `array.ctypes` is the array; an address of the host is never copied as if it were what it leads to."""
    array = numpy.array([3, 4, 5], "int64")
    assert values.first(array.ctypes) == values.first(array.ctypes.data_as(c_void_p)) == 3

    class Parameter:
        def __init__(self, value):
            self._as_parameter_ = value

    assert values.first(Parameter(array)) == values.first(Parameter(Parameter(array.ctypes))) == 3
    address = c_void_p(array.ctypes.data)
    with pytest.raises(lockgate.Fault):
        values.fill(Parameter(address), 8)
    assert address.value == array.ctypes.data and array.tolist() == [3, 4, 5]


def test_an_address_is_where_it_leads(values):
    place = values.domain.place((c_int64 * 2)(7, 8))
    for address in (lockgate.Address(place.address), c_void_p(place.address), place):
        assert values.first(address) == 7
        values["first"].argtypes = [POINTER(c_int64)]
        assert values.first(address) == 7
    # By reference it is memory that holds an address.
    assert values.first(byref(lockgate.Address(9))) == 9


def test_what_from_param_makes_is_passed(numpy, values):
    class Doubles:
        @classmethod
        def from_param(cls, values):
            return numpy.ascontiguousarray(values, dtype="float64")

    class Described(Doubles):
        @classmethod
        def from_param(cls, values):
            return super().from_param(values).ctypes

    class Addressed:
        @classmethod
        def from_param(cls, values):
            return c_void_p(values.ctypes.data)

    for kind in (Doubles, Described):
        values.total.argtypes = [kind, c_size_t]
        assert values.total([1, 2, 3], 3) == 6
        assert values.total(numpy.array([1, 2, 3], "int32"), 3) == 6
        assert values.total(numpy.arange(6.0)[::-2], 3) == 9
    values.total.argtypes = [Addressed, c_size_t]
    assert values.total(numpy.arange(3.0), 3) == 3


def test_arguments_that_overlap_are_used_as_in_place(numpy, values):
    for array in (numpy.array([1.0, 2, 3, 4]), numpy.array([0.0, 1, 2, 3, 4])[1:]):
        values.scale(array[1:], array[:3], 3, 10.0)
        assert array.tolist() == [1, 10, 100, 1000]
    array = numpy.array([1.0, 2, 3, 4])
    fixed = array[:3]
    fixed.flags.writeable = False
    values.scale(array[1:], fixed, 3, 10.0)
    assert array.tolist() == [1, 10, 100, 1000]
    with pytest.raises(lockgate.ArgumentError, match="cannot be changed"):
        values.scale(fixed, numpy.ones(3), 3, 10.0)
    # What only lies side by side is apart.
    array = numpy.arange(6.0)
    values.scale(array[:3], array[3:], 3, 2.0)
    assert array.tolist() == [6, 8, 10, 3, 4, 5]


@pytest.mark.parametrize("kind", [">f8", "complex64", "int64", "U2", "M8[s]"])
def test_elements_of_another_kind_are_refused(numpy, values, kind):
    values.total.argtypes = [POINTER(c_double), c_size_t]
    with pytest.raises(lockgate.ArgumentError, match="not elements of|cannot be|not a buffer|buffer"):
        values.total(numpy.zeros(4, kind), 4)
    assert values.total(numpy.ones(4, "<f8"), 4) == 4


def test_characters_are_not_for_domains_to_write(numpy, values):
    for text in (numpy.zeros(2, "U4"), array.array("u", "abcd")):
        with pytest.raises(lockgate.ArgumentError, match="characters"):
            values.fill(text, 16)
        # Where nothing can be written they are bytes as any other.
        assert values.same_place(memoryview(text).toreadonly(), None) == 0


def test_arrays_have_what_may_be_passed(numpy, values):
    array = values.domain.array
    for kind in ("U4", [("n", "i4"), ("text", "U2")], "O", "M8[s]"):
        with pytest.raises(TypeError, match="characters|objects|plain numbers"):
            array(2, kind)
    # numpy counts masks, and reads them again: one that a domain can change would lead it beyond its memory.
    for kind in ("?", [("n", "i4"), ("truth", "?")], ("?", (2,)), [("n", "i4"), ("inner", [("truth", "?", (2,))])]):
        with pytest.raises(TypeError, match="truth value"):
            array(2, kind)
    assert array(2, "?", rights="r").tolist() == [False, False]
    # What the domain can only read may be characters.
    assert array(2, "U4", rights="r").tolist() == ["", ""]
    for shape in (-1, (2, -1), (-(1 << 63), 2)):
        with pytest.raises(ValueError, match="negative"):
            array(shape, "u1")
    with pytest.raises((ValueError, OverflowError, MemoryError, lockgate.Error)):
        array((1 << 32, 1 << 32), "u1")
    assert array((3, 0), "u1").shape == (3, 0) and array(3, "u1").shape == (3,)


def test_elements_outside_the_domain_are_not_others(values):
    numbers = values.domain.alloc(c_int, 4)
    numbers[0] = 7
    for far in (1 << 62, 1 << 61, 1 << 30, -(1 << 62), 1 << 70):
        for use in (
            lambda far=far: numbers[far],
            lambda far=far: numbers[far : far + 1],
            lambda far=far: numbers + far,
            lambda far=far: numbers.__setitem__(far, 1),
        ):
            with pytest.raises(lockgate.BadPointer, match="outside"):
                use()
    assert numbers[0] == 7 and (numbers + 1 - 1)[0] == 7
    # Numbers of a module's need not be addresses.
    for number in (-1, -5, 1 << 64):
        with pytest.raises(lockgate.BadPointer, match="no address"):
            values.domain.string(number)
        with pytest.raises(lockgate.BadPointer, match="no address"):
            values.domain.pointer(number, c_int)
    with pytest.raises(lockgate.BadPointer):
        numbers.read(-1)


def test_a_number_is_not_so_many_zeros(numpy, values):
    pointer = values.domain.alloc(c_int64)
    pointer[0] = -1
    for wrong in (5, "text", [1, 2]):
        with pytest.raises(TypeError):
            pointer.write(wrong)
    assert pointer[0] == -1
    pointer.write(numpy.array([1, 9, 2, 9], "int32")[::2])
    assert pointer.read(8) == b"\1\0\0\0\2\0\0\0"


def holding_pointers(np):
    """Memory that has addresses of the host in it, each a way to hide that."""

    class Inner(ctypes.Union):
        _fields_ = [("text", ctypes.c_char_p)]

    class Outer(ctypes.Structure):
        _fields_ = [("inner", Inner), ("number", ctypes.c_int)]

    class Packed(ctypes.Structure):
        _pack_ = 1
        _fields_ = [("text", ctypes.c_char_p), ("number", ctypes.c_int)]

    texts = (ctypes.c_char_p * 1)(b"the host's")
    made = [texts, Inner(b"x"), (Inner * 2)(), Outer(), Packed(b"x"), (ctypes.POINTER(ctypes.c_int) * 1)(), (ctypes.CFUNCTYPE(None) * 1)()]
    return [np.array(["object", None], object), *made, *map(memoryview, made)]


def test_what_goes_into_a_domain_has_no_addresses_of_the_host(values, numpy):
    """By whatever door."""
    domain = values.domain
    room = domain.alloc(64)
    room.write(bytes(64))
    for memory in holding_pointers(numpy):
        for door in (domain.place, room.write, lambda memory: values.sum(memory, 1)):
            with pytest.raises((lockgate.ArgumentError, lockgate.SignatureError)):
                door(memory)
    assert room.read(64) == bytes(64)
    # All other memory goes in, in the order of its elements.
    assert domain.place(numpy.arange(6, dtype="i1").reshape(2, 3).T).read(6) == bytes([0, 3, 1, 4, 2, 5])
    assert domain.place(memoryview(bytes(range(8)))[::2]).read(4) == bytes([0, 2, 4, 6])
    room.write(numpy.arange(4, dtype="i2")[::-1])
    assert room.read(8) == numpy.array([3, 2, 1, 0], "i2").tobytes()
    assert domain.place(numpy.array(["é"])).read(4) == "é".encode("utf-32-le")
    for other in (5, "text", None, object()):
        for door in (domain.place, room.write):
            with pytest.raises(lockgate.ArgumentError):
                door(other)


def test_arrays_give_their_place_back(values, numpy):
    kept = values.domain.array(4, "i8")
    for number in range(200):  # more than a domain may have at once
        array = values.domain.array(2, "i8")
        array[:] = number
        assert values.sum(array, 2) == 2 * number
        part = array[1:]
        del array
        assert values.sum(part, 1) == number
    kept[:] = 1
    assert values.sum(kept, 4) == 4


def test_sizes_that_no_domain_has(values):
    domain = values.domain
    numbers = domain.alloc(c_int, 4)
    for size in (-1, 1 << 40, 1 << 63, 1 << 70):
        attempts = [lambda: domain.alloc(size), lambda: domain.alloc(c_int, size), lambda: numbers.read(size), lambda: domain.string(numbers.address, size)]
        for attempt in attempts:
            with pytest.raises((lockgate.BadPointer, lockgate.QuotaExceeded)):
                attempt()
    for size in (1 << 40, 1 << 62):
        for pointer in (numbers, numbers.cast(c_char)):
            with pytest.raises(lockgate.BadPointer):
                pointer[0:size]


def test_names_and_paths_of_any_kind(values, build):
    for name in ("nosuch", "\udc80", "a\0b", 5, None):
        with pytest.raises(lockgate.SymbolError):
            values[name]
    path = str(build("values"))
    assert lockgate.Module(path.encode()).exports and lockgate.Module(image=bytearray(open(path, "rb").read())).exports
    with pytest.raises(lockgate.LoadError):
        lockgate.Module(path + "\0x")


def test_memory_that_moves_is_left_alone(build, numpy):
    """Red if the copy goes to where the memory was, which is somebody else's by then."""
    lib = lockgate.CDLL(build("values"))
    Function = lockgate.CFUNCTYPE(c_int, c_int)
    lib.fill_after.argtypes = [c_void_p, c_size_t, Function]
    size, others = 5000, []

    def move(buffer):
        if isinstance(buffer, numpy.ndarray):
            buffer.resize(1 << 20, refcheck=False)
        else:
            ctypes.resize(buffer.obj if isinstance(buffer, memoryview) else buffer, 1 << 20)
        others.extend(create_string_buffer(size) for _ in range(50))
        return 0

    class Mover:
        """A size whose conversion moves the buffer that comes before it."""

        def __init__(self, buffer):
            self.buffer = buffer

        def __index__(self):
            move(self.buffer)
            return size

    for make in (
        lambda: create_string_buffer(size),
        lambda: memoryview(create_string_buffer(size)),
        lambda: numpy.zeros(size, numpy.uint8),
    ):
        for before in (False, True):
            buffer = make()
            with pytest.raises(lockgate.ArgumentError, match="argument 1 was moved or resized"):
                if before:
                    lib.fill_after(buffer, Mover(buffer), Function(lambda _: 0))
                else:
                    lib.fill_after(buffer, size, Function(lambda _, buffer=buffer: move(buffer)))
            buffer = make()
            lib.fill_after(buffer, size, Function(lambda _: 0))
            assert bytes(buffer) == b"y" * size
    assert not any(other.raw.strip(b"\0") for other in others)


def test_truth_values_are_zero_or_one(build, numpy):
    lib = lockgate.CDLL(build("values"))
    for buffer in (numpy.zeros(9, bool), (ctypes.c_bool * 9)(), memoryview(bytearray(9)).cast("?")):
        lib.fill(buffer, 9)
        assert bytes(buffer) == b"\1" * 8 + b"\0"

    class Flags(ctypes.Structure):
        _fields_ = [("first", ctypes.c_bool), ("number", ctypes.c_uint8)]

    # Within structures they are as the library has left them, and read as true.
    flags = Flags()
    lib.fill(ctypes.byref(flags), 2)
    assert flags.first is True and bytes(flags)[0] > 1
    array = numpy.zeros(2, [("first", bool), ("number", "u1")])
    lib.fill(array, 4)
    assert array["first"].tolist() == [True, True] and numpy.arange(2)[array["first"].copy()].tolist() == [0, 1]
