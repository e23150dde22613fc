"""Faults of domains come as signals. Handlers that Python installs for the same signals are put behind Lockgate's.

CPython installs them by functions that no library can stand in for, so that the two doors are watched here: `faulthandler`, and
`signal.signal`. What comes in otherwise is found when the next domain or thread comes; or call `claim_signals`.
"""

from __future__ import annotations

import faulthandler
import functools
import signal
from collections.abc import Callable
from typing import Any

from . import _native

_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}


def _claiming(function: Callable[..., Any], concerns: Callable[..., bool]) -> Callable[..., Any]:
    """The function, with Lockgate's handlers in front again when it is done."""

    @functools.wraps(function)
    def claiming(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        finally:
            if concerns(*arguments, **named):
                _native.claim_signals()

    return claiming


def watch() -> None:
    """Watches Python's two doors, once."""
    if hasattr(faulthandler.enable, "__wrapped__"):
        return
    faulthandler.enable = _claiming(faulthandler.enable, lambda *_, **__: True)
    faulthandler.disable = _claiming(faulthandler.disable, lambda *_, **__: True)
    signal.signal = _claiming(signal.signal, lambda number=None, *_, **__: number in _FAULTS)
