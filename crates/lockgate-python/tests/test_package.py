"""The package as users get it: types, documentation, the example, what the documents say."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import lockgate
import pytest
from conftest import ROOT, program


def test_it_is_typed_and_complete():
    package = resources.files(lockgate)
    assert (package / "py.typed").is_file() and (package / "_native.pyi").is_file()
    assert metadata.version("lockgate") == lockgate.__version__
    assert all(hasattr(lockgate, name) for name in lockgate.__all__)


def test_the_stubs_name_what_the_native_half_has():
    stubs = (resources.files(lockgate) / "_native.pyi").read_text()
    classes = dict(re.findall(r"^class (\w+).*?:\n(.*?)(?=^\S|\Z)", stubs, re.MULTILINE | re.DOTALL))
    for name, body in classes.items():
        native = getattr(lockgate._native, name)
        written = set(re.findall(r"^    def (\w+)", body, re.MULTILINE))
        own = {member for member in vars(native) if not member.startswith("__") or member in written}
        special = {"__new__", "__call__", "__enter__", "__exit__", "__len__"}
        assert written - special == own - special, name
    functions = set(re.findall(r"^def (\w+)", stubs, re.MULTILINE))
    have = {name for name, value in vars(lockgate._native).items() if inspect.isbuiltin(value)}
    assert functions == have


def test_its_sources_are_python_of_the_oldest_version():
    """What the grammar tells; `make pythons` runs them."""
    oldest = re.search(r'^requires-python = ">=3\.(\d+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    sources = [part for part in resources.files(lockgate).iterdir() if part.name.endswith((".py", ".pyi"))]
    assert len(sources) > 10
    for source in sources:
        ast.parse(source.read_text(), source.name, feature_version=(3, int(oldest[1])))


def test_policies_are_texts():
    """As with enum.StrEnum, in each version."""
    policy = lockgate.Policy.INTEGRITY
    assert policy == str(policy) == f"{policy}" == "integrity" and isinstance(policy, str)


@pytest.mark.parametrize("name", lockgate.__all__)
def test_everything_public_is_documented(name):
    thing = getattr(lockgate, name)
    if isinstance(thing, str):
        return
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_the_benchmark_measures_every_side(build):
    """What it measures is not judged here: that depends on the machine and its load."""
    source = ROOT / "bench/python/null.c"
    library, module = build.folder / "null.so", build.folder / "null.lg"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    subprocess.run([program(), "cc", "-g", "-shared", "-o", module, source], check=True)
    command = [sys.executable, ROOT / "bench/python/calls.py", library, module, "3", "10"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    sides = {"python.ctypes", "python.call", "python.ctypes_pydll", "python.call_pydll", "python.function"}
    assert set(printed["samples"]) == sides
    assert all(len(samples) == 3 and min(samples) > 0 for samples in printed["samples"].values())


def run(script: Path) -> str:
    environment = {**os.environ, "LOCKGATE": str(program())}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example():
    printed = run(ROOT / "examples/python/demo.py")
    for part in (
        "ctypes:   the interpreter ended with signal 11",
        "lockgate: width=3;height=4 makes 7",
        "read of a null pointer",
        "function sum_settings, line 1",
        "the call exceeded its time limit of 500ms",
        "and goes on: 27 takes 111 steps",
        "smoothed in place: [0.0, 3.0, 3.0, 3.0, 0.0]",
    ):
        assert part in printed, printed


#: C as a block that begins with its name, or as a shell writes it to a file.
SOURCES = (r"```c\n// (\S+)\n(.*?)```", r"cat > (\S+\.c) <<'EOF'\n(.*?)\n\s*EOF\n")


@pytest.mark.parametrize("document", ["docs/start/python.md", "docs/python.md"])
def test_what_documents_show_works(document, tmp_path, monkeypatch):
    """Python blocks are run one after the other, in a folder with modules of the C sources."""
    text = (ROOT / document).read_text()
    monkeypatch.chdir(tmp_path)
    for pattern in SOURCES:
        for name, code in re.findall(pattern, text, re.DOTALL):
            Path(name).write_text(code)
            if "int main" not in code:
                command = [program(), "cc", "-g", "-O1", "-shared", name, "-lm", "-o", Path(name).with_suffix(".lg")]
                subprocess.run(command, check=True, capture_output=True)
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    names = {}
    for number, code in enumerate(blocks):
        exec(compile(code, f"{document}, block {number + 1}", "exec"), names)
