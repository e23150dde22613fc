"""Domains kept ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import _native
from ._callback import Callback
from ._domain import Domain, Module, given


class Pool(_native.Pool):
    """Domains of one module with the same options, returned to their pristine image between users.

    At most `capacity` of them are kept ready; any number can be in use. Options are those of `Domain`. Any thread may take
    one. As a context manager the pool is closed at the end of the block.
    """

    def __new__(
        cls,
        module: Module | str | os.PathLike[str],
        capacity: int,
        *,
        imports: Mapping[str, Callback | Callable[..., Any]] | None = None,
        **options: Any,
    ) -> Pool:
        if capacity < 0:
            raise ValueError(f"a pool cannot keep {capacity} domains")
        if not isinstance(module, _native.Module):
            module = Module(module)
        return super().__new__(cls, module, capacity, *given(module, imports, options))

    def __init__(self, module: Any, capacity: int, **_options: Any):
        pass

    @contextmanager
    def take(self) -> Iterator[Domain]:
        """A pristine domain, one that is ready or a new one, for a ``with`` block. It goes back when the block ends, however it
        ends, and the object is closed: what the block left of it does not reach the next user. One that cannot be reset, because
        a call is in progress or because it was closed, is given up."""
        domain = Domain(self)
        try:
            yield domain
        finally:
            domain._give_back()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<lockgate.Pool of {self.module.name!r}: {self.ready} of {self.capacity} ready>"
