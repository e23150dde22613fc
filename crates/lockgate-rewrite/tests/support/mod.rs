//! What the tests share: assembling, listing what came out, and judging it with the verifier.
#![allow(dead_code)]

use std::path::Path;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction};
use lockgate_abi::PAGE;
use lockgate_verify::{Module, Segment, SegmentKind, State};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

/// Runs the system's tool; its output is the panic's message if it fails.
pub fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output =
        output.unwrap_or_else(|error| panic!("cannot run {program}: {error}; install gcc and binutils"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The object that gas makes of `source`.
pub fn assemble(source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("a.s"), folder.path().join("a.o"));
    std::fs::write(&input, source).expect("a temporary file");
    run("as", &["--64", "-o", path(&output), path(&input)]);
    std::fs::read(&output).expect("gas wrote its output")
}

/// The object that gcc makes of the C program `source`.
pub fn compile(source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("a.c"), folder.path().join("a.o"));
    std::fs::write(&input, source).expect("a temporary file");
    let mut arguments = vec!["-c", "-w", "-o", path(&output)];
    arguments.extend(flags);
    arguments.push(path(&input));
    run("gcc", &arguments);
    std::fs::read(&output).expect("gcc wrote its output")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// The code of section `name`, disassembled, one instruction a line with its relocations behind `#`. Offsets
/// are hexadecimal; branches name the offset they go to.
pub fn listing(object: &[u8], name: &str) -> Vec<String> {
    let file = object::File::parse(object).expect("a readable object");
    let Some(section) = file.section_by_name(name) else { return Vec::new() };
    let data = section.data().expect("section data");
    let mut relocations: Vec<(u64, String)> =
        section.relocations().map(|(at, reloc)| (at, target(&file, &reloc))).collect();
    relocations.sort();
    let mut lines = Vec::new();
    for instruction in &mut Decoder::new(64, data, DecoderOptions::NONE) {
        let mut line = text(&instruction);
        let notes: Vec<&str> = relocations
            .iter()
            .filter(|(at, _)| (instruction.ip()..instruction.next_ip()).contains(at))
            .map(|(_, text)| &text[..])
            .collect();
        if !notes.is_empty() {
            line = format!("{line} # {}", notes.join(", "));
        }
        lines.push(line);
    }
    lines
}

/// One instruction as gas writes it, without spaces behind commas; numbers are hexadecimal.
pub fn text(instruction: &Instruction) -> String {
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(false);
    formatter.options_mut().set_show_branch_size(false);
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_displacement_leading_zeros(false);
    let mut line = String::new();
    formatter.format(instruction, &mut line);
    line
}

fn target(file: &object::File<'_>, reloc: &object::Relocation) -> String {
    let RelocationTarget::Symbol(index) = reloc.target() else { return "?".into() };
    let symbol = file.symbol_by_index(index).expect("the relocation's symbol");
    let name = match symbol.name() {
        Ok("") | Err(_) => {
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            section.and_then(|section| section.name().map(str::to_owned).ok()).unwrap_or_default()
        }
        Ok(name) => name.to_owned(),
    };
    format!("{name}{:+}", reloc.addend())
}

/// The instructions of section `name`.
pub fn instructions(object: &[u8], name: &str) -> Vec<Instruction> {
    let file = object::File::parse(object).expect("a readable object");
    let data = file.section_by_name(name).expect("the section").data().expect("section data").to_vec();
    Decoder::new(64, &data, DecoderOptions::NONE).iter().collect()
}

/// The object as a module of its own: code first, then constants, then data; what it does not define lies
/// at the code's first byte, which is a function.
pub fn module(object: &[u8]) -> Module {
    let file = object::File::parse(object).expect("a readable object");
    let kinds = [SegmentKind::Code, SegmentKind::Constants, SegmentKind::Data];
    let mut addresses = std::collections::HashMap::new();
    let mut segments = Vec::new();
    let mut address = 0u64;
    for kind in kinds {
        let mut bytes = Vec::new();
        for section in file.sections().filter(|section| kind_of(section) == Some(kind)) {
            bytes.resize(bytes.len().next_multiple_of(section.align().max(1) as usize), 0xcc);
            addresses.insert(section.index(), address + bytes.len() as u64);
            bytes.extend_from_slice(section.data().expect("section data"));
            bytes.resize(bytes.len().max(1), 0);
        }
        if bytes.is_empty() {
            bytes.push(0xcc);
        }
        let unpadded = bytes.len();
        bytes.resize((unpadded + 2).next_multiple_of(PAGE as usize), 0xcc);
        if kind == SegmentKind::Code {
            let end = bytes.len() - 2;
            bytes[end..].copy_from_slice(&[0x0f, 0x0b]);
        }
        let size = bytes.len() as u64;
        segments.push(Segment { kind, address, size, bytes });
        address += size;
    }
    for section in file.sections() {
        let Some(&place) = addresses.get(&section.index()) else { continue };
        for (at, reloc) in section.relocations() {
            let RelocationTarget::Symbol(index) = reloc.target() else { continue };
            let symbol = file.symbol_by_index(index).expect("the relocation's symbol");
            let base = symbol.section_index().and_then(|index| addresses.get(&index)).copied().unwrap_or(0);
            let at = place + at;
            let value = (base + symbol.address()).wrapping_add_signed(reloc.addend()).wrapping_sub(at);
            if reloc.size() == 32 {
                let segment =
                    segments.iter_mut().rev().find(|segment| segment.address <= at).expect("a segment");
                let offset = (at - segment.address) as usize;
                segment.bytes[offset..offset + 4].copy_from_slice(&(value as u32).to_le_bytes());
            }
        }
    }
    let word = |address: u64| {
        let segment = segments.iter().rev().find(|segment| segment.address <= address)?;
        let at = (address - segment.address) as usize;
        Some(i32::from_le_bytes(segment.bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let states = states(&lockgate_rewrite::states(&segments[0].bytes, word));
    Module {
        segments,
        relocations: Vec::new(),
        exports: Vec::new(),
        data_symbols: Vec::new(),
        imports: Vec::new(),
        sources: Vec::new(),
        image_size: address,
        program_headers: (0, 0),
        tls: None,
        strict_bounds: false,
        base: false,
        join: None,
        states,
        symbols: Vec::new(),
    }
}

/// The entries of a note of states.
fn states(mut note: &[u8]) -> Vec<(u64, State)> {
    fn number(bytes: &mut &[u8]) -> u32 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = bytes.split_first().expect("a number");
            *bytes = rest;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    }
    let (mut states, mut address) = (Vec::new(), 0);
    while !note.is_empty() {
        address += u64::from(number(&mut note));
        let first = number(&mut note);
        let state = match first % 2 {
            0 => State::S { o: 4 * first },
            _ => State::C { b: 4 * (first - 1), d: 8 * number(&mut note) },
        };
        states.push((address, state));
    }
    states
}

fn kind_of(section: &object::Section<'_, '_>) -> Option<SegmentKind> {
    use object::SectionKind::*;
    match section.kind() {
        Text => Some(SegmentKind::Code),
        ReadOnlyData | ReadOnlyString => Some(SegmentKind::Constants),
        Data | ReadOnlyDataWithRel => Some(SegmentKind::Data),
        _ => None,
    }
}
