//! Annotated disassembly: each instruction with the rule or unit of docs/rules.md that lets it be there.
//!
//! It explains code to people. It takes units for granted that the verifier proves: on rejected code the
//! margin may be wrong.

use super::verify::function_at;
use iced_x86::{
    Code, Decoder, DecoderOptions, Formatter as _, GasFormatter, Instruction, Mnemonic, OpKind, Register,
    SymbolResolver, SymbolResult,
};
use lockgate_abi::{gate, window};
use lockgate_verify::{Module, Segment, SegmentKind};
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// One instruction.
#[derive(Serialize)]
pub struct Line {
    /// Image-relative address.
    pub address: u64,
    /// Bytes in hexadecimal.
    pub bytes: String,
    /// Unit or rule: `U1`–`U4`, `M1`–`M4`, `V3`, `label`, or nothing.
    pub unit: &'static str,
    /// Instruction in AT&T syntax.
    pub text: String,
    /// What a gate call calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}

/// Instructions that are looked at together.
const BLOCK: usize = 4096;
/// Instructions before and behind one that say what unit it belongs to, and a few more.
const AROUND: usize = 8;

/// The instructions at the image-relative addresses `range`, which should start and end with instructions. There is one for each byte, at most,
/// of a file that may be large: they are made as they are asked for.
pub struct Listing<'a> {
    module: &'a Module,
    range: Range<u64>,
}

impl<'a> Listing<'a> {
    /// The instructions of `module` in `range`.
    pub fn new(module: &'a Module, range: Range<u64>) -> Listing<'a> {
        Listing { module, range }
    }

    /// Decodes as it goes: a large file has more lines than fit in memory.
    pub fn lines(&self) -> impl Iterator<Item = Line> + use<'a> {
        let Listing { module, ref range } = *self;
        let bytes = code_at(module, range).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE);
        let mut formatter = formatter(Names::new(module));
        let (gates, start) = (Gates::new(module), range.start);
        let mut line = move |instruction: &Instruction, unit: &'static str| {
            let at = (instruction.ip() - start) as usize;
            let mut text = String::new();
            formatter.format(instruction, &mut text);
            let bytes = &bytes[at..at + instruction.len()];
            Line {
                address: instruction.ip(),
                bytes: hex(bytes),
                unit,
                text,
                gate: gate_slot(instruction).map(|slot| gates.name(slot)),
            }
        };
        // Those that have been given, a few of them, and those that are next.
        let (mut known, mut given) = (Vec::new(), 0);
        let block = move || {
            while known.len() < given + BLOCK + AROUND && decoder.can_decode() {
                known.push(decoder.decode());
            }
            let end = if decoder.can_decode() { known.len() - AROUND } else { known.len() };
            let units = units(&known);
            let lines: Vec<Line> = (given..end).map(|at| line(&known[at], units[at])).collect();
            let gone = end.saturating_sub(AROUND);
            known.drain(..gone);
            given = end - gone;
            Some(lines).filter(|lines| !lines.is_empty())
        };
        std::iter::from_fn(block).flatten()
    }
}

impl Serialize for Listing<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.lines())
    }
}

/// Writes instructions in AT&T syntax, with names for addresses.
pub fn formatter(names: impl SymbolResolver + 'static) -> GasFormatter {
    let mut formatter = GasFormatter::with_options(Some(Box::new(names)), None);
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter
}

/// The bytes of an instruction.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of code at these addresses.
fn code_at<'a>(module: &'a Module, range: &Range<u64>) -> Option<&'a [u8]> {
    let bytes = |segment: &'a Segment| {
        let end = range.end.min(segment.address + segment.size);
        let (start, end) = (range.start.checked_sub(segment.address)?, end.checked_sub(segment.address)?);
        segment.bytes.get(start as usize..end as usize)
    };
    module.segments.iter().filter(|segment| segment.kind == SegmentKind::Code).filter_map(bytes).next()
}

/// Names for the formatter: functions, with offsets, and exported data. Each may stand in every line: none is longer than people read.
struct Names {
    functions: Vec<lockgate_verify::Symbol>,
    data: HashMap<u64, String>,
}

impl Names {
    fn new(module: &Module) -> Names {
        let function = |symbol: &lockgate_verify::Symbol| lockgate_verify::Symbol {
            name: short(&symbol.name),
            address: symbol.address,
            size: symbol.size,
        };
        let datum = |(name, at, _): &(String, u64, u64)| (*at, short(name));
        Names {
            functions: module.symbols.iter().map(function).collect(),
            // Of several at one address the first.
            data: module.data_symbols.iter().rev().map(datum).collect(),
        }
    }
}

/// The beginning of a long name.
fn short(name: &str) -> String {
    const LONGEST: usize = 200;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        operand: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let is_branch = instruction.op_kind(operand) == OpKind::NearBranch64;
        if !is_branch && !instruction.is_ip_rel_memory_operand() {
            return None;
        }
        let data = || self.data.get(&address).cloned();
        let name = function_at(&self.functions, address).or_else(data)?;
        Some(SymbolResult::with_string(address, name))
    }
}

/// The unit of each instruction.
fn units(instructions: &[Instruction]) -> Vec<&'static str> {
    let mut units: Vec<_> = instructions.iter().map(alone).collect();
    for (i, instruction) in instructions.iter().enumerate() {
        // How many instructions before and after this one belong to its macro (rules V3d, V5).
        let (name, before, after) = match instruction.code() {
            Code::Call_rm64 | Code::Jmp_rm64 if instruction.op0_kind() == OpKind::Register => {
                (if instruction.op0_register() == Register::R11 { "U1" } else { "U4" }, 5, 0)
            }
            Code::Xor_rm64_r64 | Code::Xor_r64_rm64 if instruction.op0_register() == Register::RSP => {
                ("U2", 2, 1)
            }
            _ if instruction.is_string_instruction() && instruction.segment_prefix() != Register::GS => {
                ("U3", 2 * string_pointers(instruction), 0)
            }
            _ => continue,
        };
        let end = (i + after + 1).min(units.len());
        units[i.saturating_sub(before)..end].fill(name);
    }
    units
}

/// Registers of rdi and rsi that a string instruction addresses memory with.
fn string_pointers(instruction: &Instruction) -> usize {
    match instruction.mnemonic() {
        Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq => 2,
        Mnemonic::Cmpsb | Mnemonic::Cmpsw | Mnemonic::Cmpsd | Mnemonic::Cmpsq => 2,
        _ => 1,
    }
}

/// The rule of an instruction that is a unit by itself.
fn alone(instruction: &Instruction) -> &'static str {
    let writes_rsp = instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::RSP;
    let is_address = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    let memory = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    match instruction.code() {
        Code::Endbr64 => "label",
        _ if gate_slot(instruction).is_some() => "M4",
        _ if writes_rsp && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test) => "V3",
        _ if !memory || is_address => "",
        _ if instruction.segment_prefix() == Register::GS => "M1",
        _ if instruction.is_ip_rel_memory_operand() => "M2",
        _ if instruction.memory_base() == Register::RSP => "M3",
        _ => "",
    }
}

/// The gate that an instruction calls.
fn gate_slot(instruction: &Instruction) -> Option<u64> {
    let absolute =
        instruction.memory_base() == Register::None && instruction.memory_index() == Register::None;
    let is_call = instruction.code() == Code::Call_rm64
        && instruction.op0_kind() == OpKind::Memory
        && instruction.segment_prefix() == Register::GS;
    let offset = instruction.memory_displacement64().checked_sub(window::GATE_TABLE)?;
    (is_call && absolute && offset / 8 < gate::SLOTS).then_some(offset / 8)
}

/// What gates lead to, by slot.
struct Gates(HashMap<u64, String>);

impl Gates {
    fn new(module: &Module) -> Gates {
        let imports = module.imports.iter().rev();
        Gates(imports.map(|import| (u64::from(import.slot), short(&import.name))).collect())
    }

    fn name(&self, slot: u64) -> String {
        match self.0.get(&slot) {
            Some(name) => format!("gate {slot}: {name}"),
            None if matches!(slot, gate::SYSCALL | gate::SYSCALL_AS_CALL) => {
                format!("gate {slot}: system call")
            }
            None => format!("gate {slot}"),
        }
    }
}

/// The code that `name` stands for: a function, or all code.
pub fn range(module: &Module, name: Option<&str>) -> Option<Range<u64>> {
    let code = module.segments.iter().find(|segment| segment.kind == SegmentKind::Code)?;
    let code = code.address..code.address + code.size;
    let Some(name) = name else { return Some(code) };
    let symbol = module.symbols.iter().find(|symbol| symbol.name == name);
    let export = module.exports.iter().find(|export| export.name == name);
    let start = symbol.map(|symbol| symbol.address).or(export.map(|export| export.address))?;
    let next = module.symbols.iter().map(|symbol| symbol.address).find(|address| *address > start);
    let end = match symbol {
        Some(symbol) if symbol.size > 0 => start + symbol.size,
        _ => next.unwrap_or(code.end),
    };
    Some(start..end)
}
