"""gdb support for Lockgate: symbols of the modules in a process, and frames of the runtime's smallest code.

    gdb -x share/gdb/lockgate.py --args program...

Functions, lines, arguments and backtraces of modules built with -g then work as in any program, across the gates into
the host and back. Modules are noticed as the program loads them. A process with very many domains gets the symbols of
the first ones; `lockgate modules` lists all, `lockgate symbols` loads the rest.
"""

import atexit
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
# crates/lockgate-abi/src/lib.rs, window
STUBS, IMAGE, STRIDE = 0x12000, 0x20000, 8 << 30
# crates/lockgate/src/call/thunks_sys.rs: mov $binding,%r11; jmp *proxy(%r11)
THUNK = re.compile(rb"\x49\xbb.{8}\x41\xff\x63", re.DOTALL)
THUNK_SIZE = 16
# Modules whose symbols are loaded unasked: gdb needs time and memory for each.
EAGER = 32


class Symbols:
    """The modules whose symbols gdb has."""

    def __init__(self):
        self.loaded = {}
        self.files = {}
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
            with open(path, "wb") as copy:
                copy.write(read(file, size))
            self.files[file, size] = path
        return self.files[file, size]

    def forget(self):
        """The process is gone, and its modules with it."""
        for image in self.loaded:
            gdb.execute(f"remove-symbol-file -a {image:#x}", to_string=True)
        self.loaded.clear()
        self.files.clear()


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


class Leaf:
    """Identity of a frame that owns nothing but its return address."""

    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class RuntimeCode(Unwinder):
    """Stubs in windows and thunks of bindings: code of a few instructions, none of which moves rsp."""

    def __init__(self):
        super().__init__("lockgate")

    def __call__(self, pending):
        pc = pending.read_register("rip")
        if not is_stub(int(pc)) and not is_thunk(int(pc)):
            return None
        sp = pending.read_register("rsp")
        caller = pending.create_unwind_info(Leaf(sp + 8, pc))
        caller.add_saved_register("rip", gdb.Value(read(int(sp), 8), pc.type))
        caller.add_saved_register("rsp", sp + 8)
        return caller


def is_stub(pc):
    window = pc - pc % STRIDE
    return STUBS <= pc - window < IMAGE and window + IMAGE in SYMBOLS.loaded


def is_thunk(pc):
    start = pc - pc % THUNK_SIZE
    try:
        return THUNK.match(read(start, THUNK_SIZE)) is not None
    except gdb.MemoryError:
        return False


class Gate(FrameDecorator):
    """A gate's frame under its own name: it is a signal frame only so that the stack may change there."""

    def function(self):
        return self.inferior_frame().name()


class Gates:
    """Filter of backtraces."""

    name = "lockgate"
    priority = 100
    enabled = True

    def filter(self, frames):
        return map(self.decorate, frames)

    @staticmethod
    def decorate(frame):
        name = frame.inferior_frame().name()
        return Gate(frame) if name and name.startswith("lockgate_gate_") else frame


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
register_unwinder(None, RuntimeCode(), replace=True)
gdb.frame_filters[Gates.name] = Gates()
Changed()
# A process that gdb attaches to has its modules already.
gdb.events.stop.connect(lambda event: SYMBOLS.sync())
gdb.events.exited.connect(lambda event: SYMBOLS.forget())
Lockgate(), Modules(), LoadSymbols()
SYMBOLS.sync()
