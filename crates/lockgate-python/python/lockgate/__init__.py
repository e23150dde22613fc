"""Native libraries that cannot crash the interpreter.

`CDLL` feels like ctypes', for modules that ``lockgate cc`` has built::

    import lockgate
    from ctypes import c_double

    lib = lockgate.CDLL("cube.lg", time_limit=0.1)
    lib.cube_root(27.0)                 # 3.0: the module's note says what the function takes
    lib.crash(None)                     # raises lockgate.Fault, with function, file and line

What a module does wrong is an exception: `Fault`, `Timeout`, `QuotaExceeded` … It has no reach beyond its own memory, and what
is passed to it by reference is copied, unless it lies in a `Region` that was granted (``numpy.frombuffer(region)``).

docs/python.md says what is as in ctypes, and what is not.
"""

from . import _interpreter as _interpreter  # first: it refuses others before anything is set up
from . import _arguments, _callback, _pointer, _types
from ._asynchronous import AsyncCall, Workers
from ._callback import CFUNCTYPE, Callback
from ._domain import CDLL, Domain, Function, Module, Policy, PyDLL, Usage
from ._errors import (
    ArgumentError,
    BadPointer,
    Busy,
    CallError,
    Cancelled,
    Closed,
    Detached,
    Disconnected,
    DomainTaken,
    Error,
    Exited,
    Fault,
    Forbidden,
    Forked,
    GrantError,
    HostFunction,
    Killed,
    Late,
    LoadError,
    Location,
    Mismatch,
    NoSignature,
    OptionError,
    QuotaExceeded,
    RegistryError,
    RegistryFull,
    Rejected,
    RegistryGone,
    RemoteError,
    Restarted,
    Restarting,
    Revoked,
    SignatureError,
    SymbolError,
    Taken,
    Timeout,
    TooOften,
    UnknownDomain,
    UnknownImport,
    UnknownName,
    Unresolved,
    VersionError,
)
from ._native import Allow, Grant, Principal, Region, RemoteFunction, Token, __version__, claim_signals
from ._pointer import Pointer
from ._pool import Pool
from ._registry import Registry
from ._remote import Remote, Served, connect
from ._signals import watch as _watch
from ._types import Address

_types._arguments, _types._callback, _types._pointer = _arguments, _callback, _pointer

__all__ = [
    "CDLL",
    "CFUNCTYPE",
    "Address",
    "Allow",
    "ArgumentError",
    "AsyncCall",
    "BadPointer",
    "Busy",
    "CallError",
    "Callback",
    "Cancelled",
    "Closed",
    "Detached",
    "Disconnected",
    "Domain",
    "DomainTaken",
    "Error",
    "Exited",
    "Fault",
    "Forbidden",
    "Forked",
    "Function",
    "Grant",
    "GrantError",
    "HostFunction",
    "Killed",
    "Late",
    "LoadError",
    "Location",
    "Mismatch",
    "Module",
    "NoSignature",
    "OptionError",
    "Pointer",
    "Policy",
    "Pool",
    "Principal",
    "PyDLL",
    "QuotaExceeded",
    "Region",
    "Registry",
    "RegistryError",
    "RegistryFull",
    "Rejected",
    "RegistryGone",
    "Restarted",
    "Restarting",
    "Revoked",
    "Served",
    "SignatureError",
    "SymbolError",
    "Taken",
    "Timeout",
    "Token",
    "TooOften",
    "UnknownDomain",
    "UnknownImport",
    "UnknownName",
    "Unresolved",
    "Usage",
    "VersionError",
    "Workers",
    "__version__",
    "claim_signals",
    "connect",
]

_watch()
