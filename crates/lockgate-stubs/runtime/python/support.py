"""@NAME@, protected: made by `lockgate stubs`, do not edit.

The functions of its API, with its names, run in a domain. Buffers say how long they are, what the library writes comes back
behind the result, and handles end with their objects or `with` blocks. Whatever the library does wrong raises Error.
@LEFT_OUT@"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import enum
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
    HANDLE = 6  # a handle that was never given out, has ended, or is of another type or domain
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


def _load() -> ctypes.CDLL:
    folder = Path(__file__).resolve().parent
    getenv = ctypes.CDLL(None).secure_getenv
    getenv.restype = ctypes.c_char_p
    path = os.fsdecode(getenv(b"LOCKGATE_@UPPER@_CLIENT") or b"") or str(folder / "lib@NAME@_client.so")
    if not os.path.exists(path):
        raise ImportError(
            f"{path} is not there; make it: cc -O2 -shared -fPIC -I {folder}/client @FLAGS@ "
            f"{folder}/client/@NAME@_client.c -o {path} $(pkg-config --cflags --libs lockgate)"
        )
    return ctypes.CDLL(path, use_errno=True)


_lib = _load()
_heap_free = ctypes.CDLL(None).free
_heap_free.argtypes, _heap_free.restype = [ctypes.c_void_p], None
_lib.lg_@NAME@_take_error.argtypes = [ctypes.POINTER(_StubError)]
_lib.lg_@NAME@_given.restype = ctypes.c_size_t
_lib.lg_last_message.restype = ctypes.c_char_p
_lib.lg_end_call.argtypes = [ctypes.c_char_p]


class _Pending(threading.local):
    """What belongs to the call that a thread is making."""

    exception: BaseException | None = None
    """Of a function that the library called."""
    making = False
    """A call has begun, and what came of it has not been taken yet: no other may be made."""
    given = 0
    """Bytes of memory that the last call's result leads to."""

    def __init__(self) -> None:
        self.ending: collections.deque = collections.deque()
        """What is to end when no call is being made."""


_pending = _Pending()


def _call(function: Any, *arguments: Any) -> Any:
    """Calls the client. An exception of a function that the library called goes on here."""
    error = _StubError()
    pending = _pending
    # Objects that Python disposes of meanwhile, wherever it likes, make no calls of their own before the error is here.
    pending.making = True
    try:
        result = function(*arguments)
        failed = _lib.lg_@NAME@_take_error(error)
        pending.given = _lib.lg_@NAME@_given()
        report = _lib.lg_last_message() if failed else None
    finally:
        pending.making = False
    _end_others()
    if not failed:
        return result
    exception = pending.exception
    if exception is not None:
        pending.exception = None
        raise exception
    kind = Kind(error.kind)
    function, what = error.function.decode(), error.what.decode()
    if kind == Kind.FAULT:
        raise Fault(kind, what, report.decode(errors="replace"), function)
    raise Error(kind, what, error.message.decode(errors="replace"), function)


def _end_others() -> None:
    """Ends what was disposed of during a call, which stays the last one."""
    pending = _pending
    while pending.ending:
        given, number = pending.given, ctypes.get_errno()
        try:
            pending.ending.popleft()()
        except Error:
            pass  # it is gone in any case
        pending.given = given
        ctypes.set_errno(number)


def _call_errno(failed: Any, function: Any, *arguments: Any) -> Any:
    """The same for a function that says by errno why its result is `failed`."""
    ctypes.set_errno(0)
    result = _call(function, *arguments)
    number = ctypes.get_errno()
    if number and result == failed:
        raise OSError(number, os.strerror(number))
    return result


# ---- what goes in ------------------------------------------------------------------------------------------------------------


def _number(value: Any, kind: Any, what: str) -> int:
    """An integer that fits: ctypes would cut it off."""
    number = kind(value)
    if number.value != value:
        raise OverflowError(f"{what}: {value} does not fit")
    return number.value


def _text(value: String | None, what: str) -> bytes | None:
    if value is None:
        return None
    text = value.encode() if isinstance(value, str) else bytes(value)
    if 0 in text:
        raise Error(Kind.SIZE, what, f"{what}: there is a zero within the string")
    return text


def _view(value: Any, element: Any, what: str) -> memoryview:
    view = memoryview(value)
    size = ctypes.sizeof(element)
    if not view.c_contiguous or view.itemsize not in (1, size) or view.nbytes % size:
        raise TypeError(f"{what}: a contiguous buffer of elements of {size} bytes is wanted")
    return view


def _reading(value: Any, element: Any, what: str) -> tuple[Any, int]:
    """A pointer to what the library reads, and how many elements there are."""
    if isinstance(value, (list, tuple)):
        array = (element * len(value))(*value)
        if element not in (ctypes.c_float, ctypes.c_double):
            for place, number in enumerate(value):
                if array[place] != number:  # ctypes cuts it off
                    raise OverflowError(f"{what}[{place}]: {number} does not fit")
        return array, len(value)
    view = _view(value, element, what)
    count = view.nbytes // ctypes.sizeof(element)
    if isinstance(value, bytes):
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
    if isinstance(value, ctypes.Array) and value._type_ is kind:
        return value, len(value)
    return (kind * len(value))(*value), len(value)


def _structures_written(value: Any, kind: Any, what: str) -> tuple[Any, int]:
    """The same of those that it writes: a copy would lose what it has written."""
    if not isinstance(value, ctypes.Array) or value._type_ is not kind:
        raise TypeError(f"{what}: the library writes there; pass ({kind.__name__} * n)()")
    return value, len(value)


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


def _result_memory(address: int | None, element: Any) -> Any:
    return _memory(address, element, _pending.given // ctypes.sizeof(element)) if address else None


def _fill(address: int | None, contents: bytes) -> None:
    """Fills memory that the library has lent: as much of it as that was in the end, whatever was asked for."""
    if address:
        contents, room = bytes(contents), _pending.given
        if len(contents) > room:
            raise Error(Kind.LENGTH, "contents", f"contents: the library lent {room} bytes for {len(contents)}")
        ctypes.memmove(address, contents, len(contents))


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


def _pointers(address: int | None, count: int) -> list:
    return list(ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))[:count]) if address else []


def _enum(kind: type, value: int, what: str) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise Error(Kind.VALUE, what, f"{what}: {error}") from None


def _offset(address: int | None, start: Any) -> int | None:
    """A pointer into an object that went in, as an offset."""
    if not address:
        return None
    return address - ctypes.cast(start, ctypes.c_void_p).value


def _place(value: Any, what: str) -> int | None:
    return getattr(value, "place", value)


# ---- what lives longer than a call ---------------------------------------------------------------------------------------------


class _Ending:
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
        end = self._dispose()
        if end is not None:
            _pending.ending.append(end)
            if not _pending.making:
                _end_others()


class _Handle(_Ending):
    """Something of the library's: it ends with the object, by close(), or with a `with` block."""

    _end: Any = None
    _raw: int | None = None
    _owned = False

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__}s are given by the library")

    @classmethod
    def _given(cls, raw: int | None, owned: bool) -> Any:
        if not raw:
            return None
        handle = cls.__new__(cls)
        handle._raw, handle._owned = raw, owned
        return handle

    def _released(self) -> int | None:
        raw, self._raw = self._raw, None
        if raw is None:
            raise Error(Kind.HANDLE, type(self).__name__, f"{type(self).__name__}: it has ended")
        return raw

    def _dispose(self) -> Any:
        raw, self._raw = self._raw, None
        end = type(self)._end
        return (lambda: _call(end, raw)) if raw is not None and self._owned and end is not None else None

    def close(self) -> None:
        """Ends it, if it is the program's to end and has not ended."""
        end = self._dispose()
        if end is not None:
            end()


def _handle(value: Any, kind: type, what: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, kind):
        raise TypeError(f"{what}: a {kind.__name__} is wanted, not a {type(value).__name__}")
    if value._raw is None:
        raise Error(Kind.HANDLE, what, f"{what}: it has ended")
    return value._raw


class _Kept(_Ending):
    """A structure that the library remembers: what was begun with it ends with the object, by close(), or with a `with` block."""

    _kind: Any = None
    _buffers: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._raw = self._kind()
        self._end: Any = None
        self._used = False

    def _address(self) -> Any:
        self._used = True
        return ctypes.byref(self._raw)

    def _without_buffers(self) -> None:
        for name in self._buffers:
            setattr(self._raw, name, None)

    def _ended(self) -> None:
        self._end, self._used = None, False

    def _dispose(self) -> Any:
        end, raw = self._end, self._raw
        if end is not None:
            self._ended()
        return (lambda: _call(end, ctypes.byref(raw))) if end is not None else None

    def close(self) -> None:
        """Ends what was begun with it."""
        end = self._dispose()
        if end is not None:
            end()

    def __del__(self) -> None:
        super().__del__()
        if self._used:
            _remembered.append(self._raw)


_remembered: list = []  # the library remembers their addresses: they are nobody else's again


class _Slot:
    """A function of C's that calls one of Python's, and is used again for another when that is dropped."""

    def __init__(self, kind: type[Callback]) -> None:
        self.function: Any = None
        self.kind = kind
        self.code = kind._prototype(self.call)

    def call(self, *arguments: Any) -> Any:
        function = self.function
        pending = _pending
        making, pending.making = pending.making, False
        try:
            if function is None:
                name = self.kind.__name__
                raise Error(
                    Kind.CALLBACK, name, f"{name}: the function that the library calls has been dropped: keep {name}(function)", name
                )
            return self.kind._run(function, *arguments)
        except BaseException as exception:
            pending.exception = exception
            _lib.lg_end_call(f"{type(exception).__name__} in a function of the program's".encode())
            return 0
        finally:
            pending.making = making


class Callback:
    """A function that the library calls, as long as this object lives. One that is passed as it is lives as long as that call.

    An exception in it ends the library's call, and comes out of the program's.
    """

    _prototype: Any = None
    _run: Any = None
    _free: list[_Slot]

    def __init__(self, function: Callable[..., Any]) -> None:
        self._slot: _Slot | None = None
        if not callable(function):
            raise TypeError(f"{type(self).__name__}: {function!r} cannot be called")
        try:
            self._slot = self._free.pop()
        except IndexError:
            self._slot = _Slot(type(self))
        self._slot.function = function

    def close(self) -> None:
        """The library can call it no more: a later call ends the call of the library's that it came from."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.function = None
            self._free.append(slot)

    def __del__(self) -> None:
        self.close()


def _callback(value: Any, kind: type[Callback], what: str, passing: list) -> Any:
    if value is None:
        return None
    if not isinstance(value, Callback):
        value = kind(value)
        passing.append(value)
    if not isinstance(value, kind) or value._slot is None:
        raise TypeError(f"{what}: a {kind.__name__} or a function is wanted")
    return ctypes.cast(value._slot.code, ctypes.c_void_p)


# ---- the API -------------------------------------------------------------------------------------------------------------------

