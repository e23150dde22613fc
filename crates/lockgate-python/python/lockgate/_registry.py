"""The registry: functions by name, for callers that do not know who serves them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _native, _types
from ._callback import Callback
from ._domain import Domain, Function, Policy, callback_of_note
from ._errors import OptionError
from ._native import Allow, Principal
from ._remote import Served


class Registered(Function):
    """A function that a registry has bound: it stays bound to what was exported, whatever becomes of the name."""

    #: Names in a registry need not be C's; they do not count when signatures are compared.
    _symbol = "function"

    def __init__(self, domain: Domain, name: str, registered: bool, find: Callable[..., Any]):
        self._set_up(None)
        self._find = find

    def __new__(cls, domain: Domain, name: str, registered: bool, find: Callable[..., Any]) -> Registered:
        return super().__new__(cls, domain, name, registered)

    def _prepare(self) -> None:
        """Binds again, after a change of types or policy."""
        types = self._argtypes is not None or self._restype is not ...
        self._adopt(self._find(self._shape()[0] if types else None, str(self._policy), limit=self._limit()))

    def _adopt(self, found: Any) -> None:
        """Takes what was found."""
        self._note = found.prototype
        _, kinds, wrap = self._shape()
        self._take(found, kinds, wrap, self._errcheck, self._releases)


class Registry(_native.Registry):
    """A set of names by which domains and Python export functions, and bind each other's (docs/registry.md).

    `Registry()` is a new one, `Registry.process()` the one of the process. A domain that exports lives until its last name is
    unexported, or it is removed.
    """

    @staticmethod
    @functools.cache
    def process() -> Registry:
        """The process's own: for parts of a program that know nothing of each other."""
        return Registry(True)

    def export(
        self, domain: Domain, name: str, version: tuple[int, int] = (1, 0), *, of: str | None = None,
        policy: str = Policy.MUTUAL_TRUST, allow: Iterable[Allow] = (),
    ) -> None:  # fmt: skip
        """Exports the domain's function `of` (a name, or a C prototype if the module has no note) as `name`.

        `policy` is what the server asks for in every call. Only the clients that `allow` names may bind it.
        """
        self._export(domain, name, version, of, str(policy), list(allow))

    def export_host(
        self, function: Callback | Callable[..., Any], name: str, version: tuple[int, int] = (1, 0), *,
        prototype: str | None = None, allow: Iterable[Allow] = (),
    ) -> None:  # fmt: skip
        """Exports a function of Python's to domains: a `Callback`, or a function and its C prototype.

        Pointers that it gets are of the domain that calls.
        """
        if not isinstance(function, Callback):
            if prototype is None:
                raise OptionError(f"the parameters of {name} are unknown: give a prototype, or a lockgate.CFUNCTYPE(…)(function)")
            function = callback_of_note(prototype, function)
        text, kinds, _ = function._signature()
        self._export_host(function._answer(), text, kinds, name, version, list(allow))

    def bind(
        self, principal: Principal, name: str, version: tuple[int, int] | None = None, *, wait: float = 0,
        rebind: bool = False, policy: str = Policy.MUTUAL_DISTRUST, argtypes: Sequence[Any] | None = None, restype: Any = ...,
    ) -> Function:  # fmt: skip
        """The function that is exported as `name`, of this major version and at least this minor one, or the newest.

        It has the exporter's signature, or the one that `argtypes` and `restype` say, which must agree with that. `wait` for
        it to be exported, so many seconds at most. With `rebind`, calls go on after a restart of the server (those that were
        prepared before it raise `Restarted`); without, all of them raise `Restarted`.
        """

        def find(prototype: str | None, policy: str, wait: float = 0, limit: tuple[float, str] | None = None) -> Any:
            return self._bind(principal, (name, version, policy, rebind, None), wait, prototype, limit)

        text = None
        if argtypes is not None:
            answer = _types.result(None if restype is ... else restype)
            text = _types.prototype(answer, Registered._symbol, [_types.parameter(kind) for kind in argtypes])
        elif restype is not ...:
            raise OptionError("restype without argtypes: say what the function takes, too")
        found = find(text, str(policy), wait)
        function = Registered(found.domain, name, True, find)
        function._policy, function._argtypes = policy, None if argtypes is None else list(argtypes)
        if argtypes is not None:
            function._restype = None if restype is ... else restype
        function._adopt(found)
        return function

    def link(
        self, domain: Domain, import_: str, principal: Principal, name: str | None = None,
        version: tuple[int, int] | None = None, *, wait: float = 0, rebind: bool = False,
        policy: str = Policy.MUTUAL_DISTRUST, on_failure: int | None = 0xFFFF_FFFF_FFFF_FFFF,
    ) -> None:  # fmt: skip
        """Answers the import `import_` of the domain's module with what is exported as `name` (as `import_`, by default).

        If a call of it fails, the caller gets `on_failure`; with None, its own call ends, too. A reset of the domain takes the
        link away.
        """
        self._link(domain, import_, principal, (name or import_, version, str(policy), rebind, on_failure), wait)

    def serve(
        self, path: str | os.PathLike[str], names: Iterable[str] | Mapping[str, str | None], *, clients: int = 32,
        clients_of_user: int = 8, calls: int = 4, functions: int = 256, buffer_bytes: int = 65536,
    ) -> Served:  # fmt: skip
        """Offers names to other processes, on a UNIX socket at `path`, until what is returned is closed (docs/sharing.md).

        `names` are names whose functions take and return values, or prototypes by name, with None for those: a prototype like
        ``uint32_t crc(const uint8_t data[n], size_t n)`` says how long buffers are. Who may bind a name, its export says
        (`Allow.user`, `Allow.group`): the kernel tells the user and the group of the process that asks.

        The limits: clients at once, and those of one user; calls that one client may make at once, each of which takes a thread
        here; functions that it may have bound; bytes of the buffers of a call, at most 64 MiB.
        """
        offered = list(names.items()) if isinstance(names, Mapping) else [(name, None) for name in names]
        return Served(_native.Served(self, path, offered, (clients, clients_of_user, calls, functions, buffer_bytes)))
