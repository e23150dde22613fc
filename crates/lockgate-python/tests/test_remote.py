"""Functions of other processes: a server in Python, clients, children of both, and a server that lies."""

import array
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

import lockgate
import pytest
from lockgate import Allow, Registry
from test_forks import in_child

SERVER = """
import os, sys, lockgate
from lockgate import Allow, Registry
path, module = sys.argv[1:]
registry, me = Registry(), [Allow.user(os.geteuid())]
served = lockgate.Domain(module, name="far", time_limit=5)
names = {
    "same": None, "half": None, "flip": None, "pair": None, "count": None, "leave": None, "crash": None, "spin": None,
    "sum": "int64_t sum(const int64_t values[n], size_t n)", "twice": "void twice(double values[n], size_t n)",
}
for name in names:
    registry.export(served, name, (1, 2), of=name, allow=me)
registry.export(served, "secret", of="same", allow=[Allow.user(os.geteuid() + 1)])
registry.export(served, "hidden", of="same", allow=me)
end = registry.serve(path, {**names, "secret": None}, calls=2, buffer_bytes=8192)
print("serves", flush=True)
for line in sys.stdin:
    what, *names = line.split()
    if what == "restart":
        registry.restart("far")
    elif what == "revoke":
        registry.revoke(*names)
    else:
        end.close()
    print("done", flush=True)
"""


class Server:
    def __init__(self, path, module):
        self.path = path
        command = [sys.executable, "-c", SERVER, str(path), str(module)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "serves\n"

    def asks(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ends(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def server(tmp_path, build):
    server = Server(tmp_path / "far.share", build("far"))
    yield server
    server.process.kill()
    server.process.wait()
    server.process.stdin.close()
    server.process.stdout.close()


SUM = "int64_t sum(const int64_t values[n], size_t n)"


def test_values_and_buffers_cross(server):
    far = lockgate.connect(server.path)
    same = far.bind("same", "int same(int)")
    assert (same.name, same.prototype, same.domain) == ("same", "int32_t same(int32_t)", "far")
    assert same(-7) == -7 and "same of far" in repr(same)
    assert far.bind("half", "double half(double)", (1, 1))(5) == 2.5
    flip = far.bind("flip", "bool flip(bool)")
    assert flip(False) is True and flip(1) is False
    pair = far.bind("pair", "struct { double x; long n; } pair(struct { double x; long n; })")
    assert struct.unpack("dl", pair(struct.pack("dl", 2.0, 7))) == (7.0, 2)
    total = far.bind("sum", SUM)
    for values in (array.array("q", [1, -2, 30]), struct.pack("3q", 1, -2, 30), memoryview(array.array("q", [1, -2, 30]))):
        assert total(values, 3) == 29
    assert total(b"", 0) == 0
    twice = far.bind("twice", "void twice(double values[n], size_t n)")
    doubles = array.array("d", [1.5, -2])
    assert twice(doubles, 2) is None and doubles.tolist() == [3, -4]
    raw = bytearray(struct.pack("d", 8))
    twice(memoryview(raw), 1)
    assert struct.unpack("d", raw) == (16,)
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(4.0)
    twice(numbers[1:3], 2)
    assert numbers.tolist() == [0, 2, 4, 3]


def test_arguments_are_checked(server):
    far = lockgate.connect(server.path)
    total, twice = far.bind("sum", SUM), far.bind("twice", "void twice(double values[n], size_t n)")
    same = far.bind("same", "int same(int)")
    for call, match in [
        (lambda: total(b"x" * 8), "takes 2 arguments"),
        (lambda: total(b"x" * 7, 1), "7 bytes, argument 2 says another length"),
        (lambda: total(3, 1), "argument 1 of .* cannot be passed as a pointer"),
        (lambda: total(b"x" * 8, -1), "argument 2"),
        (lambda: same(1 << 40), "does not fit"),
        (lambda: same("1"), "argument 1"),
        (lambda: twice(b"x" * 8, 1), "pass a bytearray"),
        (lambda: total(bytes(8200), 1025), "at most 8192 bytes"),
    ]:
        with pytest.raises((lockgate.ArgumentError, lockgate.CallError), match=match):
            call()
    assert same(4) == 4


def test_names_are_as_in_a_registry(server):
    far = lockgate.connect(server.path)
    for name, prototype, kind in [
        ("nothing", "int f(int)", lockgate.UnknownName),
        ("hidden", "int f(int)", lockgate.UnknownName),
        ("secret", "int f(int)", lockgate.Forbidden),
        ("same", "int f(long)", lockgate.Mismatch),
        ("same", "int f(char *)", lockgate.SignatureError),
        ("sum", "int64_t f(int64_t values[n], size_t n)", lockgate.RemoteError),
    ]:
        with pytest.raises(kind):
            far.bind(name, prototype)
    with pytest.raises(lockgate.VersionError, match=r"1\.2"):
        far.bind("same", "int f(int)", (1, 3))
    with pytest.raises(lockgate.Late, match="0.02|20"):
        far.bind("later", "int f(int)", wait=0.02)
    with pytest.raises(lockgate.Disconnected, match="cannot connect"):
        lockgate.connect(server.path / "not" / "there")


def test_what_ends_a_call_is_raised(server):
    far = lockgate.connect(server.path)
    with pytest.raises(lockgate.Exited) as exited:
        far.bind("leave", "void leave(int)")(3)
    assert (exited.value.status, exited.value.domain, exited.value.function) == (3, "far", "leave")
    with pytest.raises(lockgate.Fault, match="called at crash") as crashed:
        far.bind("crash", "int crash(int)")(0)
    assert crashed.value.kind == "segv" and crashed.value.backtrace is None
    with pytest.raises(lockgate.Timeout, match="the time limit passed"):
        lockgate.connect(server.path, time_limit=0.1).bind("spin", "void spin(void)")()
    count, again = far.bind("count", "int count(void)"), far.bind("count", "int count(void)", rebind=True)
    half = far.bind("half", "double half(double)")
    assert (count(), again()) == (1, 2)
    server.asks("revoke half")
    with pytest.raises(lockgate.Revoked):
        half(1)
    server.asks("restart")
    with pytest.raises(lockgate.Restarted):
        count()
    assert again() == 1
    server.asks("close")
    assert not server.path.exists()
    with pytest.raises(lockgate.Killed):
        again()
    with pytest.raises(lockgate.Disconnected):
        far.bind("count", "int count(void)")


def test_a_server_that_dies_ends_its_calls(server):
    far = lockgate.connect(server.path)
    spin = far.bind("spin", "void spin(void)")
    same = far.bind("same", "int same(int)")
    ended = []

    def call():
        # (Disconnected: it dies before the call has begun.)
        with pytest.raises((lockgate.Killed, lockgate.Disconnected), match="far"):
            spin()
        ended.append(True)

    thread = threading.Thread(target=call)
    thread.start()
    assert same(1) == 1  # other threads run meanwhile
    server.process.kill()
    thread.join()
    assert ended


def test_a_signal_interrupts_a_call(server):
    far = lockgate.connect(server.path)
    spin = far.bind("spin", "void spin(void)")

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stop):
            spin()
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_have_connections_of_their_own(server):
    far = lockgate.connect(server.path)
    same = far.bind("same", "int same(int)")
    assert same(1) == 1

    def work():
        with pytest.raises(lockgate.Forked):
            same(1)
        with pytest.raises(lockgate.Forked):
            far.bind("same", "int same(int)")
        assert lockgate.connect(server.path).bind("same", "int same(int)")(2) == 2

    in_child(work)
    assert same(3) == 3


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_serving_is_the_parents_and_ends(tmp_path, build):
    registry, path = Registry(), tmp_path / "own.share"
    domain = lockgate.Domain(build("far"), name="far")
    registry.export(domain, "same", allow=[Allow.user(os.geteuid())])
    with registry.serve(path, ["same"]) as served:
        in_child(served.close)
        assert path.exists()
        with pytest.raises(lockgate.Taken):
            registry.serve(path, ["same"])

        def client():
            assert lockgate.connect(path).bind("same", "int same(int)")(5) == 5

        in_child(client)
        with pytest.raises(lockgate.Disconnected):
            lockgate.connect(path).bind("same", "int same(int)")  # no process is a client of its own
    assert not path.exists()
    served.close()
    with pytest.raises(lockgate.SignatureError, match="is a pointer"):
        registry.serve(path, {"same": "int same(char *)"})
    with pytest.raises(lockgate.OptionError):
        registry.serve(path, ["same"], clients=0)
    with pytest.raises(lockgate.RemoteError, match="cannot listen"):
        registry.serve(tmp_path / "no" / "folder", ["same"])


def test_a_server_may_say_anything(tmp_path):
    path = tmp_path / "liar"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        for says, kind in [
            (b"{", lockgate.RemoteError),
            (b'"Line"', lockgate.RemoteError),
            (b'{"Refused":{"Other":"\\u001b[2J no"}}', lockgate.RemoteError),
            (b"", lockgate.Late),
            (None, lockgate.Disconnected),
        ]:
            far = lockgate.connect(path, time_limit=0.05)
            accepted, _ = listener.accept()
            if says:
                accepted.send(says)
            if says is None:
                accepted.close()
            with pytest.raises(kind) as raised:
                far.bind("x", "int x(int)")
            assert "\x1b" not in str(raised.value)
            accepted.close()
