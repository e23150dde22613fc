"""What can go wrong, as exceptions. The native half raises them by name."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """A place in a module's source, as far as its symbols and debug information tell."""

    function: str | None
    file: str | None
    line: int | None


class Error(Exception):
    """Whatever Lockgate raises."""


class LoadError(Error, OSError):
    """A file that cannot be read, or is no module."""

    def __init__(self, message: str, errno: int | None = None, filename: str | None = None):
        super().__init__(message)
        self.errno, self.filename = errno, filename

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self):
        return type(self), (self.args[0], self.errno, self.filename), {**self.__dict__}


class Rejected(Error):
    """The verifier rejected the module: it breaks a rule of the code model, which the message names."""


class OptionError(Error, ValueError):
    """An option that does not exist, or cannot have this value."""


class SymbolError(Error, AttributeError):
    """The module has no function of this name."""


class SignatureError(Error, TypeError):
    """A function is declared otherwise than the module's note says, or in a way that cannot be called."""


class ArgumentError(Error, TypeError):
    """Arguments of a wrong number or type, or that do not fit."""


class BadPointer(Error, ValueError):
    """An address of a domain leads to memory that it does not have, or to a string without end."""


class GrantError(Error):
    """Memory could not be shared, or the grant was revoked."""


class Closed(Error):
    """The domain was closed."""


class CallError(Error):
    """A call did not return. What is not known of it is None.

    `str()` is the full report: domain, function, reason, source line.
    """

    def __init__(
        self,
        report: str,
        *,
        kind: str | None = None,
        reason: str | None = None,
        domain: str | None = None,
        module: str | None = None,
        function: str | None = None,
        address: int | None = None,
        access: str | None = None,
        instruction: int | None = None,
        location: tuple[str | None, str | None, int | None] | None = None,
        registers: dict[str, int] | None = None,
        trace: object = None,
    ):
        super().__init__(report)
        #: What happened, in a word or two: ``segv``, ``stack overflow``, ``time out`` …
        self.kind = kind
        #: The same in a sentence.
        self.reason = reason
        #: Name of the domain.
        self.domain = domain
        #: Name of the module.
        self.module = module
        #: The function that was called.
        self.function = function
        #: What the instruction accessed, as an offset from the domain's base.
        self.address = address
        #: ``read``, ``write`` or ``execute``.
        self.access = access
        #: The instruction, as an offset in the module's image.
        self.instruction = instruction
        #: The same as function, file and line.
        self.location = Location(*location) if location is not None else None
        #: Registers by name.
        self.registers = registers
        self._trace = trace

    @property
    def report(self) -> str:
        """The full report."""
        return str(self.args[0])

    @property
    def backtrace(self) -> str | None:
        """The functions that were in progress, a line for each, innermost first; worked out when asked for."""
        return None if self._trace is None else str(self._trace)

    def __reduce__(self):
        return _again, (type(self), self.args[0], {**self.__dict__, "_trace": self.backtrace})


def _again(kind: type[CallError], report: str, fields: dict) -> CallError:
    """An exception that another process has pickled."""
    error = kind.__new__(kind, report)
    error.args = (report,)
    error.__dict__.update(fields)
    return error


class Fault(CallError):
    """The domain crashed: a wild pointer, an illegal instruction, a stack overflow, ``abort`` …"""


class Timeout(CallError, TimeoutError):
    """The call's time limit or deadline passed."""


class Detached(CallError):
    """The caller's time limit passed, and the call goes on without it (``on_expiry``): what it uses must stay until it has ended."""


class QuotaExceeded(CallError):
    """The domain has used up what it may have: memory, CPU time, threads, depth, places in a queue."""


class Killed(CallError):
    """The domain was killed or closed during the call, or what was bound was revoked."""


class Revoked(Killed):
    """The registry took the name back: bind again when it is exported again."""


class Restarted(Killed):
    """The domain was restarted, and the function was bound for the instance before, without ``rebind=True``; or it was reset or
    restarted, and an argument or a pointer was made for the instance before."""


class Unresolved(CallError):
    """A domain called an import that its registry does not answer; the cause (``__cause__``) is the `RegistryError`."""


class Cancelled(CallError):
    """The asynchronous call was cancelled."""


class Exited(CallError):
    """The module called ``exit``."""

    def __init__(self, report: str, *, status: int | None = None, **fields):
        super().__init__(report, **fields)
        #: Its exit status.
        self.status = status


class Busy(CallError):
    """The domain is in use: a call is in progress, or it takes one caller at a time and was taken for too long."""


class Forked(CallError):
    """A child of ``os.fork`` uses a domain of its parent. It makes its own, of the modules that its parent has opened."""


class RegistryError(Error):
    """Why something was not exported, bound, linked or restarted."""


class UnknownName(RegistryError, LookupError):
    """Nothing is exported by this name."""

    def __init__(self, message: str, *, near: str | None = None):
        super().__init__(message)
        #: The most similar name that the client may bind.
        self.near = near


class Late(RegistryError, TimeoutError):
    """The name was not exported while the client waited, or another process did not answer in time."""


class Forbidden(RegistryError, PermissionError):
    """The principal may not bind it."""


class VersionError(RegistryError, LookupError):
    """The name is exported in other versions only."""


class Mismatch(RegistryError, SignatureError):
    """The exporter's signature is another one; the message names the first difference."""


class NoSignature(RegistryError, SignatureError):
    """No side says the signature: export with a prototype, or compile the module with ``-g``."""


class Taken(RegistryError):
    """The name is exported in this major version already, or another process serves at this path."""


class DomainTaken(RegistryError):
    """Another domain of this name exports here."""


class UnknownDomain(RegistryError, LookupError):
    """No domain of this name exports here."""


class UnknownImport(RegistryError, SymbolError):
    """The module has no such import."""


class HostFunction(RegistryError):
    """A function of Python's was to be bound for Python: call it directly."""


class RegistryFull(RegistryError):
    """No place for another export or binding."""


class RegistryGone(RegistryError):
    """The registry that the domain was made with is gone: keep it as long as the domain, or use `Registry.process`."""


class TooOften(RegistryError):
    """The domain was restarted as often as it may be."""


class Restarting(RegistryError):
    """The domain is being restarted already."""


class RemoteError(Error):
    """Another process refuses, or does not serve names; or this one cannot."""


class Disconnected(RemoteError, ConnectionError):
    """There is no connection to the other process, or none any more: it has ended, has too many clients, or takes none of this user."""
