"""Handlers that come after the first call, by Python's own doors and by an extension module (rules R11 and R14)."""

import subprocess

import pytest

EXTENSION = r"""
#include <signal.h>
static void handler(int number) { (void)number; }
int install(int number) {
    struct sigaction action = {.sa_handler = handler};
    return sigaction(number, &action, 0);
}
"""

# Each way installs a handler for a signal; each look is what comes between it and the next call.
CHILD = r"""
import ctypes, faulthandler, os, signal, sys
import lockgate

module, extension, way, look = sys.argv[1:]
ONSTACK = 0x08000000
libc = ctypes.CDLL(None)


def flags(number):
    action = (ctypes.c_ulong * 4)()
    assert libc.syscall(13, int(number), None, action, 8) == 0
    return action[1]


library = lockgate.CDLL(module)
assert library.fine() == 42  # the thread is admitted
null = open(os.devnull, "w")
other = signal.SIGFPE
if way == "extension":
    for number in (signal.SIGFPE, signal.SIGALRM):
        assert ctypes.CDLL(extension).install(int(number)) == 0
    other = signal.SIGALRM
elif way == "register":
    faulthandler.register(signal.SIGTRAP, file=null)
    other = signal.SIGTRAP
elif way == "enable":
    faulthandler.enable(file=null)
else:
    signal.signal(signal.SIGFPE, lambda *_: None)
if look == "fault":
    try:
        library.trap()
        raise SystemExit("no fault")
    except lockgate.Fault:
        pass
elif look == "domain":
    library = lockgate.CDLL(module)
elif look == "claim":
    lockgate.claim_signals()
assert library.fine() == 42  # the call that looks
assert flags(other) & ONSTACK, f"{way}, {look}: signal {other} without SA_ONSTACK"
for _ in range(3):
    try:
        library.divide(1, 0)
        raise SystemExit("no fault")
    except lockgate.Fault as fault:
        assert fault.kind, fault
assert library.fine() == 42
print("held")
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extension")
    (folder / "extension.c").write_text(EXTENSION)
    library = folder / "extension.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, folder / "extension.c"], check=True)
    return library


@pytest.mark.parametrize("look", ["none", "fault", "domain", "claim"])
@pytest.mark.parametrize("way", ["extension", "register", "enable", "signal"])
def test_handlers_that_come_late_are_put_behind(child, build, extension, way, look):
    if (way, look) == ("extension", "none"):
        pytest.skip("nobody looks before the next slow path (CAVEATS.md)")
    done = child(CHILD, build("hostile"), extension, way, look)
    assert done.returncode == 0 and done.stdout == "held\n", done.stdout + done.stderr


# Handlers that come behind the library's and go again; then the host crashes by itself.
AGAIN = r"""
import ctypes, faulthandler, resource, signal, sys
import lockgate

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
library = lockgate.CDLL(sys.argv[1])


def crash():
    try:
        library.null_write()
        raise SystemExit("no fault")
    except lockgate.Fault:
        pass


library.fine()
enable, disable = faulthandler.enable, faulthandler.disable
for step in sys.argv[2].split():
    if step == "watched":
        enable(), disable()
    elif step == "past":  # by none of the doors
        enable.__wrapped__(), disable.__wrapped__()
    elif step == "between":
        enable(), crash(), disable()
    elif step == "crash":
        crash()
    elif step == "enable":
        enable()
    elif step == "handler":
        before = signal.signal(signal.SIGSEGV, lambda *_: None)
        signal.signal(signal.SIGSEGV, before)
print("held", flush=True)
ctypes.string_at(0)
"""


@pytest.mark.parametrize(
    "steps",
    ["watched", "watched crash", "past", "past crash", "between crash", "watched " * 20, "between watched past crash", "handler watched",
     "watched enable", "past enable", "between enable crash"],
)  # fmt: skip
def test_a_host_that_crashes_ends_whatever_handlers_came_and_went(child, build, steps):
    """Red if a handler that is gone is called still: it returns, and the instruction faults again, for ever."""
    done = child(AGAIN, build("hostile"), steps, timeout=60)
    assert done.returncode == -11 and done.stdout == "held\n", (done.returncode, done.stdout, done.stderr)
    assert ("Fatal Python error" in done.stderr) == ("enable" in steps.split()), done.stderr
