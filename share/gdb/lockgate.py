"""gdb support for Lockgate: symbols of the modules in a process, and frames of the runtime's smallest code.

    gdb -x share/gdb/lockgate.py --args program...

Functions, lines, arguments and backtraces of modules built with -g then work as in any program, across the gates into
the host and back. Modules are noticed as the program loads them. A process with very many domains gets the symbols of
the first ones; `lockgate modules` lists all, `lockgate symbols` loads the rest.
"""

import atexit
import bisect
import os
import re
import shutil
import struct
import tempfile

import gdb
from gdb.FrameDecorator import FrameDecorator
from gdb.unwinder import Unwinder, register_unwinder

# crates/lockgate/src/debug/registry_sys.rs
VERSION = 1
HEAD = struct.Struct("<QQ")
ENTRY = struct.Struct("<QQQQQQQ")
# crates/lockgate-abi/src/lib.rs, window and code
STUBS, IMAGE, STRIDE, OFF = 0x12000, 0x20000, 8 << 30, 0x40000000
# crates/lockgate/src/call/layout.rs: ThreadBlock, Record, EntryRecord, GateRecord, the frame of proxies
GATE_SYSCALL = 80
RECORD = struct.Struct("<QQQQ")
RECORD_SIZE, ENTRIES = 64, (1, 3)
FLAGS, FROM_DOMAIN = 52, 4
FRAME = {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48}
FRAME_RETURN = 56
# crates/lockgate/src/call/stubs.rs: mov $0,%r11d; jmp *%fs:block+GATE_SYSCALL
STUB = struct.Struct("<6x4xi")
# crates/lockgate/src/call/code_sys.rs: mov $binding,%r11; jmp *proxy(%r11)
THUNK = re.compile(rb"\x49\xbb.{8}\x41\xff\x63|\x64\xc7\x04\x25.{4}\0\0\0\0\x0f\x1f\x40\0", re.DOTALL)
THUNK_SIZE = 16
# How far up the control stack a return address is looked for, bytes.
SEARCH = 64 << 10
# Modules whose symbols are loaded unasked: gdb needs time and memory for each.
EAGER = 32


class Symbols:
    """The modules whose symbols gdb has."""

    def __init__(self):
        self.loaded = {}
        self.files = {}
        self.frames = {}
        self.folder = None

    def sync(self, limit=EAGER):
        """Drops the symbols of modules that are gone and loads those of new ones, up to `limit` modules."""
        modules = {image: rest for image, *rest in registered()}
        for image in [image for image in self.loaded if image not in modules]:
            del self.loaded[image]
            gdb.execute(f"remove-symbol-file -a {image:#x}", to_string=True)
        for image, (name, file, size) in reversed(modules.items()):
            if image not in self.loaded and len(self.loaded) < limit:
                path = self.path(name, file, size)
                self.loaded[image] = path
                gdb.execute(f"add-symbol-file {path} -o {image:#x}", to_string=True)

    def path(self, name, file, size):
        """A copy of a module's file, for gdb to read."""
        if (file, size) not in self.files:
            if self.folder is None:
                self.folder = tempfile.mkdtemp(prefix="lockgate-gdb-")
                atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
            base = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
            path = os.path.join(self.folder, f"{len(self.files)}-{base}")
            contents = read(file, size)
            with open(path, "wb") as copy:
                copy.write(contents)
            self.files[file, size] = path
            self.frames[path] = frame_ranges(contents)
        return self.files[file, size]

    def forget(self):
        """The process is gone, and its modules with it."""
        for image in self.loaded:
            gdb.execute(f"remove-symbol-file -a {image:#x}", to_string=True)
        self.loaded.clear()
        self.files.clear()

    def lacks_frames(self, pc):
        """Whether `pc` is code of a module that has no frame information: assembly, or a C library without."""
        image = pc - pc % STRIDE + IMAGE
        path = self.loaded.get(image)
        if path is None or pc < image:
            return False
        ranges = self.frames[path]
        below = bisect.bisect_right(ranges, (pc - image, 1 << 64)) - 1
        return below < 0 or pc - image >= ranges[below][1]


def frame_ranges(elf):
    """Sorted (start, end) of the code that the .eh_frame section of a file describes."""
    ranges = []
    names = struct.unpack_from("<H", elf, 62)[0]
    table, count = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<H", elf, 60)[0]
    headers = [struct.unpack_from("<IIQQQQ", elf, table + 64 * index) for index in range(count)]
    for name, _, _, address, offset, size in headers:
        start = headers[names][4] + name
        if elf[start : start + 10] != b".eh_frame\0":
            continue
        at = offset
        while at < offset + size:
            length, cie = struct.unpack_from("<II", elf, at)
            if length and cie:
                # The rewriter and gcc both write 32-bit distances.
                begin, span = struct.unpack_from("<iI", elf, at + 8)
                begin += address + at + 8 - offset
                ranges.append((begin, begin + span))
            at += 4 + length
    return sorted(ranges)


def read(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def registered():
    """Yields image address, name, file address and file size of every module, newest first."""
    try:
        # Unlike an expression, this reads the same in every language.
        text = gdb.execute("info address lockgate_debug_modules", to_string=True)
        head = int(re.search(r"0x[0-9a-f]+", text)[0], 16)
        version, entry = HEAD.unpack(read(head, HEAD.size))
    except (gdb.error, TypeError):
        return  # The program does not use Lockgate, or does not run.
    if version != VERSION:
        raise gdb.GdbError("lockgate: this script is for another version of Lockgate than the program's")
    while entry:
        entry, _, image, file, size, name, name_size = ENTRY.unpack(read(entry, ENTRY.size))
        yield image, read(name, name_size).decode(errors="replace"), file, size


class Changed(gdb.Breakpoint):
    """Where the runtime says that a module came or went."""

    def __init__(self):
        super().__init__("lockgate_debug_changed", internal=True)
        self.silent = True

    def stop(self):
        SYMBOLS.sync()
        return False


class Identity:
    """Identity of a frame."""

    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class BareCode(Unwinder):
    """Code without frame information: stubs in windows, thunks of bindings, functions of modules, and the place that entry
    points return to."""

    def __init__(self):
        super().__init__("lockgate")

    def __call__(self, pending):
        pc, sp = pending.read_register("rip"), pending.read_register("rsp")
        if int(pc) == exit_address():
            return caller_of_entry(pending, int(sp))
        if is_stub(int(pc)) or is_thunk(int(pc)):
            at = int(sp)
        elif SYMBOLS.lacks_frames(int(pc)):
            at = return_slot(int(pc), int(sp))
        else:
            return None
        if at is None:
            return None
        # Frames of modules are known by their address on the data stack.
        frame = at + 8 - (0 if is_thunk(int(pc)) else OFF)
        caller = pending.create_unwind_info(Identity(gdb.Value(frame).cast(sp.type), pc))
        caller.add_saved_register("rip", gdb.Value(read(at, 8), pc.type))
        caller.add_saved_register("rsp", gdb.Value(at + 8).cast(sp.type))
        caller.add_saved_register("fs_base", pending.read_register("fs_base"))
        return caller


def exit_address():
    """Where every entry point returns to, or None."""
    try:
        text = gdb.execute("info address lockgate_exit", to_string=True)
        return int(re.search(r"0x[0-9a-f]+", text)[0], 16)
    except (gdb.error, TypeError):
        return None


def caller_of_entry(pending, sp):
    """Whoever called the entry point that began with its stack pointer at `sp`, from the thread's records."""
    pc, sp_type = pending.read_register("rip"), pending.read_register("rsp").type
    try:
        (block,) = STUB.unpack(read(sp - sp % STRIDE + STUBS, STUB.size))
        block += int(pending.read_register("fs_base")) - GATE_SYSCALL
        record, first = struct.unpack("<QQ", read(block, 16))
        while record > first:
            kind, _, control, host = RECORD.unpack(read(record, RECORD.size))
            if kind in ENTRIES and control == sp:
                break
            record -= RECORD_SIZE
        else:
            return None
        # The host called, or another domain, whose gate's record is the one before.
        at = host + FRAME_RETURN
        if crosses(record):
            _, at, _, _ = RECORD.unpack(read(record - RECORD_SIZE, RECORD.size))
        (returns,) = struct.unpack("<Q", read(at, 8))
        caller = pending.create_unwind_info(Identity(gdb.Value(host).cast(sp_type), pc))
        caller.add_saved_register("rip", gdb.Value(returns).cast(pc.type))
        caller.add_saved_register("rsp", gdb.Value(at + 8).cast(sp_type))
        for register, place in FRAME.items():
            caller.add_saved_register(register, gdb.Value(read(host + place, 8), pc.type))
        caller.add_saved_register("fs_base", pending.read_register("fs_base"))
        return caller
    except gdb.MemoryError:
        return None


def crosses(record):
    """Whether the entry of `record` was called by a domain."""
    binding = RECORD.unpack(read(record, RECORD.size))[1]
    (flags,) = struct.unpack("<I", read(binding + FLAGS, 4))
    return flags & FROM_DOMAIN != 0


def return_slot(pc, sp):
    """Where the function at `pc` finds its return address: a guess. Nothing but return addresses, stale ones included, and
    zeros are on a control stack: most likely it is the first after a call of this very function, else (it was called
    through a pointer or a jump) the first of all."""
    match = re.match(r"\S+(?: \+ (\d+))? in section", gdb.execute(f"info symbol {pc:#x}", to_string=True))
    if match is None:
        return None
    start = pc - int(match[1] or 0)
    first = None
    for at in range(sp, sp + SEARCH, 8):
        try:
            (address,) = struct.unpack("<Q", read(at, 8))
            if address - address % STRIDE != pc - pc % STRIDE:
                continue
            call = read(address - 5, 5)
        except gdb.MemoryError:
            break
        if call[0] == 0xE8 and address + struct.unpack_from("<i", call, 1)[0] in (start, start + 4):
            return at
        if first is None and (call[0] == 0xE8 or call[2:] == b"\x41\xff\xd3"):
            first = at
    return first


def is_stub(pc):
    window = pc - pc % STRIDE
    return STUBS <= pc - window < IMAGE and window + IMAGE in SYMBOLS.loaded


def is_thunk(pc):
    start = pc - pc % THUNK_SIZE
    try:
        return THUNK.match(read(start, THUNK_SIZE)) is not None
    except gdb.MemoryError:
        return False


class RuntimeFrame(FrameDecorator):
    """A frame of the runtime's own code under its own name. (Gates are signal frames to gdb, so that it lets the stack
    change there; stubs and thunks have no symbols.)"""

    def function(self):
        frame = self.inferior_frame()
        return frame.name() or ("lockgate stub" if is_stub(frame.pc()) else "lockgate thunk")


class RuntimeFrames:
    """Filter of backtraces."""

    name = "lockgate"
    priority = 100
    enabled = True

    def filter(self, frames):
        return map(self.decorate, frames)

    @staticmethod
    def decorate(decorated):
        frame = decorated.inferior_frame()
        name = frame.name()
        is_gate = name is not None and name.startswith("lockgate_gate_")
        is_bare = name is None and (is_stub(frame.pc()) or is_thunk(frame.pc()))
        return RuntimeFrame(decorated) if is_gate or is_bare else decorated


class Lockgate(gdb.Command):
    """Commands for programs that use Lockgate."""

    def __init__(self):
        super().__init__("lockgate", gdb.COMMAND_FILES, prefix=True)


class Modules(gdb.Command):
    """List the modules in the process: image address, name, and whether their symbols are loaded."""

    def __init__(self):
        super().__init__("lockgate modules", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for image, name, _, _ in registered():
            state = "symbols loaded" if image in SYMBOLS.loaded else "no symbols"
            gdb.write(f"{image:#x} {name} ({state})\n")


class LoadSymbols(gdb.Command):
    """Load the symbols of all modules in the process."""

    def __init__(self):
        super().__init__("lockgate symbols", gdb.COMMAND_FILES)

    def invoke(self, argument, from_tty):
        SYMBOLS.sync(limit=1 << 30)


SYMBOLS = Symbols()
register_unwinder(None, BareCode(), replace=True)
gdb.frame_filters[RuntimeFrames.name] = RuntimeFrames()
Changed()
# A process that gdb attaches to has its modules already.
gdb.events.stop.connect(lambda event: SYMBOLS.sync())
gdb.events.exited.connect(lambda event: SYMBOLS.forget())
Lockgate(), Modules(), LoadSymbols()
SYMBOLS.sync()
