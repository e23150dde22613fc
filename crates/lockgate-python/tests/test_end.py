"""The interpreter ends while threads are in domains, come back from them, or are in Python that a domain has called.

Before CPython 3.14 it ends them by `pthread_exit` when they want its lock; nothing of Lockgate can be unwound."""

import pytest
from conftest import times

BEGIN = """
import asyncio, ctypes, sys, threading, time, lockgate
from ctypes import c_int
hostile, threads = sys.argv[1:3]
UNARY = lockgate.CFUNCTYPE(c_int, c_int)
begun = threading.Event()
def daemons(work):
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    begun.wait()
def slow(n):
    begun.set()
    time.sleep(0.001)
    return n
def quick(n):
    begun.set()
    return n
"""
END = """
file = open(sys.argv[3], "w")
file.write("buffered")
"""


@pytest.mark.parametrize(
    "code",
    [
        """
lib = lockgate.CDLL(hostile)
def work():
    while True:
        lib.fine()
        begun.set()
daemons(work)
""",
        """
lib = lockgate.CDLL(hostile)
def work():
    callback = UNARY(slow)
    while True:
        lib.call(callback, 1)
daemons(work)
""",
        """
lib = lockgate.CDLL(hostile)
def work():
    while True:
        lib.call(UNARY(quick), 1)
daemons(work)
""",
        """
lib = lockgate.PyDLL(hostile)
def work():
    while True:
        lib.call(UNARY(slow), 1)
daemons(work)
""",
        """
lib = lockgate.CDLL(threads, max_guest_threads=2, imports={"host_tick": slow})
lib.start(), lib.start()
begun.wait()
""",
        """
lib = lockgate.CDLL(hostile)
workers, callback = lockgate.Workers(2, 100), UNARY(slow)
calls = [workers.submit(lib.call, callback, 1) for _ in range(100)]
begun.wait()
""",
        """
lib = lockgate.CDLL(hostile)
async def main():
    try:
        await asyncio.wait_for(lib.loop.call_async(), 0.05)
    except asyncio.TimeoutError:
        pass
asyncio.run(main())
""",
        """
lib = lockgate.CDLL(hostile)
callback = UNARY(slow)
async def main():
    task = asyncio.create_task(lib.call.call_async(callback, 1))
    while not begun.is_set():
        await asyncio.sleep(0)
    task.cancel()
asyncio.run(main())
""",
        """
lib = lockgate.CDLL(hostile)
async def main():
    await asyncio.gather(*(lib.use_text.call_async(b"x") for _ in range(30)))
asyncio.run(main())
lockgate._asynchronous.default_workers().submit(lib.loop)
""",
    ],
)
def test_the_interpreter_ends_in_order(child, build, tmp_path, code):
    for _ in range(3):
        done = child(BEGIN + code + END, build("hostile"), build("threads"), tmp_path / "file", timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        # What the frames of a thread keep that never comes back is never finalised, with any library.
        if "daemons(work)" not in code and "slow" not in code:
            assert (tmp_path / "file").read_text() == "buffered"


def test_the_end_waits_for_whom_it_waits(child, build):
    """A handler of the program's own that runs behind Lockgate's still gets its calls, and their callbacks."""
    code = """
import atexit, sys
ended = []
def finish():
    ended.extend(call.wait() for call in calls)
    workers.finish()
    print(ended == list(range(20)))
atexit.register(finish)
import ctypes, lockgate
lib, workers = lockgate.CDLL(sys.argv[1]), lockgate.Workers(2, 100)
UNARY = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
calls = [workers.submit(lib.call, UNARY(lambda n: n), n) for n in range(20)]
"""
    done = child(code, build("hostile"), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", ""), done


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_was_forked_while_threads_come_back_ends(child, build):
    code = """
import os, sys, threading, lockgate
lib = lockgate.CDLL(sys.argv[1])
over = threading.Event()
def work():
    while not over.is_set():
        lib.fine()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
sys.setswitchinterval(1e-6)
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        sys.exit(0)
    assert os.wait()[1] == 0
over.set()
for thread in threads: thread.join()
"""
    done = child(code, build("hostile"), str(times(50, 15)), timeout=90)
    assert done.returncode == 0, done


def test_what_is_finalised_last_makes_its_first_call(child, build):
    """By then Python imports nothing any more."""
    code = """
import sys, lockgate
class Last:
    def __init__(self, lib):
        self.lib = lib
    def __del__(self):
        print(self.lib.fine())
sys.modules["kept"] = Last(lockgate.CDLL(sys.argv[1]))
"""
    done = child(code, build("hostile"), timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.strip().isdigit(), done
