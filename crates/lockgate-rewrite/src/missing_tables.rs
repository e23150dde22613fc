//! Unwind tables for objects that have none, as musl's: exceptions pass functions whose frames are plain enough to be read off their code.
//! The tables are those of the input's code; `dwarf` carries them over as it does others.

use std::collections::HashMap;
use std::ops::Range;

use iced_x86::{FlowControl, Mnemonic, OpKind};

use crate::code::Code;
use crate::decode::{NONE, Text, mark};
use crate::elf::{Object, Reloc, Section, reloc, shf, sht, sym};
use crate::encode::{Reg, number as number_of};
use crate::error::{Error, Reason};
use crate::frames::{ENTRY, Frames, State, TextFrames};
use crate::leb128::push_uleb;
use crate::liveness::Liveness;

/// Registers that callees keep, and DWARF's numbers of them.
const KEPT: [(Reg, u8); 6] = [(3, 3), (5, 6), (12, 12), (13, 13), (14, 14), (15, 15)];
/// A common entry: rsp + 8 is the frame's address, below it lies the return address; addresses are distances of four bytes.
const COMMON: [u8; 24] =
    [20, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0];

/// Whether an object has no tables, and gets some.
fn lacks_tables(object: &Object) -> bool {
    !object.sections.iter().any(|section| section.name == ".eh_frame")
}

/// Gives each code section of an object without tables a local symbol, by which its tables name it. (Symbols get other numbers.) By
/// another's symbol, the linker would take the table of code that it drops, a second copy of an inline function, for the table of the
/// code that it keeps: then there are two of one function, and it makes no index of any.
pub(crate) fn name_sections(file: &str, object: &mut Object) -> Result<(), Error> {
    if !lacks_tables(object) || object.symtab.is_none() {
        return Ok(());
    }
    let named = symbols_by_section(object);
    let is_nameless =
        |(number, section): &(usize, &Section)| section.is_code() && !named.contains_key(number);
    let nameless: Vec<usize> =
        object.sections.iter().enumerate().filter(is_nameless).map(|(number, _)| number).collect();
    match nameless.is_empty() || object.add_section_symbols(&nameless).is_some() {
        true => Ok(()),
        false => Err(Error::whole(file, Reason::malformed("a list of symbols is damaged"))),
    }
}

/// Adds tables to an object that has none.
pub(crate) fn add(object: &mut Object, code: &Code, frames: &Frames) {
    if !lacks_tables(object) {
        return;
    }
    let symbols = symbols_by_section(object);
    let mut table = COMMON.to_vec();
    let mut relocs = Vec::new();
    for (number, text) in code.texts.iter().enumerate() {
        let Some(&symbol) = symbols.get(&text.section) else { continue };
        let mut live = Liveness::new(Default::default());
        for &start in &text.functions {
            let (start, end) = text.function_around(start as usize);
            let range = start..end;
            let Some(program) = program(text, &mut live, &frames[number], range.clone()) else { continue };
            let first = u64::from(text.code[range.start].start());
            let last = u64::from(text.code[range.end - 1].end());
            let at = table.len();
            relocs.push(Reloc {
                offset: at as u64 + 8,
                symbol,
                kind: reloc::PC32,
                addend: first as i64 - object.symbols[symbol as usize].value as i64,
            });
            let size = (4 + 8 + 1 + program.len()).next_multiple_of(8) + 4;
            table.extend((size as u32).to_le_bytes());
            table.extend((at as u32 + 4).to_le_bytes());
            table.extend([0; 4]);
            table.extend(((last - first) as u32).to_le_bytes());
            table.push(0);
            table.extend(program);
            table.resize(at + 4 + size, 0);
        }
    }
    if relocs.is_empty() {
        return;
    }
    let index = object.sections.len();
    object.sections.push(Section {
        name: ".eh_frame".into(),
        kind: sht::PROGBITS,
        flags: shf::ALLOC,
        align: 8,
        data: table,
        relocs,
        ..Section::default()
    });
    object.ensure_reloc_section(index);
}

/// By section: a local symbol that is defined in it, that of the section itself before another; the first of its kind.
fn symbols_by_section(object: &Object) -> HashMap<usize, u32> {
    let mut best: HashMap<usize, (bool, u32)> = HashMap::new();
    let local = object.symbols.iter().enumerate().filter(|(_, symbol)| symbol.binding == sym::LOCAL);
    for (index, symbol) in local {
        let Some(section) = symbol.section() else { continue };
        let found = (symbol.kind != sym::SECTION, index as u32);
        best.entry(section).and_modify(|best| *best = found.min(*best)).or_insert(found);
    }
    best.into_iter().map(|(section, (_, index))| (section, index)).collect()
}

/// What is known before an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    /// rsp is this far below where it was at the function's entry.
    below: i32,
    /// By [`KEPT`]: the register is on the stack.
    saved: u8,
}

/// The call-frame instructions of a function; `None` if its frame is computed, or its saves cannot be told from other uses of the stack.
fn program(text: &Text, live: &mut Liveness, frames: &TextFrames, function: Range<usize>) -> Option<Vec<u8>> {
    if frames.before[function.start] != Some(ENTRY) {
        return None;
    }
    let slots = slots(text, live, &frames.before, function.clone())?;
    let known = follow(text, frames, function.clone(), &slots)?;
    let mut out = Vec::new();
    let mut row = Known { below: 0, saved: 0 };
    let mut at = u64::from(text.code[function.start].start());
    for index in function.clone() {
        let Some(next) = known[index - function.start].filter(|next| *next != row) else { continue };
        let here = u64::from(text.code[index].start());
        crate::dwarf::advance(here - at, &mut out);
        at = here;
        if next.below != row.below {
            out.push(0x0e);
            push_uleb(&mut out, u64::try_from(next.below).ok()? + 8);
        }
        for (bit, (_, register)) in KEPT.into_iter().enumerate() {
            match (row.saved >> bit & 1, next.saved >> bit & 1) {
                (0, 1) => {
                    out.push(0x80 | register);
                    push_uleb(&mut out, slots[bit]? as u64 / 8 + 1);
                }
                (1, 0) => out.push(0xc0 | register),
                _ => (),
            }
        }
        row = next;
    }
    Some(out)
}

/// By [`KEPT`]: how far below rsp at the entry a register is saved, by a `push` before anything changes it. `None` if one is changed
/// that is not.
fn slots(
    text: &Text,
    live: &mut Liveness,
    before: &[Option<State>],
    function: Range<usize>,
) -> Option<[Option<i32>; KEPT.len()]> {
    let mut slots = [None; KEPT.len()];
    for index in function {
        let below = match before[index] {
            Some(State::Constant(below)) => below,
            Some(State::Computed(_)) => return None,
            None => continue,
        };
        for (slot, (reg, _)) in slots.iter_mut().zip(KEPT) {
            if slot.is_some() {
                continue;
            }
            if is_push(text, index, reg) {
                *slot = Some(below + 8);
            } else if live.writes(text, index, reg) {
                return None;
            }
        }
    }
    Some(slots)
}

fn is_push(text: &Text, index: usize, reg: Reg) -> bool {
    let code = &text.code[index].code;
    let is_register = code.op0_kind() == OpKind::Register && code.op0_register().is_gpr64();
    code.mnemonic() == Mnemonic::Push && is_register && number_of(code.op0_register()) == reg
}

/// Follows control through a function: what is saved before each of its instructions. `None` if that depends on the way.
fn follow(
    text: &Text,
    frames: &TextFrames,
    function: Range<usize>,
    slots: &[Option<i32>; KEPT.len()],
) -> Option<Vec<Option<Known>>> {
    let before = &frames.before;
    let mut saved: Vec<Option<u8>> = vec![None; function.len()];
    let mut work = vec![(function.start, 0)];
    while let Some((index, arriving)) = work.pop() {
        if !function.contains(&index) || before[index].is_none() {
            continue;
        }
        match &mut saved[index - function.start] {
            Some(known) if *known == arriving => continue,
            Some(_) => return None,
            new => *new = Some(arriving),
        }
        let Some(State::Constant(below)) = before[index] else { return None };
        let ins = &text.code[index];
        let mut leaving = arriving;
        for (bit, (reg, _)) in KEPT.into_iter().enumerate() {
            let Some(slot) = slots[bit] else { continue };
            if is_push(text, index, reg) && below + 8 == slot {
                leaving |= 1 << bit;
            }
            // It is popped.
            let moves = ins.code.flow_control() == FlowControl::Next;
            let after = before.get(index + 1).copied().flatten().filter(|_| moves);
            if matches!(after, Some(State::Constant(after)) if after < slot) && leaving >> bit & 1 != 0 {
                leaving &= !(1 << bit);
            }
        }
        match ins.code.flow_control() {
            _ if frames.stops.contains(&(index as u32)) => (),
            FlowControl::IndirectBranch => {
                let inner =
                    function.clone().skip(1).filter(|&at| text.code[at].has(mark::CASE | mark::ENTRY));
                work.extend(inner.map(|at| (at, leaving)));
            }
            _ if ins.ends_flow() => (),
            _ => work.push((index + 1, leaving)),
        }
        if ins.target != NONE && !matches!(ins.code.flow_control(), FlowControl::Call) {
            work.push((ins.target as usize, leaving));
        }
    }
    let known = function.clone().zip(saved).map(|(index, saved)| match (before[index], saved) {
        (Some(State::Constant(below)), Some(saved)) => Some(Known { below, saved }),
        _ => None,
    });
    Some(known.collect())
}
