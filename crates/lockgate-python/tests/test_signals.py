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
        pytest.skip("nobody looks before the next slow way (CAVEATS.md)")
    done = child(CHILD, build("hostile"), extension, way, look)
    assert done.returncode == 0 and done.stdout == "held\n", done.stdout + done.stderr
