"""The attack suite (tests/attacks), but for scenarios, in a process that has `faulthandler` and handlers of an extension."""

import json
import os
import re
import subprocess
import time

import pytest
from conftest import ROOT, built

SUITE = ROOT / "tests/attacks/suite"

# Handlers of the host's, behind the library's back; and a function that is given to no module.
EXTENSION = r"""
#include <signal.h>
#include <unistd.h>
static volatile int ran;
static void handler(int number) {
    (void)number;
    _exit(write(2, "a handler of the host's has a fault\n", 36) > 0 ? 5 : 6);
}
int install(int number) {
    struct sigaction action = {.sa_handler = handler};
    return sigaction(number, &action, 0);
}
long out_of_reach(void) { return ran = 1; }
int reached(void) { return ran; }
"""

CHILD = r"""
import ctypes, faulthandler, json, os, re, signal, sys
import lockgate

folder, extension, answers = sys.argv[1:]
extension = ctypes.CDLL(extension)
word = int.from_bytes(os.urandom(8), "little")
secret = (ctypes.c_uint64 * 512)(*[word] * 512)
neighbour = lockgate.CDLL(answers)
assert neighbour.fine() == 42
pattern = [0x5afe5afe5afe5afe] * 512
neighbours = neighbour.domain.place((ctypes.c_uint64 * 512)(*pattern))
null = open(os.devnull, "w")
memory = os.open("/proc/self/mem", os.O_RDONLY)
LOW = (1 << 32) - 1


def handlers_come():
    faulthandler.enable(file=null)
    faulthandler.register(signal.SIGTRAP, file=null)
    for number in (signal.SIGFPE, signal.SIGILL, signal.SIGALRM):
        assert extension.install(int(number)) == 0


def address(argument, domain, own):
    if not isinstance(argument, str):
        return argument
    at = ctypes.addressof(secret)
    return {
        "secret": at,
        "lucky": at & ~LOW | own & LOW,
        "unlucky": at & ~LOW | 0x1230,
        "code": ctypes.cast(extension.out_of_reach, ctypes.c_void_p).value,
        "neighbour": neighbours.address,
        "own": own,
        "window": domain.base,
    }[argument]


def look_for_the_secret(base):
    for line in open("/proc/self/maps"):
        start, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        start, end = int(start, 16), int(end, 16)
        if base <= start < base + (1 << 33) and rights[:3] != "---":
            try:
                there = os.pread(memory, end - start, start)
            except OSError:
                continue  # beyond the end of a file
            assert word.to_bytes(8, "little") not in there, "the secret lies in the domain"


def attempt(attack):
    call = attack["call"]
    try:
        # (What is not about time may take long on a busy machine.)
        limit = call["time-limit"] if call["time-limit"] < 10_000 else 60_000
        library = lockgate.CDLL(os.path.join(folder, attack["file"]), time_limit=limit / 1000)
    except (lockgate.Rejected, lockgate.LoadError) as error:
        return "rejected", None, str(error)
    except lockgate.Error as error:
        return "refused", None, str(error)
    with library:
        try:
            needs_own = "own" in call["arguments"] or "lucky" in call["arguments"]
            own = library.domain.place((ctypes.c_uint64 * 512)()).address if needs_own else 0
            words = [address(argument, library.domain, own) for argument in call["arguments"]]
            handlers_come()
            function = library[call["function"]]
            function.argtypes, function.restype = [ctypes.c_int64] * 6, ctypes.c_int64
            signed = [ctypes.c_int64(word).value for word in words] + [0] * (6 - len(words))
            value = function(*signed)
            assert value & (1 << 64) - 1 != word, "the module has returned the secret"
            return "returns", value, ""
        except lockgate.CallError as error:
            return "fault", error.kind, str(error)
        except lockgate.Error as error:
            return "refused", None, str(error)
        finally:
            look_for_the_secret(library.domain.base)


for attack in json.load(open(os.path.join(folder, "attacks.json"))):
    print(attack["title"], file=sys.stderr, flush=True)  # what a crash was in
    ending = attempt(attack)
    assert list(secret) == [word] * 512, "the host's memory has changed"
    assert not extension.reached(), "code of the host ran"
    assert neighbours[0:512] == pattern and neighbour.fine() == 42, "the neighbour was changed"
    print(json.dumps([attack["title"], *ending]), flush=True)
"""


def is_held(expect, ending):
    ((expected, wanted),) = expect.items()
    how, what, text = ending
    if how != expected:
        return False
    if how == "returns":
        return wanted["value"] in (None, what)
    # (Kinds are words here, and some have a number: `exit 3`.)
    if how == "fault" and wanted["kind"] and not what.replace(" ", "_").startswith(wanted["kind"]):
        return False
    return (wanted["reason"] or "") in text


def test_every_attack_is_held(build, child, tmp_path):
    """Red if a domain's fault comes to a handler of the host's, or a module harms the process."""
    program = built("attacks")
    if program is None:
        pytest.skip("there is no program `attacks` in the tree (`cargo build -p attacks` makes it)")
    (tmp_path / "extension.c").write_text(EXTENSION)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "extension.so", tmp_path / "extension.c"], check=True)
    thorough = "LOCKGATE_THOROUGH" in os.environ
    part = int(os.environ.get("LOCKGATE_PART", time.time())) % 8
    titles = sorted(
        f"{folder.parent.name}/{folder.name}"
        for folder in SUITE.glob("*/*")
        if folder.is_dir() and not re.search("^scenario", (folder / "attack.toml").read_text(), re.MULTILINE)
    )
    chosen = [title for number, title in enumerate(titles) if thorough or number % 8 == part]
    subprocess.run([program, "--modules", tmp_path, *chosen], check=True)
    attacks = json.loads((tmp_path / "attacks.json").read_text())
    assert len(attacks) > len(chosen) // 2
    done = child(CHILD, tmp_path, tmp_path / "extension.so", build("hostile"), timeout=600)
    assert done.returncode == 0, f"LOCKGATE_PART={part}: {done.stdout[-200:]} {done.stderr[-1000:]}"
    endings = {title: ending for title, *ending in map(json.loads, done.stdout.splitlines())}
    ended = [(attack["title"], attack["expect"], endings[attack["title"]]) for attack in attacks]
    wrong = [attack for attack in ended if not is_held(*attack[1:])]
    assert not wrong, f"LOCKGATE_PART={part}: {wrong}"
