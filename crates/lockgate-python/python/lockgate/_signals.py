"""Faults of domains come as signals. Handlers that Python installs for the same signals are put behind Lockgate's.

CPython installs them by functions that a library loaded this late cannot stand in for, so that the two doors are watched here:
`faulthandler`, and `signal.signal`. What comes in otherwise is found at the next bind, reset, fault, domain or thread; or call `claim_signals`.
"""

from __future__ import annotations

import faulthandler
import functools
import signal
from collections.abc import Callable
from typing import Any

from . import _native


def _claiming(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with Lockgate's handlers in front again when it is done."""

    @functools.wraps(function)
    def claiming(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        finally:
            _native.claim_signals()

    return claiming


def watch() -> None:
    """Watches Python's two doors, once."""
    if hasattr(faulthandler.enable, "__wrapped__"):
        return
    for name in ("enable", "disable", "register", "unregister"):
        setattr(faulthandler, name, _claiming(getattr(faulthandler, name)))
    signal.signal = _claiming(signal.signal)
