"""`_native.pyi` says what the extension module has, and everything public is documented."""

import ast
import inspect
import sys
from pathlib import Path

import lockgate
from lockgate import _native

STUB = ast.parse((Path(lockgate.__file__).parent / "_native.pyi").read_text())


def names(body):
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def test_the_stub_has_what_the_module_has():
    here = {name for name in vars(_native) if not name.startswith("__") or name == "__version__"} - {"_native"}
    assert set(names(STUB.body)) == here


def test_the_stub_has_what_each_class_has():
    for node in STUB.body:
        if not isinstance(node, ast.ClassDef):
            continue
        kind = getattr(_native, node.name)
        # What every object has, says nothing.
        own = {name for name, value in vars(kind).items() if getattr(object, name, None) is not value}
        own -= {"__module__", "__doc__", "__repr__", "__str__", "__weakref__", "__dict__", "__buffer__", "__release_buffer__"}
        if "__eq__" in own:
            own -= {"__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}  # come with it
        stubbed = set(names(node.body)) - {"__repr__", "__str__", "__buffer__", "__release_buffer__"}
        if sys.version_info < (3, 10):
            own -= {"__new__"} - stubbed  # what cannot be made says so there; later, by a flag
        assert stubbed == own, node.name


def test_everything_public_is_documented():
    missing = []
    for name in lockgate.__all__:
        value = getattr(lockgate, name)
        if name.startswith("__"):
            continue
        if not inspect.getdoc(value):
            missing.append(name)
        if inspect.isclass(value):
            for part, member in vars(value).items():
                if not part.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    if not inspect.getdoc(getattr(value, part)):
                        missing.append(f"{name}.{part}")
    assert not missing
