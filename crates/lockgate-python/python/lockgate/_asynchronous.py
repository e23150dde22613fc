"""Calls that other threads make, and asyncio."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Generator
from typing import Any

from . import _native


class AsyncCall:
    """A call that a worker makes: `wait` for it, or ``await`` it.

    It keeps its workers. Dropping it lets the call go on as long as the workers live; its result is lost then.
    """

    def __init__(self, call: Any):
        self._call = call

    def done(self) -> bool:
        """True if the call has ended."""
        return self._call.done()

    def wait(self, timeout: float | None = None) -> Any:
        """The result; raises what the call raises, and the built-in `TimeoutError` if it goes on after `timeout` seconds."""
        return self._call.wait(timeout)

    def cancel(self) -> None:
        """Takes the call back: it does not begin, or is stopped. `wait` raises `Cancelled` then."""
        self._call.cancel()

    def __await__(self) -> Generator[Any, None, Any]:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        self._call.when_done(functools.partial(_tell, loop, ended))
        try:
            yield from ended
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self._call.wait()


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    """Wakes the task that waits, from the thread on which the call has ended."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, ended)


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


class Workers(_native.Workers):
    """Threads that make calls for others, and for each domain a queue in which at most `capacity` calls wait.

    As a context manager they finish at the end of the block.
    """

    def submit(self, function: Any, *arguments: Any, timeout: float | None = None) -> AsyncCall:
        """Has a worker make the call; it is stopped if it has not ended `timeout` seconds from now (`Timeout`)."""
        return self._submit(AsyncCall, function, arguments, timeout)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_exception: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.close()


@functools.cache
def default_workers() -> Workers:
    """The workers of `Function.call_async`."""
    return Workers(min(32, (os.cpu_count() or 1) + 4), 1000)
