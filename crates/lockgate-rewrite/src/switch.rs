//! Switches: which indirect jumps go through a table that this object proves, and become unit U4.

use std::collections::{HashMap, HashSet};

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

use crate::decode::{NONE, Text, mark, memory_operand};
use crate::elf::Object;
use crate::encode::{RSP, Reg, number};
use crate::liveness::{Effect, Liveness};
use crate::refs::{Code, is_relative};

/// An indirect jump that becomes unit U4.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch {
    /// Register that holds the index.
    pub(crate) index: Reg,
    /// Register that holds the table's address.
    pub(crate) base: Reg,
    /// Register that holds the entry, then the target.
    pub(crate) target: Reg,
    /// Number of entries.
    pub(crate) entries: u32,
    /// Instruction that takes the table's address: its relocation names the table.
    pub(crate) table_from: u32,
}

/// How far back the parts of a switch may lie from its jump.
const REACH: usize = 32;

/// Finds the switches of text `number`, by the index of their jump; marks the instructions that the units absorb
/// and the targets of all tables that stay open to other jumps.
pub(crate) fn recover(
    code: &mut Code,
    object: &Object,
    number: usize,
    liveness: &mut Liveness,
) -> HashMap<u32, Switch> {
    let mut found = HashMap::new();
    let jumps: Vec<usize> = {
        let text = &code.texts[number];
        let is_jump = |index: &usize| text.code[*index].code.flow_control() == FlowControl::IndirectBranch;
        (0..text.code.len()).filter(is_jump).collect()
    };
    if jumps.is_empty() {
        open_tables(code, number, None);
        return found;
    }
    let mut open = HashSet::new();
    for jump in jumps {
        match match_switch(code, object, number, jump, liveness) {
            Some((switch, absorbed)) => {
                for index in absorbed {
                    code.texts[number].code[index].marks |= mark::ABSORBED;
                }
                found.insert(jump as u32, switch);
            }
            None if !is_plain_pointer(&code.texts[number], jump, liveness) => {
                open.insert(code.texts[number].function_around(jump).0);
            }
            None => (),
        }
    }
    open_tables(code, number, Some(&open));
    found
}

/// Gives entry labels to the cases of tables that some jump other than a unit U4 may use: all those with a case in one of the
/// functions `open`, or in any function if that is `None`.
fn open_tables(code: &mut Code, number: usize, open: Option<&HashSet<usize>>) {
    let Code { tables, texts, .. } = code;
    for table in tables.values().filter(|table| table.text == number) {
        let text = &mut texts[number];
        let is_open = |target: &u32| {
            let index = *target as usize;
            index < text.code.len() && open.is_none_or(|open| open.contains(&text.function_around(index).0))
        };
        if !table.read_only || table.targets.iter().any(is_open) {
            for &target in &table.targets {
                if let Some(ins) = text.code.get_mut(target as usize) {
                    ins.marks |= mark::ENTRY;
                }
            }
        }
    }
}

/// Matches `movslq (B,I,4),X; add B,X; jmp *X` (the sum may be in either register), B holding a table's address.
fn match_switch(
    code: &Code,
    object: &Object,
    number: usize,
    jump: usize,
    liveness: &mut Liveness,
) -> Option<(Switch, Vec<usize>)> {
    let text = &code.texts[number];
    let branch = &text.code[jump].code;
    if branch.op0_kind() != OpKind::Register {
        return None;
    }
    let target = branch.op0_register();
    let add = back_to_write(text, jump, target, liveness)?;
    let sum = &text.code[add].code;
    if sum.mnemonic() != Mnemonic::Add || sum.op0_register() != target || sum.op1_kind() != OpKind::Register {
        return None;
    }
    let other = sum.op1_register();
    // Whichever of the two was loaded last is the entry, the other one the table's address.
    let (load, base) = [(target, other), (other, target)].into_iter().find_map(|(entry, base)| {
        let load = back_to_write(text, add, entry, liveness)?;
        let code = &text.code[load].code;
        let is_load = code.mnemonic() == Mnemonic::Movsxd
            && code.op0_register() == entry
            && memory_operand(code).is_some()
            && code.memory_base() == base
            && code.memory_index_scale() == 4
            && code.memory_displacement64() == 0;
        is_load.then_some((load, base))
    })?;
    let index = text.code[load].code.memory_index();
    if index == Register::None || index.size() != 8 {
        return None;
    }
    let (index, base_reg) = (number_of(index)?, number_of(base)?);
    let target = number_of(text.code[load].code.op0_register())?;
    // The unit does at the jump what was done from the load on: nothing between may see the difference.
    for at in (load + 1..jump).filter(|&at| at != add) {
        if liveness.effect(text, at, target) != Effect::None
            || liveness.writes(text, at, index)
            || liveness.writes(text, at, base_reg)
        {
            return None;
        }
    }
    if base_reg == index || base_reg == target {
        return None;
    }
    let (section, offset, table_from) = table_address(code, object, number, load, base, liveness)?;
    let table = code.tables.get(&(section, offset));
    let table = table.filter(|table| table.read_only && table.text == number)?;
    let entries = table.targets.len() as u32;
    let mut absorbed = vec![load, add];
    if only_for(text, table_from as usize, jump, &absorbed, base_reg, liveness) {
        absorbed.push(table_from as usize);
    }
    Some((Switch { index, base: base_reg, target, entries, table_from }, absorbed))
}

fn number_of(register: Register) -> Option<Reg> {
    let number = number(register);
    (register.size() == 8 && number != RSP).then_some(number)
}

/// The last instruction before `from` in the same straight run that writes `register`.
fn back_to_write(text: &Text, from: usize, register: Register, liveness: &mut Liveness) -> Option<usize> {
    let reg = number(register);
    for at in (from.saturating_sub(REACH)..from).rev() {
        // A label at the later instruction lets control arrive past the earlier one.
        if text.code[at + 1].has(mark::LABEL) {
            return None;
        }
        let ins = &text.code[at];
        if ins.code.flow_control() != FlowControl::Next {
            return None;
        }
        if liveness.writes(text, at, reg) {
            return Some(at);
        }
    }
    None
}

/// Whether the `lea` at `from` serves the switch at `jump` alone: a straight run leads from one to the other, in which
/// nothing but `parts` of the switch uses register `reg`.
fn only_for(
    text: &Text,
    from: usize,
    jump: usize,
    parts: &[usize],
    reg: Reg,
    liveness: &mut Liveness,
) -> bool {
    from < jump
        && jump - from <= REACH
        && (from + 1..=jump).all(|at| {
            !text.code[at].has(mark::LABEL)
                && (at == jump || text.code[at].code.flow_control() == FlowControl::Next)
                && (parts.contains(&at) || liveness.effect(text, at, reg) == Effect::None)
        })
}

/// The table whose address `base` holds at instruction `from` on every path: section, offset, and an
/// instruction that takes the address.
fn table_address(
    code: &Code,
    object: &Object,
    number: usize,
    from: usize,
    base: Register,
    liveness: &mut Liveness,
) -> Option<(usize, u64, u32)> {
    let text = &code.texts[number];
    let reg = crate::encode::number(base);
    let (start, end) = text.function_around(from);
    let mut sources: Option<Sources> = None;
    let mut found: Option<(usize, u64, u32)> = None;
    let mut seen = HashSet::new();
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        // Every way to reach `at`: falling through, and branches if it is a label.
        let mut before = Vec::new();
        if at > start && !text.code[at - 1].ends_flow() {
            before.push(at - 1);
        }
        if text.code[at].has(mark::LABEL) {
            if text.code[at].has(mark::FUNCTION | mark::ENTRY | mark::OUTSIDE) {
                return None;
            }
            let sources = sources.get_or_insert_with(|| Sources::of(text, start, end));
            before.extend(sources.branches(at));
            if text.code[at].has(mark::CASE) {
                before.extend(&sources.indirect);
            }
        }
        if at == start {
            return None;
        }
        for at in before {
            let ins = &text.code[at];
            match liveness.effect(text, at, reg) {
                _ if matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
                    && !is_callee_saved(reg) =>
                {
                    return None;
                }
                Effect::Overwrites => {
                    let reloc = text.relocs(object, at).iter().find(|reloc| is_relative(reloc.kind))?;
                    if ins.code.mnemonic() != Mnemonic::Lea {
                        return None;
                    }
                    let to_end = ins.code.next_ip() as i64 - reloc.offset as i64;
                    let (section, offset) = object.resolve(reloc.symbol, reloc.addend + to_end)?;
                    let offset = u64::try_from(offset).ok()?;
                    match found {
                        Some((s, o, _)) if (s, o) != (section, offset) => return None,
                        _ => found = Some((section, offset, at as u32)),
                    }
                }
                Effect::Reads if liveness.writes(text, at, reg) => return None,
                Effect::Reads | Effect::None => work.push(at),
            }
        }
    }
    found
}

fn is_callee_saved(reg: Reg) -> bool {
    matches!(reg, 3 | 5 | 12..=15)
}

/// The branches inside one function.
struct Sources {
    direct: Vec<(u32, u32)>,
    indirect: Vec<usize>,
}

impl Sources {
    fn of(text: &Text, start: usize, end: usize) -> Sources {
        let mut direct = Vec::new();
        let mut indirect = Vec::new();
        for (at, ins) in text.code.iter().enumerate().take(end).skip(start) {
            if ins.target != NONE && ins.code.flow_control() != FlowControl::Call {
                direct.push((ins.target, at as u32));
            }
            if ins.code.flow_control() == FlowControl::IndirectBranch {
                indirect.push(at);
            }
        }
        direct.sort_unstable();
        Sources { direct, indirect }
    }

    /// Branches to `target`.
    fn branches(&self, target: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.direct.partition_point(|pair| (pair.0 as usize) < target);
        self.direct[first..]
            .iter()
            .take_while(move |pair| pair.0 as usize == target)
            .map(|pair| pair.1 as usize)
    }
}

/// Whether the jump goes through a whole pointer read from memory: a tail call or a computed goto, whose targets are labelled
/// because their addresses are taken, and never an entry of a table of distances.
fn is_plain_pointer(text: &Text, jump: usize, liveness: &mut Liveness) -> bool {
    let branch = &text.code[jump].code;
    if branch.op0_kind() != OpKind::Register {
        return true;
    }
    let target = branch.op0_register();
    for at in (jump.saturating_sub(REACH)..jump).rev() {
        if text.code[at + 1].has(mark::LABEL) || text.code[at].code.flow_control() != FlowControl::Next {
            return false;
        }
        if liveness.writes(text, at, number(target)) {
            let code = &text.code[at].code;
            return code.mnemonic() == Mnemonic::Mov && code.op1_kind() == OpKind::Memory
                || code.mnemonic() == Mnemonic::Pop;
        }
    }
    false
}
