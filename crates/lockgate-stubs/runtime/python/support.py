"""@NAME@, protected: made by `lockgate stubs`, do not edit.

The functions of its API, with its names, run in a domain. Buffers say how long they are, what the library writes comes back
behind the result, and handles end with their objects or `with` blocks. Whatever the library does wrong raises Error.
@LEFT_OUT@"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import enum
import math
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Readable = bytes | bytearray | memoryview | ctypes.Array | Sequence
"""What a function reads: anything with the buffer protocol, or a sequence of numbers."""
Writable = bytearray | memoryview | ctypes.Array
"""What a function writes: anything with a writable buffer."""
String = str | bytes
"""A string that goes in, str as UTF-8; None is a null pointer."""


class Kind(enum.IntEnum):
    """Why a call did not return a value."""

    START = 1  # the domain could not be made
    FAULT = 2  # the library crashed, ran out of time or was killed
    POINTER = 3  # it returned a pointer to memory that it does not have
    STRING = 4  # a string without an end
    LENGTH = 5  # a length beyond the buffer
    HANDLE = 6  # a handle that was never given out, has ended, or is of another type or domain; a structure in use
    CALLBACK = 7  # a function that was never given, or has been dropped
    DATA = 8  # user data that was never given
    NULL = 9  # a null pointer where there may be none
    SIZE = 10  # a size that is negative or larger than the buffer; a zero within a string
    MEMORY = 11  # no memory for copies
    VALUE = 12  # a number that the enumeration does not have


class Error(Exception):
    """A call that did not return a value. The program is as it was before the call."""

    kind: Kind
    function: str
    """Of the API, or the type of a callback; empty if the call was not made."""
    what: str
    """Parameter, field or `result`."""

    def __init__(self, kind: Kind, what: str, message: str, function: str = "") -> None:
        super().__init__(message)
        self.kind, self.what, self.function = kind, what, function


class Fault(Error):
    """The library crashed, ran out of time or was killed; the message is the report, with the source line."""


class _StubError(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("function", ctypes.c_char_p),
        ("what", ctypes.c_char_p),
        ("message", ctypes.c_char * 192),
    ]


class _Call(ctypes.Structure):
    """A call, from before it is made until its result has become Python's: what it leaves for its second half is here, where a
    signal handler's or a finaliser's own calls do not come."""

    _fields_ = [
        ("error", _StubError),
        ("report", ctypes.c_void_p),  # of a fault, on the heap
        ("given", ctypes.c_size_t),  # bytes of memory that its result leads to
        ("number", ctypes.c_int),  # the library's errno, where the result says that the call has failed
    ]
    exception: BaseException | None = None
    """Of a function that the library called."""
    contents: bytes | None = None
    """What the client fills memory with that the library lends."""
    outer: _Call | None = None
    """The call in which it is made: by a callback, or by what Python runs wherever it likes."""
    aside: _Aside | None = None


class _Aside(ctypes.Structure):
    """What the outer call has left with the thread, until the inner one is over."""

    _fields_ = [
        ("error", _StubError),
        ("given", ctypes.c_size_t),
        ("number", ctypes.c_int),
        ("filling", ctypes.c_void_p),
        ("fills", ctypes.c_size_t),
        ("mirror", ctypes.c_void_p),
        ("depth", ctypes.c_uint),
        ("is_set", ctypes.c_bool),
    ]


def _load() -> ctypes.CDLL:
    folder = Path(__file__).resolve().parent
    getenv = ctypes.CDLL(None).secure_getenv
    getenv.restype = ctypes.c_char_p
    path = os.fsdecode(getenv(b"LOCKGATE_@UPPER@_CLIENT") or b"") or str(folder / "lib@NAME@_client.so")
    library = ctypes.CDLL(path) if os.path.exists(path) else None
    if not hasattr(library, "lg_@NAME@_catching"):
        wrong = "is not there" if library is None else "was not made with this module"
        raise ImportError(
            f"{path} {wrong}; make it: cc -O2 -shared -fPIC -I {folder}/client @FLAGS@ "
            f"{folder}/client/@NAME@_client.c {folder}/client/@NAME@_catching.c -o {path} $(pkg-config --cflags --libs lockgate)"
        )
    return library


def _watch(claim: Callable[[], Any]) -> None:
    """Faults of the library come as signals. Python installs handlers for the same ones past it, by two doors: it is in front again then."""
    import faulthandler
    import functools
    import signal

    def claiming(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def claimed(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            finally:
                claim()

        return claimed

    for name in ("enable", "disable", "register", "unregister"):
        setattr(faulthandler, name, claiming(getattr(faulthandler, name)))
    signal.signal = claiming(signal.signal)


_lib = _load()
if hasattr(_lib, "lg_claim_signals"):
    _watch(_lib.lg_claim_signals)
_heap_free = ctypes.CDLL(None).free
_heap_free.argtypes, _heap_free.restype = [ctypes.c_void_p], None
_take = _lib.lg_@NAME@_take
_take.argtypes, _take.restype = [ctypes.POINTER(_Call)], None
_filling = _lib.lg_@NAME@_fill
_filling.argtypes, _filling.restype = [ctypes.c_char_p, ctypes.c_size_t], None
_aside, _back = _lib.lg_@NAME@_aside, _lib.lg_@NAME@_back
_aside.argtypes, _aside.restype = [ctypes.POINTER(_Aside)], None
_back.argtypes, _back.restype = [ctypes.POINTER(_Aside)], None
_is_left = _lib.lg_@NAME@_is_left
_is_left.argtypes, _is_left.restype = [ctypes.c_void_p], ctypes.c_int
_catching = ctypes.PyDLL(_lib._name).lg_@NAME@_catching
_catching.argtypes, _catching.restype = [ctypes.py_object, ctypes.py_object], ctypes.py_object


class _Thread(threading.local):
    call: _Call | None = None
    """The innermost call in progress. (It is put back in a single step, at which no signal handler runs.)"""


_thread = _Thread()


def _call(call: _Call, function: Any, *arguments: Any) -> Any:
    """Calls the client. An exception of a function that the library called goes on here."""
    if call.outer is not None:
        call.aside = _Aside()
        _aside(call.aside)
    _thread.call = call
    if call.contents is not None:
        _filling(call.contents, len(call.contents))
    try:
        result = function(*arguments)
    finally:
        _take(call)
    error = call.error
    if not error.kind:
        return result
    report = _freed(ctypes.string_at(call.report), call.report) if call.report else error.message
    exception, call.exception = call.exception, None
    if exception is None:
        kind = Kind(error.kind)
        of = Fault if kind == Kind.FAULT else Error
        exception = of(kind, error.what.decode(), report.decode(errors="replace"), error.function.decode())
    try:
        raise exception
    finally:
        del exception  # its traceback leads here


def _call_errno(call: _Call, made: list[tuple[Any, Any]], function: Any, *arguments: Any) -> Any:
    """The same for a function that says by errno what is wrong. Handles that it has made all the same end."""
    result = _call(call, function, *arguments)
    if call.number:
        for kind, place in made:
            kind._given(place.value, True)
        raise OSError(call.number, os.strerror(call.number))
    return result


def _end_call(function: Any, *arguments: Any) -> Any:
    """A whole call, of a function that takes nothing else."""
    call = _Call()
    outer = call.outer = _thread.call
    try:
        return _call(call, function, *arguments)
    finally:
        _thread.call = outer
        if call.aside is not None:
            _back(call.aside)


# ---- what goes in ------------------------------------------------------------------------------------------------------------


def _number(value: Any, kind: Any, what: str) -> int:
    """An integer that fits: ctypes would cut it off."""
    try:
        number = kind(value)
    except TypeError:
        raise TypeError(f"{what}: an integer is wanted, not {type(value).__name__}") from None
    if number.value != value:
        raise OverflowError(f"{what}: {value} does not fit")
    return number.value


def _character(value: Any, kind: Any, what: str) -> int:
    """A character of C's: its number, or text that is one byte."""
    if not isinstance(value, (str, bytes)):
        return _number(value, kind, what)
    text = value.encode() if isinstance(value, str) else value
    if len(text) != 1:
        raise ValueError(f"{what}: one character is wanted, of one byte, not {value!r}")
    return kind(text[0]).value


def _real(value: Any, kind: Any, what: str) -> float:
    """A number that is not too large for C's type, which would be infinity."""
    number = kind(value).value
    if math.isinf(number) and not math.isinf(value):
        raise OverflowError(f"{what}: {value} does not fit")
    return number


def _numbers(values: Any, kind: Any, what: str) -> Any:
    """An array of ctypes of numbers that all fit."""
    values, element = list(values), kind._type_
    if issubclass(element, ctypes.Array):
        return kind(*(_numbers(value, element, f"{what}[{place}]") for place, value in enumerate(values)))
    if issubclass(element, ctypes.Structure):
        return kind(*values)
    array = kind(*values)
    for place, (value, number) in enumerate(zip(values, array) if element is not ctypes.c_double else ()):
        if value != number and (element not in _REALS or math.isinf(number) and not math.isinf(value)):
            raise OverflowError(f"{what}[{place}]: {value} does not fit")
    return array


_REALS = (ctypes.c_float, ctypes.c_double)


class _Structure(ctypes.Structure):
    """A structure of C's whose fields refuse what ctypes would cut off."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = next((kind for field, kind in self._fields_ if field == name), None)
        # (What is no field of C's would stay in this object, and the library would never see it.)
        if kind is None and not name.startswith("lg_"):
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        if kind in _REALS:
            value = _real(value, kind, name)
        elif kind is not None and kind is not ctypes.c_void_p and not hasattr(kind, "_fields_"):
            is_array = issubclass(kind, ctypes.Array)
            value = _number(value, kind, name) if not is_array else value if _is(value, kind) else _numbers(value, kind, name)
        super().__setattr__(name, value)


def _only_fields(structure: Any, name: str, value: Any) -> None:
    """Sets a field of a structure with strings. (What is none would stay in this object, and the library would never see it.)"""
    if name not in type(structure).__dataclass_fields__:
        raise AttributeError(f"{type(structure).__name__} has no field {name}")
    object.__setattr__(structure, name, value)


def _is(value: Any, kind: type) -> bool:
    """By what it is made of: isinstance() would believe the `__class__` of an object that has another's memory."""
    return issubclass(type(value), kind)


def _structure(value: Any, kind: type, what: str) -> Any:
    if not _is(value, kind):
        raise TypeError(f"{what}: a {kind.__name__} is wanted, not a {type(value).__name__}")
    return value


def _text(value: String | None, what: str) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{what}: a str or bytes is wanted, not a {type(value).__name__}")
    # (Bytes, whatever a class of the program's answers.)
    text = str.encode(value) if _is(value, str) else memoryview(value).tobytes()
    if 0 in text:
        raise Error(Kind.SIZE, what, f"{what}: there is a zero within the string")
    return text


def _formats(element: Any) -> str:
    """Letters of the buffer protocol for what has the same bits as an element, beside its size."""
    if element is ctypes.c_bool:
        return "?"
    if element in _REALS:
        return "fd"
    if element is ctypes.c_ubyte:  # bytes, too, of which C does not say whether they have a sign
        return "Bbc"
    if not hasattr(element, "from_param") or issubclass(element, (ctypes.Structure, ctypes.Union, ctypes.c_void_p)):
        return ""
    return "bhilqn" if element(-1).value < 0 else "BHILQN"


def _view(value: Any, element: Any, what: str) -> memoryview:
    """The one look at what a buffer has: bytes, or elements of this type in this machine's order."""
    view = memoryview(value)
    one = element
    while issubclass(one, ctypes.Array):
        one = one._type_
    order, letter = view.format[:-1], view.format[-1:]
    own = _is(value, ctypes.Array) and type(value)._type_ is element
    if view.itemsize == 1:
        fits = order in ("", "@", "=", "<", ">", "!") and letter in "Bc" + (_formats(one) if ctypes.sizeof(one) == 1 else "")
    else:
        fits = order in ("", "@", "=", "<") and letter in _formats(one) and view.itemsize == ctypes.sizeof(one)
    if not (own or fits):
        name = element.__name__.removeprefix("c_")
        raise TypeError(
            f"{what}: a buffer of bytes, or of {name} in this machine's order, is wanted, not of {view.format!r} ({view.itemsize} bytes each)"
        )
    if not view.c_contiguous or view.nbytes % ctypes.sizeof(element):
        raise TypeError(f"{what}: a contiguous buffer of elements of {ctypes.sizeof(element)} bytes is wanted")
    return view


def _reading(value: Any, element: Any, what: str) -> tuple[Any, int]:
    """A pointer to what the library reads, and how many elements there are: in what is passed, for the program's object may have more meanwhile, or
    say what it likes."""
    if isinstance(value, (list, tuple)):
        values = list(value)
        return _numbers(values, element * len(values), what), len(values)
    view = _view(value, element, what)
    count = view.nbytes // ctypes.sizeof(element)
    if type(value) is bytes:
        return value, count
    if view.readonly:
        return view.tobytes(), count
    return (element * count).from_buffer(view), count


def _writing(value: Any, element: Any, what: str) -> tuple[Any, int]:
    """The same for what it writes."""
    view = _view(value, element, what)
    if view.readonly:
        raise TypeError(f"{what}: the library writes there, but it is read-only")
    count = view.nbytes // ctypes.sizeof(element)
    return (element * count).from_buffer(view), count


def _structures(value: Any, kind: Any, what: str) -> tuple[Any, int]:
    """An array of structures that the library reads: one of ctypes, or a sequence."""
    if _is(value, ctypes.Array) and type(value)._type_ is kind:
        return value, ctypes.sizeof(value) // ctypes.sizeof(kind)
    values = list(value)
    return (kind * len(values))(*values), len(values)


def _structures_written(value: Any, kind: Any, what: str) -> tuple[Any, int]:
    """The same of those that it writes: a copy would lose what it has written."""
    if not _is(value, ctypes.Array) or type(value)._type_ is not kind:
        raise TypeError(f"{what}: the library writes there; pass ({kind.__name__} * n)()")
    return value, ctypes.sizeof(value) // ctypes.sizeof(kind)


def _enough(needed: int, there: int, what: str) -> None:
    if not 0 <= needed <= there:
        raise Error(Kind.SIZE, what, f"{what}: the call needs {needed} elements, but there are {there}")


def _strlen(buffer: Any) -> int:
    length = bytes(buffer).find(0)
    if length < 0:
        raise Error(Kind.SIZE, "strlen", "there is no zero in the buffer")
    return length


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise Error(Kind.SIZE, "size", "a size is divided by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - _divide(a, b) * b


# ---- what comes out ----------------------------------------------------------------------------------------------------------


class Text(bytes):
    """A copy of a string of the library's."""

    place: int
    """Where the library has it: what its own `free` takes."""


class Memory(bytes):
    """A copy of memory of the library's."""

    place: int
    """Where the library has it: what its own `free` takes."""


def _at(kind: type, text: bytes, address: int) -> Any:
    copy = kind(text)
    copy.place = address
    return copy


def _string(address: int | None) -> Text | None:
    return _at(Text, ctypes.string_at(address), address) if address else None


def _freed(value: Any, address: int | None) -> Any:
    """The copy of what the client has put on the C library's heap, which is freed."""
    _heap_free(address)
    return value


def _memory(address: int | None, element: Any, count: int) -> Any:
    """`count` elements, copied: bytes, or a list of numbers."""
    if not address:
        return None
    if element is ctypes.c_ubyte:
        return _at(Memory, ctypes.string_at(address, count), address)
    return list((element * count).from_buffer_copy(ctypes.string_at(address, count * ctypes.sizeof(element))))


def _result_memory(call: _Call, address: int | None, element: Any) -> Any:
    return _memory(address, element, call.given // ctypes.sizeof(element)) if address else None


def _filled(call: _Call, address: int | None) -> None:
    """The client has filled memory that the library has lent: as much of it as that was in the end, whatever was asked for."""
    contents, room = call.contents or b"", call.given
    if address and len(contents) > room:
        raise Error(Kind.LENGTH, "contents", f"contents: the library lent {room} bytes for {len(contents)}")


def _strings(address: int | None, count: int | None) -> list:
    """An array of strings: so many, or up to a null pointer."""
    found: list = []
    pointers = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p)) if address else None
    while pointers and (count is None or len(found) < count):
        pointer = pointers[len(found)]
        if pointer is None and count is None:
            break
        found.append(_string(pointer))
    return found


def _room(address: int | None, size: int) -> memoryview:
    """What the library has where a function of the program's is to write: a copy, whose length is fixed as long as there is a view of it."""
    return memoryview(bytearray(ctypes.string_at(address, size) if address else b""))


def _to_room(address: int | None, room: memoryview) -> None:
    """Copies it back."""
    if address:
        ctypes.memmove(address, (ctypes.c_char * len(room)).from_buffer(room), len(room))


def _pointers(address: int | None, count: int) -> list:
    return list(ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))[:count]) if address else []


def _enum(kind: type, value: int, what: str) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise Error(Kind.VALUE, what, f"{what}: {error}") from None


def _address(start: Any) -> int | None:
    """Of a buffer. (ctypes.cast() would have it lead to itself, and so keep the program's object locked until the collector comes.)"""
    if isinstance(start, ctypes.Array):
        return ctypes.addressof(start)
    return ctypes.c_void_p.from_buffer(ctypes.c_char_p(start)).value


def _offset(address: int | None, start: Any) -> int | None:
    """A pointer into an object that went in, as an offset."""
    if not address:
        return None
    return address - _address(start)


def _place(value: Any, what: str) -> int | None:
    place = getattr(value, "place", value)
    return None if place is None else _number(place, ctypes.c_uint64, what)


# ---- what lives longer than a call ---------------------------------------------------------------------------------------------


class _Single:
    """The library has it once: a copy would end it, too, under the first."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{type(self).__name__}: it cannot be copied or pickled, because the library has it once")


class _Ending(_Single):
    """Ends with the object, by close(), or with a `with` block."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _dispose(self) -> Any:
        """What ends it, without itself; nothing if it has ended."""
        raise NotImplementedError

    def __del__(self) -> None:
        try:
            end = self._dispose()
            if end is not None:
                end()
        except Error:
            pass  # it is gone in any case


class _Life:
    """That of a handle: as long as it lives, the library may hold what it was given with it."""

    ended = False

    def end_with_domain(self, raw: int | None) -> None:
        """Ends it if its handle's domain has, which will release it no more."""
        if _is_left(raw):
            self.ended = True


class _Handle(_Ending):
    """Something of the library's: it ends with the object, by close(), or with a `with` block."""

    _end: Any = None
    _raw: int | None = None
    _was: int | None = None
    _owned = False
    _life: _Life | None = None

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__}s are given by the library")

    @classmethod
    def _given(cls, raw: int | None, owned: bool) -> Any:
        if not raw:
            return None
        handle = cls.__new__(cls)
        handle._raw, handle._owned, handle._life = raw, owned, _Life()
        return handle

    @classmethod
    def _replaced(cls, raw: int | None, before: Any) -> Any:
        """What is in the place of `before`, which was given to a call: if that is the same one, so are its owner and its life."""
        handle = cls._given(raw, True)
        if handle is not None and before is not None and raw == before._was:
            handle._owned, handle._life = before._owned, before._life
        return handle

    def _released(self) -> int | None:
        raw, self._raw = self._raw, None
        self._was = raw
        if raw is None:
            raise Error(Kind.HANDLE, type(self).__name__, f"{type(self).__name__}: it has ended")
        if self._life is not None:
            self._life.end_with_domain(raw)
        return raw

    def _dispose(self) -> Any:
        raw, self._raw = self._raw, None
        function, life = type(self)._end, self._life

        def end() -> None:
            life.end_with_domain(raw)
            # (By its own word: some functions say by a number that the handle lives on.)
            result = _end_call(function, raw)
            if result if isinstance(result, bool) else not result:
                life.ended = True

        return end if raw is not None and self._owned and function is not None else None

    def close(self) -> None:
        """Ends it, if it is the program's to end and has not ended."""
        end = self._dispose()
        if end is not None:
            end()


def _handle(value: Any, kind: type, what: str) -> int | None:
    if value is None:
        return None
    if not _is(value, kind):
        raise TypeError(f"{what}: a {kind.__name__} is wanted, not a {type(value).__name__}")
    raw = value._raw
    if raw is None:
        raise Error(Kind.HANDLE, what, f"{what}: it has ended")
    return raw


class _Kept(_Ending):
    """A structure that the library remembers: what was begun with it ends with the object, by close(), or with a `with` block."""

    _kind: Any = None
    _buffers: tuple[tuple[str, str], ...] = ()
    """Fields that are pointers, each with the one of its length."""
    _user: _Call | None = None
    """The call whose buffers are in it."""
    _raw: Any = None
    _end: Any = None
    _used = False

    def __init__(self) -> None:
        self._raw = self._kind()

    def _address(self) -> Any:
        self._used = True
        return ctypes.byref(self._raw)

    def _use(self, call: _Call, what: str) -> None:
        """The call's buffers are about to be put into it, and no other's before they are out again."""
        if self.__dict__.setdefault("_user", call) is not call:
            raise Error(Kind.HANDLE, what, f"{what}: another call is using its buffers")

    def _ended(self) -> None:
        self._end, self._used = None, False

    def _dispose(self) -> Any:
        end, raw = self._end, self._raw
        if end is None:
            return None
        if self._user is not None:
            name = type(self).__name__
            raise Error(Kind.HANDLE, name, f"{name}: a call is using its buffers")
        # It has none now, whatever an interrupted call has left.
        for pointer, length in self._buffers:
            setattr(raw, pointer, None)
            setattr(raw, length, 0)
        self._ended()
        return lambda: _end_call(end, ctypes.byref(raw))

    def close(self) -> None:
        """Ends what was begun with it."""
        end = self._dispose()
        if end is not None:
            end()

    def __del__(self) -> None:
        super().__del__()
        if self._used:
            _remembered.append(self._raw)


_remembered: list = []  # the library remembers their addresses: they are not used again


class _Slot:
    """A function of C's that calls one of Python's: another one, when that is dropped and the library cannot have it any more."""

    def __init__(self, kind: type[Callback]) -> None:
        self.function: Any = None
        self.kind = kind
        self.lives: set[_Life | None] = set()
        """Of the handles that it was passed with; None if there was none."""
        self.room = 64
        # Whatever comes out of it, an interrupt before its first line among them, ends the library's call, and goes on out of the program's.
        self.code = kind._prototype(_catching(self.call, _thread))

    def call(self, *arguments: Any) -> Any:
        function = self.function
        if function is None:
            name = self.kind.__name__
            raise Error(Kind.CALLBACK, name, f"{name}: the function that the library calls has been dropped: keep {name}(function)", name)
        return self.kind._run(function, *arguments)

    def passed(self, life: _Life | None) -> None:
        if len(self.lives) >= self.room:
            self.lives = {one for one in self.lives if one is None or not one.ended}
            self.room = 2 * len(self.lives) + 64
        self.lives.add(life)

    def is_held(self) -> bool:
        """The library may have it."""
        return any(life is None or not life.ended for life in self.lives)


class Callback(_Single):
    """A function that the library calls, as long as this object lives. One that is passed as it is lives as long as that call.

    An exception in it ends the library's call, and comes out of the program's.
    """

    AT_A_TIME = 1024
    """The library cannot have more, of all types together."""
    _RESTS = 16
    _prototype: Any = None
    _run: Any = None
    _slot: _Slot | None = None

    def __init_subclass__(cls) -> None:
        cls._closed: collections.deque[_Slot] = collections.deque()
        """Those of dropped functions, the first one first."""
        cls._of_calls: collections.deque[_Slot] = collections.deque()
        """The same of functions that were passed as they are."""
        cls._made = 0

    def __init__(self, function: Callable[..., Any]) -> None:
        self._back = self._closed
        self._begin(function, self._unheld())

    @classmethod
    def _of_call(cls, function: Callable[..., Any]) -> Any:
        """One for a function that is passed as it is: the library has nothing of it after the call, or calls what has been dropped."""
        callback = cls.__new__(cls)
        callback._back = cls._of_calls
        try:
            slot = cls._of_calls.popleft() if len(cls._of_calls) > cls._RESTS else None
        except IndexError:
            slot = None
        callback._begin(function, slot or _Slot(cls))
        return callback

    def _begin(self, function: Callable[..., Any], slot: _Slot) -> None:
        self._slot = slot
        if not callable(function):
            raise TypeError(f"{type(self).__name__}: {function!r} cannot be called")
        slot.function = function

    @classmethod
    def _unheld(cls) -> _Slot:
        """One that the library cannot have."""
        full = cls._made >= cls.AT_A_TIME
        for _ in range(len(cls._closed) if full else min(len(cls._closed), 4)):
            try:
                slot = cls._closed.popleft()
            except IndexError:
                break
            if not slot.is_held():
                slot.lives = set()
                return slot
            cls._closed.append(slot)
        if full:
            name = cls.__name__
            raise Error(
                Kind.CALLBACK,
                name,
                f"{name}: the library has been given {cls.AT_A_TIME} functions of this type, and may have them still: "
                "pass one that is called within the call only as it is, and end the handles that others were passed with",
            )
        cls._made += 1
        return _Slot(cls)

    def close(self) -> None:
        """The library can call it no more: a later call ends the call of the library's that it came from."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.function = None
            self._back.append(slot)

    def __del__(self) -> None:
        self.close()


def _callback(value: Any, kind: type[Callback], what: str, passing: list, made: _Life | None, *handles: _Handle | None) -> Any:
    """Without a handle the library may have it as long as what the call makes, or, if that is nothing, for good."""
    if value is None:
        return None
    if not _is(value, Callback):
        value = kind._of_call(value)
        passing.append(value)
        return value._slot.code
    slot = value._slot if _is(value, kind) else None
    if slot is not None:
        lives = [handle._life for handle in handles if handle is not None]
        for life in lives or [made]:
            slot.passed(life)
    # (One that is closed meanwhile may have another function by now.)
    if slot is None or value._slot is not slot:
        raise TypeError(f"{what}: a {kind.__name__} that has not been closed, or a function, is wanted")
    return slot.code


def _made(handle: Any, made: _Life, *functions: Any) -> Any:
    """A handle that a call has made which took these functions: the library may hold them as long as it lives."""
    for function in functions:
        slot = getattr(function, "_slot", None)
        if handle is not None and slot is not None:
            slot.passed(handle._life)
    if handle is not None:
        made.ended = True
    return handle


# ---- the API -------------------------------------------------------------------------------------------------------------------

