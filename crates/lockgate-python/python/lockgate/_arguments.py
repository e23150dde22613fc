"""What can be passed as a pointer.

A converter takes the domain and an argument that the native half does not know, and returns what it does know: None, an address,
bytes, an object with a buffer (which is copied in, and back after the call), or a callback's pin.
"""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from typing import Any

from ._callback import Callback
from ._pointer import Pointer
from ._types import Address, AnyPointer, FunctionPointer, Simple, _code, name_of, plain

_Reference = type(ctypes.byref(ctypes.c_int()))


def _referent(argument: Any) -> Any:
    """What ``byref`` and ``pointer`` refer to; anything else as it is."""
    if isinstance(argument, _Reference):
        target = argument._obj
        address = re.search(r"0x[0-9a-f]+", repr(argument))
        if address is None or int(address[0], 16) != ctypes.addressof(target):
            raise TypeError("byref with an offset: pass a memoryview of the part that is meant")
        return target
    if isinstance(argument, AnyPointer):
        if not argument:
            return None
        # What `pointer(…)` was made of.
        kept = (argument._objects or {}).get("1")
        if isinstance(kept, argument._type_) and ctypes.addressof(kept) == ctypes.addressof(argument.contents):
            return kept
        raise TypeError(
            "the size of the memory behind this pointer is unknown: pass the array itself, or byref(…) of the object"
        )
    return argument


def _array(argument: Any) -> Any:
    """The array behind numpy's ``array.ctypes`` and what that makes, which know where it is, not how long; else None."""
    array = getattr(argument, "_arr", None)
    return array if hasattr(array, "__array_interface__") else None


def anything(domain: Any, argument: Any) -> Any:
    """The converter of ``void *``."""
    if (array := _array(argument)) is not None:
        return array
    if isinstance(argument, Address) or (isinstance(argument, Simple) and _code(type(argument)) in "Pz"):
        return argument.value
    if isinstance(argument, (Callback, FunctionPointer)):
        return _callback_of(domain, argument, None)
    if isinstance(argument, str):
        raise TypeError("a str has no bytes until it is encoded: pass bytes")
    if hasattr(argument, "_as_parameter_"):
        argument = argument._as_parameter_
        # What it stands for is an argument, too, whose address may be meant and not its memory.
        known = argument is None or isinstance(argument, (int, bytes, Pointer))
        return argument if known else anything(domain, argument)
    if callable(argument) and not isinstance(argument, ctypes._Pointer):
        raise TypeError("a function needs a signature: pass lockgate.CFUNCTYPE(…)(function)")
    return plain(_referent(argument))


def text(domain: Any, argument: Any) -> Any:
    """The converter of ``char *``: bytes, or memory of characters."""
    return anything(domain, argument)


def typed(target: type) -> Callable[[Any, Any], Any]:
    """The converter of ``POINTER(target)``."""

    def convert(domain: Any, argument: Any) -> Any:
        if isinstance(argument, Address) and not issubclass(target, Address):
            return argument.value
        if (array := _array(argument)) is not None:
            argument = array
        argument = _referent(argument)
        if argument is None or isinstance(argument, target):
            return plain(argument) if argument is not None else None
        if isinstance(argument, ctypes.Array):
            if argument._type_ is target or (isinstance(argument._type_, type) and issubclass(argument._type_, target)):
                return plain(argument)
            raise TypeError(f"expected {name_of(target)}s, not {name_of(argument._type_)}s")
        if isinstance(argument, (Simple, ctypes.Structure, ctypes.Union)):
            if _code(type(argument)) == "P" if isinstance(argument, Simple) else False:
                return argument.value
            raise TypeError(f"expected a pointer to {name_of(target)}, not to {name_of(type(argument))}")
        try:
            view = memoryview(argument)
        except TypeError:
            return anything(domain, argument)
        if not _fits(view, target):
            raise TypeError(f"expected {name_of(target)}s, not elements of format {view.format!r}")
        return plain(argument)

    return convert


def array(kind: Any) -> Callable[[Any, Any], Any]:
    """The converter of an array type: memory of just that length, whose elements are of that type."""
    elements, size = typed(kind._type_), ctypes.sizeof(kind)

    def convert(domain: Any, argument: Any) -> Any:
        if isinstance(argument, Pointer):
            return argument
        behind = _array(argument)
        given = _referent(argument) if behind is None else behind
        if isinstance(given, kind):
            return plain(given)
        if given is None or isinstance(given, (int, bytes, Simple, ctypes.Array, ctypes.Structure, ctypes.Union)):
            raise TypeError(f"expected {name_of(kind)}, not {name_of(type(given))}")
        try:
            length = memoryview(given).nbytes
        except TypeError:
            raise TypeError(f"expected {name_of(kind)}, not {name_of(type(given))}") from None
        if length != size:
            raise TypeError(f"expected {size} bytes for {name_of(kind)}, not {length}")
        return elements(domain, given)

    return convert


def _fits(view: memoryview, target: type) -> bool:
    """Whether elements of a buffer are of the type, as far as its format tells. Bytes are anything."""
    if view.format in ("B", "b", "c"):
        return True
    if view.itemsize != ctypes.sizeof(target):
        return False
    if not issubclass(target, Simple):
        return True
    order, code = (view.format[0], view.format[1:]) if view.format[0] in "@=<>!" else ("@", view.format)
    if order in ">!" and view.itemsize > 1:
        return False
    return code in tuple("efdg" if _code(target) in "fdg" else "bBhHiIlLqQnN?c")


def custom(kind: Any) -> Callable[[Any, Any], Any]:
    """The converter of a class with ``from_param``, such as ``numpy.ctypeslib.ndpointer`` makes."""

    def convert(domain: Any, argument: Any) -> Any:
        converted = kind.from_param(argument)
        if converted is None or isinstance(converted, (int, bytes, Pointer)):
            address = converted
        else:
            array = _array(converted)
            address = converted.value if array is None and isinstance(converted, ctypes.c_void_p) else None
        if address is None or isinstance(address, (bytes, Pointer)):
            return converted if converted is None or address is not None else anything(domain, converted)
        # Where the array is in the host is of no use to a domain: the array is meant.
        interface = getattr(argument, "__array_interface__", None)
        return argument if interface is not None and interface["data"][0] == address else address

    return convert


def callback(kind: Any) -> Callable[[Any, Any], Any]:
    """The converter of a function pointer of type ``CFUNCTYPE(…)``."""

    def convert(domain: Any, argument: Any) -> Any:
        return _callback_of(domain, argument, kind)

    return convert


def _callback_of(domain: Any, argument: Any, kind: Any) -> Any:
    """The pin of a function in the domain; it lives as long as what the caller holds, or as the call."""
    if isinstance(argument, Simple) and _code(type(argument)) == "P":
        return argument.value
    if isinstance(argument, FunctionPointer):
        # Kept by the function object itself, where the collector sees it.
        known = argument.__dict__.get("_lockgate")
        if known is None:
            function = _python_function(argument)
            known = argument.__dict__.setdefault("_lockgate", Callback.like(type(argument))(function))
        argument = known
    elif not isinstance(argument, Callback):
        if not callable(argument):
            raise TypeError(f"expected a function, not {name_of(type(argument))}")
        argument = Callback.like(kind)(argument)
    return argument.pin(domain)


def _python_function(argument: Any) -> Callable[..., Any]:
    """The function of Python's that a ctypes callback calls."""
    # ctypes keeps the machine code that leads to Python; what it has no such code for leads elsewhere.
    referents = gc.get_referents(argument)
    if any(type(one).__name__ == "CThunkObject" for one in referents):
        own = [type(argument), *argument.__dict__.values()]
        for candidate in referents:
            # The function comes before the type of the result, and before errcheck.
            if callable(candidate) and not any(candidate is one for one in own):
                return candidate
    raise TypeError("a domain cannot call native code of the host: pass a function of Python's")
