//! Debug information and unwind tables of real objects, before and after, read by gimli and compared piece
//! by piece through the address map.

use std::process::Command;

use gimli::{
    AttributeValue, BaseAddresses, CfaRule, Dwarf, EhFrame, EndianSlice, Expression, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow,
};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use lockgate_abi::code::OFF;

use super::*;
use crate::elf::reloc;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// C that makes gcc emit location lists, inlined calls, stack arguments, alloca, alignment and calls through pointers.
const SOURCE: &str = r#"
struct pair { long a, b[20]; };
extern int out(int, struct pair *, char *, long, long, long, long, long);
extern int (*hook)(int, ...);
static inline int helper(int x) { char text[64]; text[0] = (char)x; return out(x, 0, text, 1, 2, 3, 4, 5); }
int sum(int n, struct pair v) {
    struct pair w = v; int total = 0;
    for (int i = 0; i < n; i++) { total += helper(i) + (int)w.b[i % 20]; out(total, &w, 0, total, 2, 3, 4, n); }
    return total;
}
int recurse(int n) {
    if (n < 2) return n;
    char text[n]; out(n, 0, text, 1, 2, 3, 4, 5);
    if (n == 5) return hook(n);
    n += hook(n, text);
    n += hook(1, 2, 3, 4, 5, 6, 7, 8);
    return recurse(n - 1) + recurse(n - 2) + text[0];
}
__attribute__((noinline)) static long wide(long n) {
    long v[8] __attribute__((aligned(64))); out((int)n, 0, (char *)v, 1, 2, 3, 4, 5); return v[n & 7];
}
__attribute__((cold, noinline)) int rare(int n) { return out(n, 0, 0, 6, 7, 8, 9, 10) + (int)wide(n); }
int main(int argc, char **argv) { (void)argv; return sum(argc, (struct pair){ 1, { 2 } }) + recurse(argc) + rare(argc); }
"#;

const CXX_SOURCE: &str = r#"
extern void may_throw(int);
struct guard { int n; ~guard() { may_throw(-n); } };
int caught(int n) { try { guard g{n}; may_throw(n); may_throw(n + 1); } catch (int e) { return e; } catch (...) { return 1; } return 0; }
"#;

fn compile(language: &str, source: &str, flags: &[&str]) -> Object {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join(format!("a.{language}")), dir.path().join("a.o"));
    std::fs::write(&input, source).unwrap();
    let status =
        Command::new("gcc").args(flags).arg("-c").arg(&input).arg("-o").arg(&output).status().unwrap();
    assert!(status.success());
    Object::read("a.o", &std::fs::read(&output).unwrap()).unwrap()
}

/// A made-up rewriting: every instruction grows by two bytes, functions get a label of four, after every call comes a gap that belongs to no
/// instruction, and after every `push` rsp lags by 8 bytes up to the end of the next instruction.
fn stretch(object: &mut Object) -> AddressMap {
    let mut map = AddressMap::new(object.sections.len());
    for index in 0..object.sections.len() {
        if !object.sections[index].is_code() {
            continue;
        }
        let code = object.sections[index].data.clone();
        let mut section = SectionMap::new(code.len());
        let mut new = 0;
        for instruction in Decoder::new(64, &code, DecoderOptions::NONE) {
            let (start, end) = (instruction.ip() as u32, instruction.next_ip() as u32);
            let label = 4 * u32::from(object.symbols.iter().any(|symbol| {
                (symbol.kind, symbol.section(), symbol.value) == (sym::FUNC, Some(index), start.into())
            }));
            if label != 0 {
                section.push_body(start, new + label);
            }
            let new_end = new + label + instruction.len() as u32 + 2;
            section.insert(start, end, new, new_end);
            section.push_bias(new_end, if instruction.mnemonic() == Mnemonic::Push { 8 } else { 0 });
            new = new_end + u32::from(instruction.mnemonic() == Mnemonic::Call);
        }
        section.finish(new, new);
        for symbol in object.symbols.iter_mut().filter(|symbol| symbol.section() == Some(index)) {
            symbol.value = section.start(symbol.value).unwrap();
        }
        object.sections[index].data = vec![0xcc; new as usize];
        object.sections[index].relocs.clear();
        map.set(index, section);
    }
    map
}

/// The object before and after, and the map between them.
struct Moved {
    mover: Mover,
    old: Object,
    new: Object,
    /// The object whose code is the rewriter's; as `new` with other movers.
    code: Object,
    map: AddressMap,
    stats: Stats,
}

/// A trap: new addresses, and the old one of the instruction that it belongs to.
struct Trap {
    start: u64,
    end: u64,
    owner: u64,
}

/// What moves the code.
#[derive(Clone, Copy, Debug)]
enum Mover {
    /// [`stretch`].
    Stretch,
    /// The rewriter itself.
    Rewriter,
}

const MOVERS: [Mover; 2] = [Mover::Stretch, Mover::Rewriter];

fn moved(mover: Mover, language: &str, source: &str, flags: &[&str]) -> Moved {
    let old = compile(language, source, flags);
    let mut new = old.clone();
    let mut code = None;
    let map = match mover {
        Mover::Stretch => stretch(&mut new),
        Mover::Rewriter => {
            let (object, map, _) =
                crate::transform::transform("a.o", &old.clone().write(), &crate::Options::default())
                    .unwrap_or_else(|error| panic!("{flags:?}: {error}"));
            new.symbols.clone_from(&object.symbols);
            code = Some(object);
            map
        }
    };
    let stats =
        rewrite("a.o", &mut new, &old.symbols, &map).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
    assert_eq!(stats.dropped, None, "{flags:?}");
    Moved { mover, old, code: code.unwrap_or_else(|| new.clone()), new, map, stats }
}

/// Every compilation of [`SOURCE`], moved in both ways.
fn compilations() -> impl Iterator<Item = (&'static [&'static str], Moved)> {
    let movers = MOVERS.into_iter().flat_map(|mover| FLAGS.map(|flags| (mover, flags)));
    movers.map(|(mover, flags)| (flags, moved(mover, "c", SOURCE, flags)))
}

/// Section `index` is loaded at this address in what follows.
fn base(index: usize) -> u64 {
    (index as u64) << 24
}

/// Section contents with relocations applied.
fn loaded(object: &Object, index: usize) -> Vec<u8> {
    let section = &object.sections[index];
    let mut data = section.data.clone();
    for reloc in &section.relocs {
        let symbol = &object.symbols[reloc.symbol as usize];
        let debug = symbol.section().is_some_and(|index| object.sections[index].name.starts_with(".debug_"));
        let target = symbol.section().map_or(0, |index| if debug { 0 } else { base(index) });
        let value = target.wrapping_add(symbol.value).wrapping_add_signed(reloc.addend);
        let at = reloc.offset as usize;
        match reloc.kind {
            reloc::ABS64 => data[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            reloc::ABS32 => data[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
            reloc::PC32 => {
                let value = value.wrapping_sub(base(index) + reloc.offset) as u32;
                data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            reloc::DTPOFF64 | reloc::DTPOFF32 => {}
            kind => panic!("relocation type {kind}"),
        }
    }
    data
}

fn index_of(object: &Object, name: &str) -> Option<usize> {
    object.sections.iter().position(|section| section.name == name)
}

/// All debug sections, loaded.
fn dwarf_sections(object: &Object) -> gimli::DwarfSections<Vec<u8>> {
    gimli::DwarfSections::load(|id| -> Result<_, ()> {
        Ok(index_of(object, id.name()).map(|index| loaded(object, index)).unwrap_or_default())
    })
    .unwrap()
}

fn borrow(sections: &gimli::DwarfSections<Vec<u8>>) -> Dwarf<Slice<'_>> {
    sections.borrow(|data| EndianSlice::new(data, LittleEndian))
}

impl Moved {
    /// Where the code at old address `address` starts now.
    fn start(&self, address: u64) -> u64 {
        let (index, offset) = ((address >> 24) as usize, address & 0xff_ffff);
        base(index) + self.map.section(index).unwrap().start(offset).unwrap()
    }

    /// The same after the entry label, if there is one.
    fn body(&self, address: u64) -> u64 {
        let (index, offset) = ((address >> 24) as usize, address & 0xff_ffff);
        base(index) + self.map.section(index).unwrap().body(offset).unwrap()
    }

    /// Where the code that ends at old address `address` ends now.
    fn end(&self, address: u64) -> u64 {
        let (index, offset) = ((address >> 24) as usize, address & 0xff_ffff);
        base(index) + self.map.section(index).unwrap().end(offset).unwrap()
    }

    /// The traps that lie apart from their checks.
    fn outliers(&self) -> Vec<Trap> {
        let sections =
            (0..self.old.sections.len()).filter_map(|index| Some((index, self.map.section(index)?)));
        let trap = |index: usize, outlier: &crate::map::Outlier| Trap {
            start: base(index) + u64::from(outlier.start),
            end: base(index) + u64::from(outlier.end),
            owner: base(index) + u64::from(outlier.owner),
        };
        sections
            .flat_map(|(index, map)| map.outliers().iter().map(move |outlier| trap(index, outlier)))
            .collect()
    }

    fn bias(&self, address: u64) -> i64 {
        self.map.section((address >> 24) as usize).unwrap().bias_at(address & 0xff_ffff).into()
    }
}

/// Flags of every compilation that the tables below run over.
const FLAGS: [&[&str]; 9] = [
    &["-g", "-O0"],
    &["-g", "-O2"],
    &["-g", "-O2", "-ffunction-sections"],
    &["-gdwarf-4", "-O2"],
    &["-gdwarf-4", "-O2", "-ffunction-sections", "-fdebug-types-section"],
    &["-gdwarf-3", "-gstrict-dwarf", "-Os", "-fno-omit-frame-pointer"],
    &["-g", "-O2", "-maccumulate-outgoing-args"],
    &["-g3", "-O3", "-march=x86-64-v4", "-fstack-protector-all", "-fcf-protection=full"],
    &["-g", "-O1", "-fno-dwarf2-cfi-asm", "-fno-asynchronous-unwind-tables"],
];

#[test]
fn every_line_row_is_at_its_instruction() {
    for (flags, moved) in compilations() {
        let (old, new) = (dwarf_sections(&moved.old), dwarf_sections(&moved.new));
        let (old, new) = (line_rows(&borrow(&old)), line_rows(&borrow(&new)));
        assert!(old.len() > 40, "{flags:?}: {} rows", old.len());
        assert_eq!(moved.stats.line_rows, old.len(), "{flags:?}");
        let what = |row: &gimli::LineRow, address: u64, is_stmt: bool| {
            let flags = (is_stmt, row.end_sequence(), row.discriminator(), row.prologue_end());
            (address, row.file_index(), row.line(), row.column(), flags)
        };
        let mut wanted = Vec::new();
        let mut last = None;
        for row in &old {
            let old = row.address();
            if row.end_sequence() {
                wanted.push(what(row, moved.end(old), row.is_stmt()));
                last = None;
                continue;
            }
            if moved.start(old) != moved.body(old) && last != Some(old) {
                wanted.push(what(row, moved.start(old), false));
            }
            wanted.push(what(row, moved.body(old), row.is_stmt()));
            last = Some(old);
        }
        let traps = moved.outliers();
        let is_rewriter = matches!(moved.mover, Mover::Rewriter);
        assert_eq!(traps.len() >= 3, is_rewriter, "{flags:?}: {} traps", traps.len());
        let (of_traps, new): (Vec<_>, Vec<_>) = new.iter().partition(|row| {
            !row.is_stmt()
                && traps.iter().any(|trap| trap.start == row.address() || trap.end == row.address())
        });
        let new: Vec<_> = new.iter().map(|row| what(row, row.address(), row.is_stmt())).collect();
        wanted.retain(|row| row.4.0 || !of_traps.iter().any(|trap| trap.address() == row.0));
        assert_eq!(new, wanted, "{flags:?}");
        // A trap has the source of its check, and what follows it that of the instruction before it.
        let source = |row: &gimli::LineRow| (row.file_index(), row.line(), row.column());
        for Trap { start, end, owner } in traps {
            let place = of_traps.iter().position(|row| row.address() == start).expect("the trap's row");
            assert_eq!(source(&of_traps[place]), source(row_at(&old, owner)), "{flags:?}: {owner:#x}");
            let next = of_traps.get(place + 1).filter(|row| row.address() == end);
            assert!(next.is_some() || wanted.iter().any(|row| row.0 == end), "{flags:?}: {end:#x}");
        }
        let has_labels_already = flags.contains(&"-fcf-protection=full");
        assert!(wanted.len() > old.len() || has_labels_already, "{flags:?}");
    }
}

/// The row in force at `address`.
fn row_at(rows: &[gimli::LineRow], address: u64) -> &gimli::LineRow {
    let row = rows
        .windows(2)
        .rfind(|pair| !pair[0].end_sequence() && (pair[0].address()..pair[1].address()).contains(&address));
    &row.expect("a row")[0]
}

fn line_rows(dwarf: &Dwarf<Slice<'_>>) -> Vec<gimli::LineRow> {
    let mut rows = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let Some(program) = unit.line_program else { continue };
        let mut machine = program.rows();
        while let Some((_, row)) = machine.next_row().unwrap() {
            rows.push(*row);
        }
    }
    rows
}

/// At the start of every instruction, the row in force finds the same frame.
#[test]
fn every_frame_row_finds_the_same_frame() {
    for (flags, moved) in compilations() {
        for name in [".eh_frame", ".debug_frame"] {
            let Some(index) = index_of(&moved.old, name) else { continue };
            let (old, new) = (loaded(&moved.old, index), loaded(&moved.new, index));
            let compared = if name == ".eh_frame" {
                compare_frames(
                    &moved,
                    &EhFrame::new(&old, LittleEndian),
                    &EhFrame::new(&new, LittleEndian),
                    index,
                )
            } else {
                let frame = |data| gimli::DebugFrame::new(data, LittleEndian);
                compare_frames(&moved, &frame(&old), &frame(&new), index)
            };
            assert!(compared > 100, "{flags:?}: {compared} instructions in {name}");
        }
    }
}

fn compare_frames<'a, S: UnwindSection<Slice<'a>>>(moved: &Moved, old: &S, new: &S, index: usize) -> usize
where
    S::Offset: gimli::UnwindOffset,
{
    let bases = BaseAddresses::default().set_eh_frame(base(index));
    let mut compared = 0;
    for (code_index, section) in moved.old.sections.iter().enumerate().filter(|(_, s)| s.is_code()) {
        for instruction in Decoder::with_ip(64, &section.data, base(code_index), DecoderOptions::NONE) {
            let address = instruction.ip();
            if moved.start(address) == moved.end(instruction.next_ip()) {
                // Merged into what follows: the row there counts.
                continue;
            }
            let (mut old_context, mut new_context) = (UnwindContext::new(), UnwindContext::new());
            let Ok(row) = old.unwind_info_for_address(&bases, &mut old_context, address, S::cie_from_offset)
            else {
                continue;
            };
            let new_address = moved.start(address);
            let new_row = new
                .unwind_info_for_address(&bases, &mut new_context, new_address, S::cie_from_offset)
                .unwrap();
            compare_row(row, new_row, moved.bias(new_address), address);
            compared += 1;
        }
    }
    for Trap { start, owner, .. } in moved.outliers() {
        let (mut old_context, mut new_context) = (UnwindContext::new(), UnwindContext::new());
        let row = old.unwind_info_for_address(&bases, &mut old_context, owner, S::cie_from_offset);
        let new_row = new.unwind_info_for_address(&bases, &mut new_context, start, S::cie_from_offset);
        compare_row(row.unwrap(), new_row.unwrap(), 0, owner);
    }
    compared
}

fn compare_row(old: &UnwindTableRow<usize>, new: &UnwindTableRow<usize>, bias: i64, at: u64) {
    const RSP: Register = Register(7);
    const RIP: Register = Register(16);
    let off = i64::from(OFF);
    match (old.cfa(), new.cfa()) {
        (
            CfaRule::RegisterAndOffset { register, offset },
            CfaRule::RegisterAndOffset { register: r, offset: o },
        ) => {
            assert_eq!(register, r, "{at:#x}");
            let shift = if *register == RSP { bias + off } else { 0 };
            assert_eq!(offset - shift, *o, "{at:#x}");
        }
        (CfaRule::Expression(_), CfaRule::Expression(_)) => {}
        (old, new) => panic!("{at:#x}: {old:?} became {new:?}"),
    }
    assert_eq!(new.register(RSP).unwrap(), RegisterRule::ValOffset(off), "{at:#x}");
    let Some(RegisterRule::Offset(offset)) = old.register(RIP) else { panic!("{at:#x}") };
    assert_eq!(new.register(RIP).unwrap(), RegisterRule::Offset(offset + off), "{at:#x}");
    for register in (0..16).map(Register).filter(|&register| register != RSP) {
        match (old.register(register), new.register(register)) {
            (Some(RegisterRule::Expression(_)), Some(RegisterRule::Expression(_))) => {}
            (old, new) => assert_eq!(old, new, "{at:#x} {register:?}"),
        }
    }
}

/// Every entry keeps its attributes; addresses, lengths, ranges, locations and references follow the code.
#[test]
fn every_entry_says_the_same() {
    for (flags, moved) in compilations() {
        let (old, new) = (dwarf_sections(&moved.old), dwarf_sections(&moved.new));
        let entries = Entries { moved: &moved, old: &borrow(&old), new: &borrow(&new) };
        let seen = entries.compare();
        assert_eq!(seen.entries, moved.stats.entries, "{flags:?}");
        // Up to DWARF 3 the end of a function is an address, not a length.
        assert!(seen.lengths >= 5 || flags.contains(&"-gdwarf-3"), "{flags:?} {seen:?}");
        assert!(seen.references > 20, "{flags:?} {seen:?}");
        if flags.contains(&"-O2") {
            assert!(seen.locations > 100 && seen.ranges > 0, "{flags:?} {seen:?}");
        }
    }
}

/// gcc lets a list of ranges start within another, where what follows does not count from the other's base.
#[test]
fn lists_that_share_their_ends_stay_lists() {
    let source = r#"
    .text
f:  nop
    nop
    ret
    .section .text.cold,"ax",@progbits
g:  nop
    ret
    .section .debug_abbrev,"",@progbits
    .uleb128 1, 0x11
    .byte 1
    .uleb128 0, 0
    .uleb128 2, 0x0b
    .byte 0
    .uleb128 0x55, 0x17, 0, 0, 0
    .section .debug_rnglists,"",@progbits
lists:
    .long lists_end - 1f
1:  .short 5
    .byte 8, 0
    .long 0
whole:
    .byte 5
    .quad f
    .byte 4
    .uleb128 0, 1
    .byte 4
    .uleb128 1, 2
rest:
    .byte 7
    .quad g
    .uleb128 1
last:
    .byte 7
    .quad f
    .uleb128 2
    .byte 0
lists_end:
    .section .debug_info,"",@progbits
    .long info_end - 1f
1:  .short 5
    .byte 1, 8
    .long .debug_abbrev
    .uleb128 1
    .uleb128 2
    .long whole
    .uleb128 2
    .long rest
    .uleb128 2
    .long last
    .byte 0
info_end:
"#;
    for mover in MOVERS {
        let moved = moved(mover, "s", source, &[]);
        let (old, new) = (dwarf_sections(&moved.old), dwarf_sections(&moved.new));
        let seen = Entries { moved: &moved, old: &borrow(&old), new: &borrow(&new) }.compare();
        assert_eq!((seen.entries, seen.ranges), (4, 7));
    }
    // One that counts from a base of the other's alone has no meaning of its own.
    let broken = source
        .replace("    .uleb128 0, 1\n", "    .uleb128 0, 1\nmiddle:\n")
        .replace(".long rest", ".long middle");
    let old = compile("s", &broken, &[]);
    let mut new = old.clone();
    let map = stretch(&mut new);
    let stats = rewrite("a.o", &mut new, &old.symbols, &map).unwrap();
    assert!(stats.dropped.is_some_and(|reason| reason.contains("referred to twice")));
}

/// What was compared.
#[derive(Debug, Default)]
struct Seen {
    entries: usize,
    lengths: usize,
    references: usize,
    ranges: usize,
    /// Instructions in the ranges of locations.
    locations: usize,
}

struct Entries<'a> {
    moved: &'a Moved,
    old: &'a Dwarf<Slice<'a>>,
    new: &'a Dwarf<Slice<'a>>,
}

/// An entry's offset in its unit, tag and attributes.
type Entry<'a> = (usize, gimli::DwTag, Vec<gimli::Attribute<Slice<'a>>>);

impl<'a> Entries<'a> {
    fn compare(&self) -> Seen {
        let mut seen = Seen::default();
        let (mut old_units, mut new_units) = (self.old.units(), self.new.units());
        while let Some(old_header) = old_units.next().unwrap() {
            let old_unit = self.old.unit(old_header).unwrap();
            let new_unit = self.new.unit(new_units.next().unwrap().unwrap()).unwrap();
            let (old_entries, new_entries) = (entries(&old_unit), entries(&new_unit));
            assert_eq!(old_entries.len(), new_entries.len());
            let ordinal =
                |entries: &[Entry<'_>], offset| entries.binary_search_by_key(&offset, |entry| entry.0).ok();
            for (old, new) in old_entries.iter().zip(&new_entries) {
                assert_eq!((old.1, old.2.len()), (new.1, new.2.len()));
                seen.entries += 1;
                for (old_attribute, new_attribute) in old.2.iter().zip(&new.2) {
                    assert_eq!(old_attribute.name(), new_attribute.name());
                    if let (AttributeValue::UnitRef(old), AttributeValue::UnitRef(new)) =
                        (old_attribute.value(), new_attribute.value())
                    {
                        let place = ordinal(&old_entries, old.0);
                        assert!(place.is_some() && place == ordinal(&new_entries, new.0));
                        seen.references += 1;
                        continue;
                    }
                    self.attribute(&old_unit, &new_unit, old, old_attribute, new_attribute, &mut seen);
                }
            }
        }
        assert!(new_units.next().unwrap().is_none());
        seen
    }

    fn attribute(
        &self,
        old_unit: &gimli::Unit<Slice<'a>>,
        new_unit: &gimli::Unit<Slice<'a>>,
        entry: &Entry<'a>,
        old: &gimli::Attribute<Slice<'a>>,
        new: &gimli::Attribute<Slice<'a>>,
        seen: &mut Seen,
    ) {
        use gimli::constants as dw;
        let moved = self.moved;
        // A unit is all of its code; everything in it counts from after labels.
        let unit = entry.1 == dw::DW_TAG_compile_unit;
        let start = |address| if unit { moved.start(address) } else { moved.body(address) };
        let is_code = |address: u64| moved.map.section((address >> 24) as usize).is_some();
        let place = format!("{} {} at {:#x}", entry.1, old.name(), entry.0);
        match (old.value(), new.value()) {
            (AttributeValue::Addr(old_address), AttributeValue::Addr(address)) if is_code(old_address) => {
                let return_address = old.name() == dw::DW_AT_call_return_pc
                    || (old.name() == dw::DW_AT_low_pc && entry.1 == dw::DW_TAG_GNU_call_site);
                let end = return_address || old.name() == dw::DW_AT_high_pc;
                let wanted = if end { moved.end(old_address) } else { start(old_address) };
                assert_eq!(address, wanted, "{place}");
            }
            (AttributeValue::Udata(old_len), AttributeValue::Udata(len))
                if old.name() == dw::DW_AT_high_pc =>
            {
                let low = entry.2.iter().find(|attribute| attribute.name() == dw::DW_AT_low_pc).unwrap();
                let AttributeValue::Addr(low) = low.value() else { panic!("{place}") };
                let end = if old_len == 0 { start(low) } else { moved.end(low + old_len) };
                assert_eq!(start(low) + len, end, "{place}");
                seen.lengths += 1;
            }
            (AttributeValue::Exprloc(old), AttributeValue::Exprloc(new)) => {
                assert_eq!(text(&old, old_unit, Some((moved, 0))), text(&new, new_unit, None), "{place}");
            }
            (AttributeValue::RangeListsRef(_), AttributeValue::RangeListsRef(_)) => {
                let ranges = |dwarf: &Dwarf<Slice<'a>>, unit, attribute: &gimli::Attribute<Slice<'a>>| {
                    let mut iter = dwarf.attr_ranges(unit, attribute.value()).unwrap().unwrap();
                    std::iter::from_fn(move || iter.next().unwrap()).collect::<Vec<_>>()
                };
                let old: Vec<_> = ranges(self.old, old_unit, old)
                    .into_iter()
                    .map(|range| (start(range.begin), moved.end(range.end)))
                    .collect();
                let new: Vec<_> = ranges(self.new, new_unit, new)
                    .into_iter()
                    .map(|range| (range.begin, range.end))
                    .collect();
                assert_eq!(old, new, "{place}");
                seen.ranges += old.len();
            }
            (AttributeValue::LocationListsRef(_), AttributeValue::LocationListsRef(_))
                if old.name() != dw::DW_AT_GNU_locviews =>
            {
                self.locations(old_unit, new_unit, old, new, &place, seen);
            }
            (AttributeValue::String(old), AttributeValue::String(new)) => assert_eq!(old, new, "{place}"),
            (AttributeValue::Udata(old), AttributeValue::Udata(new)) => assert_eq!(old, new, "{place}"),
            (AttributeValue::DebugStrRef(old), AttributeValue::DebugStrRef(new)) => {
                assert_eq!(old, new, "{place}")
            }
            (old, new) => {
                assert_eq!(
                    std::mem::discriminant(&old),
                    std::mem::discriminant(&new),
                    "{place}: {old:?} {new:?}"
                );
            }
        }
    }

    /// At each instruction in the range of an old location, a new one says the same.
    fn locations(
        &self,
        old_unit: &gimli::Unit<Slice<'a>>,
        new_unit: &gimli::Unit<Slice<'a>>,
        old: &gimli::Attribute<Slice<'a>>,
        new: &gimli::Attribute<Slice<'a>>,
        place: &str,
        seen: &mut Seen,
    ) {
        let list = |dwarf: &Dwarf<Slice<'a>>, unit, attribute: &gimli::Attribute<Slice<'a>>| {
            let mut iter = dwarf.attr_locations(unit, attribute.value()).unwrap().unwrap();
            std::iter::from_fn(move || iter.next().unwrap()).collect::<Vec<_>>()
        };
        let (old, new) = (list(self.old, old_unit, old), list(self.new, new_unit, new));
        for entry in old {
            let index = (entry.range.begin >> 24) as usize;
            let code = &self.moved.old.sections[index].data;
            let decoder = Decoder::with_ip(64, code, base(index), DecoderOptions::NONE);
            let covered = |address: u64| (entry.range.begin..entry.range.end).contains(&address);
            for instruction in decoder.into_iter().filter(|instruction| covered(instruction.ip())) {
                if self.moved.start(instruction.ip()) == self.moved.end(instruction.next_ip()) {
                    continue;
                }
                let address = self.moved.body(instruction.ip());
                let wanted = text(&entry.data, old_unit, Some((self.moved, self.moved.bias(address))));
                let found =
                    new.iter().filter(|entry| (entry.range.begin..entry.range.end).contains(&address));
                let found: Vec<_> = found.map(|entry| text(&entry.data, new_unit, None)).collect();
                let lost = self.moved.stats.lost_locations > 0 && found == [""];
                assert!(found.contains(&wanted) || lost, "{place} at {address:#x}: {found:?}, not {wanted}");
                seen.locations += 1;
            }
        }
    }
}

fn entries<'a>(unit: &gimli::Unit<Slice<'a>>) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    let mut cursor = unit.entries();
    while let Some(entry) = cursor.next_dfs().unwrap() {
        found.push((entry.offset().0, entry.tag(), entry.attrs().to_vec()));
    }
    found
}

/// The operations of an expression as text: as they are, or as they must read after a move, where rsp has a bias.
fn text(
    expression: &Expression<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    after: Option<(&Moved, i64)>,
) -> String {
    let mut text = String::new();
    let mut operations = expression.operations(unit.encoding());
    while let Some(operation) = operations.next().unwrap() {
        text += &match operation {
            gimli::Operation::RegisterOffset { register: Register(7), offset, .. } => {
                format!("rsp{:+} ", offset - after.map_or(0, |(_, bias)| bias + i64::from(OFF)))
            }
            gimli::Operation::Address { address } => {
                let code = after.filter(|(moved, _)| moved.map.section((address >> 24) as usize).is_some());
                format!("address {:#x} ", code.map_or(address, |(moved, _)| moved.start(address)))
            }
            operation => format!("{operation:?} "),
        };
    }
    text
}

/// gcc describes arguments on the stack by rsp: these grow, and everything after them moves.
#[test]
fn expressions_of_rsp_are_met() {
    let moved = moved(Mover::Stretch, "c", SOURCE, &["-g", "-O2", "-maccumulate-outgoing-args"]);
    let sections = dwarf_sections(&moved.new);
    let dwarf = borrow(&sections);
    let unit = dwarf.unit(dwarf.units().next().unwrap().unwrap()).unwrap();
    let expressions = entries(&unit).into_iter().flat_map(|entry| entry.2).filter_map(|attribute| {
        let AttributeValue::Exprloc(expression) = attribute.value() else { return None };
        Some(text(&expression, &unit, None))
    });
    let near_the_data = format!("rsp-{}", lockgate_abi::code::OFF / 1_000_000);
    assert!(expressions.filter(|text| text.contains(&near_the_data)).count() > 3);
    let old = &moved.old.sections[index_of(&moved.old, ".debug_info").unwrap()];
    let new = &moved.new.sections[index_of(&moved.new, ".debug_info").unwrap()];
    assert!(new.data.len() > old.data.len());
}

/// Call sites and landing pads of a function that catches.
#[test]
fn exception_tables_follow_the_code() {
    for flags in [&["-O2"][..], &["-O0", "-g"], &["-O2", "-ffunction-sections"]] {
        let moved = moved(Mover::Stretch, "cc", CXX_SOURCE, flags);
        let areas = |object: &Object, symbols: &[Symbol]| {
            let map = AddressMap::new(object.sections.len());
            let context = Context { symbols, map: &map };
            let frames = sections(object, |name| name == ".eh_frame").next().unwrap();
            frame::lsdas(&frames, &context).unwrap()
        };
        let old_areas = areas(&moved.old, &moved.old.symbols);
        let new_areas = areas(&moved.new, &moved.new.symbols);
        assert!(!old_areas.is_empty() && old_areas.len() == new_areas.len());
        let mut sites = 0;
        for (old, new) in old_areas.iter().zip(&new_areas) {
            let (old_sites, old_rest) = call_sites(&moved.old, old.at);
            let (new_sites, new_rest) = call_sites(&moved.new, new.at);
            assert_eq!(old_rest, new_rest, "{flags:?}: action and type tables");
            assert_eq!(old_sites.len(), new_sites.len());
            let start = base(old.function.0) + old.function.1;
            for (old, site) in old_sites.iter().zip(&new_sites) {
                let new_start = base(new.function.0) + new.function.1;
                assert_eq!(new_start + site[0], moved.start(start + old[0]), "{flags:?}");
                assert_eq!(new_start + site[0] + site[1], moved.end(start + old[0] + old[1]), "{flags:?}");
                match old[2] {
                    0 => assert_eq!(site[2], 0),
                    landing => assert_eq!(new_start + site[2], moved.start(start + landing), "{flags:?}"),
                }
                assert_eq!(site[3], old[3]);
                sites += 1;
            }
        }
        assert_eq!(sites, moved.stats.call_sites);
        assert!(sites >= 2, "{flags:?}: {sites}");
    }
}

/// Bytes, and the relocations in them: offset and addend.
type Bytes = (Vec<u8>, Vec<(u64, i64)>);

/// Call sites of the area at `place`, and the bytes from the end of the call sites up to the end of the type
/// table with their relocations.
fn call_sites(object: &Object, place: (usize, u64)) -> (Vec<[u64; 4]>, Bytes) {
    let section = &object.sections[place.0];
    let mut cursor = bytes::Cursor::new(&section.data, place.1 as usize, section.data.len()).unwrap();
    assert_eq!(cursor.u8().unwrap(), 0xff);
    let types = cursor.u8().unwrap();
    let types_end = (types != 0xff).then(|| {
        let distance = cursor.uleb().unwrap() as usize;
        cursor.pos() + distance
    });
    assert_eq!(cursor.u8().unwrap(), 1);
    let len = cursor.uleb().unwrap() as usize;
    let end = cursor.pos() + len;
    let mut sites = Vec::new();
    while cursor.pos() < end {
        sites.push([(); 4].map(|()| cursor.uleb().unwrap()));
    }
    let rest = end..types_end.unwrap_or(end);
    let relocs = section.relocs.iter().filter(|reloc| rest.contains(&(reloc.offset as usize)));
    let relocs = relocs.map(|reloc| (reloc.offset - end as u64, reloc.addend)).collect();
    (sites, (section.data[rest].to_vec(), relocs))
}

/// Call-frame information that has no counterpart refuses the object; debug information that has none is
/// dropped, with the reason.
#[test]
fn what_cannot_follow_is_refused_or_dropped() {
    let function = |directives: &str| {
        format!("__asm__(\".text\\nf: .cfi_startproc\\n nop\\n{directives}\\n nop\\n ret\\n.cfi_endproc\");")
    };
    let refused = [
        ("rule of its own for rsp", ".cfi_offset rsp,-24"),
        ("return address outside its stack slot", ".cfi_register rip,rax"),
        ("not a multiple of 8", ".cfi_def_cfa_offset 12"),
        ("unknown call-frame instruction", ".cfi_escape 0x3b"),
        ("cannot be read", ".cfi_escape 0x0f,1,0x77"),
    ];
    for (reason, directives) in refused {
        let mut object = compile("c", &function(directives), &[]);
        let symbols = object.symbols.clone();
        let map = stretch(&mut object);
        let error = rewrite("a.o", &mut object, &symbols, &map).expect_err(reason).to_string();
        assert!(error.contains(reason) && error.contains(".eh_frame"), "{error}");
    }
    let signal = moved(Mover::Stretch, "c", &function(".cfi_signal_frame"), &[]);
    assert_eq!((signal.stats.frames, signal.stats.signal_frames), (0, 1));

    for (reason, flags) in
        [("is compressed", &["-g", "-gz"][..]), ("is split from its .dwo", &["-g", "-gsplit-dwarf"])]
    {
        let mut object = compile("c", "int f(int n) { return n; }", flags);
        let symbols = object.symbols.clone();
        let map = stretch(&mut object);
        let stats = rewrite("a.o", &mut object, &symbols, &map).unwrap();
        assert!(stats.dropped.as_ref().is_some_and(|dropped| dropped.contains(reason)), "{stats:?}");
        assert!(
            object
                .sections
                .iter()
                .all(|s| !s.name.starts_with(".debug_") || s.data.is_empty() && s.relocs.is_empty())
        );
        assert_eq!(stats.frames, 1);
    }
}

/// Damaged tables are errors or harmless, never a panic.
#[test]
fn damage_is_an_error() {
    for (language, source) in [("c", SOURCE), ("cc", CXX_SOURCE)] {
        let old = compile(language, source, &["-g", "-O2", "-gdwarf-4"]);
        let mut code = old.clone();
        let map = stretch(&mut code);
        for index in 0..old.sections.len() {
            if !owns(&old.sections[index]) {
                continue;
            }
            for at in (0..old.sections[index].data.len()).step_by(3) {
                let mut damaged = code.clone();
                damaged.sections[index].data[at] ^= 0xff;
                let _ = rewrite("a.o", &mut damaged, &old.symbols, &map);
            }
        }
    }
}

/// The rewriter's account of rsp is that of its code: from the start of each run of instructions on, old and new
/// moves of rsp are added up.
#[test]
fn the_bias_is_that_of_the_code() {
    let mut compared = 0;
    for flags in FLAGS {
        let moved = moved(Mover::Rewriter, "c", SOURCE, flags);
        for (index, section) in moved.old.sections.iter().enumerate().filter(|(_, section)| section.is_code())
        {
            let map = moved.map.section(index).unwrap();
            let new_code = &moved.code.sections[index].data;
            let instructions: Vec<_> =
                Decoder::new(64, &section.data, DecoderOptions::NONE).into_iter().collect();
            let targets: Vec<u64> = instructions.iter().map(Instruction::near_branch_target).collect();
            let mut rsp = None;
            for instruction in &instructions {
                if targets.contains(&instruction.ip()) {
                    rsp = None;
                }
                let start = map.start(instruction.ip()).unwrap();
                let end = map.start(instruction.next_ip()).unwrap();
                // Where rsp is computed, the next run's move may have been made at once.
                let (old, new) = rsp.get_or_insert((0, i64::from(map.bias_at(start))));
                // Of several instructions merged at one place, the last counts.
                if start != end {
                    let bias = i64::from(map.bias_at(start));
                    assert_eq!(bias, *new - *old, "{flags:?} {instruction} at {:#x}", instruction.ip());
                    compared += 1;
                }
                let moves = Decoder::with_ip(
                    64,
                    &new_code[start as usize..end as usize],
                    start,
                    DecoderOptions::NONE,
                )
                .into_iter()
                .map(|instruction| rsp_move(&instruction))
                .try_fold(0, |sum, by| Some(sum + by?));
                match (rsp_move(instruction), moves) {
                    (Some(old_move), Some(new_move)) => (*old, *new) = (*old + old_move, *new + new_move),
                    _ => rsp = None,
                }
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

/// By how much an instruction moves rsp; `None` if that is not a constant, or if control does not just go on.
fn rsp_move(instruction: &Instruction) -> Option<i64> {
    let rsp = iced_x86::Register::RSP;
    let writes_rsp = instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == rsp;
    match instruction.mnemonic() {
        Mnemonic::Push => Some(-8),
        Mnemonic::Pop => Some(8),
        Mnemonic::Call => Some(0),
        Mnemonic::Cmp | Mnemonic::Test => Some(0),
        Mnemonic::Sub if writes_rsp => Some(-(instruction.try_immediate(1).ok()? as i64)),
        Mnemonic::Add if writes_rsp => Some(instruction.try_immediate(1).ok()? as i64),
        Mnemonic::Lea
            if writes_rsp
                && instruction.memory_base() == rsp
                && instruction.memory_index() == iced_x86::Register::None =>
        {
            Some(instruction.memory_displacement64() as i64)
        }
        Mnemonic::Leave => None,
        _ if writes_rsp || instruction.flow_control() != FlowControl::Next => None,
        _ => Some(0),
    }
}

/// C with plain frames of many kinds.
const PLAIN_SOURCE: &str = r#"
typedef int compare(const void *, const void *);
extern int out(int, ...);
int sorted(char *base, unsigned long n, unsigned long size, compare *less) {
    for (unsigned long i = 1; i < n; i++)
        for (unsigned long j = i; j > 0 && less(base + (j - 1) * size, base + j * size) > 0; j--)
            for (unsigned long k = 0; k < size; k++) {
                char byte = base[(j - 1) * size + k];
                base[(j - 1) * size + k] = base[j * size + k];
                base[j * size + k] = byte;
            }
    return (int)n;
}
int early(int n, int *p) { if (n < 0) return out(n); for (int i = 0; i < n; i++) { p[i] += out(i); if (p[i] == 7) return out(p[0], i); } return *p; }
int chosen(int n, int m) {
    switch (n) {
    case 0: return out(m) + out(n);
    case 1: return out(m, 1) * 2;
    case 2: m += out(m, 2); break;
    case 3: return out(m, n, 3);
    case 4: return n + out(5, m) + m;
    case 5: m -= out(6); break;
    default: __builtin_abort();
    }
    return out(m, n) + m;
}
int large(int n) { char room[4000]; out(n, room); int x = out(n + 1); return room[x] + n + out(x, room); }
long many(long a, long b, long c, long d, long e, long f, long g, long h) { long s = out(1, a, b, c, d, e, f, g, h); return s * a + out(2, b) * h + out(3); }
"#;

/// What is made for objects without tables is what compilers say at calls.
#[test]
fn tables_that_are_made_say_what_compilers_do() {
    for flags in [
        &["-O2"][..],
        &["-O1"],
        &["-Os"],
        &["-O2", "-ffunction-sections"],
        &["-O2", "-fPIC", "-fcf-protection"],
    ] {
        let [with, without] = [&[][..], &["-fno-asynchronous-unwind-tables"]].map(|more| {
            let object = compile("c", PLAIN_SOURCE, &[flags, more].concat());
            let bytes = object.write();
            crate::transform::transform("a.o", &bytes, &crate::Options::default()).unwrap().0
        });
        let bases = |index| BaseAddresses::default().set_eh_frame(base(index));
        let tables = [&with, &without].map(|object| {
            let index = index_of(object, ".eh_frame").unwrap();
            (loaded(object, index), bases(index))
        });
        let mut compared = 0;
        for (index, section) in with.sections.iter().enumerate().filter(|(_, section)| section.is_code()) {
            assert_eq!(section.data, without.sections[index].data, "{flags:?}");
            for instruction in Decoder::with_ip(64, &section.data, base(index), DecoderOptions::NONE) {
                if !matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
                    continue;
                }
                let [theirs, ours] = tables.each_ref().map(|(table, bases)| {
                    let mut context = UnwindContext::new();
                    let table = EhFrame::new(table, LittleEndian);
                    let at = instruction.ip();
                    let row =
                        table.unwind_info_for_address(bases, &mut context, at, EhFrame::cie_from_offset);
                    let rules = |row: &UnwindTableRow<usize>| {
                        [3, 6, 12, 13, 14, 15].map(|number| row.register(Register(number)))
                    };
                    row.ok().map(|row| (row.cfa().clone(), rules(row)))
                });
                // Of a cold part its code does not say what the rest of the function has saved.
                if ours.is_none() && section.name.starts_with(".text.unlikely") {
                    continue;
                }
                assert!(theirs.is_some(), "{flags:?} {:#x}", instruction.ip());
                assert_eq!(theirs, ours, "{flags:?} {:#x}", instruction.ip());
                compared += 1;
            }
        }
        assert!(compared >= 12, "{flags:?}: {compared}");
    }
}

/// Computed frames, and registers that are saved otherwise than by `push`: no table is better than a wrong one.
#[test]
fn no_tables_are_made_where_the_code_does_not_say() {
    for (what, body) in [
        ("computed", "sub %rdi,%rsp; mov %rsp,%rdi; call out; mov %rbp,%rsp; pop %rbp; ret"),
        (
            "stored",
            "sub $24,%rsp; mov %rbx,8(%rsp); mov %rdi,%rbx; call out; mov 8(%rsp),%rbx; add $24,%rsp; ret",
        ),
        ("lost", "sub $8,%rsp; mov %rdi,%rbx; call out; add $8,%rsp; ret"),
        (
            "one of two ways",
            "test %edi,%edi; je 1f; push %rbx; jmp 2f; 1: sub $8,%rsp; 2: mov %rdi,%rbx; call out; pop %rbx; ret",
        ),
    ] {
        let begins = if what == "computed" { "push %rbp; mov %rsp,%rbp;" } else { "" };
        let source = format!("__asm__(\".globl f; .type f,@function; f: {begins} {body}; .size f,.-f\");");
        let bytes = compile("c", &source, &["-fno-asynchronous-unwind-tables"]).write();
        let object = crate::transform::transform("a.o", &bytes, &crate::Options::default()).unwrap().0;
        assert!(object.sections.iter().all(|section| section.name != ".eh_frame"), "{what}");
    }
}
