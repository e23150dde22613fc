"""The native half: what the package is made on. Names that begin with `_` are for the package only."""

from collections.abc import Callable, Sequence
from os import PathLike
from types import TracebackType
from typing import Any

from typing_extensions import Buffer, Self

_Kind = tuple[str, Any]
_Import = tuple[str, str, list[_Kind], Callable[..., Any]]
_Asked = tuple[str, tuple[int, int] | None, str, bool, int | None]

OPTIMISED: bool
__version__: str

class Module:
    def __new__(cls, path: str | PathLike[str] | None = None, *, image: bytes | None = None) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def exports(self) -> dict[str, str | None]: ...
    @property
    def imports(self) -> dict[str, str | None]: ...
    def _near(self, name: str) -> str | None: ...

class Domain:
    def __new__(
        cls, source: Module | Pool | Lent, options: dict[str, Any] | None = None, imports: list[_Import] | None = None
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def module(self) -> Module: ...
    @property
    def closed(self) -> bool: ...
    @property
    def base(self) -> int: ...
    @property
    def threads_inside(self) -> int: ...
    @property
    def refused_syscalls(self) -> list[tuple[int, int]]: ...
    @property
    def denied(self) -> list[tuple[str, int]]: ...
    @property
    def detached_fault(self) -> BaseException | None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...
    def _know(self) -> None: ...
    def _give_back(self) -> None: ...
    def _usage(self) -> dict[str, Any]: ...
    def _calls_left(self) -> tuple[int, int]: ...
    def _alloc(self, size: int) -> int: ...
    def _free(self, address: int) -> None: ...
    def _read(self, address: int, length: int) -> bytes: ...
    def _write(self, address: int, bytes: bytes) -> None: ...
    def _string(self, address: int, limit: int) -> bytes: ...
    def _grant(self, region: Region, rights: str) -> Grant: ...
    def _share(self, region: Region, rights: str) -> None: ...
    def _callback(self, prototype: str, kinds: list[_Kind], function: Callable[..., Any]) -> Pin: ...
    def _function_pointer(
        self, server: Domain, prototype: str, policy: str, on_failure: int | None
    ) -> Pin: ...
    def _link(self, import_: str, server: Domain, name: str, policy: str, on_failure: int | None) -> None: ...

class Pointer:
    def __new__(cls, domain: Domain, address: int, like: Pointer | None = None) -> Self: ...
    def _check(self) -> None: ...
    @property
    def _generation(self) -> int: ...
    @property
    def domain(self) -> Any: ...
    @property
    def address(self) -> int: ...

class Function:
    def __new__(cls, domain: Domain, name: str, registered: bool = False) -> Self: ...
    @property
    def domain(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def enforced(self) -> str | None: ...
    def __call__(self, *arguments: Any) -> Any: ...
    def _bind(
        self,
        prototype: str,
        kinds: list[_Kind],
        wrap: Callable[[Any, Any], Any] | None,
        check: Callable[..., Any] | None,
        releases: bool,
        policy: str,
        limit: tuple[float, str] | None,
    ) -> None: ...
    def _take(
        self,
        found: Found,
        kinds: list[_Kind],
        wrap: Callable[[Any, Any], Any] | None,
        check: Callable[..., Any] | None,
        releases: bool,
    ) -> None: ...
    def _unbind(self) -> None: ...

class Pin:
    @property
    def address(self) -> int | None: ...

class Region(Buffer):
    """Memory that can be shared with domains: whole pages of zeros at first.

    It supports the buffer protocol: ``memoryview(region)`` and ``numpy.frombuffer(region)`` use it in place. Domains that have it
    may change it at any time: copy what you check.
    """

    def __new__(cls, length: int) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def offset(self) -> int:
        """Offset of the first byte in every domain that has it."""
    @property
    def host_address(self) -> int:
        """Where this process has it mapped."""

class Grant:
    """A domain's right on a region: revoked at the end of a ``with`` block, by `revoke`, or with the domain's reset or end."""

    @property
    def domain(self) -> Any: ...
    @property
    def region(self) -> Region: ...
    @property
    def rights(self) -> str:
        """What the domain may do now: ``"r"`` or ``"rw"``."""
    def address(self, at: int = 0) -> int:
        """The domain's address of a byte of the region."""
    def downgrade(self, rights: str) -> None:
        """Takes rights away, from here and from all domains that have it from here."""
    def pass_on(self, domain: Domain, rights: str = "rw") -> Grant:
        """Gives the region to another domain, too, with these rights or fewer; that ends with this grant."""
    def revoke(self) -> None:
        """Takes the region away from the domain, and from all that have it from here, before it returns."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Pool:
    def __new__(cls, module: Module, capacity: int, options: dict[str, Any], imports: list[_Import]) -> Self: ...
    @property
    def module(self) -> Module: ...
    @property
    def capacity(self) -> int:
        """Most domains that are kept ready."""
    @property
    def ready(self) -> int:
        """How many domains are ready."""
    def close(self) -> None:
        """Ends the domains that are ready; those in use end when their users have done with them."""

class Remote:
    def __new__(cls, path: str | PathLike[str], time_limit: float | None) -> Self: ...
    def _bind(
        self,
        name: str,
        prototype: str,
        version: tuple[int, int] | None,
        rebind: bool,
        wait: float,
        time_limit: float | None,
    ) -> RemoteFunction: ...

class RemoteFunction:
    """A function of another process; `lockgate.Remote.bind` makes it. What it returns, and writes to buffers, is the other process's
    word: check it."""

    @property
    def name(self) -> str:
        """The name by which it was bound."""
    @property
    def prototype(self) -> str:
        """The prototype, with typedefs resolved."""
    @property
    def domain(self) -> str:
        """The name of its domain, as the other process says."""
    def __call__(self, *arguments: Any) -> Any: ...

class Served:
    def __new__(
        cls,
        registry: Registry,
        path: str | PathLike[str],
        names: list[tuple[str, str | None]],
        limits: tuple[int, int, int, int, int],
    ) -> Self: ...
    def _close(self) -> None: ...

class Registry:
    def __new__(cls, process: bool = False) -> Self: ...
    def names(self) -> list[tuple[str, tuple[int, int]]]:
        """Names and versions, in order."""
    def unexport(self, name: str) -> None:
        """Takes every version of a name back: it cannot be bound any more. What is bound stays."""
    def revoke(self, name: str, stop: bool = False) -> None:
        """The same, and calls of what is bound raise `Revoked`. Calls in progress finish, or end at once with `stop`."""
    def remove(self, name: str) -> None:
        """Ends the domain called `name`, with everything that it exports."""
    def restart(self, name: str) -> Any:
        """Ends the instance behind the domain called `name`, and starts another one; the domain."""
    def limit_restarts(self, name: str, most: int, within: float) -> None:
        """How often the domain called `name` may be restarted: `most` times in any `within` seconds."""
    def _export(
        self,
        domain: Domain,
        name: str,
        version: tuple[int, int],
        of: str | None,
        policy: str,
        allow: list[Allow],
    ) -> None: ...
    def _export_host(
        self,
        function: Callable[..., Any],
        prototype: str,
        kinds: list[_Kind],
        name: str,
        version: tuple[int, int],
        allow: list[Allow],
    ) -> None: ...
    def _bind(
        self,
        principal: Principal,
        asked: _Asked,
        wait: float | None,
        prototype: str | None,
        limit: tuple[float, str] | None,
    ) -> Found: ...
    def _link(
        self, domain: Domain, import_: str, principal: Principal, asked: _Asked, wait: float | None
    ) -> None: ...

class Found:
    @property
    def prototype(self) -> str: ...
    @property
    def domain(self) -> Any: ...

class Principal:
    """On whose behalf something is bound: the program says so, because modules cannot."""

    @staticmethod
    def nobody() -> Principal:
        """A client who may bind only what is exported to everyone."""
    @staticmethod
    def process() -> Principal:
        """The user and groups that the process runs as."""
    @staticmethod
    def user(user: int) -> Principal:
        """A user, by number."""
    @staticmethod
    def domain(name: str) -> Principal:
        """The domain called `name`."""
    def in_group(self, *groups: int) -> Principal:
        """The same, in these groups, too."""
    def with_token(self, *tokens: Token) -> Principal:
        """The same, with these tokens, too."""

class Token:
    """A capability: a client that holds it may bind what was exported for it. 128 random bits, or those that are given."""

    def __new__(cls, bits: bytes | None = None) -> Self: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object) -> bool: ...

class Allow:
    """Who may bind an export. Any one that fits is enough."""

    @staticmethod
    def everyone() -> Allow:
        """Every client."""
    @staticmethod
    def user(user: int) -> Allow:
        """A user, by number."""
    @staticmethod
    def group(group: int) -> Allow:
        """A group, by number."""
    @staticmethod
    def domain(name: str) -> Allow:
        """A domain, by name."""
    @staticmethod
    def token(token: Token) -> Allow:
        """Holders of a token."""
    def __eq__(self, other: object) -> bool: ...

class Workers:
    def __new__(cls, threads: int = 4, capacity: int = 1000) -> Self: ...
    @property
    def pending(self) -> int: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...
    def _submit(
        self,
        wrap: Callable[[Call], Any],
        function: Function,
        arguments: Sequence[Any],
        timeout: float | None = None,
    ) -> Any: ...

class Call:
    def done(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> Any: ...
    def cancel(self) -> None: ...
    def when_done(self, notify: Callable[[], Any]) -> None: ...

class Lent: ...

class Trace: ...

def signature(prototype: str) -> tuple[str, str, list[str]]: ...
def check_memory(object: object) -> None:
    """`TypeError` if a domain must not have this buffer: it has no plain numbers, or a domain could write what Python follows."""

def copied(object: object) -> bytes:
    """The bytes of a buffer, for a domain to have; `ArgumentError` as above."""

def claim_signals() -> None:
    """Puts Lockgate's handlers for faults in front of handlers that were installed since."""
