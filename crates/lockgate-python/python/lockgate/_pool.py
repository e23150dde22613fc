"""Domains kept ready."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._domain import Domain, Module
from ._errors import Closed, Error


class Pool:
    """Domains of one module with the same options, returned to their pristine image between users.

    At most `capacity` of them are kept ready; any number can be in use. Options are those of `Domain`. Any thread may take
    one. As a context manager the pool is closed at the end of the block.
    """

    def __init__(self, module: Module | str | os.PathLike[str], capacity: int, **options: Any):
        if capacity < 0:
            raise ValueError(f"a pool cannot keep {capacity} domains")
        #: The module, verified once.
        self.module: Module = module if isinstance(module, Module) else Module(module)
        #: Most domains that are kept ready.
        self.capacity = capacity
        self._options = options
        self._lock = threading.Lock()
        self._domains: list[Domain] = []
        self._closed = False

    @property
    def ready(self) -> int:
        """How many domains are ready."""
        return len(self._domains)

    @contextmanager
    def take(self) -> Iterator[Domain]:
        """A pristine domain, one that is ready or a new one, for a ``with`` block. It is reset when the block ends, however it ends; one that
        cannot be, because a call is in progress or because it was closed, is given up."""
        with self._lock:
            if self._closed:
                raise Closed("the pool is closed; make a new one")
            domain = self._domains.pop() if self._domains else None
        if domain is None:
            domain = Domain(self.module, **self._options)
        try:
            yield domain
        finally:
            self._give_back(domain)

    def _give_back(self, domain: Domain) -> None:
        try:
            domain.reset()
        except Error:
            domain.close()
            return
        with self._lock:
            kept = not self._closed and len(self._domains) < self.capacity
            if kept:
                self._domains.append(domain)
        if not kept:
            domain.close()

    def close(self) -> None:
        """Ends the domains that are ready; those in use end when their users have done with them."""
        with self._lock:
            domains, self._domains, self._closed = self._domains, [], True
        for domain in domains:
            domain.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<lockgate.Pool of {self.module.name!r}: {self.ready} of {self.capacity} ready>"
