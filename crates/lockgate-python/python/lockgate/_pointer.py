"""Pointers into domains."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

from . import _native, _types
from ._errors import BadPointer

#: Bytes of a window, in which all addresses of a domain lie. It begins at a multiple of this.
_WINDOW = 1 << 32


def address_of(number: int) -> int:
    """What may be an address: a module's number need not."""
    address = operator.index(number)
    if not 0 <= address < 1 << 64:
        raise BadPointer(f"{address} is no address")
    return address


def length_of(number: int) -> int:
    """What may be a number of bytes in a domain."""
    length = operator.index(number)
    if not 0 <= length <= _WINDOW:
        raise BadPointer(f"a domain cannot have {length} bytes")
    return length


class Pointer(_native.Pointer):
    """An address in a domain, with the type of what lies there, if that is known.

    It is used as ctypes' pointers are, but each access is checked, and copies: `BadPointer` is raised where the domain has no
    such memory, `Restarted` if it was made before the domain was reset or restarted.
    """

    __slots__ = ("type",)

    def __new__(cls, domain: Any, address: int, type: Any = None, _like: Pointer | None = None) -> Pointer:
        return super().__new__(cls, domain, address_of(address), _like)

    def __init__(self, domain: Any, address: int, type: Any = None, _like: Pointer | None = None):
        #: A type of ctypes, or None.
        self.type = type

    def _target(self) -> Any:
        if self.type is None:
            raise TypeError("a pointer to anything: cast() it, or use read() and write()")
        return self.type

    def _at(self, index: int) -> int:
        offset = self.address % _WINDOW + index * ctypes.sizeof(self._target())
        if not 0 <= offset < _WINDOW:
            raise BadPointer(f"element {index} of {self!r} would lie outside the domain")
        return self.address - self.address % _WINDOW + offset

    def _read(self, address: int, length: int) -> bytes:
        self._check()
        return self.domain._read(address, length)

    def _write(self, address: int, data: bytes) -> None:
        self._check()
        self.domain._write(address, data)

    def _values(self, index: int, count: int) -> list[Any]:
        target = self._target()
        _types.check_plain(target)
        size = ctypes.sizeof(target)
        data = self._read(self._at(index), length_of(count * size))
        values = [target.from_buffer_copy(data, at * size) for at in range(count)]
        simple = issubclass(target, _types.Simple) and _types.Simple in target.__bases__
        return [value.value for value in values] if simple else values

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            if index.start is None or index.stop is None or index.step not in (None, 1):
                raise ValueError("a pointer's slice needs a start and a stop, and no step")
            count = max(0, index.stop - index.start)
            if self._target() is ctypes.c_char:
                return self._read(self._at(index.start), length_of(count))
            return self._values(index.start, count)
        return self._values(index, 1)[0]

    def __setitem__(self, index: int, value: Any) -> None:
        target = self._target()
        _types.check_plain(target)
        self._write(self._at(index), _native.copied(value if isinstance(value, target) else target(value)))

    @property
    def contents(self) -> Any:
        """A copy of what the pointer leads to; ``pointer[0] = …`` writes."""
        target = self._target()
        _types.check_plain(target)
        return target.from_buffer_copy(self._read(self.address, ctypes.sizeof(target)))

    def read(self, length: int) -> bytes:
        """Copies bytes out of the domain."""
        return self._read(self.address, length_of(length))

    def write(self, data: Any) -> None:
        """Copies bytes, or any buffer, into the domain."""
        self._write(self.address, _native.copied(data))

    def string(self, limit: int = _types.STRING_LIMIT) -> bytes:
        """The string that begins here, at most `limit` bytes long."""
        self._check()
        return self.domain.string(self.address, limit)

    def cast(self, type: Any) -> Pointer:
        """The same address with another type."""
        return Pointer(self.domain, self.address, type, self)

    def free(self) -> None:
        """Gives memory back that `Domain.alloc` or the module's ``malloc`` gave."""
        self._check()
        self.domain._free(self.address)

    def __add__(self, count: int) -> Pointer:
        return Pointer(self.domain, self._at(count), self.type, self)

    def __sub__(self, count: int) -> Pointer:
        return self + -count

    def __bool__(self) -> bool:
        return self.address % _WINDOW != 0

    def __int__(self) -> int:
        return self.address

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pointer):
            return NotImplemented
        return self.domain is other.domain and (self._generation, self.address) == (other._generation, other.address)

    def __hash__(self) -> int:
        return hash((id(self.domain), self._generation, self.address))

    def __enter__(self) -> Pointer:
        return self

    def __exit__(self, *_exception: object) -> None:
        if not self.domain.closed:
            self.domain._end(self)

    def __repr__(self) -> str:
        kind = "void" if self.type is None else _types.name_of(self.type)
        return f"<lockgate.Pointer to {kind} at {self.address:#x} of {self.domain.name}>"
