"""Lives of domains: limits, reset, kill, close, links, policies."""

import contextlib
import gc
import os
import random
import subprocess
import sys
import threading
import time
import types
import weakref
from ctypes import byref, c_int32, c_int64

import lockgate
import pytest
from conftest import During, program


def test_options_are_checked(values_module):
    for options, message in [
        ({"nonsense": 1}, 'no option "nonsense"'),
        ({"memory_limit": "much"}, "memory_limit"),
        ({"time_limit": -1}, "time_limit"),
        ({"time_limit": 0.0}, "millisecond"),
        ({"stack_size": 1}, "stack size"),
        ({"policy": "blind trust"}, "no policy"),
        ({"directories": {"relative": "/tmp"}}, "starts with /"),
        ({"directories": {"/x": ("/tmp", "x")}}, "neither"),
        ({"directories": "/tmp"}, "directories"),
        ({"environment": ["A=b"]}, "environment"),
        ({"policy": 5}, "policy"),
        ({"umask": 0o1000}, "the umask is 0o1000"),
        ({"umask": -1}, "umask"),
    ]:
        with pytest.raises(lockgate.OptionError, match=message) as caught:
            lockgate.CDLL(values_module, **options)
        assert isinstance(caught.value, ValueError)
    with pytest.raises(lockgate.QuotaExceeded):
        lockgate.CDLL(values_module, memory_limit=4096)


def test_mappings_are_looked_at_once(values_module, tmp_path):
    """Any mapping will do, and what looking at it runs may change it."""

    class Path:
        def __fspath__(self):
            given["/other"] = self
            return str(tmp_path)

    given = {"/here": Path()}
    environment = types.MappingProxyType({"A": "b"})
    lockgate.Domain(values_module, directories=given, environment=environment).close()
    assert len(given) == 2


SLOW = """
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    struct pollfd answer = {atoi(getenv("ANSWER")), POLLIN, 0};
    if (write(atoi(getenv("QUESTION")), "x", 1) != 1 || poll(&answer, 1, 60000) != 1)
        abort();
    return EAI_NONAME;
}
"""

ANSWERS = """
import os, sys, threading, lockgate
(asked, question), (answer, answers) = os.pipe(), os.pipe()
os.environ.update(QUESTION=str(question), ANSWER=str(answer))
def work():
    os.read(asked, 1)
    os.write(answers, b"x")
threading.Thread(target=work, daemon=True).start()
try:
    lockgate.Domain(sys.argv[1], connect=["a.name.invalid:80"])
except lockgate.OptionError:
    print("answered")
"""


def test_others_run_while_the_resolver_looks_up_a_name(build, tmp_path):
    (tmp_path / "slow.c").write_text(SLOW)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "slow.so", tmp_path / "slow.c"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "slow.so")}
    command = [sys.executable, "-c", ANSWERS, build("values")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "answered\n"


def test_usage_and_names(values_module):
    with lockgate.Domain(values_module, name="counted", measure_cpu_time=True) as domain:
        assert (domain.name, domain.module) == ("counted", values_module)
        before = domain.usage()
        with domain.alloc(1 << 20):
            usage = domain.usage()
            assert usage.memory > before.memory
        assert usage.memory_limit == 64 << 20 and usage.calls == 0 and usage.cpu_time is not None
        assert usage.peak_memory >= usage.memory
        assert domain.threads_inside == 0 and domain.refused_syscalls == []
        assert "counted" in repr(domain)


def test_addresses_are_granted_by_name(values_module):
    for option, address, why in [
        ("connect", "127.0.0.1", "no port"),
        ("listen", "::1:80", "brackets"),
        ("listen", "unix:x", "starts with /"),
        ("listen", "unix:/tmp/a\0b", "none of them zero"),
        ("connect", "127.0.0.1:+80", "neither a port"),
    ]:
        with pytest.raises(lockgate.OptionError, match=why):
            lockgate.Domain(values_module, **{option: [address]})
    with lockgate.Domain(values_module, listen=["127.0.0.1:0"], connect=["udp:127.0.0.1:53"]) as domain:
        assert domain.denied == []


def test_a_reset_brings_the_pristine_image_back(values):
    number = c_int32(1)
    assert (values.count(), values.count()) == (1, 2)
    values.increment(byref(number))
    callback = lockgate.CFUNCTYPE(c_int32, c_int32)(lambda x: x)
    callback.address(values.domain)
    region = lockgate.Region(4096)
    grant = values.domain.grant(region)
    kept = values.domain.place(c_int32(5))
    values.domain.reset()
    assert values.count() == 1
    with pytest.raises(lockgate.Restarted, match="reset meanwhile"):
        values.increment(kept)
    with pytest.raises(lockgate.Restarted):
        kept.read(4)
    values.increment(byref(number))
    assert number.value == 3
    with pytest.raises(lockgate.GrantError):
        grant.address()
    assert callback.address(values.domain)


def test_no_reset_during_a_call(hostile):
    busy = []
    region = lockgate.Region(4096)
    grant = hostile.domain.grant(region)
    address = grant.address()

    def inside(_):
        with pytest.raises(lockgate.Busy):
            hostile.domain.reset()
        busy.append(callback.address(hostile.domain))
        return 0

    callback = lockgate.CFUNCTYPE(c_int32, c_int32)(inside)
    place = callback.address(hostile.domain)
    hostile.call(callback, 1)
    # What was refused has taken nothing away.
    hostile.call(callback, 1)
    assert busy == [place, place] and grant.address() == address
    hostile.domain.reset()
    assert hostile.fine() == 42


def test_a_refused_reset_changes_nothing(hostile):
    """It is refused while a call's arguments are converted, or as another handle keeps the domain: what was given to it stays."""
    unary = lockgate.CFUNCTYPE(c_int32, c_int32)
    domain, others = hostile.domain, []
    kept = unary(lambda x: x + 7)
    hostile.keep(kept)
    place = kept.address(domain)
    region = lockgate.Region(4096)
    grant = domain.grant(region)

    def refused():
        with pytest.raises(lockgate.Busy):
            domain.reset()
        # Were the place of another callback free, this one would answer for it.
        others.append(unary(lambda x: 666))
        others[-1].address(domain)

    assert hostile.call(unary(lambda x: x + 1), During(1, refused)) == 2
    registry = lockgate.Registry()
    registry.export(domain, "fine", allow=[lockgate.Allow.everyone()])
    refused()
    assert hostile.call_kept(1) == 8 and kept.address(domain) == place and grant.rights == "rw"
    registry.unexport("fine")
    hostile.domain.reset()
    assert hostile.call(kept, 1) == 8
    with pytest.raises(lockgate.Fault):
        hostile.call_kept(1)


@pytest.mark.parametrize("end", ["kill", "close"])
def test_constructors_that_a_reset_runs_can_be_ended(tmp_path, end):
    """They loop for ever when they run again: whoever ends the domain on another thread does not wait for them."""
    source = tmp_path / "loops.c"
    source.write_text(
        "int again(void); __attribute__((constructor)) static void start(void) { while (again()) ; } int one(void) { return 1; }"
    )
    built = [program(), "cc", "-O1", "-shared", "--gate", "int again(void)", "-o", tmp_path / "loops.lg", source]
    assert subprocess.run(built).returncode == 0
    first, begun, ended = [True], threading.Event(), []

    def again():
        if first:
            return 0
        begun.set()
        return 1

    domain = lockgate.Domain(tmp_path / "loops.lg", imports={"again": again})
    first.clear()

    def reset():
        try:
            domain.reset()
        except lockgate.Error as error:
            ended.append(error)

    thread = threading.Thread(target=reset)
    thread.start()
    begun.wait()
    getattr(domain, end)()
    thread.join()
    assert len(ended) == 1 and domain.closed, ended


def test_calls_wait_for_a_reset_of_another_thread(values):
    """They come before it, and it is refused, or behind it: no third thing happens to them."""
    wrong, over = [], threading.Event()

    def call():
        numbers = (c_int64 * 3)(1, 2, 3)
        while not over.is_set():
            try:
                # Bound already, or to be bound.
                if values.sum(numbers, 3) != 6 or values["sum"](numbers, 3) != 6:
                    wrong.append("another sum")
            except lockgate.Error as error:
                wrong.append(error)
            values.domain.usage()
            for _ in range(200):
                pass  # time in which nobody uses the domain

    pace = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=call)
    try:
        thread.start()
        resets = 0
        while not wrong and resets < 300:
            with contextlib.suppress(lockgate.Busy):
                values.domain.reset()
                resets += 1
    finally:
        over.set()
        sys.setswitchinterval(pace)
        thread.join()
    assert wrong == []


def test_a_closed_domain_answers_nothing(values):
    pointer = values.domain.place(b"x")
    count = values.count
    values.domain.close()
    values.domain.close()
    assert values.domain.closed
    for use in (
        count,
        values.domain.usage,
        values.domain.kill,
        values.domain.reset,
        pointer.string,
        pointer.free,
        lambda: values.domain.alloc(4),
        lambda: values.length(b"x"),
        lambda: values.domain.grant(lockgate.Region(4096)),
        lambda: values.domain.base,
    ):
        with pytest.raises(lockgate.Closed, match="closed"):
            use()


def test_context_managers_close(values_module):
    with pytest.raises(ZeroDivisionError), lockgate.CDLL(values_module) as library:
        raise ZeroDivisionError
    assert library.domain.closed


@pytest.mark.parametrize("how", ["close", "kill"])
def test_calls_in_progress_end_with_their_domain(hostile_module, how):
    """Use after close from another thread: one is inside, one comes later."""
    region = lockgate.Region(4096)
    library = lockgate.CDLL(hostile_module)
    grant = library.domain.grant(region)
    ended = []

    def wait():
        try:
            library.wait_for(grant)
        except (lockgate.Killed, lockgate.Fault) as error:
            # A fault, if the grant went while the thread was just about to enter.
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while library.domain.threads_inside == 0:
        pass
    getattr(library.domain, how)()
    thread.join(30)
    assert ended and not thread.is_alive()
    with pytest.raises((lockgate.Closed, lockgate.Killed)):
        library.fine()


def test_domains_go_with_their_last_user(values_module):
    library = lockgate.CDLL(values_module)
    function = library.count
    domain = weakref.ref(library.domain)
    del library
    gc.collect()
    assert domain() is not None and function() == 1
    del function
    gc.collect()
    assert domain() is None


def test_a_thousand_domains_leave_nothing(values_module):
    for _ in range(1000):
        with lockgate.CDLL(values_module) as library:
            assert library.count() == 1


def test_policies(values):
    values.count.policy = lockgate.Policy.INTEGRITY
    assert values.count.enforced is None
    assert values.count() == 1 and values.count.policy == values.count.enforced == "integrity"
    values.count.policy = "mutual distrust+counted"
    assert values.count() == 2
    values.count.policy = "none"
    with pytest.raises(lockgate.OptionError):
        values.count()


def test_links_between_domains(build):
    module = lockgate.Module(build("imports"))
    with lockgate.Domain(build("server"), name="server") as server, lockgate.CDLL(module) as client:
        client.domain.link("host_add", server)
        assert client.add_three(1, 2, 3) == 10203
        client.domain.link("host_add", server, "broken", on_failure=7)
        assert client.add_three(1, 2, 3) == 7
        client.domain.link("host_add", server, "broken", on_failure=None)
        with pytest.raises(lockgate.Fault, match="null pointer") as caught:
            client.add_three(1, 2, 3)
        assert caught.value.domain == "server"
        with pytest.raises(lockgate.SymbolError):
            client.domain.link("missing", server)


def test_function_pointers_between_domains(build, hostile):
    source = "int32_t triple(int32_t x)"
    with lockgate.Domain(build("triple")) as server:
        pointer = hostile.domain.function_pointer(server, source)
        assert hostile.call(pointer.address, 5) == 15
        assert hostile.call(pointer, 6) == 18
        del pointer


def test_exclusive_domains(hostile_module):
    with lockgate.CDLL(hostile_module, exclusive=0.05, time_limit=30) as library:
        region = lockgate.Region(4096)
        view = memoryview(region).cast("i")
        grant = library.domain.grant(region)
        thread = threading.Thread(target=lambda: library.wait_for(grant))
        thread.start()
        while library.domain.threads_inside == 0:
            pass
        with pytest.raises(lockgate.Busy):
            library.fine()
        view[0] = 1
        thread.join(30)
        assert library.fine() == 42


def test_directories_and_streams(build, tmp_path):
    (tmp_path / "note").write_bytes(b"from the host")
    options = {"directories": {"/data": tmp_path}, "arguments": ["x"], "environment": {"NAME": "value"}}
    with lockgate.CDLL(build("files"), **options) as library:
        assert library.first_byte(b"/data/note") == ord("f")
        assert library.first_byte(b"/etc/passwd") < 0
        assert library.write_byte(b"/data/new") < 0
    with lockgate.CDLL(build("files"), directories={"/data": (tmp_path, "rw")}) as library:
        assert library.write_byte(b"/data/new") == 1
    assert (tmp_path / "new").read_bytes() == b"x"
    with lockgate.CDLL(build("files"), directories={"/data": (tmp_path, "rw")}, umask=0o400) as library:
        assert library.write_byte(b"/data/secret") == 1
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o200


def test_regions_are_shared_without_copies(values):
    numpy = pytest.importorskip("numpy")
    region = lockgate.Region(8192)
    assert len(region) == 8192
    numbers = numpy.frombuffer(region, dtype="int64", count=4)
    numbers[:] = [1, 2, 3, 4]
    with values.domain.grant(region) as grant:
        assert (grant.rights, grant.region, grant.domain) == ("rw", region, values.domain)
        # The array, a part of it, the region, the grant and an address: all lead to the same bytes.
        for form in (numbers, numbers[:], region, grant, grant.address(), memoryview(region)):
            assert values.sum(form, 4) == 10
        assert values.sum(numbers[2:], 2) == 7
        assert values.same_place(numbers[1:], grant.address(8)) == 1
        doubles = numpy.frombuffer(region, dtype="float64", count=4, offset=4096)
        doubles[:] = 1.5
        values.twice(doubles, 4)
        assert doubles.tolist() == [3.0] * 4
        shaped = values.domain.array((2, 3), "float64")
        values.twice(shaped, 6)
        assert shaped.shape == (2, 3) and not shaped.any()
        # Shapes and types are what numpy.zeros() takes.
        pairs = values.domain.array(numpy.int64(3), ("int32", (2,)))
        assert pairs.shape == (3, 2) and pairs.dtype == numpy.dtype("int32")
        assert values.domain.array((1, 2), ("u1", (3, 4))).shape == (1, 2, 3, 4)
        with pytest.raises(TypeError, match="integer"):
            values.domain.array(1.5)
    # No more: what is passed now is a copy.
    values.twice(doubles, 4)
    assert doubles.tolist() == [6.0] * 4
    with pytest.raises(lockgate.ArgumentError, match="grant"):
        values.sum(region, 4)


def test_the_domain_writes_in_place(hostile):
    region = lockgate.Region(4096)
    view = memoryview(region)
    hostile.domain.grant(region)
    hostile.scribble(view[16:32], 8)
    assert bytes(view[:32]) == bytes(16) + b"\xff" * 8 + bytes(8)
    # And not beyond, whatever it says.
    with pytest.raises(lockgate.Fault) as caught:
        hostile.scribble(view, 1 << 20)
    assert caught.value.address == region.offset + 4096


def test_rights_of_grants(hostile, values):
    region = lockgate.Region(4096)
    grant = hostile.domain.grant(region, "r")
    with pytest.raises(lockgate.Fault, match="without the right"):
        hostile.scribble(grant, 1)
    with pytest.raises(lockgate.GrantError):
        grant.pass_on(values.domain, "rw")
    onward = grant.pass_on(values.domain, "r")
    assert values.sum(onward, 4) == 0
    with pytest.raises(lockgate.ArgumentError, match="another domain"):
        values.sum(grant, 4)
    grant.revoke()
    grant.revoke()
    for use in (onward.address, lambda: grant.rights, lambda: grant.downgrade("r")):
        with pytest.raises(lockgate.GrantError, match="revoked"):
            use()
    again = hostile.domain.grant(region)
    hostile.scribble(again, 1)
    again.downgrade("r")
    with pytest.raises(lockgate.Fault):
        hostile.scribble(again, 1)
    with pytest.raises(lockgate.GrantError):
        hostile.domain.grant(region)
    with pytest.raises(lockgate.OptionError):
        hostile.domain.grant(lockgate.Region(4096), "rwx")
    with pytest.raises(lockgate.GrantError):
        lockgate.Region(0)


def test_memory_stays_as_long_as_somebody_looks(values_module):
    region = lockgate.Region(4096)
    view = memoryview(region).cast("q")
    with lockgate.CDLL(values_module) as library:
        library.domain.grant(region)
        view[0] = 5
        assert library.sum(view, 1) == 5
    del region
    gc.collect()
    view[1] = 6
    assert view[:2].tolist() == [5, 6]


def test_a_wrong_number_of_bytes_is_the_domains_problem(values):
    with pytest.raises(lockgate.Fault):
        values.sum((c_int64 * 2)(), 1 << 40)


@pytest.mark.parametrize("pooled", [False, True])
def test_an_exclusive_domain_is_waited_for_without_the_interpreter(child, build, pooled):
    """PyDLL keeps the GIL in calls; who is inside may need it."""
    code = f"""
import ctypes, sys, threading, lockgate
inside, UNARY = threading.Event(), lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
lib = lockgate.PyDLL(sys.argv[1], exclusive=True)
if {pooled}:
    taken = lockgate.Pool(sys.argv[1], 1, exclusive=True).take()
    lib.domain = taken.__enter__()
def slow(n):
    inside.set()
    threading.Event().wait(0.2)
    return n
thread = threading.Thread(target=lib.call, args=(UNARY(slow), 1))
thread.start()
inside.wait()
print(lib.fine())
thread.join()
"""
    done = child(code, build("hostile"), timeout=60)
    assert (done.returncode, done.stdout) == (0, "42\n"), done


def test_a_library_without_its_domain_says_so():
    class Library(lockgate.CDLL):
        def __init__(self):
            self.version()

    with pytest.raises(AttributeError, match="no domain yet"):
        Library()


def test_patience_without_end(values_module):
    """No clock ever gets there: it is as good as None, and does not end the process."""
    longest = (1 << 64) - 2048
    with lockgate.CDLL(values_module, exclusive=longest, time_limit=longest) as library:
        with lockgate.Pool(values_module, 1, exclusive=longest).take() as pooled:
            assert pooled["count"]() == 1
        # Many threads, so that some have to wait.
        threads = [threading.Thread(target=lambda: [library.count() for _ in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert library.count() == 4001


def test_a_suggestion_costs_little_however_many_names_there_are(tmp_path, build):
    source = tmp_path / "many.s"
    # The same letters in another order, as hard to compare as may be.
    letters = list("open_the_database_with_all_its_options_and_return_a_handle")
    order = random.Random(1)
    names = [f"f{n}_{''.join(order.sample(letters, len(letters)))}" for n in range(6000)]
    lines = (f".globl {name}\n.type {name},@function\n{name}: endbr64\n ret\n" for name in names)
    source.write_text(".text\n" + "".join(lines))
    subprocess.run([program(), "cc", "-shared", "-o", tmp_path / "many.lg", source], check=True)
    with lockgate.Domain(tmp_path / "many.lg") as domain:
        begun = time.process_time()  # the machine's is others', too
        with pytest.raises(lockgate.SymbolError):
            domain["f1234_" + "".join(letters)]
        assert time.process_time() - begun < 1
    with lockgate.Domain(build("values")) as domain, pytest.raises(lockgate.SymbolError, match="did you mean 'count'"):
        domain["coumt"]


def test_what_exit_leaves_locked_is_an_error_not_a_wait(hostile_module):
    """`exit` ends in the middle of libc, and the domain lives on."""
    with lockgate.CDLL(hostile_module) as library:
        for number in range(3):
            with pytest.raises((lockgate.Exited, lockgate.Fault)) as caught:
                library.leave(3)
            assert isinstance(caught.value, lockgate.Exited) or "lock of its C library" in str(caught.value), number
        library.domain.reset()
        with pytest.raises(lockgate.Exited):
            library.leave(4)
