"""Whatever a module does is an exception of its kind, with a report; the interpreter goes on (see the fixture `hostile`)."""

import copy
import errno
import pickle
from ctypes import POINTER, Structure, byref, c_int, c_int32, c_uint64, c_void_p

import lockgate
import pytest


@pytest.mark.parametrize(
    ("call", "arguments", "error", "kind"),
    [
        ("null_write", (), lockgate.Fault, "segv"),
        ("wild_read", (), lockgate.Fault, "segv"),
        ("wild_jump", (), lockgate.Fault, None),
        ("divide", (1, 0), lockgate.Fault, "fpe"),
        ("divide", (-(2**31), -1), lockgate.Fault, "fpe"),
        ("deep", (0,), lockgate.Fault, "stack overflow"),
        ("give_up", (), lockgate.Fault, "abort"),
        ("trap", (), lockgate.Fault, "ill"),
        ("leave", (3,), lockgate.Exited, "exit 3"),
        ("eat", (), lockgate.QuotaExceeded, "quota"),
        ("no_thread", (), lockgate.Fault, "abort"),
    ],
)
def test_every_crash_is_an_exception(hostile, call, arguments, error, kind):
    with pytest.raises(error) as caught:
        hostile[call](*arguments)
    report = caught.value
    assert type(report) is error and isinstance(report, lockgate.CallError)
    assert kind is None or report.kind == kind
    assert (report.domain, report.module, report.function) == ("hostile.lg", "hostile.lg", call)
    assert call in str(report) and report.reason in str(report)


def test_the_report_is_complete(hostile):
    with pytest.raises(lockgate.Fault) as caught:
        hostile.null_write()
    report = caught.value
    assert (report.address, report.access) == (0, "write")
    assert report.location.function == "null_write"
    assert report.location.file.endswith("hostile.c")
    source = open(__file__.replace("test_hostile.py", "guests/hostile.c")).read().splitlines()
    assert "null_write" in source[report.location.line - 1]
    assert report.registers["rip"] and report.instruction
    assert f"hostile.c:{report.location.line}" in report.report
    assert "null_write" in report.backtrace and "entered at null_write, domain hostile.lg" in report.backtrace
    again = pickle.loads(pickle.dumps(report))
    assert type(again) is lockgate.Fault and str(again) == str(report) and again.backtrace == report.backtrace
    assert vars(again) == {**vars(report), "_trace": report.backtrace}


def test_the_status_of_exit(hostile):
    with pytest.raises(lockgate.Exited) as caught:
        hostile.leave(7)
    assert caught.value.status == 7


def test_endless_loops_end(hostile_module):
    with lockgate.CDLL(hostile_module, time_limit=0.5) as library:
        with pytest.raises(lockgate.Timeout, match="time limit of 500ms") as caught:
            library.loop()
        assert isinstance(caught.value, TimeoutError) and caught.value.kind == "time out"
        assert library.fine() == 42


def test_processor_time_is_a_quota(hostile_module):
    with lockgate.CDLL(hostile_module, cpu_limit=0.05, time_limit=60) as library:
        with pytest.raises(lockgate.QuotaExceeded) as caught:
            library.loop()
        assert caught.value.kind == "cpu time"
        with pytest.raises(lockgate.QuotaExceeded, match="CPU time"):
            library.fine()
        library.domain.reset()
        assert library.fine() == 42


def test_wild_strings(hostile):
    with pytest.raises(lockgate.BadPointer, match="not all readable"):
        hostile.wild_string()
    with pytest.raises(lockgate.BadPointer, match="no string of at most"):
        hostile.unterminated()
    # With more patience it is only memory.
    hostile.unterminated.restype = c_void_p
    assert len(hostile.domain.string(hostile.unterminated(), 1 << 28)) >= 3 << 20


def test_wild_pointers(hostile):
    hostile.wild_pointer.restype = POINTER(c_int)
    pointer = hostile.wild_pointer()
    assert pointer.address == 0xDEADBEEFDEADBEEF
    for use in (
        lambda: pointer[0],
        lambda: pointer[0:1000],
        lambda: pointer.contents,
        lambda: pointer.read(1 << 40),
        lambda: pointer.write(b"x"),
        lambda: pointer.string(),
        lambda: pointer.__setitem__(0, 1),
        lambda: (pointer + 2**70)[0],
    ):
        with pytest.raises((lockgate.BadPointer, OverflowError)):
            use()


def test_what_the_domain_writes_in_a_structure_is_only_data(hostile):
    class Trap(Structure):
        _fields_ = [("target", c_void_p), ("size", c_int32)]

    trap = Trap()
    hostile.set_trap(byref(trap))
    assert (trap.target, trap.size) == (0x10, 0x7FFFFFFF)
    with pytest.raises(lockgate.BadPointer):
        hostile.domain.pointer(trap.target).read(trap.size)
    other = type("Other", (Structure,), {"_fields_": [("target", lockgate.Address), ("size", c_int32)]})()
    hostile.set_trap(byref(other))
    with pytest.raises(lockgate.BadPointer):
        hostile.domain.pointer(other.target, c_uint64)[0]


def test_freeing_what_is_not_allocated_harms_the_domain_at_most(hostile):
    with pytest.raises(lockgate.CallError):
        hostile.domain.pointer(0x7ABCDEF0).free()


def test_bad_modules(tmp_path, build):
    with pytest.raises(lockgate.LoadError) as caught:
        lockgate.CDLL(tmp_path / "missing.lg")
    assert isinstance(caught.value, OSError) and caught.value.errno == 2
    assert caught.value.filename.endswith("missing.lg")
    (tmp_path / "text.lg").write_text("no module")
    with pytest.raises(lockgate.LoadError, match="is not a module"):
        lockgate.CDLL(tmp_path / "text.lg")
    with pytest.raises(lockgate.LoadError):
        lockgate.Module(build.plain("values"))
    good = build("values").read_bytes()
    # `xor %eax,%eax; ret` of some function becomes a system call.
    at = good.index(b"\x48\x89\xf8\xc3")
    with pytest.raises(lockgate.Rejected, match="rejects"):
        lockgate.Module(image=good[:at] + b"\x0f\x05\x90\xc3" + good[at + 4 :])
    for damage in range(64, len(good), 4099):
        try:
            lockgate.Module(image=good[:damage])
        except lockgate.Error:
            pass


def test_the_family_of_errors():
    family = [getattr(lockgate, name) for name in lockgate.__all__]
    errors = [kind for kind in family if isinstance(kind, type) and issubclass(kind, BaseException)]
    assert len(errors) > 15 and all(issubclass(kind, lockgate.Error) for kind in errors)
    for kind in (lockgate.Fault, lockgate.Timeout, lockgate.QuotaExceeded, lockgate.Killed, lockgate.Cancelled):
        assert issubclass(kind, lockgate.CallError)


def test_errors_of_files_come_out_of_pickles_whole():
    with pytest.raises(lockgate.LoadError) as caught:
        lockgate.Module("/nonexistent")
    error = caught.value
    error.__notes__ = ["a note"]  # as add_note, which CPython 3.9 and 3.10 do not have
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is lockgate.LoadError and str(again) == str(error) and again.__notes__ == ["a note"]
        assert (again.errno, again.filename) == (error.errno, error.filename) == (errno.ENOENT, "/nonexistent")
