//! Debug information and unwind tables of real objects, before and after, read by gimli and compared piece
//! by piece through the address map.

use std::process::Command;

use gimli::{
    AttributeValue, BaseAddresses, CfaRule, Dwarf, EhFrame, EndianSlice, Expression, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow,
};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use lockgate_abi::code::OFF;

use super::*;
use crate::elf::{self, reloc};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// C that makes gcc emit location lists, inlined calls, stack arguments, alloca and alignment.
const SOURCE: &str = r#"
struct pair { long a, b[20]; };
extern int out(int, struct pair *, char *, long, long, long, long, long);
static inline int helper(int x) { char text[64]; text[0] = (char)x; return out(x, 0, text, 1, 2, 3, 4, 5); }
int sum(int n, struct pair v) {
    struct pair w = v; int total = 0;
    for (int i = 0; i < n; i++) { total += helper(i) + (int)w.b[i % 20]; out(total, &w, 0, total, 2, 3, 4, n); }
    return total;
}
int recurse(int n) {
    if (n < 2) return n;
    char text[n]; out(n, 0, text, 1, 2, 3, 4, 5);
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

/// A made-up rewriting: every instruction grows by two bytes, and after every `push` rsp lags by 8 bytes up to
/// the end of the next instruction.
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
            let new_end = new + instruction.len() as u32 + 2;
            section.insert(start, end, new, new_end);
            section.push_bias(new_end, if instruction.mnemonic() == Mnemonic::Push { 8 } else { 0 });
            new = new_end;
        }
        section.finish(new);
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
    old: Object,
    new: Object,
    map: AddressMap,
    stats: Stats,
}

fn moved(language: &str, source: &str, flags: &[&str]) -> Moved {
    let old = compile(language, source, flags);
    let mut new = old.clone();
    let map = stretch(&mut new);
    let stats =
        rewrite("a.o", &mut new, &old.symbols, &map).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
    assert_eq!(stats.dropped, None, "{flags:?}");
    Moved { old, new, map, stats }
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

    /// Where the code that ends at old address `address` ends now.
    fn end(&self, address: u64) -> u64 {
        let (index, offset) = ((address >> 24) as usize, address & 0xff_ffff);
        base(index) + self.map.section(index).unwrap().end(offset).unwrap()
    }

    fn bias(&self, address: u64) -> i64 {
        self.map.section((address >> 24) as usize).unwrap().bias_at(address & 0xff_ffff).into()
    }
}

/// Flags of every compilation that the tables below run over.
const FLAGS: [&[&str]; 8] = [
    &["-g", "-O0"],
    &["-g", "-O2"],
    &["-g", "-O2", "-ffunction-sections"],
    &["-gdwarf-4", "-O2"],
    &["-gdwarf-4", "-O2", "-ffunction-sections", "-fdebug-types-section"],
    &["-gdwarf-3", "-gstrict-dwarf", "-Os", "-fno-omit-frame-pointer"],
    &["-g3", "-O3", "-march=x86-64-v4", "-fstack-protector-all", "-fcf-protection=full"],
    &["-g", "-O1", "-fno-dwarf2-cfi-asm", "-fno-asynchronous-unwind-tables"],
];

#[test]
fn every_line_row_is_at_its_instruction() {
    for flags in FLAGS {
        let moved = moved("c", SOURCE, flags);
        let (old, new) = (dwarf_sections(&moved.old), dwarf_sections(&moved.new));
        let (old, new) = (line_rows(&borrow(&old)), line_rows(&borrow(&new)));
        assert!(old.len() > 40, "{flags:?}: {} rows", old.len());
        assert_eq!(moved.stats.line_rows, old.len(), "{flags:?}");
        assert_eq!(old.len(), new.len(), "{flags:?}");
        for (old, new) in old.iter().zip(&new) {
            let place =
                if old.end_sequence() { moved.end(old.address()) } else { moved.start(old.address()) };
            assert_eq!(new.address(), place, "{flags:?} {old:x?}");
            let what = |row: &gimli::LineRow| {
                (
                    row.file_index(),
                    row.line(),
                    row.column(),
                    row.is_stmt(),
                    row.end_sequence(),
                    row.discriminator(),
                )
            };
            assert_eq!(what(old), what(new), "{flags:?}");
        }
    }
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
    for flags in FLAGS {
        let moved = moved("c", SOURCE, flags);
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
