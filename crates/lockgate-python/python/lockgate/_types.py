"""ctypes' types as the native half knows them.

A type becomes a *shape*: what it is in a C prototype, the code and the object of its kind (see ``kinds.rs``), and what makes a
plain value an instance of it.

ctypes follows pointers wherever they lead. What a domain writes must never be followed, so that nothing that ctypes would follow
may hold what a domain wrote: results and callbacks' arguments get a checked `lockgate.Pointer` in place of ``POINTER(T)``, and
structures with such fields are refused; `Address` is what fields are declared with instead.
"""

from __future__ import annotations

import ctypes
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import _native
from ._errors import SignatureError

#: Modules that are made of this one, which the package sets when they are there. (An import within a function would fail at
#: the interpreter's end.)
_arguments: Any
_callback: Any
_pointer: Any

#: Longest string that is read for a ``c_char_p``, bytes.
STRING_LIMIT = 1 << 20

#: Classes of ctypes that have no public name.
Simple = ctypes._SimpleCData
PointerType = type(ctypes.POINTER(ctypes.c_int))
AnyPointer = ctypes._Pointer
FunctionPointer = ctypes._CFuncPtr

#: C types of ctypes' codes for numbers.
_NUMBERS = {
    "b": "int8_t", "B": "uint8_t", "h": "int16_t", "H": "uint16_t", "i": "int32_t", "I": "uint32_t",
    "l": "int64_t", "L": "uint64_t", "q": "int64_t", "Q": "uint64_t", "f": "float", "d": "double",
    "?": "uint8_t", "c": "int8_t", "u": "int32_t",
}  # fmt: skip

#: ctypes' types of the runtime's names.
_NOTED = {
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "int16_t": ctypes.c_int16, "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
    "_Bool": ctypes.c_bool, "float": ctypes.c_float, "double": ctypes.c_double, "void": None,
}  # fmt: skip


class Address(ctypes.c_uint64):
    """A pointer in a structure that a domain sees: a number, which `Domain.pointer` makes usable."""


class Shape(NamedTuple):
    """How the native half sees a type."""

    c: str
    code: str = ""
    object: Any = None
    #: Called with the domain and the plain value.
    wrap: Callable[[Any, Any], Any] | None = None

    @property
    def kind(self) -> tuple[str, Any]:
        """What native functions take."""
        return self.code, self.object


def name_of(kind: Any) -> str:
    """The type's name, for messages."""
    return getattr(kind, "__name__", repr(kind))


def is_function_type(kind: Any) -> bool:
    """Whether this is what ``CFUNCTYPE`` returns, ctypes' or ours."""
    return isinstance(kind, type) and issubclass(kind, (FunctionPointer, _callback.Callback))


def fields_of(kind: type) -> Iterator[tuple]:
    """A structure's fields, those of its bases first."""
    for base in reversed(kind.__mro__):
        yield from base.__dict__.get("_fields_", ())


def check_plain(kind: Any) -> None:
    """Refuses types through which ctypes would follow a pointer."""
    if isinstance(kind, PointerType) or is_function_type(kind):
        raise SignatureError(f"{name_of(kind)} inside a structure or array: declare it as lockgate.Address")
    if issubclass(kind, Simple):
        code = _code(kind)
        if code in ("z", "Z", "O"):
            raise SignatureError(f"{name_of(kind)} inside a structure or array: declare it as lockgate.Address")
        _check_character(kind)
    elif issubclass(kind, ctypes.Array):
        check_plain(kind._type_)
    elif issubclass(kind, (ctypes.Structure, ctypes.Union)):
        for field in fields_of(kind):
            check_plain(field[1])
    else:
        raise SignatureError(f"{name_of(kind)} is no type of ctypes")


def plain(value: Any) -> Any:
    """A value whose memory a domain may have a copy of, as it is: nothing that ctypes calls a pointer is in it."""
    # A structure that is a union or packed says that it is bytes.
    owner = value.obj if isinstance(value, memoryview) else value
    if isinstance(owner, (ctypes.Array, ctypes.Structure, ctypes.Union, Simple)):
        check_plain(type(owner))
    return value


def _check_character(kind: type) -> None:
    """Refuses `ctypes.c_wchar` for what a domain writes: not every number is a character, and ctypes raises what it likes then."""
    if _code(kind) == "u":
        raise SignatureError(f"{name_of(kind)}: a domain may give a number that is no character; use c_int32, and chr()")


def _code(kind: type) -> str:
    code = kind._type_
    return code if isinstance(code, str) else ""


def _by_value(kind: Any) -> str:
    """A type inside a structure by value, in C."""
    if issubclass(kind, Simple):
        code = _code(kind)
        if code == "P":
            return "void *"
        if code in _NUMBERS:
            return _NUMBERS[code]
        raise SignatureError(f"{name_of(kind)} cannot be passed by value")
    if not issubclass(kind, ctypes.Structure):
        raise SignatureError(f"{name_of(kind)} cannot be passed by value: pass a pointer")
    if getattr(kind, "_pack_", None) or hasattr(kind, "_swappedbytes_"):
        raise SignatureError(f"{name_of(kind)} is not laid out as C does by default: pass a pointer")
    # (C has no structure that derives from another: the fields of the base are a member, with its size and its padding.)
    base, own = next((base for base in kind.__mro__[1:] if base.__dict__.get("_fields_")), None), kind.__dict__.get("_fields_", ())
    if base is not None and not own:
        return _by_value(base)
    fields = [] if base is None else [f"{_by_value(base)} base;"]
    for number, field in enumerate(own):
        if len(field) != 2:
            raise SignatureError(f"{name_of(kind)}.{field[0]} is a bit field: pass a pointer")
        element, count = field[1], 1
        while issubclass(element, ctypes.Array):
            count *= element._length_
            element = element._type_
        size = f"[{count}]" if element is not field[1] else ""
        fields.append(f"{_by_value(element)} f{number}{size};")
    return "struct { " + " ".join(fields) + " }"


def _simple(kind: type) -> Shape:
    """A number, character or truth value."""
    code = _code(kind)
    if code not in _NUMBERS:
        raise SignatureError(f"{name_of(kind)} has no counterpart in a domain")
    # As ctypes does: subclasses of its types are not taken apart.
    wrap = None if Simple in kind.__bases__ else lambda _, value: kind(value)
    return Shape(_NUMBERS[code], code if code in "?c" else "", None, wrap)


def _structure(kind: type) -> Shape:
    text = _by_value(kind)
    check_plain(kind)
    return Shape(text, "", kind, lambda _, value: kind.from_buffer_copy(value))


def result(kind: Any) -> Shape:
    """The shape of a result, or of an argument that Python gets."""
    if kind is None:
        return Shape("void")
    if isinstance(kind, PointerType):
        target = kind._type_
        check_plain(target)
        return Shape("void *", "", None, lambda domain, value: _pointer.Pointer(domain, value or 0, target))
    if kind is _pointer.Pointer:
        return Shape("void *", "", None, lambda domain, value: _pointer.Pointer(domain, value or 0, None))
    if not isinstance(kind, type):
        if callable(kind):
            return Shape("int32_t", "", None, lambda _, value: kind(value))
        raise SignatureError(f"{kind!r} is no type of ctypes")
    if is_function_type(kind):
        raise SignatureError(f"{name_of(kind)}: a function pointer of a domain is no function of Python's; use c_void_p")
    if issubclass(kind, Simple):
        code = _code(kind)
        if code == "P":
            exact = Simple in kind.__bases__
            return Shape("void *", "", None, None if exact else lambda _, value: kind(value))
        if code == "z":
            return Shape("void *", "", None, lambda domain, value: None if value is None else domain.string(value))
        _check_character(kind)
        return _simple(kind)
    if issubclass(kind, ctypes.Structure):
        return _structure(kind)
    raise SignatureError(f"{name_of(kind)} cannot be a result")


def parameter(kind: Any) -> Shape:
    """The shape of an argument that Python gives."""
    if isinstance(getattr(kind, "from_param", None), types.MethodType):
        # Not one of ctypes' own, which are all built in; but perhaps derived from one, as numpy's are.
        return Shape("void *", "!", _arguments.custom(kind))
    if isinstance(kind, PointerType):
        check_plain(kind._type_)
        return Shape("void *", "", _arguments.typed(kind._type_))
    if is_function_type(kind):
        return Shape("void *", "", _arguments.callback(kind))
    if isinstance(kind, type) and issubclass(kind, Simple):
        code = _code(kind)
        if code == "z":
            return Shape("void *", "", _arguments.text)
        if code == "P":
            return Shape("void *", "", _arguments.anything)
        return _simple(kind)
    if isinstance(kind, type) and issubclass(kind, ctypes.Structure):
        return _structure(kind)
    if isinstance(kind, type) and issubclass(kind, ctypes.Array):
        check_plain(kind)
        return Shape("void *", "!", _arguments.array(kind))
    raise SignatureError(f"{kind!r} cannot be an argument: give a type of ctypes, or a class with from_param")


def prototype(answer: Shape, name: str, parameters: list[Shape]) -> str:
    """The C prototype of a function of these shapes."""
    listed = ", ".join(shape.c for shape in parameters) or "void"
    return f"{answer.c} {name}({listed})"


def of_note(prototype: str) -> tuple[list[Any], Any]:
    """Types of parameters and result that a module's note has, as far as C tells them.

    A ``char *`` result is a string; other pointers are pointers to anything.
    """
    _, answer, parameters = _native.signature(prototype)
    restype: Any
    if answer == "void *":
        restype = ctypes.c_char_p if re.match(r"\s*(const\s+)?char(\s+const)?\s*\*\s*\w+\s*\(", prototype) else _pointer.Pointer
    else:
        restype = _NOTED.get(answer, Noted(answer))
    return [ctypes.c_void_p if kind == "void *" else _NOTED.get(kind, Noted(kind)) for kind in parameters], restype


class Noted:
    """A structure by value that a note has: which class it is, only the caller knows."""

    def __init__(self, c: str):
        self.c = c

    def __repr__(self) -> str:
        return f"{self.c} (set argtypes and restype to your ctypes.Structure)"
