//! Function and source line of an address in a module, for reports.
//!
//! The bytes come from the module, so they may be hostile. Three tables are read, with memory-safe code and never
//! executed (rule R21): the symbol table, the line programs, and inlined calls (`inlines.rs`). Work and memory are
//! linear in the size of the file (no string is searched for its end beyond what is shown of it), line tables
//! beyond [`MAX_LINES`], programs with headers beyond [`MAX_HEADER`] and rows beyond [`MAX_ROWS`] are left alone, whatever is malformed
//! reads as "unknown", and names are made printable. A module can lie about its own lines, nothing else.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gimli::{DebugLine, DebugLineOffset, LittleEndian};

use super::elf::{self, MAX_HEADER};
use super::inlines::Inlines;
use super::texts::{NONE, Texts, file_name, shown, symbol_name};

/// Largest `.debug_line` that is read, bytes.
const MAX_LINES: usize = 32 << 20;
/// Most rows of line tables that are kept.
const MAX_ROWS: usize = 8 << 20;

/// The functions and lines of one module.
#[derive(Debug, Default)]
pub struct Symbols {
    /// By address.
    functions: Vec<Function>,
    /// By address; the end of a sequence is a row of line 0.
    rows: Vec<Row>,
    files: Texts,
    inlines: Inlines,
}

#[derive(Debug)]
struct Function {
    address: u64,
    /// 0 if unknown: up to the next function.
    size: u64,
    name: String,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    line: u32,
    /// Number in [`Symbols::files`].
    file: u32,
}

/// What is known of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SourcePlace {
    /// Function that the address lies in.
    pub function: Option<String>,
    /// Bytes from the function's first instruction, or from the image's start if the function is unknown.
    pub offset: u64,
    /// Source file as the compiler was given it, with its directory if known.
    pub file: Option<String>,
    /// Line, from 1 on.
    pub line: Option<u32>,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => write!(f, "{function}+{:#x}", self.offset)?,
            None => write!(f, "image+{:#x}", self.offset)?,
        }
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, " at {file}:{line}")?;
        }
        Ok(())
    }
}

impl Symbols {
    /// Reads the tables of the module in `elf`. Missing and malformed parts are left out.
    pub fn read(elf: &[u8]) -> Symbols {
        // The readers are written not to panic; a report must not depend on it.
        let read = catch_unwind(AssertUnwindSafe(|| {
            let inlines = Inlines::read(elf);
            let files = Texts::of(elf);
            let mut symbols = Symbols { functions: functions(elf), inlines, files, rows: Vec::new() };
            symbols.read_lines(elf);
            symbols
        }));
        read.unwrap_or_default()
    }

    /// What lies at `address`, relative to the image's start. To write names of C++ and Rust as their authors did takes stack: where that
    /// might be more than `room` bytes (a mebibyte does for all), they stay as the compiler made them.
    pub fn at(&self, address: u64, room: usize) -> SourcePlace {
        let mut place = SourcePlace { offset: address, ..SourcePlace::default() };
        let after = self.functions.partition_point(|function| function.address <= address);
        let function = after.checked_sub(1).map(|last| &self.functions[last]);
        if let Some(function) = function.filter(|f| f.size == 0 || address - f.address < f.size) {
            place.function = Some(shown(&function.name, room));
            place.offset = address - function.address;
        }
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = after.checked_sub(1).map(|last| self.rows[last]);
        if let Some(row) = row.filter(|row| row.line != 0) {
            place.file = self.files.get(row.file).map(str::to_owned);
            place.line = Some(row.line);
        }
        place
    }

    /// The frames of the code at `address`, innermost first: calls that the compiler inlined, and at last the function
    /// that [`at`](Symbols::at) names.
    pub fn frames(&self, address: u64, room: usize) -> Vec<SourcePlace> {
        let whole = self.at(address, room);
        let (mut file, mut line) = (whole.file.clone(), whole.line);
        let mut frames = Vec::new();
        for call in self.inlines.at(address).iter().rev() {
            let function = call.name.map(|name| shown(name, room));
            frames.push(SourcePlace { function, offset: 0, file, line });
            (file, line) = (call.file.map(str::to_owned), call.line);
        }
        frames.push(SourcePlace { file, line, ..whole });
        frames
    }

    /// Start, size and name of every function; a size that is not known goes up to the next function.
    pub fn functions(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        let next = self.functions.iter().skip(1).map(|function| function.address).chain([u64::MAX]);
        self.functions.iter().zip(next).map(|(function, next)| {
            let Function { address, size, name } = function;
            (*address, if *size == 0 && next < u64::MAX { next - address } else { *size }, name.as_str())
        })
    }

    fn read_lines(&mut self, elf: &[u8]) {
        let lines =
            elf::section(elf, ".debug_line").filter(|lines| lines.len() <= MAX_LINES).unwrap_or_default();
        let strings = elf::section(elf, ".debug_line_str").unwrap_or_default();
        let table = DebugLine::new(lines, LittleEndian);
        let mut sequences = Vec::new();
        let (mut next, mut number) = (0, 0);
        // Programs follow each other: no entry of .debug_info is needed to find them.
        while let Some(extent) = elf::line_program(lines, next) {
            let offset = std::mem::replace(&mut next, extent.end);
            if extent.header > MAX_HEADER {
                continue;
            }
            let Ok(program) = table.program(DebugLineOffset(offset), 8, None, None) else { break };
            let mut rows = program.rows();
            let mut files = HashMap::new();
            let mut sequence = Vec::new();
            while let Ok(Some((header, row))) = rows.next_row()
                && number < MAX_ROWS
            {
                number += 1;
                let line = if row.end_sequence() { None } else { row.line() };
                let line = line.map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
                let index = row.file_index();
                let name = || self.files.intern(file_name(header, index, strings));
                let file = if line == 0 { NONE } else { *files.entry(index).or_insert_with(name) };
                sequence.push(Row { address: row.address(), line, file });
                if row.end_sequence() {
                    sequences.push(std::mem::take(&mut sequence));
                }
            }
        }
        // The linker moves lines of functions that it left out to address 0, where the code starts: which of
        // several sequences there is the living one cannot be told.
        let at_zero = |sequence: &[Row]| sequence[0].address == 0;
        if sequences.iter().filter(|sequence| at_zero(sequence)).count() > 1 {
            sequences.retain(|sequence| !at_zero(sequence));
        }
        sequences.sort_by_key(|sequence| sequence[0].address);
        self.rows = sequences.concat();
    }
}

fn functions(elf: &[u8]) -> Vec<Function> {
    let mut functions = Vec::new();
    // For what is longer than other names: as many bytes as the file has.
    let mut room = elf.len();
    for (symbols, names) in [(".symtab", ".strtab"), (".dynsym", ".dynstr")] {
        let (Some(symbols), Some(names)) = (elf::section(elf, symbols), elf::section(elf, names)) else {
            continue;
        };
        for symbol in elf::symbols(symbols).filter(elf::Symbol::is_function) {
            let name = symbol_name(names, symbol.name as usize, &mut room);
            functions.push(Function { address: symbol.value, size: symbol.size, name });
        }
    }
    // Of several names the first one with a size is shown.
    functions.sort_by_key(|function| (function.address, function.size == 0));
    functions.dedup_by_key(|function| function.address);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_outside::ROOM;
    use std::process::Command;

    const SOURCE: &str = "\
int first(int n) {
    volatile int *p = 0;
    return *p + n;
}
int second(int n) {
    int m = first(n);
    return m * 2;
}
";

    /// A file linked as modules are: code from address 0 on.
    fn module(flags: &[&str]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let (source, out) = (dir.path().join("places.c"), dir.path().join("places"));
        std::fs::write(&source, SOURCE).unwrap();
        let status = Command::new("gcc")
            .current_dir(dir.path())
            .args(["-O0", "-fcf-protection=none", "-nostdlib", "-static-pie", "-Wl,-e,second"])
            .args(flags)
            .args(["places.c", "-o"])
            .arg(&out)
            .status()
            .unwrap();
        assert!(status.success());
        std::fs::read(&out).unwrap()
    }

    fn address_of(symbols: &Symbols, name: &str) -> u64 {
        symbols.functions.iter().find(|function| function.name == name).unwrap().address
    }

    #[test]
    fn functions_and_lines_are_found() {
        for flags in [&["-g"][..], &["-gdwarf-4"], &["-gdwarf-2", "-gstrict-dwarf"]] {
            let symbols = Symbols::read(&module(flags));
            let second = address_of(&symbols, "second");
            let place = symbols.at(second, ROOM);
            assert_eq!(place.to_string(), "second+0x0 at places.c:5", "{flags:?}");
            let lines: Vec<_> = (0..40).filter_map(|step| symbols.at(second + step, ROOM).line).collect();
            assert!(lines.is_sorted() && lines.contains(&6) && lines.contains(&7), "{flags:?} {lines:?}");
            assert_eq!(symbols.at(address_of(&symbols, "first"), ROOM).line, Some(1), "{flags:?}");
        }
    }

    #[test]
    fn without_debug_information_there_are_still_functions() {
        let symbols = Symbols::read(&module(&[]));
        let place = symbols.at(address_of(&symbols, "second") + 4, ROOM);
        assert_eq!(place.to_string(), "second+0x4");
        assert_eq!(symbols.at(u64::MAX, ROOM).function, None);
    }

    #[test]
    fn stripped_files_give_addresses() {
        let symbols = Symbols::read(&module(&["-s", "-Wl,--exclude-libs,ALL"]));
        assert_eq!(symbols.at(0x1000, ROOM).to_string(), "image+0x1000");
    }

    /// Every bit of the tables may be wrong: the answer may be anything, but comes soon.
    #[test]
    fn damaged_files_are_harmless() {
        let good = module(&["-g"]);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            Symbols::read(&bad).at(0x1000, ROOM);
        }
        for len in (0..good.len()).step_by(64) {
            Symbols::read(&good[..len]).at(0x1000, ROOM);
        }
    }

    /// An inlined call that ends beyond the end of the address space; a reader that adds without a look panics.
    #[test]
    fn calls_beyond_the_end_of_addresses_are_left_out() {
        // Attributes of the call in the abbreviation, and their values: start and size; several of each.
        for (attributes, values) in [
            ("0x11,0x01,0x12,0x07", ".quad -16,0x1000"),
            ("0x11,0x01,0x12,0x07,0x12,0x07", ".quad -16,1,0x1000"),
            ("0x11,0x01,0x11,0x01,0x12,0x07", ".quad 1,-16,0x1000"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (source, out) = (dir.path().join("far.s"), dir.path().join("far"));
            // Abbreviations: 1 a unit, 2 an inlined call.
            let text = format!(
                ".text\n.globl second\n.type second,@function\nsecond: .fill 32,1,0x90\n\
                 .section .debug_abbrev,\"\",@progbits\n.byte 1,0x11,1,0,0, 2,0x1d,0,{attributes},0,0, 0\n\
                 .section .debug_info,\"\",@progbits\n.long 2f-1f\n1: .value 4\n.long .debug_abbrev\n.byte 8\n\
                 .byte 1\n.byte 2\n{values}\n.byte 0\n2:\n"
            );
            std::fs::write(&source, text).unwrap();
            let flags = ["-nostdlib", "-static-pie", "-Wl,-e,second", "-Wl,-Ttext=0"];
            let status = Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&out).status().unwrap();
            assert!(status.success());
            let symbols = Symbols::read(&std::fs::read(&out).unwrap());
            // The reader's panic would have taken the functions along.
            assert_eq!(symbols.at(4, ROOM).function.as_deref(), Some("second"), "{attributes}");
        }
    }

    /// Calls inlined in calls, deeper than any stack would be for a reader that descends: they are read, and the chain of
    /// names that goes round in a circle ends.
    #[test]
    fn deeply_nested_calls_need_no_stack() {
        const DEEP: usize = 1_000_000;
        let dir = tempfile::tempdir().unwrap();
        let (source, out) = (dir.path().join("deep.s"), dir.path().join("deep"));
        // Abbreviations: 1 a unit, 2 an inlined call (with children) of itself at the first 16 bytes.
        let text = format!(
            ".text\n.globl second\nsecond: .fill 32,1,0x90\n\
             .section .debug_abbrev,\"\",@progbits\n.byte 1,0x11,1,0,0, 2,0x1d,1,0x31,0x13,0x11,0x01,0x12,0x0b,0,0, 0\n\
             .section .debug_info,\"\",@progbits\n.long 2f-1f\n1: .value 4\n.long .debug_abbrev\n.byte 8\n\
             .byte 1\n.rept {DEEP}\n.byte 2\n.long 12\n.quad 16\n.byte 16\n.endr\n.fill {DEEP}+1,1,0\n2:\n"
        );
        std::fs::write(&source, text).unwrap();
        let flags = ["-nostdlib", "-static-pie", "-Wl,-e,second", "-Wl,-Ttext=0"];
        let status = Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&out).status().unwrap();
        assert!(status.success());
        let elf = std::fs::read(&out).unwrap();
        let frames = std::thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(move || Symbols::read(&elf).frames(20, 64 << 10));
        let frames = frames.unwrap().join().unwrap();
        assert!(frames.len() == 65 && frames[0].function.is_none(), "{}", frames.len());
    }
}
