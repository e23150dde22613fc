"""Python's collector sees through native objects: what only a cycle keeps goes, and nothing else."""

import ctypes
import gc
import weakref
from ctypes import c_int

import lockgate
import pytest
from lockgate import Allow, Principal, Registry

UNARY = lockgate.CFUNCTYPE(c_int, c_int)

END = """
import ctypes, sys, lockgate
from ctypes import c_int
file = open(sys.argv[3], "w")
file.write("buffered")
class Last:
    def __del__(self):
        print("finalised")
last = Last()
UNARY = lockgate.CFUNCTYPE(c_int, c_int)
def same(n, more=0): return n
def imports(): return {"host_add": same, "host_scale": lambda values, n: 0.0}
class Pair(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("n", c_int)]
    def method(self): pass
hostile, module = sys.argv[1:3]
"""


@pytest.mark.parametrize(
    "code",
    [
        "kept = lockgate.CDLL(module, imports=imports()); assert kept.add_three(1, 2, 3) == 1",
        "kept = lockgate.Pool(module, 1, imports=imports())",
        "kept = lockgate.Pool(module, 1, imports=imports()).take(); domain = kept.__enter__()",
        "kept = lockgate.Registry(); kept.export_host(UNARY(same), 'same')",
        "kept = lockgate.CDLL(hostile); kept.fine.errcheck = lambda result, function, arguments: same(result); kept.fine()",
        "kept = lockgate.CDLL(hostile); callback = UNARY(same); kept.call(callback, 1)",
        "kept = lockgate.CDLL(hostile); callback = ctypes.CFUNCTYPE(c_int, c_int)(same); kept.call(callback, 1)",
        "kept = lockgate.CDLL(hostile); turn = lockgate.CFUNCTYPE(Pair, Pair)(lambda pair: pair); turn.address(kept.domain)",
        "kept = lockgate.CDLL(hostile); workers = lockgate.Workers(1, 1); c = workers.submit(kept.call, UNARY(same), 1); c.wait()",
    ],
)
def test_what_a_program_leaves_is_finalised(child, build, tmp_path, code):
    """A buffered file among it."""
    done = child(END + code, build("hostile"), build("imports"), tmp_path / "file")
    assert (done.returncode, done.stdout, done.stderr) == (0, "finalised\n", ""), done
    assert (tmp_path / "file").read_text() == "buffered"


class Plugin:
    """Owns a domain that calls it."""

    def __init__(self, module):
        self.lib = lockgate.CDLL(module, imports={"host_add": self.add, "host_scale": lambda values, n: 0.0})

    def add(self, a, b):
        return a + b


class Pooled:
    def __init__(self, module):
        self.pool = lockgate.Pool(module, 1, imports={"host_add": self.add, "host_scale": lambda values, n: 0.0})
        self.taken = self.pool.take()
        self.domain = self.taken.__enter__()

    add = Plugin.add


class Exporter:
    def __init__(self, module):
        self.registry = Registry()
        self.plugin = Plugin(module)
        self.registry.export(self.plugin.lib.domain, "add", of="add_three")
        self.registry.export_host(self.add, "host", prototype="long host(long, long)")

    add = Plugin.add


class Session:
    """Keeps the callback of its own method."""

    def __init__(self, make, lib):
        self.callback = make(self.event)
        assert lib.call(self.callback, 1) == 2

    def event(self, n):
        return n + 1


class Waiting:
    def __init__(self, lib):
        self.workers = lockgate.Workers(1, 1)
        lib.same_i32.errcheck = lambda result, function, arguments: self
        self.call = self.workers.submit(lib.same_i32, 1)
        assert self.call.wait() is self


@pytest.mark.parametrize("make", [Plugin, Pooled, Exporter])
def test_cycles_through_imports_are_collected(build, make):
    owner = weakref.ref(make(lockgate.Module(build("imports"))))
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("make", [lockgate.CFUNCTYPE(c_int, c_int), ctypes.CFUNCTYPE(c_int, c_int)])
def test_cycles_through_callbacks_are_collected(hostile, make):
    """More of them than a domain has places."""
    sessions = []
    for _ in range(1500):
        sessions.append(weakref.ref(Session(make, hostile)))
        if len(sessions) % 100 == 0:
            gc.collect()
    gc.collect()
    assert not any(session() for session in sessions)


def test_cycles_through_results_are_collected(values_module):
    with lockgate.CDLL(values_module) as lib:
        owner = weakref.ref(Waiting(lib))
        del lib.same_i32
        gc.collect()
        assert owner() is None


def test_what_a_living_domain_calls_is_not_collected(build):
    """However many cycles lead to it: a server's import, called through a link, and an exported function."""
    module = lockgate.Module(build("imports"))
    registry = Registry()

    def linked():
        far = Plugin(module)
        near = lockgate.CDLL(build("imports"))
        near.domain.link("host_add", far.lib.domain, "sum_here")
        return near

    class Host:
        def __init__(self):
            self.me = self
            registry.export_host(self.add, "host_add", prototype="long f(long, long)", allow=[Allow.everyone()])

        add = Plugin.add

    Host()
    client = lockgate.CDLL(module)
    registry.link(client.domain, "host_add", Principal.nobody())
    registry.unexport("host_add")
    near = linked()
    del registry
    for _ in range(3):
        gc.collect()
    assert client.add_three(1, 2, 3) == 6
    assert near.add_three(1, 2, 3) == 6
    near.domain.close()
    client.domain.close()
