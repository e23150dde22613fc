"""A C library with a bug: under ctypes it kills the interpreter, under Lockgate it raises.

    make python && build/python/bin/python examples/python/demo.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
from ctypes import c_double
from pathlib import Path

import lockgate

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "settings.c"


def program() -> str:
    """The lockgate program: $LOCKGATE, the one of `make build`, or the installed one."""
    built = HERE.parents[1] / "target/release/lockgate"
    return os.environ.get("LOCKGATE") or (str(built) if built.exists() else shutil.which("lockgate") or "lockgate")


def build(folder: Path) -> tuple[Path, Path]:
    """The same source twice: a shared library, and a module. Compiled with -g, it says itself what its functions take."""
    library, module = folder / "libsettings.so", folder / "settings.lg"
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    subprocess.run([program(), "cc", "-g", "-O1", "-shared", "-o", module, SOURCE], check=True)
    return library, module


def under_ctypes(library: Path) -> None:
    """In a process of its own, because that does not survive."""
    code = f"import ctypes; ctypes.CDLL({str(library)!r}).sum_settings(b'width=3;height')"
    done = subprocess.run([sys.executable, "-c", code])
    print(f"ctypes:   the interpreter ended with signal {-done.returncode}")


def under_lockgate(module: Path) -> None:
    """Everything that goes wrong is an exception of the call that it happened in."""
    with lockgate.CDLL(module, time_limit=0.5) as settings:
        print(f"lockgate: width=3;height=4 makes {settings.sum_settings(b'width=3;height=4')}")
        try:
            settings.sum_settings(b"width=3;height")
        except lockgate.Fault as fault:
            print(f"lockgate: {fault}")
            print(f"          function {fault.location.function}, line {fault.location.line}, kind {fault.kind}")
        try:
            settings.steps(0)
        except lockgate.Timeout as timeout:
            print(f"lockgate: {timeout.reason}")
        print(f"lockgate: and goes on: 27 takes {settings.steps(27)} steps")

        # An array in shared memory is passed as it is, whatever its size.
        values = settings.domain.array(5, c_double)
        values[:] = [0, 0, 9, 0, 0]
        settings.smooth(values, len(values))
        print(f"lockgate: smoothed in place: {values.tolist()}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        library, module = build(Path(folder))
        under_ctypes(library)
        under_lockgate(module)
