"""gdb support for Lockgate: symbols of the modules in a process or core file, and frames of the runtime's smallest code.

Programs that use Lockgate carry this script with them, and gdb loads it where its auto-load safe-path allows; else:

    gdb -x share/gdb/lockgate.py --args program...

Functions, lines, arguments and backtraces of modules built with -g then work as in any program, across the gates into
the host and back. Modules are noticed as the program loads them. `info lockgate` shows domains and which of them each
thread is in. A process with very many domains gets the symbols of the first ones; `lockgate symbols` loads the rest.
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

# crates/lockgate/src/symbols/registry_sys.rs
VERSION = 3
HEAD = struct.Struct("<QQq")
ENTRY = struct.Struct("<QQQQQQQQQQQ")
SITE, CONSTANT = struct.Struct("<III"), 0xffffffff
# crates/lockgate-abi/src/lib.rs, window and code
STUBS, IMAGE, STRIDE, OFF = 0x12000, 0x20000, 8 << 30, 0x3f000000
# crates/lockgate/src/call/layout.rs: ThreadBlock, Record, EntryRecord, GateRecord, the frame of proxies
RECORD = struct.Struct("<QQQQ")
RECORD_SIZE, ENTRIES = 64, (1, 3)
TARGET, FLAGS, FROM_DOMAIN = 24, 60, 4
FRAME = {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48}
FRAME_RETURN = 56
# crates/lockgate/src/call/code_sys.rs: mov $binding,%r11; jmp *proxy(%r11)
THUNK = re.compile(rb"\x49\xbb.{8}\x41\xff\x63|\x64\x48\xc7\x04\x25.{4}\0\0\0\0\x0f\x1f\0", re.DOTALL)
THUNK_SIZE = 16
# How far up the control stack a return address is looked for, bytes.
SEARCH = 64 << 10
# Modules whose symbols are loaded unasked: gdb needs time and memory for each.
EAGER = 32
# What is believed of the list of modules, in a process whose memory may be damaged: entries, bytes of a file, of a name; records of a thread.
MOST_ENTRIES, MOST_FILE, MOST_NAME, MOST_RECORDS = 1 << 16, 1 << 30, 4096, 1 << 16
# What is looked up of the runtime.
LIST, CHANGED, CROSSING = "lockgate_debug_modules", "lockgate_debug_changed", "lockgate_crossing"


class Symbols:
    """The modules whose symbols gdb has."""

    def __init__(self):
        self.loaded = {}
        self.sites = {}
        self.files = {}
        self.frames = {}
        self.code = {}
        self.runtime = {}
        self.changed = None
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
        finally:
            self.busy = False

    def load(self, limit):
        modules = {image: rest for image, _, *rest in registered()}
        for image in [image for image in self.loaded if image not in modules]:
            if self.loaded.pop(image) is not None:
                gdb.execute(f"remove-symbol-file -a {image:#x}", to_string=True)
        self.sites = {image: rest[3:] for image, rest in modules.items()}
        for image, (name, file, size, *_) in reversed(modules.items()):
            if image not in self.loaded and len(self.loaded) < limit:
                self.loaded[image] = None  # one that cannot be read keeps the others from nothing
                path = self.path(name, file, size)
                if path is None:
                    gdb.write(f"lockgate: no symbols of {name}: its file is damaged\n", gdb.STDERR)
                    continue
                try:
                    with no_scripts():
                        gdb.execute(f"add-symbol-file {path} -o {image:#x}", to_string=True)
                    self.loaded[image] = path
                except gdb.error as error:
                    gdb.write(f"lockgate: no symbols of {name}: {printable(str(error))}\n", gdb.STDERR)

    def path(self, name, file, size):
        """A file with what of a module's gdb may know, or None if its own makes no sense."""
        if (file, size) not in self.files:
            if self.folder is None:
                self.folder = tempfile.mkdtemp(prefix="lockgate-gdb-")
                atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
            self.files[file, size] = None
            if size > MOST_FILE:
                return None
            contents = read(file, size)
            try:
                shown, ranges = understood(contents)
                code = code_segment(contents)
            except (struct.error, ValueError, IndexError):
                return None
            base = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
            path = os.path.join(self.folder, f"{len(self.files)}-{base}")
            with open(path, "wb") as copy:
                copy.write(shown)
            self.files[file, size] = path
            self.frames[path], self.code[path] = ranges, code
        return self.files[file, size]

    def forget(self):
        """The process is gone, and its modules with it."""
        for image in [image for image, path in self.loaded.items() if path is not None]:
            gdb.execute(f"remove-symbol-file -a {image:#x}", to_string=True)
        self.loaded.clear()
        self.sites.clear()
        self.files.clear()
        self.runtime.clear()
        if self.changed is not None:
            self.changed.delete()
            self.changed = None

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

    def code_before(self, address, size):
        """Code of a module that ends at `address`, or None: from its file, because core files do not have it."""
        image = address - address % STRIDE + IMAGE
        start, contents = self.code.get(self.loaded.get(image), (0, b""))
        at = address - image - start
        return contents[at - size : at] if size <= at <= len(contents) else None

    def site(self, pc):
        """What the verifier knows of rsp behind the call that returns to `pc`: o and CONSTANT, or b and d; None if no call does."""
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

    def lacks_frames(self, pc):
        """Whether `pc` is code of a module that has no frame information: assembly, or a C library without."""
        image = pc - pc % STRIDE + IMAGE
        if image not in self.loaded or pc < image:
            return False
        ranges = self.frames.get(self.loaded[image], [])
        below = bisect.bisect_right(ranges, (pc - image, 1 << 64)) - 1
        return below < 0 or pc - image >= ranges[below][1]


# Sections of debug information that hold data for gdb and nothing that it would run, open or search for.
DEBUG = {
    b".debug_" + name
    for name in b"aranges info abbrev line frame str line_str loc loclists ranges rnglists types addr str_offsets".split()
}
# Names that mean something to gdb. Sections with other names are code and data.
MEANT = (b".debug", b".zdebug", b".gnu", b".gdb", b".note", b".stab", b".dyn", b".interp", b".probes", b".plt", b".rel", b".mdebug")
# Types: contents, no contents, tables of functions, unwinding; symbols, names.
PLAIN, EMPTY_TYPE, SYMBOLS_TYPE, NAMES_TYPE = {1, 8, 14, 15, 16, 0x70000001}, 8, 2, 3
ALLOCATED, COMPRESSED = 2, 0x800
# Where images end, at the latest: gdb is to take nothing of the host's for a module's.
MOST_IMAGE = (1 << 32) - IMAGE
# Most attributes of an entry of debug information: gdb, too, goes through them for each entry, and some need no bytes there.
MOST_ATTRIBUTES = 256
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


def understood(elf):
    """A module's file without whatever gdb would do more with than show it (scripts, links to other files, notes), and the code that its frame
    information describes. It is a new file: each section that is kept lies there once, under a header and a name that are written here."""
    if elf[:7] != b"\x7fELF\2\1\1" or struct.unpack_from("<H", elf, 16)[0] != 3:
        raise ValueError("no module")
    table = struct.unpack_from("<Q", elf, 40)[0]
    count, names = struct.unpack_from("<HH", elf, 60)
    if count >= MOST_SECTIONS:
        raise ValueError("too many sections")
    sections = [Section(elf, table + HEADER.size * index) for index in range(count)]
    kept, ranges = chosen(elf, sections, bytes(sections[names].contents(elf)))
    shown = bytearray(FILE.size)
    copies = {index: copied(elf, sections[index], shown) for index in kept}
    for section in copies.values():
        if section.type == SYMBOLS_TYPE:
            tell_nothing(shown, section, copies[section.link])
    try:
        clean_names(shown, copies.values())
    except (struct.error, ValueError, IndexError, KeyError):
        # Nobody knows where its names are.
        copies = {index: section for index, section in copies.items() if section.name not in DEBUG}
    write_headers(shown, copies, count)
    return shown, ranges


def chosen(elf, sections, strings):
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
            elif section.name in DEBUG:
                kept.append(index)
    frames = [index for index in kept if sections[index].name == b".eh_frame"]
    for index in frames:
        try:
            # A module has one. Damaged, it is left out: frames are guessed then.
            if len(frames) > 1:
                raise ValueError
            ranges = frame_ranges(elf, sections[index])
        except (struct.error, ValueError):
            kept.remove(index)
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


def tell_nothing(elf, symbols, names):
    """Takes the names from symbols that would have gdb do something."""
    texts = bytes(names.contents(elf))
    for at in range(symbols.offset, symbols.offset + symbols.size - 23, 24):
        (name,) = struct.unpack_from("<I", elf, at)
        if texts.startswith(TELLING, name):
            struct.pack_into("<I", elf, at, 0)


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


def clean_names(elf, sections):
    """Takes out of a file's tables of names, and of its debug information, what a terminal would obey: gdb prints names as they are."""
    texts = {b".debug_str", b".debug_line_str"}
    named = {section.name: section for section in sections}
    for section in sections:
        if section.type == NAMES_TYPE or section.name in texts:
            clean(elf, section.offset, section.offset + section.size)
    abbreviations = Abbreviations(elf, named.get(b".debug_abbrev"))
    for name, walk in ((b".debug_info", clean_unit), (b".debug_types", clean_unit), (b".debug_line", clean_lines)):
        section = named.get(name)
        if section is None:
            continue
        at, end = section.offset, section.offset + section.size
        while at < end:
            length, size = struct.unpack_from("<I", elf, at)[0], 4
            if length == 0xFFFFFFFF:
                length, size = struct.unpack_from("<Q", elf, at + 4)[0], 8
            start = at + (4 if size == 4 else 12)
            at = start + length
            if at > end:
                raise ValueError("a unit is longer than its section")
            walk(Cursor(elf, start, at, size), abbreviations, name == b".debug_types")


# A name may be read from any byte of it on: in the middle of a character of several bytes others begin, so none of those is left.
CONTROLS = bytes(c if 32 <= c < 127 or c == 0 else ord("?") for c in range(256))


def clean(elf, at, end):
    """The same for the strings that lie there; none becomes longer or shorter."""
    was = bytes(elf[at:end])
    now = was.translate(CONTROLS)
    for escape in ESCAPES:
        now = escape.sub(broken, now)
    # Rust's names may have any character in Punycode. Shown as they are, they are only harder to read.
    if b"_R" in now:
        now = b"\0".join(name.replace(b"_R", b"?R") if PUNYCODE.search(name) else name for name in now.split(b"\0"))
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


def broken(escape):
    """A character's number without what makes it one, unless the character may be shown."""
    number = int(escape[1], 16)
    shown = number < 0x110000 and chr(number).isprintable()
    return escape[0] if shown else b"?" + escape[0][1:]


class Cursor:
    """A place in a unit of debug information."""

    def __init__(self, elf, at, end, offset_size):
        self.elf, self.at, self.end, self.offset_size = elf, at, end, offset_size

    def number(self, size):
        value = int.from_bytes(self.elf[self.at : self.at + size], "little")
        self.skip(size)
        return value

    def skip(self, size):
        self.at += size
        if size < 0 or self.at > self.end:
            raise ValueError("debug information ends in the middle")

    def leb(self):
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
        clean(self.elf, start, end)
        self.at = end + 1
        return end - start

    def form(self, form, address_size, version):
        """Passes over an attribute's value."""
        if form in FIXED:
            self.skip(FIXED[form])
        elif form == 0x08:
            self.string()
        elif form in LEBS:
            self.leb()
        elif form in OFFSETS:
            self.skip(self.offset_size)
        elif form == 0x01:
            self.skip(address_size)
        elif form == 0x10:
            self.skip(address_size if version == 2 else self.offset_size)
        elif form in BLOCKS:
            self.skip(self.number(BLOCKS[form]) if BLOCKS[form] else self.leb())
        else:
            raise ValueError("an unknown form")


# Forms of attributes: of so many bytes; numbers of any length; offsets in sections; lengths before bytes, of so many bytes (0: of any).
FIXED = {0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1C: 4, 0x1E: 16, 0x20: 8, 0x21: 0}
FIXED.update({0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4})
LEBS = {0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02}
OFFSETS = {0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21}
BLOCKS = {0x03: 2, 0x04: 4, 0x09: 0, 0x0A: 1, 0x18: 0}


def clean_unit(unit, abbreviations, of_types):
    version = unit.number(2)
    if not 2 <= version <= 5:
        raise ValueError("debug information of another kind")
    kind = 1
    if version == 5:
        kind, address_size = unit.number(1), unit.number(1)
        table = unit.number(unit.offset_size)
        unit.skip({4: 8, 5: 8, 2: 8 + unit.offset_size, 6: 8 + unit.offset_size}.get(kind, 0))
    else:
        table, address_size = unit.number(unit.offset_size), unit.number(1)
        unit.skip(8 + unit.offset_size if of_types else 0)
    known = abbreviations.at(table)
    while unit.at < unit.end:
        code = unit.leb()
        if code:
            for form in known[code]:
                unit.form(form, address_size, version)


class Abbreviations:
    """Forms of attributes by the abbreviations' numbers, table by table."""

    def __init__(self, elf, section):
        self.elf, self.section, self.tables, self.read = elf, section, {}, 0

    def at(self, offset):
        if offset not in self.tables:
            if self.section is None:
                raise ValueError("no abbreviations")
            start, end = self.section.offset + offset, self.section.offset + self.section.size
            table = Cursor(self.elf, start, end, 4)
            self.tables[offset] = self.table(table)
            # Tables lie one behind another: who reads one in many ways has the reader work for ever.
            self.read += table.at - start
            if self.read > self.section.size:
                raise ValueError("tables of abbreviations overlap")
        return self.tables[offset]

    def table(self, table):
        known = {}
        while code := table.leb():
            table.leb()
            table.skip(1)
            forms = []
            while True:
                name, form = table.leb(), table.leb()
                if form == 0x21:
                    table.leb()
                # gdb has 16 bits for each, and ends where there is no name.
                if name >> 16 or form >> 16 or (not name) != (not form):
                    raise ValueError("an attribute without a name or a form")
                if not name:
                    break
                forms.append(form)
                if len(forms) > MOST_ATTRIBUTES:
                    raise ValueError("an entry with too many attributes")
            if code in known or code >> 32:
                raise ValueError("two abbreviations with one number, for which gdb has 32 bits")
            known[code] = forms
        return known


# Operands of the instructions of line programs that every version has; forms of what version 5 says of files.
OPERANDS = [0, 1, 1, 1, 1, 0, 0, 0, 1]
LINE_FORMS = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0F, 0x1E, 0x1F}


def clean_lines(unit, *_):
    version = unit.number(2)
    if not 2 <= version <= 5:
        raise ValueError("line numbers of another kind")
    address_size = 8
    if version == 5:
        address_size = unit.number(1)
        unit.skip(1)
    program = unit.number(unit.offset_size) + unit.at
    unit.skip(5 if version >= 4 else 4)
    first = unit.number(1)
    counts = [unit.number(1) for _ in range(1, first)]
    # gdb knows these itself.
    if counts[: len(OPERANDS)] != OPERANDS:
        raise ValueError("instructions with other operands than they have")
    if version == 5:
        for _ in range(2):
            forms = [(unit.leb(), unit.leb())[1] for _ in range(unit.number(1))]
            for _ in range(unit.leb()):
                before = unit.at
                for form in forms:
                    if form not in LINE_FORMS:
                        raise ValueError("a form that gdb does not know here")
                    unit.form(form, address_size, version)
                if unit.at == before:
                    raise ValueError("a file without a name")
    else:
        while unit.string():
            pass
        while unit.string():
            for _ in range(3):
                unit.leb()
    unit.skip(program - unit.at)
    while unit.at < unit.end:
        code = unit.number(1)
        if code == 0:
            after = unit.leb() + unit.at
            if after == unit.at:
                raise ValueError("an instruction without bytes, of which gdb reads one")
            # A file that is named on the way.
            if unit.number(1) == 3:
                unit.string()
            unit.skip(after - unit.at)
        elif code == 9:
            unit.skip(2)
        elif code < first:
            for _ in range(counts[code - 1]):
                unit.leb()


def code_segment(elf):
    """Address and contents of the code of a module's file: there is one executable segment."""
    table, count = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
    for index in range(count):
        kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", elf, table + 56 * index)
        if kind == 1 and flags & 1:
            return address, elf[offset : offset + size]
    return 0, b""


def frame_ranges(elf, section):
    """Sorted (start, end) of the code that the .eh_frame section of a file describes."""
    ranges = []
    at, end = section.offset, section.offset + section.size
    while at < end:
        length, cie = struct.unpack_from("<II", elf, at) if end - at >= 8 else (0, 0)
        if at + 4 + length > end:
            raise ValueError("an entry is longer than its section")
        if length and cie:
            # The rewriter and gcc both write 32-bit distances.
            begin, span = struct.unpack_from("<iI", elf, at + 8)
            begin += section.address + at + 8 - section.offset
            ranges.append((begin, begin + span))
        at += 4 + length
    return sorted(ranges)


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
    """Address of a symbol, anybody's, or None."""
    try:
        # Unlike an expression, this reads the same in every language.
        text = gdb.execute(f"info address {symbol}", to_string=True)
        return int(re.search(r"0x[0-9a-f]+", text)[0], 16)
    except (gdb.error, TypeError):
        return None


def head():
    """The first module's entry and the offset of thread blocks, or None where there is no Lockgate, or not yet."""
    SYMBOLS.find_runtime()
    if not SYMBOLS.runtime:
        return None
    try:
        _, first, block = HEAD.unpack(read(SYMBOLS.runtime[LIST], HEAD.size))
    except gdb.error:
        return None
    return first, block


def registered():
    """Yields image address, domain, module, file address and file size of every module, newest first."""
    entry, _ = head() or (0, 0)
    seen = set()
    while entry and entry not in seen and len(seen) < MOST_ENTRIES:
        seen.add(entry)
        entry, _, image, file, size, *rest = ENTRY.unpack(read(entry, ENTRY.size))
        module, domain = (text(*where) for where in (rest[:2], rest[2:4]))
        yield image, domain, module, file, size, *rest[4:]


def text(address, size):
    return printable(read(address, min(size, MOST_NAME)).decode(errors="replace"))


class Changed(gdb.Breakpoint):
    """Where the runtime says that a module came or went: an address, since gdb would stop at everybody's function of that name."""

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
    """Code without frame information: stubs in windows, thunks of bindings, functions of modules, and the places in
    proxies that entry points return to."""

    def __init__(self):
        super().__init__("lockgate")
        self.fs_bases = {}

    def __call__(self, pending):
        pc, sp = pending.read_register("rip"), pending.read_register("rsp")
        fs_base = self.fs_base(pending)
        if is_exit(int(pc), int(sp)):
            return caller_of_entry(pending, int(sp), fs_base)
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
    """Whoever called the entry point that began with its stack pointer at `sp`, from the thread's records."""
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
    _, block = head() or (0, 0)
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


def return_slot(pc, sp):
    """Where the function at `pc` finds its return address. Behind a call, the verifier's table says it. Of the innermost function, which
    may have stopped anywhere, it is a guess: most likely it is the first word left by a call of this very function, else (it was called
    through a pointer or a jump) the first by any."""
    try:
        state = SYMBOLS.site(pc)
        if state is not None:
            distance, frame = state
            return sp + distance if frame == CONSTANT else struct.unpack("<Q", read(sp + frame, 8))[0] + distance
    except gdb.MemoryError:
        return None
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
        except gdb.MemoryError:
            break
        call = SYMBOLS.code_before(address, 5)
        if call is None:
            continue
        if call[0] == 0xE8 and address + struct.unpack_from("<i", call, 1)[0] in (start, start + 4):
            return at
        if first is None and (call[0] == 0xE8 or call[2:] == b"\x41\xff\xd3"):
            first = at
    return first


def is_stub(pc):
    window = pc - pc % STRIDE
    return STUBS <= pc - window < IMAGE and window + IMAGE in SYMBOLS.loaded


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
    if is_stub(pc):
        return "lockgate stub"
    if is_thunk(pc):
        return "lockgate thunk"
    return "lockgate proxy" if is_exit(pc, int(frame.read_register("rsp"))) else None


class RuntimeFrame(FrameDecorator):
    """A frame of the runtime's own code under its own name. (Gates and crossings are signal frames to gdb, so that it lets the stack
    change there; stubs, thunks and proxies have no symbols.)"""

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
