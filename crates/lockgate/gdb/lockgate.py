"""gdb support for Lockgate: symbols of the modules in a process or core file, and frames of the runtime's smallest code.

Programs that use Lockgate carry this script with them, and gdb loads it where its auto-load safe-path allows; else:

    gdb -x crates/lockgate/gdb/lockgate.py --args program...

Functions, lines, arguments and backtraces of modules built with -g then work as in any program, across the gates into
the host and back. Modules are noticed as the program loads them. `info lockgate` shows domains and which of them each
thread is in. A process with very many domains gets the symbols of the first ones; `lockgate symbols` loads the rest.
"""

import atexit
import bisect
import contextlib
import hashlib
import itertools
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile

import gdb
from gdb.FrameDecorator import FrameDecorator
from gdb.unwinder import Unwinder, register_unwinder

# crates/lockgate/src/symbols/registry_sys.rs
VERSION = 4
HEAD = struct.Struct("<QQqq")
ENTRY = struct.Struct("<QQQQQQQQQQQ")
SITE, NO_WORD = struct.Struct("<III"), 0xffffffff
# crates/lockgate-abi/src/lib.rs, window and code
THUNKS, IMAGE, STRIDE, OFF = 0x12000, 0x20000, 8 << 30, 0x3f000000
# crates/lockgate/src/call/layout.rs: ThreadBlock, Record, EntryRecord, GateRecord, the frame of proxies
RECORD = struct.Struct("<B7xQQQ")
RECORD_SIZE, ENTRIES = 64, (1, 3)
TARGET, FLAGS, FROM_DOMAIN = 24, 60, 4
FRAME = {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48}
FRAME_RETURN = 56
# crates/lockgate/src/call/code_sys.rs: mov $binding,%r11; jmp *proxy(%r11)
THUNK = re.compile(rb"\x49\xbb.{8}\x41\xff\x63|\x64\x48\xc7\x04\x25.{4}\0\0\0\0\x0f\x1f\0", re.DOTALL)
THUNK_SIZE = 16
# ret; and mov %r11,(%rsp), before which rsp has been moved, and r11 is what it was: legal only where a frame is opened (U2)
RETURN, STORES_FRAME_WORD = b"\xc3", b"\x4c\x89\x1c\x24"
# Modules whose symbols are loaded unasked: gdb needs time and memory for each.
EAGER = 32
# What is believed of the list of modules, in a process whose memory may be damaged: entries, bytes of a file, of a name; records of a thread.
MOST_ENTRIES, MOST_FILE, MOST_NAME, MOST_RECORDS = 1 << 16, 1 << 28, 4096, 1 << 16
# What is looked up of the runtime.
LIST, CHANGED, CROSSING = "lockgate_debug_modules", "lockgate_debug_changed", "lockgate_crossing"


class Symbols:
    """The modules whose symbols gdb has."""

    def __init__(self):
        self.loaded = {}
        self.sites = {}
        self.whole = {}
        self.places = {}
        self.files = {}
        self.made = itertools.count(1)
        self.runtime = {}
        self.changed = None
        self.passed = None
        self.folder = None
        self.busy = False

    def sync(self, limit=EAGER):
        """Drops the symbols of modules that are gone and loads those of new ones, up to `limit` modules."""
        if self.busy:
            return  # gdb tells us of the symbols that we are loading
        self.busy = True
        try:
            self.load(limit)
        except gdb.MemoryError:
            pass  # not all of the program is there yet
        except Exception as error:
            # Whatever it is, the program is to go on.
            gdb.write(f"lockgate: no symbols: {printable(str(error))}\n", gdb.STDERR)
        finally:
            self.busy = False

    def load(self, limit):
        modules = {image: rest for image, _, *rest in registered()}
        for image in [image for image in self.loaded if image not in modules]:
            self.unload(image)
        self.sites = {image: rest[3:] for image, rest in modules.items()}
        self.whole = {image: rest[1:3] for image, rest in modules.items()}
        self.places.clear()
        for image, (name, file, size, *_) in reversed(modules.items()):
            if image not in self.loaded and len(self.loaded) < limit:
                self.loaded[image] = None  # one that cannot be read keeps the others from nothing
                try:
                    shown = self.shown(name, file, size)
                    with no_scripts():
                        said = execute(f"add-symbol-file {quoted(shown.path)} -o {image:#x}")
                    if not any(os.path.basename(known.filename or "") == os.path.basename(shown.path) for known in gdb.objfiles()):
                        raise ValueError(said.strip())
                    self.loaded[image] = shown
                except Exception as error:
                    gdb.write(f"lockgate: no symbols of {name}: {printable(str(error))}\n", gdb.STDERR)

    def unload(self, image):
        """Has gdb forget the module whose image this was. What its file said is kept for a while: many domains have the same."""
        if self.loaded.pop(image) is not None:
            execute(f"remove-symbol-file -a {image:#x}")
        for contents in list(self.files)[:-EAGER]:
            if self.files[contents] not in self.loaded.values():
                with contextlib.suppress(OSError):
                    os.unlink(self.files.pop(contents).path)

    def shown(self, name, file, size):
        """What gdb may know of the module in a file. It is known again by its contents: another may lie where it was."""
        if size > MOST_FILE:
            raise ValueError("its file is too large")
        elf = read(file, size)
        contents = hashlib.sha256(elf).digest()
        if contents not in self.files:
            if self.folder is None:
                self.folder = new_folder()
            base = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
            self.files[contents] = Shown(elf, os.path.join(self.folder, f"{next(self.made)}-{base}"))
            for what, why in self.files[contents].refused:
                gdb.write(f"lockgate: no {what} of {name}: {why}\n", gdb.STDERR)
        return self.files[contents]

    def forget(self):
        """The process is gone, and its modules with it."""
        for image in list(self.loaded):
            self.unload(image)
        self.sites.clear()
        self.whole.clear()
        self.places.clear()
        self.runtime.clear()
        self.passed = None
        if self.changed is not None:
            self.changed.delete()
            self.changed = None

    def pass_on(self, signal):
        """The runtime tells threads by a signal, or one that comes before others, that something is up: no reason to stop, unless the user has said
        how to handle it."""
        if self.passed is None and 0 < signal <= 64:
            self.passed = (f"SIG{signal}", "SIGSYS")
            for name in self.passed:
                before = gdb.execute(f"info signals {name}", to_string=True)
                if re.search(rf"^{name}\s+Yes\s+Yes\s+Yes", before, re.MULTILINE):
                    gdb.execute(f"handle {name} nostop noprint pass", to_string=True)

    def find_runtime(self):
        """Where the runtime has its names. They are looked up in a process before gdb knows a symbol of any module's, which could have the
        same names, and kept as long as it does."""
        if self.runtime or self.loaded or not gdb.selected_inferior().pid:
            return
        found = {name: address_of(name) for name in (LIST, CHANGED, CROSSING)}
        if None in found.values():
            return
        try:
            version = HEAD.unpack(read(found[LIST], HEAD.size))[0]
        except gdb.error:
            return  # the program is not there yet, or not where it will be
        if version != VERSION:
            raise gdb.GdbError("lockgate: this script is for another version of Lockgate than the program's")
        self.runtime = found
        self.changed = Changed(found[CHANGED])

    def code_at(self, address, size):
        """Code of a module, or None: from its file, because core files do not have it."""
        image = address - address % STRIDE + IMAGE
        shown = self.loaded.get(image)
        start, contents = shown.code if shown else (0, b"")
        at = address - image - start
        return contents[at : at + size] if 0 <= at <= len(contents) - size else None

    def site(self, pc):
        """What the verifier knows of rsp behind the call that returns to `pc`: o and NO_WORD, or b and d; None if no call does."""
        image = pc - pc % STRIDE + IMAGE
        table, count = self.sites.get(image, (0, 0))
        low, high = 0, min(count, MOST_FILE)
        while low < high:
            middle = (low + high) // 2
            address, *state = SITE.unpack(read(table + SITE.size * middle, SITE.size))
            if address == pc - image:
                return state
            low, high = (middle + 1, high) if address < pc - image else (low, middle)
        return None

    def place(self, pc):
        """What the verifier knows of rsp at any instruction of a module, as `site` says it; None if that cannot be had. The program
        `lockgate` makes the verifier's pass, since a core file has no runtime that could."""
        if pc not in self.places:
            self.places[pc] = None
            image = pc - pc % STRIDE + IMAGE
            try:
                self.places[pc] = asked(read(*self.whole[image]), self.folder, pc - image)
            except (gdb.MemoryError, KeyError, OSError, ValueError) as error:
                why = printable(str(error))
                gdb.write(f"lockgate: the caller of {pc:#x} is not known: {why}\n", gdb.STDERR)
        return self.places[pc]

    def lacks_frames(self, pc):
        """Whether `pc` is code of a module that has no frame information: assembly, or a C library without."""
        image = pc - pc % STRIDE + IMAGE
        if image not in self.loaded or pc < image:
            return False
        ranges = self.loaded[image].ranges if self.loaded[image] else []
        below = bisect.bisect_right(ranges, (pc - image, 1 << 64)) - 1
        return below < 0 or pc - image >= ranges[below][1]


class Shown:
    """A file with what of a module's gdb may know, at `path`, and what the script knows: which code has frame information, and the code."""

    def __init__(self, elf, path):
        self.path = path
        for is_whole in (True, False):
            try:
                shown, self.ranges, self.refused = understood(elf, is_whole)
                self.code = code_segment(elf)
            except (struct.error, ValueError, IndexError) as error:
                raise ValueError("its file is damaged") from error
            with open(path, "wb") as copy:
                copy.write(shown)
            if is_read(path):
                return
        raise ValueError("gdb does not come to the end of its file")


def run(command, folder, stderr):
    """What another program says, and its exit status. It has a limited time and memory. (What it leaves when it ends, a core file, goes with the
    folder.)"""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": stderr}
    with subprocess.Popen(command, start_new_session=True, cwd=folder, **pipes) as other:
        resource.prlimit(other.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        try:
            said, errors = other.communicate(timeout=MOST_SECONDS)
        finally:
            other.kill()
    return said, errors, other.returncode


def is_read(path):
    """Whether another gdb, which debugs nothing, comes to the file's end. This one will read it where the program is stopped at the script's
    breakpoint: if gdb ended of it, it would leave that behind, and the program would end at it later."""
    read = "python gdb.execute('maint expand-symtabs', to_string=True); print('all of it')"
    command = [os.readlink("/proc/self/exe"), "-nx", "-q", "-batch", path, "-ex", read]
    try:
        said, _, _ = run(command, os.path.dirname(path), subprocess.DEVNULL)
    except (subprocess.TimeoutExpired, ProcessLookupError):
        return False
    return said.endswith(b"all of it\n")


def asked(module, folder, address):
    """What `lockgate inspect --place` says of an address in a module's file: o and NO_WORD, or b and d."""
    program = shutil.which("lockgate")
    if program is None:
        raise ValueError("put the program `lockgate` into PATH")
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".lg") as file:
        file.write(module)
        file.flush()
        command = [program, "inspect", "--json", "--place", f"{address:#x}", file.name]
        try:
            said, errors, status = run(command, folder, subprocess.PIPE)
        except subprocess.TimeoutExpired as error:
            raise ValueError(f"`lockgate inspect` takes more than {MOST_SECONDS} seconds") from error
    if status != 0:
        raise ValueError(errors.decode(errors="replace").strip() or "`lockgate inspect` fails")
    known = json.loads(said)["place"]["return_address"]
    if known is None:
        raise ValueError("the verifier does not know it there")
    return known["offset"], NO_WORD if known["through"] is None else known["through"]


def new_folder():
    """A folder of this debugger's own."""
    folder = tempfile.mkdtemp(prefix="lockgate-gdb-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if not folder.isprintable():
        raise ValueError("TMPDIR has a name that gdb cannot be told")
    return folder


def execute(command):
    """What gdb says to a command, an error among it. One that ends with an error while the program is stopped for the script alone is for gdb the
    end of the `run` that is going on: it takes the program for one that runs, and does nothing more with it. `thread apply -c` catches errors."""
    thread = gdb.selected_thread()
    if thread is not None:
        command = f"thread apply {thread.inferior.num}.{thread.num} -q -c {command}"
    return gdb.execute(command, to_string=True)


def quoted(path):
    """A path as an argument of a command of gdb's."""
    return re.sub(r"([^\w./-])", r"\\\1", path)


# Sections of debug information that hold data for gdb and nothing that it would run, open or search for.
DEBUG = {
    b".debug_" + name
    for name in b"info abbrev line frame str line_str loc loclists ranges rnglists types addr str_offsets".split()
}
# Names that mean something to gdb. Sections with other names are code and data.
MEANT = (b".debug", b".zdebug", b".gnu", b".gdb", b".note", b".stab", b".dyn", b".interp", b".probes", b".plt", b".rel", b".mdebug")
# Types: contents, no contents, tables of functions, unwinding; contents alone, no contents; symbols, names.
PLAIN, CONTENTS_TYPE, EMPTY_TYPE, SYMBOLS_TYPE, NAMES_TYPE = {1, 8, 14, 15, 16, 0x70000001}, 1, 8, 2, 3
ALLOCATED, COMPRESSED = 2, 0x800
# Where images end, at the latest: gdb is to take nothing of the host's for a module's.
MOST_IMAGE = (1 << 32) - IMAGE
# Most attributes of an entry of debug information; and of all entries, for each byte of theirs: gdb, too, goes through them for each entry, and
# some need no bytes there.
MOST_ATTRIBUTES, MOST_PER_BYTE = 256, 2
# Most entries that lie or lead into each other: gdb follows them by calling itself.
MOST_DEPTH = 1000
# How long gdb may take to read the file of a module, seconds.
MOST_SECONDS = 30
# Bytes of addresses that it may have for that.
MOST_MEMORY = 4 << 30
# Most steps for the file of a module (ten seconds, about), and most bytes of names.
MOST_STEPS, MOST_NAMES = 1 << 23, 32 << 20
# Longest mangled name that gdb gets, and most that it could make of one, and of all of a module's, bytes.
LONGEST_MANGLED, MOST_OF_ONE, MOST_OF_ALL = 2048, 1 << 20, 64 << 20
# The table of symbols, and their names.
TABLES = {b".symtab", b".strtab"}
# Sections of symbols that are none: of numbers, and of what the linker allocates.
NO_SECTIONS = {0xFFF1, 0xFFF2}
# Kinds of symbols: none, objects, functions, sections, files, of threads.
SYMBOL_KINDS = {0, 1, 2, 3, 4, 6}
# Functions with these names tell gdb of further symbol files, in memory.
TELLING = (b"__jit_debug_register_code", b"__jit_debug_descriptor")


# Headers of files and of sections.
FILE = struct.Struct("<16sHHIQQQIHHHHHH")
HEADER = struct.Struct("<IIQQQQIIQQ")
# Most headers: the numbers above mean something else.
MOST_SECTIONS = 0xFF00


class Section:
    """A section of an ELF file."""

    def __init__(self, elf, at):
        self.name_at, self.type, self.flags, self.address, self.offset, self.size, self.link, self.info, _, _ = HEADER.unpack_from(
            elf, at
        )
        self.name = b""

    def contents(self, elf):
        if self.offset + self.size > len(elf):
            raise ValueError("a section lies outside the file")
        return memoryview(elf)[self.offset : self.offset + self.size]


def understood(elf, is_whole):
    """A module's file without whatever gdb would do more with than show it (scripts, links to other files, notes), the code that its frame
    information describes, and of what there is none, with the reason. It is a new file: each section that is kept lies there once, under
    a header and a name that are written here."""
    work = Work()
    if elf[:7] != b"\x7fELF\2\1\1" or struct.unpack_from("<H", elf, 16)[0] != 3:
        raise ValueError("no module")
    table = struct.unpack_from("<Q", elf, 40)[0]
    count, names = struct.unpack_from("<HH", elf, 60)
    if count >= MOST_SECTIONS:
        raise ValueError("too many sections")
    sections = [Section(elf, table + HEADER.size * index) for index in range(count)]
    kept, ranges = chosen(elf, sections, bytes(sections[names].contents(elf)), work)
    shown = bytearray(FILE.size)
    copies = {index: copied(elf, sections[index], shown) for index in kept}
    refused = []
    if not is_whole:
        copies = {index: section for index, section in copies.items() if section.name not in DEBUG}
        refused.append(("debug information", "gdb does not come to its end"))
    # It is unknown where the names of what is damaged are, or what gdb would do with it.
    for what, cleans, parts in (("symbols", clean_symbols, TABLES), ("debug information", clean_debug_information, DEBUG)):
        try:
            cleans(shown, copies.values(), work, count)
        except (struct.error, ValueError, IndexError, KeyError) as error:
            copies = {index: section for index, section in copies.items() if section.name not in parts}
            refused.append((what, str(error) if type(error) is ValueError else "it is damaged"))
    write_headers(shown, copies, count)
    return shown, ranges, refused


class Work:
    """What is left to do for a module: its author shall not have the debugger's user wait."""

    def __init__(self):
        self.steps, self.bytes, self.demangled = MOST_STEPS, MOST_NAMES, MOST_OF_ALL

    def spend(self, steps):
        self.steps -= steps
        if self.steps < 0:
            raise ValueError("there is too much of it")


def chosen(elf, sections, strings, work):
    """The numbers of the sections that gdb gets, which have names then, and the code that frame information describes."""
    kept, ranges = [], []
    for index, section in enumerate(sections):
        end = strings.find(b"\0", section.name_at, section.name_at + 64)
        section.name = strings[section.name_at : end] if end >= 0 else b".note"
        if section.type in PLAIN and not section.flags & COMPRESSED:
            if section.flags & ALLOCATED and not section.name.startswith(MEANT):
                if section.address + section.size > MOST_IMAGE:
                    raise ValueError("a section lies outside the image")
                kept.append(index)
            elif section.name in DEBUG and section.type == CONTENTS_TYPE:
                kept.append(index)
    for name in FRAMES:
        frames = [index for index in kept if sections[index].name == name]
        for index in frames:
            try:
                # A module has one. Damaged, it is left out: frames are guessed then.
                if len(frames) > 1:
                    raise ValueError
                ranges += frame_ranges(elf, sections[index], work)
            except (struct.error, ValueError, IndexError, KeyError):
                kept.remove(index)
    ranges.sort()
    tables = [index for index, section in enumerate(sections) if section.type == SYMBOLS_TYPE]
    if len(tables) == 1 and sections[sections[tables[0]].link].type == NAMES_TYPE:
        kept += [tables[0], sections[tables[0]].link]
        sections[tables[0]].name, sections[sections[tables[0]].link].name = b".symtab", b".strtab"
    # What is read twice could be long, and mean two things.
    places = sorted((section.offset, section.size) for section in (sections[index] for index in kept) if section.type != EMPTY_TYPE)
    if any(offset + size > following for (offset, size), (following, _) in zip(places, places[1:])):
        raise ValueError("sections overlap")
    debug = [sections[index].name for index in kept if sections[index].name in DEBUG]
    if len(debug) > len(set(debug)):
        raise ValueError("two sections of debug information have one name")
    return kept, ranges


def copied(elf, section, shown):
    """The section, with its contents at the end of the file `shown`."""
    copy = Section.__new__(Section)
    copy.__dict__.update(section.__dict__)
    if section.type != EMPTY_TYPE:
        contents = section.contents(elf)
        shown.extend(bytes(-len(shown) % 16))
        copy.offset = len(shown)
        shown.extend(contents)
    return copy


def clean_symbols(elf, sections, work, count):
    """Makes the table of symbols one that says nothing but names, if there is one; all of it is looked at: gdb takes the whole file for none, or
    ends, where a part of it makes no sense."""
    for symbols in [section for section in sections if section.type == SYMBOLS_TYPE]:
        (names,) = (section for section in sections if section.type == NAMES_TYPE)
        if symbols.size % 24 or symbols.info > symbols.size // 24:
            raise ValueError("their table is damaged")
        if not names.size or not ends(elf, names):
            raise ValueError("their names have no end")
        tell_nothing(elf, symbols, names, work, count)
        clean(elf, names.offset, names.offset + names.size, work, of_debug_information=False)


def ends(elf, names):
    """Whether the last of the names in a section has an end."""
    return not names.size or elf[names.offset + names.size - 1] == 0


def tell_nothing(elf, symbols, names, work, count):
    """Takes the names from symbols that would have gdb do something, and from functions that they are to be asked which they are: gdb would
    call them. Names that it would write out for ever stay as compilers wrote them."""
    texts = bytes(names.contents(elf))
    work.spend(symbols.size // 24)
    for at in range(symbols.offset, symbols.offset + symbols.size, 24):
        name, kind, section = struct.unpack_from("<IBxH", elf, at)
        if name >= names.size or section >= count and section not in NO_SECTIONS:
            raise ValueError("one has a name, or a section, that is not there")
        if texts.startswith(TELLING, name):
            struct.pack_into("<I", elf, at, 0)
        elif texts.startswith(MANGLED, name) and elf[names.offset + name] != ord("?"):
            end = texts.find(b"\0", name, name + LONGEST_MANGLED + 1)
            # gdb reads the name of each symbol, even one that others have, too, and so does this.
            work.spend(max(end - name, 0) // 16)
            written = demangled_size(texts[name:end]) if end >= 0 else MOST_OF_ONE
            if written < min(MOST_OF_ONE, work.demangled):
                work.demangled -= written
            else:
                elf[names.offset + name] = ord("?")
        if kind & 15 not in SYMBOL_KINDS:
            elf[at + 4] = kind & ~15


# How names begin that gdb demangles: C++'s, Rust's and D's. In them, references to what was said before, and what repeats a pattern for each
# of some arguments.
MANGLED = (b"_Z", b"_GLOBAL_", b"_R", b"_D")
REFERRING_IN_CXX = re.compile(rb"[ST][0-9A-Z]*_")
REFERRING = {b"Z": REFERRING_IN_CXX, b"G": REFERRING_IN_CXX, b"R": re.compile(rb"B[0-9A-Za-z]*_"), b"D": re.compile(b"Q")}
REPEATING = b"Dp"


def demangled_size(name):
    """The most bytes that a demangler, which has no limit, could make of a mangled name, in all its work for it. Each reference may stand for
    all that was said before it: of so many, the name becomes longest if each three refer to the three before."""
    references = len(REFERRING[name[1:2]].findall(name))
    repeated = min(name.count(REPEATING), 8)
    return len(name) * len(name) ** repeated * 3 ** (min(references, 120) / 3)


def write_headers(elf, sections, count):
    """The headers of a file without any yet: of the sections, by their numbers, of which there are `count`, and of their names. No program
    headers: they lead to notes and to names of libraries."""
    names, headers = bytearray(b"\0"), bytearray(HEADER.size * (count + 1))
    for index, section in sections.items():
        kind = section.type if section.type in (EMPTY_TYPE, SYMBOLS_TYPE, NAMES_TYPE) else 1
        link, info, entry = (section.link, section.info, 24) if kind == SYMBOLS_TYPE else (0, 0, 0)
        place = (section.address, section.offset if kind != EMPTY_TYPE else 0, section.size)
        flags = section.flags & 7
        HEADER.pack_into(headers, HEADER.size * index, len(names), kind, flags, *place, link, info, 1, entry)
        names += section.name.translate(CONTROLS) + b"\0"
    HEADER.pack_into(headers, HEADER.size * count, len(names), NAMES_TYPE, 0, 0, len(elf), len(names) + 10, 0, 0, 1, 0)
    names += b".shstrtab\0"
    elf += names
    elf += bytes(-len(elf) % 8)
    magic = b"\x7fELF\2\1\1"
    FILE.pack_into(elf, 0, magic, 3, 62, 1, 0, 0, len(elf), 0, FILE.size, 0, 0, HEADER.size, count + 1, count)
    elf += headers


def clean_debug_information(elf, sections, work, _):
    """Takes out of a file's debug information what a terminal would obey (gdb prints names as they are), and what would have gdb open files or
    end."""
    named = {section.name: section for section in sections if section.name in DEBUG}
    for name in TEXTS.values():
        if name in named:
            # gdb would read on behind the section.
            if not ends(elf, named[name]):
                raise ValueError("its names have no end")
            clean(elf, named[name].offset, named[name].offset + named[name].size, work)
    known = DebugInformation(elf, named, work)
    for name, walk in ((b".debug_info", clean_unit), (b".debug_types", clean_unit), (b".debug_line", clean_lines)):
        section = named.get(name)
        if section is None:
            continue
        at, end = section.offset, section.offset + section.size
        while at < end:
            length, size = struct.unpack_from("<I", elf, at)[0], 4
            if length == 0xFFFFFFFF:
                length, size = struct.unpack_from("<Q", elf, at + 4)[0], 8
            unit, start = at, at + (4 if size == 4 else 12)
            at = start + length
            if at > end:
                raise ValueError("a unit is longer than its section")
            walk(Cursor(elf, start, at, size, work), known, unit, name == b".debug_types")
            if name == b".debug_line":
                known.line_tables.add(unit - section.offset)
    known.check()


# A name may be read from any byte of it on: in the middle of a character of several bytes others begin, so none of those is left.
CONTROLS = bytes(c if 32 <= c < 127 or c == 0 else ord("?") for c in range(256))


def clean(elf, at, end, work, of_debug_information=True):
    """Takes what a terminal would obey out of the strings that lie there; none becomes longer or shorter. How many entries of debug information
    have a name, and from which byte on, is not known: what such a name could become is not written out."""
    work.bytes -= end - at
    if work.bytes < 0:
        raise ValueError("there are too many names")
    was = bytes(elf[at:end])
    now = was.translate(CONTROLS)
    for escape in ESCAPES:
        now = escape.sub(broken, now)
    # Rust's names may have any character in Punycode. Shown as they are, they are only harder to read.
    if b"_R" in now:
        now = b"\0".join(name.replace(b"_R", b"?R") if PUNYCODE.search(name) else name for name in now.split(b"\0"))
    if of_debug_information and MANGLED_ANYWHERE.search(now):
        names = now.split(b"\0")
        now = b"\0".join(MANGLED_ANYWHERE.sub(rb"?\1", name) if REFERENCE_OF_ANY.search(name) else name for name in names)
    if now != was:
        elf[at:end] = now


# What gdb makes characters of when it shows a name: hexadecimal numbers in names of Ada's (which a name in a table of symbols may be for it,
# whatever it was compiled from) and in Rust's older ones; and Rust's with Punycode.
HEX = rb"[0-9A-Fa-f]"
ESCAPES = [
    re.compile(pattern % {b"h": HEX})
    for pattern in (rb"U(?=(%(h)b{2}))", rb"W(?=(%(h)b{4}))", rb"W(?=W(%(h)b{8}))", rb"[$]u(?=(%(h)b{1,8})[$])")
]
PUNYCODE = re.compile(rb"u[0-9]")
# Mangled names in the midst of others, and what refers to something in one of any language.
MANGLED_ANYWHERE = re.compile(rb"_(Z[A-Z0-9a-z]|R[0-9A-Z]|D[0-9Q_])")
REFERENCE_OF_ANY = re.compile(rb"[STB][0-9A-Za-z]*_|Q")


def broken(escape):
    """A character's number without what makes it one, unless the character may be shown."""
    number = int(escape[1], 16)
    shown = number < 0x110000 and chr(number).isprintable()
    return escape[0] if shown else b"?" + escape[0][1:]


class Cursor:
    """A place in a unit of debug information."""

    def __init__(self, elf, at, end, offset_size, work):
        self.elf, self.at, self.end, self.offset_size, self.work = elf, at, end, offset_size, work
        # Of references to entries anywhere; and where the unit's tables begin.
        self.reference_size, self.bases = offset_size, {}

    def number(self, size):
        value = int.from_bytes(self.elf[self.at : self.at + size], "little")
        self.skip(size)
        return value

    def skip(self, size):
        self.at += size
        if size < 0 or self.at > self.end:
            raise ValueError("debug information ends in the middle")

    def leb(self):
        byte = self.elf[self.at]
        if byte < 0x80 and self.at < self.end:
            self.at += 1
            return byte
        value = shift = 0
        while True:
            byte = self.elf[self.at]
            self.skip(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 70:
                raise ValueError("a number without end")

    def string(self):
        """Cleans the string here; its length."""
        start, end = self.at, self.elf.find(b"\0", self.at, self.end)
        if end < 0:
            raise ValueError("a name without end")
        clean(self.elf, start, end, self.work)
        self.at = end + 1
        return end - start

    def file_name(self):
        """The same for the name of a file, which leads nowhere then; its length."""
        start = self.at
        length = self.string()
        lead_nowhere(self.elf, start, length)
        return length


# Where a name leads to the root, or out of the folder that it is looked for in; and what is there instead.
LEADING = re.compile(rb"^/.|^/$|(?:(?<=/)|^)\.\.(?=/|$)", re.DOTALL)
NOWHERE = {b"/": b"?", b"..": b"??"}


def lead_nowhere(elf, at, length):
    """gdb opens the file that a line is from when it stops there. It does not find it by a name from here, but by the last part of the name, in
    folders that its user has told it, and below them."""
    if length > MOST_NAME:
        raise ValueError("a file's name is too long")
    elf[at : at + length] = LEADING.sub(lambda found: NOWHERE.get(found[0], b"/?"), bytes(elf[at : at + length]))


# Forms of attributes: of so many bytes; numbers of any length; offsets in sections; lengths before bytes, of so many bytes (0: of any).
FIXED = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x19: 0, 0x1E: 16, 0x21: 0}
FIXED.update({0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4})
LEBS = {0x0D, 0x0F, 0x1A, 0x1B, 0x22, 0x23}
OFFSETS = {0x0E, 0x17, 0x1F}
BLOCKS = {0x03: 2, 0x04: 4, 0x09: 0, 0x0A: 1, 0x18: 0}
# Those of entries in the same unit; of any entry; of a type by its number.
REFERENCES = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x15: 0}
ANYWHERE, SIGNED = 0x10, 0x20
# Those of texts: here, or in a section.
HERE, TEXTS = 0x08, {0x0E: b".debug_str", 0x1F: b".debug_line_str"}
# Forms that are numbers in tables: of names, addresses, lists of ranges and of expressions; of each table, what a unit says of where it begins,
# and its section. gdb reads all of them, whatever they are for.
INDEXES = {
    **dict.fromkeys((0x1A, 0x25, 0x26, 0x27, 0x28), (0x72, b".debug_str_offsets")),
    **dict.fromkeys((0x1B, 0x29, 0x2A, 0x2B, 0x2C), (0x73, b".debug_addr")),
    **{0x22: (0x8C, b".debug_loclists"), 0x23: (0x74, b".debug_rnglists")},
}
NAMES_BASE, ADDRESSES_BASE, LISTS_BASES, ADDRESSES_INDEX = 0x72, 0x73, {0x74, 0x8C}, 0x1B
BASES, LISTS_HEADER = {NAMES_BASE, ADDRESSES_BASE, *LISTS_BASES}, {4: 12, 8: 20}
# Attributes that gdb gets: they say what there is, and where. Others name files that it would open (of split debug information), places where
# it would read on, in the middle of an entry (of siblings), or have mangled names, which it makes itself of the others; or say which calls are the
# last ones of their functions (gdb tries all ways from a caller to a function by such calls, which double with each).
ATTRIBUTES = {
    *(0x02, 0x03, 0x09, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x1C, 0x1D, 0x20, 0x22, 0x25, 0x27),
    *(0x2E, 0x2F, 0x31, 0x32, 0x33, 0x34, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x40, 0x42, 0x47, 0x48, 0x49, 0x4A, 0x4B),
    *(0x4C, 0x4D, 0x4E, 0x4F, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x57, 0x58, 0x59, 0x63, 0x64, 0x65, 0x67, 0x68, 0x69, 0x6B, 0x6C, 0x6D),
    *(0x6F, 0x70, 0x71, 0x72, 0x73, 0x74, 0x77, 0x78, *range(0x7A, 0x82), *range(0x83, 0x8D)),
    *(0x2107, 0x2110, *range(0x2111, 0x2115), 0x2116, 0x2117, 0x2137, 0x2138),
}
# The others are called this, which is nothing.
NOTHING = 0x07
NAME, FOLDER, TYPE, IMPORT, CONTAINING, DECLARATION = 0x03, 0x1B, 0x49, 0x18, 0x1D, 0x3C
# Attributes that lead to entries which gdb does not read for the sake of this one.
ASIDE = {0x15, 0x64, *range(0x7A, 0x8D), *range(0x2111, 0x2118)}
# Tags of entries: units, what they import, members that an object consists of, the parts of an object that has one of several, and types that
# consist of another.
UNITS, IMPORTED, TO_MEMBER, MEMBERS, VARIANTS = {0x11, 0x3C, 0x41, 0x4A}, 0x3D, 0x1F, {0x0D, 0x1C}, {0x19, 0x33}
CONSISTING = {0x01, 0x16, 0x26, 0x35, 0x37, 0x47}
# What gdb reads of an entry's children for its own sake: an array's bounds, parameters of functions and of templates.
PARTS = {0x01: {0x21, 0x04, 0x45}, 0x15: {0x05}, 0x2E: {0x05}}
TEMPLATE = {0x2F, 0x30, 0x4106, 0x4107}
# What the first entry of a unit may be, by the unit's kind (before version 5 the header does not tell the first from the third): gdb ends otherwise.
FIRST = {0: {0x11, 0x3C}, 1: {0x11}, 2: {0x41}, 3: {0x3C}}
# The forms of attributes that are offsets in other sections, or lead to entries: gdb ends, or shows nothing, where they have others.
FORMS = {
    **dict.fromkeys((0x10, 0x72, 0x73, 0x74, 0x8C), {0x06, 0x07, 0x17}),
    0x55: {0x06, 0x07, 0x17, 0x23},
    **dict.fromkeys((0x15, 0x18, 0x1D, 0x31, 0x47, 0x49, 0x54, 0x64, 0x69, 0x7F), {*REFERENCES, ANYWHERE, SIGNED}),
}
# Entries that are ranges of numbers. gdb ends where the type of these has no size, and does without one.
NUMBERS = {0x21, 0x45}
SKIP, LEB, BLOCK, STRING, FILE_NAME, REFERENCE, EXPRESSION, PLACES, BASE, NUMBER, CONSTANT, INDEX, RANGES, LINES = range(14)
# Attributes whose blocks are bytes, where others' are expressions; and whose offsets are those of lists of expressions.
BYTES, LISTED = {0x1C, 0x3D}, {0x02, 0x19, 0x2A, 0x40, 0x48, 0x4A}
LIST_FORMS = {0x06: 4, 0x07: 8, 0x17: None, 0x22: 0, 0x23: 0}
# The sections of these lists, before version 5 and from then on; those of ranges.
LISTS_OLD, LISTS_NEW, RANGES_OLD, RANGES_NEW = b".debug_loc", b".debug_loclists", b".debug_ranges", b".debug_rnglists"
# Operands of what lists consist of, from version 5 on (N a number, X one in the table of addresses, 8 an address), and after which an expression
# comes; those of ranges.
LIST_OPERANDS = {1: "X", 2: "XX", 3: "XN", 4: "NN", 5: "", 6: "8", 7: "88", 8: "8N", 9: "NN"}
RANGE_OPERANDS = {1: "X", 2: "XX", 3: "XN", 4: "NN", 5: "8", 6: "88", 7: "8N"}
WITH_EXPRESSION = {2, 3, 4, 5, 7, 8}
# Simple types, with size and encoding; of complex numbers gdb takes the half, and ends if that is no number of bytes.
BASE_TYPE, SIZE, ENCODING, COMPLEX, MOST_OF_BASE_TYPE = 0x24, 0x0B, 0x3E, 0x03, 1 << 20
COMPLEX_SIZES = {4, 8, 16, 24, 32}


class DebugInformation:
    """What is known of a file's debug information: abbreviations, texts, and which entry leads to which. (Entries are known by their place in
    the file, types in units of their own by less than 0.)"""

    def __init__(self, elf, sections, work):
        self.elf, self.sections, self.work = elf, sections, work
        self.tables, self.read, self.attributes = {}, 0, 0
        self.entries, self.targets, self.chains, self.objects, self.numbered = set(), set(), {}, {}, {}
        self.lists, self.harmless, self.line_tables, self.lines = set(), {}, set(), set()

    def abbreviations(self, offset, version, offset_size):
        """Abbreviations by their numbers: tag, whether it has children, number of attributes, whether it only declares, and steps that pass
        over the attributes."""
        key = offset, version == 2, offset_size
        if key not in self.tables:
            section = self.sections.get(b".debug_abbrev")
            if section is None:
                raise ValueError("it has no abbreviations")
            start, end = section.offset + offset, section.offset + section.size
            table = Cursor(self.elf, start, end, 4, self.work)
            self.tables[key] = abbreviations(table, version, offset_size)
            # Tables lie one behind another: who reads one in many ways has the reader work for ever.
            self.read += table.at - start
            if self.read > 4 * section.size:
                raise ValueError("tables of abbreviations overlap")
        return self.tables[key]

    def file_name(self, form, offset):
        """The name of a file that lies in a section of texts."""
        section = self.sections[TEXTS[form]]
        at, end = section.offset + offset, section.offset + section.size
        end = self.elf.find(b"\0", at, min(end, at + MOST_NAME + 1))
        if end < 0:
            raise ValueError("a file's name has no end")
        self.work.spend(1 + (end - at) // 64)
        lead_nowhere(self.elf, at, end - at)
        return end - at

    def texts(self, at, places):
        """Names lie in the sections of names."""
        for place, size, form in places:
            section = self.sections[TEXTS[form]]
            if int.from_bytes(self.elf[at + place : at + place + size], "little") >= section.size:
                raise ValueError("a name lies outside its section")

    def indexed(self, unit, form, index):
        """What has this number in a table of the unit's: the place of a name or of a list in its section, or that of an address in the table."""
        attribute, name = INDEXES[form]
        section, base = self.sections.get(name), unit.bases.get(attribute)
        if section is None or base is None:
            raise ValueError("something has a number, and there is no table")
        size = 8 if attribute == ADDRESSES_BASE else unit.offset_size
        place = base + index * size
        # Tables of lists have a header, and at its end how many there are.
        header = LISTS_HEADER[unit.offset_size] if attribute in LISTS_BASES else 0
        if not header <= base <= place + size <= section.size:
            raise ValueError("a table lies outside its section")
        if header and index >= struct.unpack_from("<I", self.elf, section.offset + base - 4)[0]:
            raise ValueError("a number outside its table")
        if attribute == ADDRESSES_BASE:
            return place
        value = int.from_bytes(self.elf[section.offset + place : section.offset + place + size], "little")
        if attribute == NAMES_BASE:
            if value >= self.sections[b".debug_str"].size:
                raise ValueError("a name lies outside its section")
            return value
        return base + value

    def expression(self, where, size, operands):
        """An expression of so many bytes from here on. gdb computes it as soon as it shows a variable, a frame's arguments among them: without
        an end if it jumps back, and it ends of some divisions. One that may do such a thing becomes one that has no
        result."""
        at = where.at
        where.skip(size)
        code = bytes(where.elf[at : where.at])
        known = (code, id(operands), where.reference_size)
        if known not in self.harmless:
            cursor = Cursor(where.elf, at, where.at, where.offset_size, self.work)
            cursor.reference_size = where.reference_size
            indexes = []
            try:
                self.targets |= {self.sections[b".debug_info"].offset + target for target in instructions(cursor, operands, indexes)}
                is_harmless = True
            except (KeyError, ValueError, IndexError):
                is_harmless = False
            if size > MOST_KNOWN:
                known = None
            self.harmless[known] = is_harmless, indexes
        self.work.spend(1)
        is_harmless, indexes = self.harmless[known]
        # (Which addresses there are depends on the unit.)
        try:
            for index in indexes:
                self.indexed(where, ADDRESSES_INDEX, index)
        except ValueError:
            is_harmless = False
        if not is_harmless:
            where.elf[at : where.at] = bytes([NO_OPERATION]) * size

    def list(self, unit, names, version, form, value):
        """The beginning of a list in the section that has the second of the names from version 5 on, and before that the first; None if there is
        none."""
        section = self.sections.get(names[version == 5])
        if form in INDEXES:
            if version < 5:
                raise ValueError("a form of a later version")
            # By its number, in a table of offsets, which is not to be a part of a list.
            table = section and section.offset + unit.bases.get(INDEXES[form][0], 0) + value * unit.offset_size
            value = self.indexed(unit, form, value)
            self.lists.add((table, table + unit.offset_size))
        # gdb, too, takes this for none.
        if section is None or value >= section.size:
            return None
        at = Cursor(self.elf, section.offset + value, section.offset + section.size, unit.offset_size, self.work)
        at.reference_size, at.bases = unit.reference_size, unit.bases
        return at

    def ranges(self, unit, version, form, value):
        """A list of parts of the code, which gdb reads to its end."""
        at = self.list(unit, (RANGES_OLD, RANGES_NEW), version, form, value)
        while at is not None:
            self.work.spend(1)
            if version < 5:
                at.skip(16)
                if not any(at.elf[at.at - 16 : at.at]):
                    break
            else:
                kind = at.number(1)
                if not kind:
                    break
                self.list_operands(at, RANGE_OPERANDS[kind])

    def list_operands(self, at, kinds):
        for kind in kinds:
            if kind == "8":
                at.skip(8)
            else:
                number = at.leb()
                if kind == "X":
                    self.indexed(at, ADDRESSES_INDEX, number)

    def places(self, unit, version, form, value, operands):
        """A list of expressions, each for a part of the code."""
        at = self.list(unit, (LISTS_OLD, LISTS_NEW), version, form, value)
        if at is None:
            return
        start = at.at
        while True:
            self.work.spend(1)
            if version == 5:
                kind = at.number(1)
                if not kind:
                    break
                self.list_operands(at, LIST_OPERANDS[kind])
                if kind in WITH_EXPRESSION:
                    self.expression(at, at.leb(), operands)
            else:
                first, second = at.number(8), at.number(8)
                if not first and not second:
                    break
                if first != (1 << 64) - 1:
                    self.expression(at, at.number(2), operands)
        self.lists.add((start, at.at))

    def add_lines(self, offset):
        """A unit has its lines here. gdb, too, takes what is behind them for none."""
        section = self.sections.get(b".debug_line")
        if section is not None and offset < section.size:
            self.lines.add(offset)

    def check(self):
        """Entries lead to entries, and from none there is a way back, or a long one; no list of expressions is a part of another, which was
        cleaned as something else."""
        lists = sorted(self.lists)
        if any(end > following for (_, end), (following, _) in zip(lists, lists[1:])):
            raise ValueError("lists of expressions overlap")
        if not self.lines <= self.line_tables:
            raise ValueError("lines begin in the middle of others")
        if not self.targets - {*self.numbered} <= self.entries:
            raise ValueError("an entry leads to no entry")
        size = sum(self.sections[name].size for name in (b".debug_info", b".debug_types") if name in self.sections)
        if self.attributes > MOST_PER_BYTE * size:
            raise ValueError("its entries have too many attributes")
        for ways in (self.chains, self.objects):
            self.check_depth({at: [self.numbered.get(target, target) for target in targets] for at, targets in ways.items()})

    def check_depth(self, ways):
        depth = {}
        for start in ways:
            path = [] if start in depth else [(start, iter(ways[start]))]
            depth.setdefault(start)
            while path:
                at, rest = path[-1]
                self.work.spend(1)
                for target in rest:
                    if target in ways and target not in depth:
                        depth[target] = None
                        path.append((target, iter(ways[target])))
                        break
                    if target in ways and depth[target] is None:
                        raise ValueError("an entry leads back to itself")
                else:
                    depth[at] = 1 + max(depth.get(target, 0) for target in ways[at])
                    if depth[at] > MOST_DEPTH:
                        raise ValueError("its entries lead too far")
                    path.pop()


def abbreviations(table, version, offset_size):
    known = {}
    while code := table.leb():
        tag, children = table.leb(), table.number(1)
        steps, attributes, declares = [], 0, False
        while True:
            at = table.at
            name, form = table.leb(), 0
            size, form = table.at - at, table.leb()
            constant = table.leb() if form == 0x21 else None
            # gdb has 16 bits for each, and ends where there is no name.
            if name >> 16 or form >> 16 or (not name) != (not form):
                raise ValueError("an attribute without a name or a form")
            if not name:
                break
            attributes += 1
            table.work.spend(1)
            if attributes > MOST_ATTRIBUTES:
                raise ValueError("an entry with too many attributes")
            is_file_name = name == FOLDER or name == NAME and tag in UNITS
            is_odd = is_file_name and form != HERE and form not in TEXTS or form not in FORMS.get(name, {form})
            if name not in ATTRIBUTES or is_odd or name == TYPE and tag in NUMBERS:
                name = NOTHING
                table.elf[at : at + size] = bytes([NOTHING | 0x80, *[0x80] * (size - 2), 0] if size > 1 else [NOTHING])
            declares |= name == DECLARATION and form == 0x19
            if tag == BASE_TYPE and name in (SIZE, ENCODING) and form not in BLOCKS:
                add_step(steps, number_step(name, form, constant))
            else:
                add_step(steps, step(name, form, is_file_name, version, offset_size))
        if code in known or code >> 32:
            raise ValueError("two abbreviations with one number, for which gdb has 32 bits")
        if tag >> 16:
            raise ValueError("a tag that gdb has no bits for")
        known[code] = tag, children, attributes, declares, steps
    return known


def step(name, form, is_file_name, version, offset_size):
    """How an attribute's value is passed over."""
    if name != NOTHING and is_file_name:
        return FILE_NAME, 0 if form == HERE else offset_size, form
    if form in LIST_FORMS:
        size = offset_size if LIST_FORMS[form] is None else LIST_FORMS[form]
        if name in LISTED and form != 0x23:
            return PLACES, size, (form, OPERANDS_OF.get(name, PLACE_OPERANDS))
        if name in BASES:
            return BASE, size, name
        if name == 0x55:
            return RANGES, size, form
        if name == 0x10:
            return LINES, size, None
    if form in INDEXES:
        return INDEX, FIXED.get(form, 0), form
    if form in TEXTS:
        return SKIP, offset_size, ((0, offset_size, form),)
    if form in FIXED:
        return SKIP, FIXED[form], None
    if form in LEBS:
        return LEB, 0, None
    if form in OFFSETS:
        return SKIP, offset_size, None
    if form in BLOCKS and name != NOTHING and name not in BYTES:
        return EXPRESSION, BLOCKS[form], OPERANDS_OF.get(name, PLACE_OPERANDS)
    if form in BLOCKS:
        return BLOCK, BLOCKS[form], None
    if form == HERE:
        return STRING, 0, None
    if form in REFERENCES or form in (ANYWHERE, SIGNED):
        size = {ANYWHERE: 8 if version == 2 else offset_size, SIGNED: 8}.get(form)
        return REFERENCE, REFERENCES[form] if size is None else size, (name, form)
    raise ValueError("an attribute of an unknown form")


def number_step(name, form, constant):
    """How a number of a simple type is read."""
    if constant is not None:
        return CONSTANT, constant, name
    if form in LEBS and form not in INDEXES:
        return NUMBER, 0, name
    if FIXED.get(form, 0) in (1, 2, 4, 8) and form not in INDEXES:
        return NUMBER, FIXED[form], name
    raise ValueError("a simple type whose size or encoding is no number")


def add_step(steps, new):
    """Several that have a known length are one."""
    if steps and steps[-1][0] == new[0] == SKIP:
        _, before, texts = steps.pop()
        texts = (texts or ()) + tuple((before + place, size, form) for place, size, form in new[2] or ())
        new = SKIP, before + new[1], texts or None
    if new != (SKIP, 0, None):
        steps.append(new)


def clean_unit(unit, known, header, of_types):
    version = unit.number(2)
    if not 2 <= version <= 5:
        raise ValueError("it is of an unknown version")
    kind = 2 if of_types else 0
    if version == 5:
        kind, address_size = unit.number(1), unit.number(1)
        table = unit.number(unit.offset_size)
        if kind not in (1, 2, 3):
            raise ValueError("it is split")
    else:
        table, address_size = unit.number(unit.offset_size), unit.number(1)
    if address_size != 8:
        raise ValueError("its addresses have another size than the processor's")
    if kind == 2:
        number = -1 - unit.number(8)
        if number in known.numbered:
            raise ValueError("two types with one number")
        known.numbered[number] = header + unit.number(unit.offset_size)
        known.targets.add(known.numbered[number])
    plans = known.abbreviations(table, version, unit.offset_size)
    parents, is_first = [], True
    if version == 2:
        unit.reference_size = 8
    while unit.at < unit.end:
        at = unit.at
        code = unit.leb()
        if not code:
            unit.work.spend(1)
            if parents:
                parents.pop()
            continue
        tag, children, attributes, declares, steps = plans[code]
        if is_first and tag not in FIRST[kind] or not is_first and not parents:
            raise ValueError("a unit is not one entry with what is in it")
        is_first = False
        parent, of = parents[-1] if parents else (None, None)
        known.entries.add(at)
        known.attributes += attributes
        unit.work.spend(1 + len(steps))
        numbers, indexes, ranges = {}, [], []
        for operation, size, what in steps:
            if operation == SKIP:
                if what:
                    known.texts(unit.at, what)
                unit.at += size  # the next to read, or the end, looks
            elif operation == INDEX:
                indexes.append((what, unit.number(size) if size else unit.leb()))
            elif operation == LEB:
                unit.leb()
            elif operation == BLOCK:
                unit.skip(unit.number(size) if size else unit.leb())
            elif operation == EXPRESSION:
                known.expression(unit, unit.number(size) if size else unit.leb(), what)
            elif operation == PLACES:
                form, operands = what
                known.places(unit, version, form, unit.number(size) if size else unit.leb(), operands)
            elif operation == BASE:
                offset = unit.number(size)
                if not parents:
                    unit.bases[what] = offset
            elif operation == RANGES:
                ranges.append((what, unit.number(size) if size else unit.leb()))
            elif operation == LINES:
                known.add_lines(unit.number(size))
            elif operation == NUMBER:
                numbers[what] = unit.number(size) if size else unit.leb()
            elif operation == CONSTANT:
                numbers[what] = size
            elif operation == STRING:
                unit.string()
            elif operation == FILE_NAME:
                known.file_name(what, unit.number(size)) if size else unit.file_name()
            else:
                name, form = what
                target = unit.number(size) if size else unit.leb()
                if form == SIGNED:
                    target = -1 - target
                elif form == ANYWHERE:
                    target += known.sections[b".debug_info"].offset
                else:
                    target += header
                    # gdb looks for it in this unit alone.
                    if target >= unit.end:
                        raise ValueError("an entry leads out of its unit")
                if name == NOTHING:
                    continue
                if form != SIGNED:
                    known.targets.add(target)
                if name not in ASIDE and (name != IMPORT or tag == IMPORTED) and (name != CONTAINING or tag == TO_MEMBER):
                    known.chains.setdefault(at, []).append(target)
                    if tag in TEMPLATE or tag in PARTS.get(of, ()):
                        known.chains.setdefault(parent, []).append(target)
                if name == TYPE and tag in CONSISTING:
                    known.objects.setdefault(at, []).append(target)
                if name == TYPE and tag in MEMBERS and not declares:
                    known.objects.setdefault(parent, []).append(target)
        # The first entry says where tables begin, in any place.
        for form, index in indexes:
            known.indexed(unit, form, index)
        for form, value in ranges:
            known.ranges(unit, version, form, value)
        if numbers:
            check_base_type(numbers.get(SIZE, 0), numbers.get(ENCODING, 0))
        if tag in VARIANTS:
            known.objects.setdefault(parent, []).append(at)
        if unit.at > unit.end:
            raise ValueError("debug information ends in the middle")
        if children:
            parents.append((at, tag))
            if len(parents) > MOST_DEPTH:
                raise ValueError("its entries are too deep in each other")
    # gdb would read on behind the unit.
    if parents:
        raise ValueError("a unit ends within an entry")


def check_base_type(size, encoding):
    if size > MOST_OF_BASE_TYPE:
        raise ValueError("a simple type of no size that there is")
    if encoding == COMPLEX and size not in COMPLEX_SIZES:
        raise ValueError("complex numbers of no size that there is")


# Operands of the instructions of line programs that every version has; forms of what version 5 says of files.
OPERANDS = [0, 1, 1, 1, 1, 0, 0, 0, 1]
LINE_FORMS = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0E, 0x0F, 0x1E, 0x1F}


def clean_lines(unit, known, *_):
    version = unit.number(2)
    if not 2 <= version <= 5:
        raise ValueError("its line numbers are of an unknown version")
    if version == 5 and (unit.number(1), unit.number(1)) != (8, 0):
        raise ValueError("its lines' addresses have another size than the processor's")
    program = unit.number(unit.offset_size) + unit.at
    unit.skip(4 if version >= 4 else 3)
    # gdb divides by the range of lines.
    if not unit.number(1):
        raise ValueError("its line numbers have no range")
    first = unit.number(1)
    counts = [unit.number(1) for _ in range(1, first)]
    # gdb knows these itself.
    if counts[: len(OPERANDS)] != OPERANDS:
        raise ValueError("instructions with other operands than they have")
    if version == 5:
        clean_files(unit, known)
    else:
        while unit.file_name():
            unit.work.spend(1)
        while unit.file_name():
            for _ in range(3):
                unit.leb()
            unit.work.spend(4)
    unit.skip(program - unit.at)
    while unit.at < unit.end:
        code = unit.number(1)
        unit.work.spend(1)
        if code == 0:
            after = unit.leb() + unit.at
            if after == unit.at:
                raise ValueError("an instruction without bytes, of which gdb reads one")
            # A file that is named on the way.
            if unit.number(1) == 3:
                unit.file_name()
            unit.skip(after - unit.at)
        elif code == 9:
            unit.skip(2)
        elif code < first:
            for _ in range(counts[code - 1]):
                unit.leb()


def clean_files(unit, known):
    """The tables of folders and files of version 5."""
    for _ in range(2):
        formats = [(unit.leb(), unit.leb()) for _ in range(unit.number(1))]
        count = unit.leb()
        if count and sum(kind == 1 for kind, _ in formats) != 1:
            raise ValueError("a file without a name")
        for _ in range(count):
            unit.work.spend(1 + len(formats))
            for kind, form in formats:
                if form not in LINE_FORMS:
                    raise ValueError("a form that gdb does not know here")
                if form in TEXTS:
                    length = known.file_name(form, unit.number(unit.offset_size))
                elif form == HERE:
                    length = unit.file_name()
                elif kind == 1:
                    raise ValueError("a file without a name")
                else:
                    operation, size, _ = step(0, form, False, 5, unit.offset_size)
                    length = size or unit.leb()
                    unit.skip(length if operation == BLOCK else size)
                # Before a name, nothing and a separator would be the way from the root.
                if kind == 1 and not length:
                    raise ValueError("a file without a name")


def code_segment(elf):
    """Address and contents of the code of a module's file: there is one executable segment."""
    table, count = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
    for index in range(count):
        kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", elf, table + 56 * index)
        if kind == 1 and flags & 1:
            return address, elf[offset : offset + size]
    return 0, b""


# Sections of frame information, and the number of an entry of theirs that others share.
FRAMES = {b".eh_frame": 0, b".debug_frame": 0xFFFFFFFF}
# How pointers may be written: absolutely or from here, in 4 or 8 bytes. The one that functions are found by; and through another.
POINTERS, HERE_SIGNED, INDIRECT = {0x00: 8, 0x03: 4, 0x04: 8, 0x0B: 4, 0x0C: 8, 0x10: 8, 0x13: 4, 0x14: 8, 0x1B: 4, 0x1C: 8}, 0x1B, 0x80
# Operands of the instructions that the rewriter writes: R a register, N a number, 1 2 4 so many bytes, E an expression.
FRAME_OPERANDS = {
    **{0x00: "", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "RN", 0x06: "R", 0x07: "R", 0x08: "R", 0x09: "RR", 0x0C: "RN", 0x0D: "R"},
    **{0x0E: "N", 0x0F: "E", 0x10: "RE", 0x11: "RN", 0x12: "RN", 0x13: "N", 0x14: "RN", 0x15: "RN", 0x16: "RE", 0x2E: "N"},
}
# gdb has room for all up to the highest.
MOST_REGISTER = 127
# Instructions of expressions that gdb goes through once: none that jumps, or calls; nor one that divides, of which gdb may end.
PLAIN_OPERANDS = {0x06: "", 0x08: "1", 0x09: "1", 0x0A: "2", 0x0B: "2", 0x0C: "4", 0x0D: "4", 0x0E: "8", 0x0F: "8", 0x10: "N", 0x11: "N"}
PLAIN_OPERANDS.update({code: "" for code in (0x12, 0x13, 0x14, 0x16, 0x17, 0x19, 0x1A, 0x1C, *range(0x1E, 0x23), *range(0x24, 0x28))})
PLAIN_OPERANDS.update({code: "" for code in (*range(0x29, 0x2F), *range(0x30, 0x50), 0x96)})
PLAIN_OPERANDS.update({0x23: "N", 0x92: "RN", **{code: "N" for code in range(0x70, 0x90)}})
NO_OPERATION, DIVIDING, DIVISORS = 0x96, {0x1B, 0x1D}, {0x08, 0x0A, 0x0C, *range(0x30, 0x50)}
# Those of places and values, besides: a jump forward, J; the place of an entry, P; a number in the table of addresses, X; bytes behind their number, B, or a number of one byte, b; an
# expression of a register as a function got it, E.
PLACE_OPERANDS = {
    **PLAIN_OPERANDS,
    **{code: "" for code in (*DIVIDING, *range(0x50, 0x70), 0x97, 0x9B, 0x9C, 0x9F, 0xE0, 0xF0)},
    **{0x03: "8", 0x15: "1", 0x28: "J", 0x2F: "J", 0x90: "R", 0x91: "N", 0x93: "N", 0x94: "1", 0x9D: "NN", 0x9E: "B"},
    **{code: "PN" for code in (0xA0, 0xF2)},
    **{code: "X" for code in (0xA1, 0xA2)},
    **{code: "N" for code in (0xA8, 0xA9, 0xF7, 0xF9)},
    **{code: "E" for code in (0xA3, 0xF3)},
    **{0xA4: "Nb", 0xF4: "Nb", 0xA5: "RN", 0xF5: "RN", 0xA6: "1N", 0xF6: "1N"},
}
# Those of values that a function got: gdb asks the caller's frame for them.
GOT_OPERANDS = {**{code: "" for code in (0x06, *range(0x50, 0x70))}, **{code: "N" for code in range(0x70, 0x90)}}
GOT_OPERANDS.update({0x90: "R", 0x92: "RN", 0x94: "1", 0xA5: "RN", 0xF5: "RN"})
# Where an expression may be a part of the others, gdb computes it again for each time that it stands there. So that of a frame does not refer to
# the frame, and what a caller gives comes once from its own caller at most.
OF_CALLS = dict(PLACE_OPERANDS)
OF_FRAMES = {code: kinds for code, kinds in PLACE_OPERANDS.items() if code != 0x91 and kinds != "E"}
OPERANDS_OF = {0x40: OF_FRAMES, **dict.fromkeys((0x7E, 0x83, 0x84, 0x85, *range(0x2111, 0x2115)), OF_CALLS)}
# Longest expression about which is remembered what it is, bytes.
MOST_KNOWN = 32


def frame_ranges(elf, section, work):
    """Start and end of each piece of code that a section of frame information describes. All that gdb will read of it is looked at: what it
    does not know ends it."""
    ranges, shared = [], {}
    at, end = section.offset, section.offset + section.size
    if end > len(elf):
        raise ValueError("a section lies outside the file")
    while at < end:
        (length,) = struct.unpack_from("<I", elf, at)
        start, at = at, at + 4 + length
        if at > end:
            raise ValueError("an entry is longer than its section")
        if not length:
            continue
        entry = Cursor(elf, start + 4, at, 4, work)
        number = entry.number(4)
        if number == FRAMES[section.name]:
            shared[start] = shared_entry(entry)
        else:
            pointer, augmented = shared[start + 4 - number if section.name == b".eh_frame" else section.offset + number]
            place = entry.at
            begin, span = entry.number(POINTERS[pointer]), entry.number(POINTERS[pointer])
            if pointer == HERE_SIGNED:
                begin = (begin ^ 1 << 31) - (1 << 31) + section.address + place - section.offset
            ranges.append((begin, begin + span))
            if augmented:
                entry.skip(entry.leb())
        instructions(entry, FRAME_OPERANDS)
    return ranges


def shared_entry(entry):
    """How the entries that refer to this one write pointers, and whether they have data of other people's."""
    version = entry.number(1)
    end = entry.elf.find(b"\0", entry.at, entry.end)
    augmentation = bytes(entry.elf[entry.at : max(end, entry.at)])
    entry.skip(len(augmentation) + 1)
    if not re.fullmatch(rb"(?:z[LPRS]{0,4})?", augmentation) or version not in (1, 3, 4):
        raise ValueError("an entry of an unknown kind")
    if version == 4 and (entry.number(1), entry.number(1)) != (8, 0):
        raise ValueError("addresses of another size")
    entry.leb(), entry.leb()
    if (entry.number(1) if version == 1 else entry.leb()) > MOST_REGISTER:
        raise ValueError("a register that there is not")
    pointer = 0
    if augmentation:
        after = entry.leb() + entry.at
        for letter in augmentation[1:]:
            if letter == ord("R"):
                pointer = entry.number(1)
            elif letter == ord("L"):
                entry.skip(1)
            elif letter == ord("P"):
                entry.skip(POINTERS[entry.number(1) & ~INDIRECT])
        if entry.at != after or pointer not in (0, HERE_SIGNED):
            raise ValueError("pointers that are written in another way")
    return pointer, augmentation != b""


def instructions(code, operands, indexes=None):
    """Passes over instructions of frame information or of an expression, all of them known; returns the entries that they refer to, and adds to
    `indexes` the numbers of addresses."""
    starts, targets, entries, number, got = set(), set(), [], None, False
    while code.at < code.end:
        code.work.spend(1)
        start, before = code.at, number
        number = code.number(1)
        # gdb ends of the least number, divided by -1. By another that stands right before, no jump between them, it divides.
        if number not in DIVIDING:
            starts.add(start)
        elif before not in DIVISORS:
            raise ValueError("a division by any number")
        if operands is FRAME_OPERANDS and number >= 0x40:
            # Of these the number has the operand: an advance, a register's place, a register as it was.
            kinds = "N" if number >> 6 == 2 else ""
        else:
            kinds = operands[number]
        for kind in kinds:
            if kind in "RN":
                if code.leb() > MOST_REGISTER and kind == "R":
                    raise ValueError("a register that there is not")
            elif kind == "E":
                length = code.leb()
                inner = Cursor(code.elf, code.at, code.at + length, 4, code.work)
                code.skip(length)
                instructions(inner, PLAIN_OPERANDS if operands is FRAME_OPERANDS else GOT_OPERANDS)
                if operands is OF_CALLS and got:
                    raise ValueError("what doubles with each caller")
                got = True
            elif kind == "J":
                distance = code.number(2)
                if distance >= 1 << 15:
                    raise ValueError("a jump back")
                targets.add(code.at + distance)
            elif kind == "X":
                indexes.append(code.leb())
            elif kind == "P":
                entries.append(code.number(code.reference_size))
            elif kind in "Bb":
                code.skip(code.leb() if kind == "B" else code.number(1))
            else:
                code.skip(int(kind))
    if not targets <= starts | {code.end}:
        raise ValueError("a jump into an instruction")
    return entries


class no_scripts:
    """While symbols of a module are read, gdb runs nothing that comes with them."""

    KINDS = ("gdb-scripts", "python-scripts", "guile-scripts")

    def __enter__(self):
        self.before = {}
        for kind in self.KINDS:
            try:
                self.before[kind] = gdb.parameter(f"auto-load {kind}")
                gdb.execute(f"set auto-load {kind} off")
            except (gdb.error, RuntimeError):
                pass  # gdb was built without that language

    def __exit__(self, *_):
        for kind, was in self.before.items():
            gdb.execute(f"set auto-load {kind} {'on' if was else 'off'}")


def printable(text):
    """Names that a module's author chose, without what a terminal obeys."""
    return "".join(c if c.isprintable() else "?" for c in text)


def read(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def address_of(symbol):
    """Address of a symbol of any file, or None."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        # No command: one that fails, as libraries are loaded, is for gdb the end of the `run` in which it was given.
        return int(gdb.parse_and_eval(f"&{symbol}"))
    except gdb.error:
        return None
    finally:
        gdb.execute(f"set language {language}", to_string=True)


def head():
    """The first module's entry, the offset of thread blocks and the runtime's signal, or None where there is no Lockgate, or not yet."""
    SYMBOLS.find_runtime()
    if not SYMBOLS.runtime:
        return None
    try:
        return HEAD.unpack(read(SYMBOLS.runtime[LIST], HEAD.size))[1:]
    except gdb.error:
        return None


def registered():
    """Yields image address, domain, module, file address and file size of every module, newest first."""
    entry, _, signal = head() or (0, 0, 0)
    SYMBOLS.pass_on(signal)
    seen = set()
    while entry and entry not in seen and len(seen) < MOST_ENTRIES:
        seen.add(entry)
        entry, _, image, file, size, *rest = ENTRY.unpack(read(entry, ENTRY.size))
        module, domain = (text(*where) for where in (rest[:2], rest[2:4]))
        yield image, domain, module, file, size, *rest[4:]


def text(address, size):
    return printable(read(address, min(size, MOST_NAME)).decode(errors="replace"))


class Changed(gdb.Breakpoint):
    """Where the runtime says that a module came or went: an address, since gdb would stop at every function of that name."""

    def __init__(self, address):
        super().__init__(f"*{address}", internal=True)
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
    """Code without frame information: thunks in windows and of bindings, functions of modules, and the places in
    proxies that entry points return to."""

    def __init__(self):
        super().__init__("lockgate")
        self.fs_bases = {}

    def __call__(self, pending):
        pc, sp = pending.read_register("rip"), pending.read_register("rsp")
        fs_base = self.fs_base(pending)
        if is_exit(int(pc), int(sp)):
            return caller_of_entry(pending, int(sp), fs_base)
        # (A `ret` finds it where rsp points. In functions without lines gdb unwinds from there by itself, and takes the frame for one of rsp's stack.)
        if is_window_thunk(int(pc)) or is_thunk(int(pc)) or SYMBOLS.code_at(int(pc), len(RETURN)) == RETURN:
            at = int(sp)
        elif SYMBOLS.lacks_frames(int(pc)):
            at = return_slot(int(pc), int(sp), pending)
        else:
            return None
        if at is None:
            # gdb would guess. The frame before this one is the same: that is where it stops.
            nothing = pending.create_unwind_info(Identity(sp, pc))
            nothing.add_saved_register("rip", pc)
            nothing.add_saved_register("rsp", sp)
            return nothing
        # Frames of modules are known by their address on the data stack.
        frame = at + 8 - (0 if is_thunk(int(pc)) else OFF)
        caller = pending.create_unwind_info(Identity(gdb.Value(frame).cast(sp.type), pc))
        caller.add_saved_register("rip", gdb.Value(read(at, 8), pc.type))
        caller.add_saved_register("rsp", gdb.Value(at + 8).cast(sp.type))
        # What calls preserve is most likely the caller's still.
        for register in FRAME:
            caller.add_saved_register(register, pending.read_register(register))
        return caller

    def fs_base(self, pending):
        """The same in all frames of a thread, but in core files gdb knows it for the innermost ones only."""
        thread = gdb.selected_thread().ptid
        try:
            self.fs_bases[thread] = int(pending.read_register("fs_base"))
        except gdb.error:
            pass
        return self.fs_bases.get(thread)


def caller_of_entry(pending, sp, fs_base):
    """The caller of the entry point that began with its stack pointer at `sp`, from the thread's records."""
    pc, sp_type = pending.read_register("rip"), pending.read_register("rsp").type
    try:
        for record, binding, control, host in entries(fs_base):
            if control == sp:
                break
        else:
            return None
        if crosses(binding):
            # Another domain called, whose gate's record is the one before. The frame of `lockgate_crossing` finds its return
            # address where rsp points, and keeps all registers.
            _, rsp, _, _ = RECORD.unpack(read(record - RECORD_SIZE, RECORD.size))
            returns = SYMBOLS.runtime[CROSSING] + 1
        else:
            (returns,) = struct.unpack("<Q", read(host + FRAME_RETURN, 8))
            rsp = host + FRAME_RETURN + 8
        caller = pending.create_unwind_info(Identity(gdb.Value(host).cast(sp_type), pc))
        caller.add_saved_register("rip", gdb.Value(returns).cast(pc.type))
        caller.add_saved_register("rsp", gdb.Value(rsp).cast(sp_type))
        for register, place in FRAME.items():
            caller.add_saved_register(register, gdb.Value(read(host + place, 8), pc.type))
        return caller
    except gdb.MemoryError:
        return None


def entries(fs_base):
    """Yields record, binding, control address and host's stack pointer of each entry of a thread, innermost first."""
    _, block, _ = head() or (0, 0, 0)
    if not block or fs_base is None:
        return
    record, first = struct.unpack("<QQ", read(fs_base + block, 16))
    first = max(first, record - MOST_RECORDS * RECORD_SIZE)
    while record > first:
        kind, binding, control, host = RECORD.unpack(read(record, RECORD.size))
        if kind in ENTRIES:
            yield record, binding, control, host
        record -= RECORD_SIZE


def crosses(binding):
    """Whether a domain calls through `binding`."""
    (flags,) = struct.unpack("<I", read(binding + FLAGS, 4))
    return flags & FROM_DOMAIN != 0


def return_slot(pc, sp, pending):
    """Where the function at `pc` finds its return address, or None: the verifier knows it, behind a call from its table, and anywhere else (in
    the innermost function, which may have stopped at any instruction) from its pass over the code."""
    state = SYMBOLS.site(pc)
    if state is None:
        state = SYMBOLS.place(pc)
        if SYMBOLS.code_at(pc, len(STORES_FRAME_WORD)) == STORES_FRAME_WORD:
            sp = int(pending.read_register("r11"))
    if state is None:
        return None
    distance, word = state
    try:
        return sp + distance if word == NO_WORD else struct.unpack("<Q", read(sp + word, 8))[0] + distance
    except gdb.MemoryError:
        return None


def is_window_thunk(pc):
    window = pc - pc % STRIDE
    return THUNKS <= pc - window < IMAGE and window + IMAGE in SYMBOLS.loaded


def is_exit(pc, sp):
    """Whether entry points return to `pc`: code that is not in a window runs on the stack of one."""
    window = sp - sp % STRIDE
    return window + IMAGE in SYMBOLS.loaded and pc - pc % STRIDE != window


def is_thunk(pc):
    start = pc - pc % THUNK_SIZE
    try:
        return THUNK.match(read(start, THUNK_SIZE)) is not None
    except gdb.MemoryError:
        return False


def bare_name(frame):
    """What a frame of the runtime's code without symbols is called, or None."""
    pc = frame.pc()
    if is_window_thunk(pc) or is_thunk(pc):
        return "lockgate thunk"
    return "lockgate proxy" if is_exit(pc, int(frame.read_register("rsp"))) else None


class RuntimeFrame(FrameDecorator):
    """A frame of the runtime's own code under its own name. (Gates and crossings are signal frames to gdb, so that it lets the stack
    change there; thunks and proxies have no symbols.)"""

    def function(self):
        frame = self.inferior_frame()
        return frame.name() or bare_name(frame)


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
        is_gate = name is not None and name.startswith(("lockgate_gate_", "lockgate_crossing"))
        is_bare = name is None and bare_name(frame) is not None
        return RuntimeFrame(decorated) if is_gate or is_bare else decorated


class Lockgate(gdb.Command):
    """Commands for programs that use Lockgate."""

    def __init__(self):
        super().__init__("lockgate", gdb.COMMAND_FILES, prefix=True)


class Info(gdb.Command):
    """Show the domains of the process, with their modules, and which of them each thread is in."""

    def __init__(self):
        super().__init__("info lockgate", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        names = {}
        for image, domain, module, *_ in registered():
            names[image - IMAGE] = domain
            state = "symbols loaded" if SYMBOLS.loaded.get(image) else "no symbols: lockgate symbols"
            gdb.write(f"domain {domain}: module {module}, window {image - IMAGE:#x} ({state})\n")
        if not names:
            gdb.write("No domains.\n")
            return
        selected = gdb.selected_thread()
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            thread.switch()
            path = [self.entry(names, *entry) for entry in entries(int(gdb.newest_frame().read_register("fs_base")))]
            gdb.write(f"thread {thread.num} {thread.name!r}: {' -> '.join(['host'] + path[::-1])}\n")
        if selected is not None:
            selected.switch()

    @staticmethod
    def entry(names, record, binding, control, host):
        (target,) = struct.unpack("<Q", read(binding + TARGET, 8))
        symbol = gdb.execute(f"info symbol {target:#x}", to_string=True).split()[0]
        domain = names.get(control - control % STRIDE, "?")
        return f"{domain}: {symbol if symbol != 'No' else hex(target)}"


class LoadSymbols(gdb.Command):
    """Load the symbols of all modules in the process."""

    def __init__(self):
        super().__init__("lockgate symbols", gdb.COMMAND_FILES)

    def invoke(self, argument, from_tty):
        SYMBOLS.sync(limit=1 << 30)


def install():
    register_unwinder(None, BareCode(), replace=True)
    gdb.frame_filters[RuntimeFrames.name] = RuntimeFrames()
    # A process that gdb attaches to, and a core file, have their modules already.
    gdb.events.stop.connect(lambda event: SYMBOLS.sync())
    gdb.events.new_objfile.connect(lambda event: SYMBOLS.sync())
    gdb.events.exited.connect(lambda event: SYMBOLS.forget())
    Lockgate(), Info(), LoadSymbols()
    SYMBOLS.sync()


# A program and a library may carry the script both.
if not hasattr(gdb, "lockgate"):
    SYMBOLS = gdb.lockgate = Symbols()
    install()
