"""Functions of other processes, by name (docs/sharing.md)."""

from __future__ import annotations

import os
import weakref

from . import _native
from ._native import RemoteFunction


class Remote(_native.Remote):
    """A connection to a process that serves names; `lockgate.connect` makes it.

    All threads may use it: each call in progress has memory of its own, and takes a thread of the other process's, as many as
    that allows. In a child of ``os.fork`` every use raises `Forked`: connect there again.
    """

    def bind(
        self, name: str, prototype: str, version: tuple[int, int] | None = None, *, wait: float = 0, rebind: bool = False,
        time_limit: float | None = None,
    ) -> RemoteFunction:  # fmt: skip
        """The function that the other process offers as `name`, of this major version and at least this minor one, or the newest.

        An array whose length is another parameter (``const uint8_t data[n], size_t n``) is a buffer: give ``bytes`` or what has
        the buffer protocol, with as many elements as the length says. If the elements are not ``const``, give a ``bytearray`` or
        another one that can be written. Structures are ``bytes``, laid out as C does.

        `wait` for the name to be exported, so many seconds at most. With `rebind`, calls go on after a restart of the server;
        without, they raise `Restarted`. The other process has `time_limit` seconds for an answer: as many as a call has, if that is
        not given, and five if calls have no limit.
        """
        return self._bind(name, prototype, version, rebind, wait, time_limit)


def connect(path: str | os.PathLike[str], *, time_limit: float | None = None) -> Remote:
    """Connects to the process that serves at `path` (`Registry.serve`, ``lockgate up --share``).

    A call that takes longer than `time_limit` seconds raises `Timeout`, and goes on in the other process until a limit of the domain
    ends it. Without, a call takes as long as the other process lives.
    """
    return Remote(path, time_limit)


class Served:
    """Names that other processes may bind, until it is closed; `Registry.serve` makes it. It is a context manager."""

    def __init__(self, native: _native.Served):
        #: Also at the end of the program. (In a child of ``os.fork`` it does nothing.)
        self._end = weakref.finalize(self, native._close)

    def close(self) -> None:
        """Ends it: calls of clients raise `Killed`, and those that are in progress go on without a client."""
        self._end()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
