"""Domains, their functions, and libraries that feel like ctypes'."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from . import _native, _types
from ._asynchronous import AsyncCall, Workers, default_workers
from ._callback import CFUNCTYPE, Callback
from ._errors import CallError, LoadError, OptionError, SignatureError, SymbolError
from ._pointer import Pointer, address_of, length_of
from ._types import STRING_LIMIT, Shape


class Policy(str, enum.Enum):
    """What a call keeps apart beyond what it always does (docs/policies.md). ``"+counted"`` and ``"+timed"`` may be added."""

    MUTUAL_DISTRUST = "mutual distrust"
    SERVER_TRUSTED = "server trusted"
    INTEGRITY = "integrity"
    MUTUAL_TRUST = "mutual trust"

    # As in enum.StrEnum, which CPython 3.9 and 3.10 do not have.
    __str__ = str.__str__
    __format__ = str.__format__


#: Of limits, seconds: as many milliseconds as the library counts.
LONGEST = float(1 << 32) / 1000


class Usage(NamedTuple):
    """What a domain uses at one moment. Memory in bytes, time in seconds."""

    memory: int
    peak_memory: int
    memory_limit: int
    threads: int
    descriptors: int
    calls: int
    #: None if it is not measured.
    cpu_time: float | None
    #: Calls in progress that go on without their callers.
    detached: int
    #: Those that have ended since the domain's start or reset.
    detached_ended: int
    #: Those of them that did not return.
    detached_failed: int
    #: So many of them, in the order in which their callers left them, have all ended.
    detached_settled: int


class Module(_native.Module):
    """A verified module, which any number of domains can be made of.

    `Module(path)` or `Module(image=bytes)`; `exports` and `imports` say what it has.
    """

    def __new__(cls, path: str | bytes | os.PathLike[Any] | None = None, *, image: Any = None) -> Module:
        if path is not None:
            path = os.fsdecode(path)
            if "\0" in path:
                raise LoadError(f"a zero in a path: {path!r}")
        return super().__new__(cls, path, image=image if image is None else bytes(memoryview(image)))


class Function(_native.Function):
    """A function of a domain. Calls raise `CallError` and its kinds in place of crashing.

    `argtypes`, `restype` and `errcheck` are as ctypes'. Without them, the module's note says what the function takes.
    """

    def __init__(self, domain: Domain, name: str):
        self._set_up(domain.module.exports[name])

    def _set_up(self, note: str | None) -> None:
        """Nothing is declared yet but what the note says."""
        self._note = note
        self._argtypes: list[Any] | None = None
        self._restype: Any = ...
        self._errcheck: Callable[..., Any] | None = None
        self._policy: str = Policy.MUTUAL_DISTRUST
        self._time_limit: float | None = None
        self._on_expiry = "stop"
        self._releases = True

    @property
    def _symbol(self) -> str:
        """Its name in C."""
        return self.name

    def _declared(self) -> tuple[list[Any], Any]:
        """Types of parameters and result, as far as known."""
        if self._note is not None:
            argtypes, restype = _types.of_note(self._note)
        elif self._argtypes is None:
            raise SignatureError(
                f"{self.domain.module.name} does not say what {self.name} takes: set its argtypes and restype, "
                "or compile the module with -g"
            )
        else:
            argtypes, restype = [], ctypes.c_int
        if self._argtypes is not None:
            argtypes = self._argtypes
        return argtypes, restype if self._restype is ... else self._restype

    def _shape(self) -> tuple[str, list[tuple[str, Any]], Callable[[Any, Any], Any] | None]:
        """Prototype, kinds, and what makes the result of a plain value."""
        argtypes, restype = self._declared()
        parameters = [_types.parameter(kind) for kind in argtypes]
        answer: Shape = _types.result(restype)
        kinds = [shape.kind for shape in (*parameters, answer)]
        return _types.prototype(answer, self._symbol, parameters), kinds, answer.wrap

    def _prepare(self) -> None:
        """Binds the function: called at its first call, and at the first after a change or a reset."""
        prototype, kinds, wrap = self._shape()
        self._bind(prototype, kinds, wrap, self._errcheck, self._releases, str(self._policy), self._limit())

    def _limit(self) -> tuple[float, str] | None:
        """The caller's own limit, as the native half wants it."""
        return None if self._time_limit is None else (self._time_limit, self._on_expiry)

    @property
    def argtypes(self) -> list[Any]:
        """Types of the arguments: ctypes' own, or classes with ``from_param``. None for what the module's note says."""
        return list(self._declared()[0])

    @argtypes.setter
    def argtypes(self, types: Iterable[Any] | None) -> None:
        listed = None if types is None else list(types)
        for kind in listed or ():
            _types.parameter(kind)
        self._argtypes = listed
        self._unbind()

    @property
    def restype(self) -> Any:
        """Type of the result; None for void."""
        return self._declared()[1]

    @restype.setter
    def restype(self, kind: Any) -> None:
        _types.result(kind)
        self._restype = kind
        self._unbind()

    @property
    def errcheck(self) -> Callable[..., Any] | None:
        """Called with result, function and arguments; what it returns is the result."""
        return self._errcheck

    @errcheck.setter
    def errcheck(self, check: Callable[..., Any] | None) -> None:
        self._errcheck = check
        self._unbind()

    @property
    def policy(self) -> str:
        """What the caller asks for; what the domain asks for is added."""
        return self._policy

    @policy.setter
    def policy(self, policy: str) -> None:
        self._policy = policy
        self._unbind()

    @property
    def time_limit(self) -> float | None:
        """How long a call may take, in seconds, or None. The domain's own ``time_limit`` counts if it is shorter."""
        return self._time_limit

    @time_limit.setter
    def time_limit(self, seconds: float | None) -> None:
        if seconds is not None:
            seconds = float(seconds)
            if not 0 <= seconds < LONGEST:
                raise OptionError(f"time_limit: {seconds} is no number of seconds")
        self._time_limit = seconds
        self._unbind()

    @property
    def on_expiry(self) -> str:
        """What becomes of a call that takes longer than `time_limit`: ``"stop"`` ends it, with `Timeout`.

        ``"detach"`` raises `Detached`, and the call goes on without its caller, on a thread of its own, until the domain's
        ``detached_limit``. Its result is lost, and buffers that were passed stay as they were. Where it cannot go on (in a callback,
        in a call of another domain), it ends with `Timeout`.
        """
        return self._on_expiry

    @on_expiry.setter
    def on_expiry(self, on_expiry: str) -> None:
        if on_expiry not in ("stop", "detach"):
            raise OptionError(f'on_expiry is "stop" or "detach", not {on_expiry!r}')
        self._on_expiry = on_expiry
        self._unbind()

    def submit(self, workers: Workers, *arguments: Any, timeout: float | None = None) -> AsyncCall:
        """Has one of the workers make the call; it is stopped if it has not ended `timeout` seconds from now."""
        return workers.submit(self, *arguments, timeout=timeout)

    async def call_async(self, *arguments: Any, timeout: float | None = None) -> Any:
        """The call, made by a worker, for asyncio. Cancelling the task stops the call."""
        return await default_workers().submit(self, *arguments, timeout=timeout)

    def __repr__(self) -> str:
        return f"<lockgate.Function {self.name} of {self.domain.name}>"


class Domain(_native.Domain):
    """An instance of a module, confined to memory of its own.

    `domain["name"]` is a function of it. As a context manager it is closed at the end of the block.

    All options are by name; times are in seconds, sizes in bytes:

    - ``name``: in reports; the module's by default
    - ``memory_limit`` (64 MiB), ``stack_size`` of each thread (1 MiB)
    - ``time_limit`` of each call, ``cpu_limit`` of all calls together, ``measure_cpu_time``
    - ``detached_limit`` (60) of each call that goes on without its caller (`Function.on_expiry`), from then on; 0: none does
    - ``thread_limit`` (63), ``max_guest_threads`` that the module may start (0), ``descriptor_limit`` (256), ``depth_limit``
    - ``mapping_limit``: separate mappings of memory (1024)
    - ``exclusive``: one caller at a time; True to wait for ever, or for how long
    - ``policy``: what the domain asks for in every call of it
    - ``imports``: functions that the module calls, by name: a `Callback`, or a function if the module's note has its signature
    - ``directories``: paths in the domain, each with a directory of the host's, or ``(directory, "rw")``
    - ``listen``, ``connect``: addresses of its sockets, ``["127.0.0.1:6379", "udp:10.0.0.1:53", "unix:/run/x.sock"]``
    - ``streams``: True to share standard input, output and error
    - ``arguments``, ``environment`` of the program
    - ``umask``: file mode creation mask at the start (0o022)
    - ``registry``, ``principal``: other imports are found by name in this `Registry`, on behalf of this `Principal`, each at its
      first call. The domain does not keep the registry
    - ``seal``: code can never change again, for domains that live as long as the process
    """

    def __new__(
        cls,
        module: Module | str | os.PathLike[str],
        *,
        imports: Mapping[str, Callback | Callable[..., Any]] | None = None,
        **options: Any,
    ) -> Domain:
        if isinstance(module, _native.Lent):
            return super().__new__(cls, module)
        if isinstance(module, _native.Pool):
            domain = super().__new__(cls, module)
        else:
            if not isinstance(module, _native.Module):
                module = Module(module)
            domain = super().__new__(cls, module, *given(module, imports, options))
        domain._know()
        return domain

    def __init__(self, module: Any, **_options: Any):
        pass

    def __getitem__(self, name: str) -> Function:
        if name not in self.module.exports:
            near = self.module._near(name) if isinstance(name, str) and name.isprintable() else None
            hint = f"; did you mean {near!r}?" if near else ""
            raise SymbolError(f"{self.module.name} exports no function {name!r}{hint}")
        return Function(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self.module.exports

    def usage(self) -> Usage:
        """What the domain uses now."""
        return Usage(**self._usage())

    def pointer(self, address: Any, type: Any = None) -> Pointer:
        """The pointer to what lies at an address of the domain: an int, or an `Address` that it wrote."""
        return Pointer(self, getattr(address, "value", address) or 0, type)

    def alloc(self, type: Any, count: int = 1) -> Pointer:
        """Memory for `count` values of a ctypes type, or for so many bytes, from the module's own ``malloc``.

        It stays until `Pointer.free`, or the end of a ``with`` block; beyond that, where a call goes on without its caller, until
        that has ended and the domain is used again.
        """
        self._end_left()
        if hasattr(type, "__index__"):
            return Pointer(self, self._alloc(length_of(operator.index(type) * count)), None)
        return Pointer(self, self._alloc(length_of(ctypes.sizeof(type) * count)), type)

    def place(self, value: Any) -> Pointer:
        """A copy of a ctypes object, of bytes (with a zero behind them) or of another buffer, in the domain's memory."""
        kind: Any = None
        if isinstance(value, ctypes.Array):
            kind = value._type_
        elif isinstance(value, (ctypes.Structure, ctypes.Union, _types.Simple)):
            kind = type(value)
        elif isinstance(value, (bytes, bytearray)):
            kind = ctypes.c_char
        self._end_left()
        data = _native.copied(_types.plain(value))
        if isinstance(value, (bytes, bytearray)):
            data += b"\0"
        pointer = Pointer(self, self._alloc(max(1, len(data))), kind)
        pointer.write(data)
        return pointer

    def _end(self, pointer: Pointer) -> None:
        """Frees what a ``with`` block ends with, once the calls have ended that have gone on without their callers: they may use it."""
        begun, settled = self._calls_left()
        if settled < begun:
            self.__dict__.setdefault("_left", []).append((pointer, begun))
        else:
            pointer.free()
        self._end_left()

    def _end_left(self) -> None:
        """Frees what calls have left that have ended since."""
        left = self.__dict__.get("_left")
        if not left:
            return
        (_, settled), current = self._calls_left(), Pointer(self, 0)._generation
        for one in tuple(left):
            pointer, begun = one
            if begun > settled and pointer._generation == current:
                continue
            # Another thread, or what `free` calls, may have been quicker. After a reset there is nothing to free, which that says.
            with contextlib.suppress(ValueError, CallError):
                left.remove(one)
                pointer.free()

    def string(self, address: int, limit: int = STRING_LIMIT) -> bytes:
        """The string at an address, at most `limit` bytes long. `BadPointer` if it has no end."""
        return self._string(address_of(getattr(address, "address", address)), length_of(limit))

    def grant(self, region: _native.Region, rights: str = "rw") -> _native.Grant:
        """Shares a region with the domain, to read (``"r"``) or to read and write (``"rw"``)."""
        return self._grant(region, rights)

    def array(self, shape: int | tuple[int, ...], dtype: Any = float, rights: str = "rw") -> Any:
        """A numpy array of zeros in memory that is shared with the domain: it is passed to functions without being copied.

        The memory is shared as long as the array, or another that is made of it, lives.

        Of the types that may be passed by reference: what the domain can write is never an object, a pointer or a character. Nor are
        truth values shared, of which numpy expects that they are 0 or 1 and stay so: share numbers, and compare a copy.

        The domain may change the array while numpy works on it. numpy counts or checks some arrays and then reads them again (masks,
        ``bincount``, ``repeat``), and would then write beyond its own memory: give it a copy of what such a function takes.
        """
        import numpy

        kind = numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError("objects of Python's cannot be shared with a domain")
        if "w" in rights and _has_truth(kind):
            raise TypeError("a domain could change a truth value while numpy works on it: share uint8, and compare a copy with 0")
        sample = numpy.zeros(1, kind)
        sample.flags.writeable = "w" in rights
        _native.check_memory(sample)
        sides = [operator.index(side) for side in (shape if hasattr(shape, "__iter__") else (shape,))]
        if any(side < 0 for side in sides):
            raise ValueError(f"an array of shape {tuple(sides)}: a side cannot be negative")
        # An array of arrays has their sides, too.
        sides, kind = [*sides, *kind.shape], kind.base
        count = math.prod(sides)
        region = _native.Region(max(1, count * kind.itemsize))
        self._share(region, rights)
        return numpy.frombuffer(region, kind, count).reshape(sides)

    def link(
        self, name: str, server: Domain, export: str | None = None, *, policy: str = Policy.MUTUAL_DISTRUST,
        on_failure: int | None = 0xFFFF_FFFF_FFFF_FFFF,
    ) -> None:  # fmt: skip
        """Answers the module's import `name` with a function of another domain, which is then called directly.

        If that fails, the caller gets `on_failure`; with None, its own call ends, too. A reset takes the link away.
        """
        self._link(name, server, export or name, str(policy), on_failure)

    def function_pointer(
        self, server: Domain, prototype: str, *, policy: str = Policy.MUTUAL_DISTRUST,
        on_failure: int | None = 0xFFFF_FFFF_FFFF_FFFF,
    ) -> Any:  # fmt: skip
        """A function pointer of this domain that leads to another domain's function, as long as the result lives."""
        return self._function_pointer(server, prototype, str(policy), on_failure)

    def __enter__(self) -> Domain:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _has_truth(kind: Any) -> bool:
    """Whether there are truth values in what has this dtype."""
    if kind.subdtype is not None:
        return _has_truth(kind.base)
    return kind.kind == "b" or any(_has_truth(field[0]) for field in (kind.fields or {}).values())


def given(
    module: Any, imports: Mapping[str, Callback | Callable[..., Any]] | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, str, list[tuple[str, Any]], Any]]]:
    """Options and imports as the native half wants them."""
    told = {name: value for name, value in options.items() if value is not None}
    if ("registry" in told) != ("principal" in told):
        raise OptionError("give registry and principal together: the registry finds imports on the principal's behalf")
    if "registry" in told:
        told["registry"] = told["registry"], told.pop("principal")
    return told, [_import(module, *pair) for pair in (imports or {}).items()]


def _import(module: Any, name: str, function: Any) -> tuple[str, str, list[tuple[str, Any]], Any]:
    """A host function for an import, as the native half wants it."""
    if not isinstance(function, Callback):
        note = module.imports.get(name)
        if note is None:
            raise SignatureError(f"{module.name} does not say what it calls {name} with: give a lockgate.CFUNCTYPE(…)(function)")
        function = callback_of_note(note, function)
    prototype, kinds, _ = function._signature()
    return name, prototype, kinds, function._answer()


def callback_of_note(note: str, function: Callable[..., Any]) -> Callback:
    """A callback that a prototype describes, as far as C tells."""
    argtypes, restype = _types.of_note(note)
    restype = ctypes.c_void_p if restype in (Pointer, ctypes.c_char_p) else restype
    argtypes = [Pointer if kind is ctypes.c_void_p else kind for kind in argtypes]
    return CFUNCTYPE(restype, *argtypes)(function)


class CDLL:
    """A module in a domain of its own, used as a library that ctypes has loaded: attributes are its functions.

    `lib.domain` is the domain; options are those of `Domain`. Threads that are in a call let others run Python.
    """

    _releases = True

    def __init__(self, module: Module | str | os.PathLike[str], **options: Any):
        #: The domain.
        self.domain = Domain(module, **options)

    def __getattr__(self, name: str) -> Function:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "domain":
            raise AttributeError(f"{type(self).__name__} has no domain yet: call its __init__ first")
        function = self[name]
        setattr(self, name, function)
        return function

    def __getitem__(self, name: str) -> Function:
        function = self.domain[name]
        function._releases = self._releases
        return function

    def __enter__(self) -> CDLL:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.domain.close()

    def __repr__(self) -> str:
        return f"<lockgate.{type(self).__name__} {self.domain.module.name!r}>"


class PyDLL(CDLL):
    """The same, but a call keeps the GIL: a little quicker, and no other thread runs Python meanwhile.

    Calls of an ``exclusive`` domain let go of it: they may have to wait for a thread that needs it.
    """

    _releases = False
