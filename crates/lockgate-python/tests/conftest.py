"""Modules for the tests: built from `guests/` once for each session, with the `lockgate` program of this tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import lockgate
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def built(name: str) -> Path | None:
    """The tree's newest build of a program."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    paths = [path for profile in ("release", "debug") if (path := target / profile / name).exists()]
    return max(paths, key=lambda path: path.stat().st_mtime, default=None)


def program() -> Path:
    """The lockgate program: $LOCKGATE, the tree's newest build, or the installed one."""
    if given := os.environ.get("LOCKGATE"):
        return Path(given)
    if found := built("lockgate"):
        return found
    if found := shutil.which("lockgate"):
        return Path(found)
    pytest.exit("no lockgate program: run `make python`, or set LOCKGATE to it", returncode=2)


def times(all_of_them: int, usually: int) -> int:
    """How often a test repeats what it does: `all_of_them` in `make thorough`."""
    return all_of_them if "LOCKGATE_THOROUGH" in os.environ else usually


class Builder:
    """Builds modules."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, name: str, *flags: str) -> Path:
        """The module of `guests/<name>.c`; with other flags than `-g -O1`, another one."""
        module = self.folder / f"{name}{''.join(flags)}.lg"
        if not module.exists():
            source = HERE / "guests" / f"{name}.c"
            own = re.findall(r"^// flags: (.*)$", source.read_text(), re.MULTILINE)
            given = [*(flags or ("-g", "-O1")), *shlex.split(" ".join(own))]
            command = [program(), "cc", *given, "-shared", "-o", module, source]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return module

    def plain(self, name: str) -> Path:
        """The same source as an ordinary shared library."""
        library = self.folder / f"{name}.so"
        if not library.exists():
            subprocess.run(
                ["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", library, HERE / "guests" / f"{name}.c"], check=True
            )
        return library


class During:
    """An argument that is a number, and does something while the call converts it."""

    def __init__(self, number, work):
        self.number, self.work = number, work

    def __index__(self):
        self.work()
        return self.number


@pytest.fixture(scope="session")
def build(tmp_path_factory) -> Builder:
    return Builder(tmp_path_factory.mktemp("guests"))


@pytest.fixture(scope="session")
def values_module(build) -> lockgate.Module:
    return lockgate.Module(build("values"))


@pytest.fixture(scope="session")
def hostile_module(build) -> lockgate.Module:
    return lockgate.Module(build("hostile"))


@pytest.fixture
def values(values_module):
    with lockgate.CDLL(values_module) as library:
        yield library


@pytest.fixture
def hostile(hostile_module):
    """A hostile module under limits. Whatever a test did with it, it and the interpreter still work."""
    with lockgate.CDLL(hostile_module, time_limit=30, memory_limit=24 << 20) as library:
        yield library
        if not library.domain.closed:
            assert library.fine() == 42


@pytest.fixture
def child():
    """Runs Python code in a process of its own: what it prints, and how it ended."""

    def run(code: str, *arguments: object, timeout: float = 120) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout)

    return run
