"""Threads, processes and signals."""

import collections
import contextlib
import ctypes
import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import threading
import weakref
from ctypes import c_int, c_int64

import lockgate
import pytest


@pytest.mark.parametrize(("kind", "lets_go"), [(lockgate.CDLL, True), (lockgate.PyDLL, False)])
def test_a_call_lets_other_threads_run_or_not(hostile_module, kind, lets_go):
    """The domain waits for what only another thread of Python can write."""
    with kind(hostile_module, time_limit=60 if lets_go else 0.3) as library:
        region = lockgate.Region(4096)
        flag = memoryview(region).cast("i")
        grant = library.domain.grant(region)
        flag[0] = 1
        library.wait_for(grant)  # it is bound now, which lets others run, too
        flag[0] = 0
        go = threading.Event()

        def write():
            go.wait()
            flag[0] = 1

        thread = threading.Thread(target=write)
        thread.start()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # from here on this thread is not asked to let go of the lock
        try:
            go.set()
            if lets_go:
                library.wait_for(grant)
            else:
                with pytest.raises(lockgate.Timeout):
                    library.wait_for(grant)
        finally:
            sys.setswitchinterval(interval)
            thread.join()


def test_many_threads_call_one_domain(values_module):
    with lockgate.CDLL(values_module) as library:
        errors = []

        def work(seed):
            for n in range(300):
                numbers = (c_int64 * 8)(*range(seed, seed + 8))
                total = library.sum(numbers, 8)
                if total != 8 * seed + 28 or library.same_i64(n) != n:
                    errors.append((seed, total))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors


def test_callbacks_come_on_the_threads_that_call(hostile):
    seen = []
    callback = lockgate.CFUNCTYPE(c_int, c_int)(lambda x: seen.append(threading.get_ident()) or x)
    threads = [threading.Thread(target=hostile.call, args=(callback, n)) for n in range(4)]
    for thread in threads:
        thread.start()
    identities = {thread.ident for thread in threads}
    for thread in threads:
        thread.join()
    assert set(seen) <= identities and len(seen) == 4


def test_crashes_on_all_threads_at_once(hostile):
    caught = []

    def crash():
        for _ in range(50):
            try:
                hostile.null_write()
            except lockgate.Fault as fault:
                caught.append(fault.address)

    threads = [threading.Thread(target=crash) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == [0] * 300


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_cannot_use_its_parents_domains(values):
    assert values.same_i32(1) == 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            values.same_i32(2)
        except lockgate.Forked:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert values.same_i32(3) == 3


def square_in_a_domain(path, number):
    """For the test below: runs in a process of its own."""
    with lockgate.CDLL(path) as library:
        return library.same_i32(number) ** 2


def test_spawned_processes_have_domains_of_their_own(build):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(square_in_a_domain, [(build("values"), n) for n in range(4)]) == [0, 1, 4, 9]


INNER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import sys
{before}
inner = interpreters.create()
interpreters.run_string(inner, '''
for name in ("lockgate", "lockgate._native"):
    try:
        __import__(name)
    except ImportError as error:
        print("refused:", error, flush=True)
''')
{end}
import lockgate
assert lockgate.CDLL(sys.argv[1]).fine() == 42
print("held", flush=True)
"""


@pytest.mark.parametrize("end", ["", "interpreters.destroy(inner)"])
@pytest.mark.parametrize("before", ["", "import lockgate"])
def test_subinterpreters_are_refused(child, build, before, end):
    """Whoever comes first: the main one works afterwards, and ends as it should."""
    done = child(INNER.format(before=before, end=end), build("hostile"))
    assert done.returncode == 0 and not done.stderr, done
    # (ctypes, which it needs, refuses them itself on CPython 3.12.)
    by = "module _ctypes does not support" if sys.version_info[:2] == (3, 12) else "lockgate works in the main interpreter"
    assert done.stdout.count(f"refused: {by}") == 2 and done.stdout.endswith("held\n"), done


CRASH = """
import ctypes, faulthandler, signal, sys, lockgate
BEFORE, AFTER = {before!r}, {after!r}
exec(BEFORE)
library = lockgate.CDLL(sys.argv[1], time_limit=5)
def crash():
    try:
        library.null_write()
    except lockgate.Fault:
        print("caught", flush=True)
crash()
exec(AFTER)
crash()
assert library.fine() == 42
sys.stderr.flush()
{end}
"""
ENABLE = "faulthandler.enable()"
HANDLER = "signal.signal(signal.SIGSEGV, lambda *_: print('python', flush=True))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pass", "pass"),
        (ENABLE, "pass"),
        ("pass", ENABLE),
        (ENABLE, "faulthandler.disable()"),
        (ENABLE, "faulthandler.disable(); faulthandler.enable()"),
        (HANDLER, "pass"),
        ("pass", HANDLER),
        (ENABLE, HANDLER),
        (HANDLER, ENABLE),
    ],
)
def test_faults_of_domains_never_reach_handlers_of_python(child, build, before, after):
    done = child(CRASH.format(before=before, after=after, end=""), build("hostile"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n" * 2, ""), done


@pytest.mark.parametrize(("before", "after"), [(ENABLE, "pass"), ("pass", ENABLE), (ENABLE, "faulthandler.disable(); faulthandler.enable()")])
def test_faults_of_the_host_are_still_reported_once(child, build, before, after):
    done = child(CRASH.format(before=before, after=after, end="ctypes.string_at(16)"), build("hostile"))
    assert done.returncode == -signal.SIGSEGV and done.stdout == "caught\n" * 2, done
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1 and "string_at" in done.stderr, done


def test_faults_of_the_host_without_faulthandler_end_the_process(child, build):
    done = child(CRASH.format(before="pass", after="pass", end="ctypes.string_at(16)"), build("hostile"))
    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, ""), done


def test_faulthandler_is_watched_once():
    enable = faulthandler.enable
    lockgate._signals.watch()
    assert faulthandler.enable is enable and enable.__wrapped__.__module__ == "faulthandler"
    lockgate.claim_signals()


@pytest.fixture
def ctrl_c():
    """Python's own handler, also for tests that run in the background, where shells ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_comes_when_the_call_returns(hostile):
    """As with ctypes; a time limit bounds how long that may be."""
    region = lockgate.Region(4096)
    flag = memoryview(region).cast("i")
    grant = hostile.domain.grant(region)
    returned = []

    def interrupt():
        while hostile.domain.threads_inside == 0:
            pass
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        flag[0] = 1

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        hostile.wait_for(grant)
        returned.append(True)
        while True:
            pass
    thread.join()
    assert hostile.fine() == 42


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_a_callback_ends_the_call(hostile):
    def interrupt(x):
        signal.raise_signal(signal.SIGINT)
        return x

    with pytest.raises(KeyboardInterrupt):
        hostile.call(lockgate.CFUNCTYPE(c_int, c_int)(interrupt), 1)


def test_the_interpreter_ends_while_threads_are_inside(child, build):
    code = """
import sys, threading, lockgate
library = lockgate.CDLL(sys.argv[1])
threading.Thread(target=library.loop, daemon=True).start()
while library.domain.threads_inside == 0:
    pass
print("end", flush=True)
"""
    done = child(code, build("hostile"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done


def test_an_exception_on_a_thread_of_the_module_is_reported(build, monkeypatch):
    """It ends the domain, and no call of Python's is in progress that it could come out of."""
    told, reported = threading.Event(), []

    def hook(unraisable):
        reported.append((unraisable.exc_type, str(unraisable.exc_value), unraisable.exc_traceback is not None))
        told.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)

    def tick(n):
        raise ValueError(f"at {n}")

    with lockgate.CDLL(build("threads"), max_guest_threads=1, imports={"host_tick": tick}) as library:
        # The thread may have ended the domain before the function that started it returns.
        with contextlib.suppress(lockgate.Killed):
            library.start()
        told.wait()
        assert reported == [(ValueError, "at 0", True)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("end", ["close", "drop", "raise"])
def test_threads_of_the_module_call_python_until_their_domain_ends(build, end):
    """They need the GIL to come out of it: nobody may wait for them with the lock in hand."""
    ticks, enough, last = threading.Event(), threading.Event(), threading.Event()

    def tick(n):
        ticks.set()
        if enough.is_set():
            last.set()
            raise ValueError
        return n

    library = lockgate.CDLL(build("threads"), max_guest_threads=1, imports={"host_tick": tick})
    assert library.start() == 0
    if end == "raise":
        enough.set()
        last.wait()
        # The domain ends a little later than the thread's call; no other thread starts meanwhile.
        with pytest.raises(lockgate.Killed) as caught:
            while library.start() != 0:
                pass
        assert isinstance(caught.value.__cause__, ValueError)
    else:
        ticks.wait()
        domain = weakref.ref(library.domain)
        if end == "close":
            library.domain.close()
        del library
        gc.collect()
        assert domain() is None


def test_calls_in_callbacks_learn_that_the_domain_was_closed(hostile_module):
    """Not that their callbacks are gone, which is what closing does next."""
    callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda number: number)
    ended = []
    for _ in range(150):
        domain, inside = lockgate.Domain(hostile_module), threading.Event()
        function = domain["call_often"]

        def call(function=function, inside=inside):
            with pytest.raises(lockgate.Error) as caught:
                while True:
                    function(callback, 100)
                    inside.set()
            ended.append(type(caught.value))

        thread = threading.Thread(target=call)
        thread.start()
        inside.wait()
        domain.close()
        thread.join()
    # One that comes a moment later finds a closed domain.
    assert len(ended) == 150 and set(ended) <= {lockgate.Killed, lockgate.Closed}, collections.Counter(ended)


def test_no_exception_is_made_under_a_lock(child, build):
    """A callback is taken back while a thread of the module waits for the interpreter to call it. The exception that this makes lets
    others run, who pass another callback."""
    code = """
import ctypes, sys, threading, time, lockgate
UNARY = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
made, passed, caught = threading.Event(), threading.Event(), []
kinds = [lockgate.CallError, lockgate.Fault]
def watch(kind):
    before = kind.__init__
    def init(self, report, **fields):
        before(self, report, **fields)
        if "dropped the callback" in report:
            made.set()
            passed.wait(20)
    kind.__init__ = init
watch(lockgate.CallError)
sys.unraisablehook = lambda told: caught.append(told.exc_value)
def attempt():
    library = lockgate.CDLL(sys.argv[1], max_guest_threads=1, imports={"host_tick": int})
    region = lockgate.Region(4096)
    flags = memoryview(region).cast("i")
    library.domain.grant(region)
    callback = UNARY(lambda n: n)
    library.start_ring(callback, region)
    # Nobody else runs Python until the module's thread waits for that.
    sys.setswitchinterval(5)
    flags[0] = 1
    while not flags[1]:
        pass
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    del callback
    sys.setswitchinterval(0.005)
    if made.wait(1):
        try:
            library.call(UNARY(lambda n: n + 1), 1)
        except lockgate.Killed:
            pass
        passed.set()
while not made.is_set():
    attempt()
while not caught:
    pass
print(type(caught[0]).__name__, caught[0].kind, caught[0])
"""
    done = child(code, build("threads"), timeout=90)
    assert done.returncode == 0 and done.stdout.startswith("Fault gate the program dropped the callback"), done


def test_why_a_thread_of_the_module_ended_the_domain_is_told(build):
    """By the calls that find it ended."""
    with lockgate.CDLL(build("threads"), max_guest_threads=1, imports={"host_tick": int}) as library, lockgate.Workers(1, 1) as workers:
        raised = []
        while not raised:
            try:
                library.start_broken()
            except lockgate.Killed as error:
                raised.append(error)
        with pytest.raises(lockgate.Killed) as caught:
            workers.submit(library.start_broken).wait()
        for error in (*raised, caught.value):
            cause = error.__cause__
            assert type(cause) is lockgate.Fault and cause.kind == "segv" and cause.location.function == "broken"
    # One that the program has killed has no such cause.
    with lockgate.CDLL(build("threads"), max_guest_threads=1, imports={"host_tick": int}) as library:
        library.domain.kill()
        with pytest.raises(lockgate.Killed) as caught:
            library.start_broken()
        assert caught.value.__cause__ is None


def test_the_end_of_a_domain_is_no_exception_of_its_threads(build, monkeypatch):
    """A thread of the module's that calls Python while its domain is closed ends with it, and nobody is told of that."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: reported.append(repr(told.exc_value)))
    module = lockgate.Module(build("threads"))
    for _ in range(100):
        ticks = threading.Event()
        library = lockgate.CDLL(module, max_guest_threads=1, imports={"host_tick": lambda n, ticks=ticks: ticks.set() or n})
        assert library.start() == 0
        ticks.wait()
        library.domain.close()
    assert reported == []
