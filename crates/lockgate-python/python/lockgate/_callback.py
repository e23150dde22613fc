"""Python functions that domains call."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable as Function
from typing import Any, ClassVar

from . import _types
from ._errors import SignatureError


class Callback:
    """A Python function that domains can call through a pointer, as long as this object lives.

    Made by a type that `CFUNCTYPE` returns. An exception that the function raises ends the domain's call, and comes out of it.
    """

    _restype_: ClassVar[Any]
    _argtypes_: ClassVar[tuple[Any, ...]]

    def __init__(self, function: Function[..., Any]):
        if not callable(function):
            raise TypeError(f"expected a function, not {type(function).__name__}")
        self.function = function
        self._pins: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    @staticmethod
    def like(kind: Any) -> type[Callback]:
        """The type of callbacks with the same signature as a function type of ctypes."""
        if issubclass(kind, Callback):
            return kind
        return CFUNCTYPE(kind._restype_, *kind._argtypes_)

    @classmethod
    def _signature(cls) -> tuple[str, list[tuple[str, Any]], list[Any]]:
        """Prototype, kinds, and what makes arguments of plain values."""
        known = cls.__dict__.get("_known")
        if known is None:
            parameters = [_types.result(kind) for kind in cls._argtypes_]
            answer = _types.result(cls._restype_)
            if cls._restype_ is not None and answer.c == "void *" and _types._code(cls._restype_) != "P":
                raise SignatureError("a callback returns numbers, structures or c_void_p")
            listed = ", ".join(shape.c for shape in parameters) or "void"
            kinds = [shape.kind for shape in (*parameters, answer)]
            known = cls._known = f"{answer.c} callback({listed})", kinds, [shape.wrap for shape in parameters]
        return known

    def pin(self, domain: Any) -> Any:
        """The function's place in a domain."""
        for pin in tuple(self._pins.get(domain, ())):
            if pin.address is not None:
                return pin
        prototype, kinds, _ = self._signature()
        new = domain._callback(prototype, kinds, self._answer())
        # One place, whichever thread comes first: the end of another would take away a pointer that a module has. Without a lock, which a
        # child could find held by a thread that it does not have: the first one that lives is the one, and each step is one of a list's.
        pins = self._pins.setdefault(domain, [])
        pins.append(new)
        first = next(pin for pin in tuple(pins) if pin.address is not None or pin is new)
        for pin in tuple(pins):
            if pin.address is None or (pin is new and pin is not first):
                with contextlib.suppress(ValueError):
                    pins.remove(pin)
        return first

    def _answer(self) -> Function[..., Any]:
        """What the domain's call runs: it must not keep this object, whose end takes the callback away."""
        function, (_, _, wraps) = self.function, self._signature()
        expected = self._restype_
        structure = hasattr(expected, "_fields_")

        def answer(domain: Any, *plain: Any) -> Any:
            arguments = [value if wraps[at] is None else wraps[at](domain, value) for at, value in enumerate(plain)]
            result = function(*arguments)
            if structure:
                # Not whatever bytes() takes: zeros for a number, or another structure's bytes; and as much as the type has, whatever
                # a class that derives from it adds, or its own `__bytes__` says.
                if not isinstance(result, expected):
                    raise TypeError(f"a callback returned {_types.name_of(type(result))}, not {_types.name_of(expected)}")
                return ctypes.string_at(ctypes.addressof(result), ctypes.sizeof(expected))
            return result

        return answer

    def address(self, domain: Any) -> int:
        """The function pointer, for a domain to keep: valid as long as this object lives."""
        return self.pin(domain).address

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def CFUNCTYPE(restype: Any, *argtypes: Any) -> type[Callback]:
    """A type of callbacks, as ctypes': call it with a function, and pass the result to a domain's function.

    ``POINTER(T)`` arguments come as `lockgate.Pointer`, which checks each access; ``c_char_p`` as bytes.
    """
    return type("Callback", (Callback,), {"_restype_": restype, "_argtypes_": argtypes})
