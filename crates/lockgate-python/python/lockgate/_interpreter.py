"""The package works in the main interpreter of a process.

The native half belongs to whichever interpreter loads it first, for good: so another one is refused before that is loaded.
"""

from __future__ import annotations

import ctypes


def is_main() -> bool:
    """Whether this is the interpreter that the process began with."""
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))
    number = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(("PyInterpreterState_GetID", ctypes.pythonapi))
    return number(current()) == 0


if not is_main():
    raise ImportError("lockgate works in the main interpreter of a process only: use it there, or start a process")
