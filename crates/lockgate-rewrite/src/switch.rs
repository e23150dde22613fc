//! Switches: which indirect jumps go through a table that this object proves, and become unit U4.

use std::collections::{HashMap, HashSet};

use iced_x86::{Code as Code64, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::code::{Code, CodePlace, Form, Key, Through};
use crate::decode::{Text, mark, memory_operand};
use crate::encode::{RSP, Reg, number};
use crate::liveness::{Effect, Liveness};

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
    pub(crate) table_from: CodePlace,
    /// Where other indices go: the place that the compiler's own check sends them to, if the unit's check replaces it.
    pub(crate) otherwise: Option<u32>,
    /// Symbol of the table of distances that stands for one of addresses.
    pub(crate) distances: Option<u32>,
}

/// How far back the parts of a switch may lie from its jump.
const REACH: usize = 32;

/// The switches of an object.
pub(crate) struct Switches {
    /// By text: switches by the index of their jump.
    pub(crate) by_text: Vec<HashMap<u32, Switch>>,
    /// Whether some jump that is no unit U4 may go from one code section into a function of another.
    pub(crate) scattered: bool,
}

/// Finds the switches; marks the instructions that the units absorb and the cases that other indirect jumps may reach.
/// `tables`: see [`crate::tables::find`]; `keeps_r11`: see [`crate::across::Across`].
pub(crate) fn recover(
    code: &mut Code,
    tables: &[HashMap<u32, Through>],
    keeps_r11: &[HashSet<usize>],
) -> Switches {
    let mut by_text: Vec<HashMap<u32, Switch>> = Vec::with_capacity(code.texts.len());
    let mut parts = Vec::new();
    let mut used = HashSet::new();
    // Functions with an indirect jump through what may be a table.
    let mut open: HashSet<CodePlace> = HashSet::new();
    for (number, keeps) in keeps_r11.iter().enumerate() {
        let mut liveness = Liveness::new(keeps.clone());
        let mut found = HashMap::new();
        for jump in 0..code.texts[number].code.len() {
            if code.texts[number].code[jump].code.flow_control() != FlowControl::IndirectBranch {
                continue;
            }
            let through = tables[number].get(&(jump as u32));
            let through = through.filter(|through| code.tables[&through.table].form == Form::Distances);
            match through.and_then(|through| match_switch(code, number, jump, through, &mut liveness)) {
                Some((switch, absorbed)) => {
                    used.extend(through.map(|through| through.table));
                    for &index in &absorbed {
                        code.mark((number, index), mark::ABSORBED);
                    }
                    parts.push(((number, jump as u32), through.map(|through| through.table), absorbed));
                    found.insert(jump as u32, switch);
                }
                None if !is_plain_pointer(&code.texts[number], jump, &mut liveness) => {
                    open.insert((number, code.texts[number].function_around(jump).0));
                }
                None => (),
            }
        }
        by_text.push(found);
    }
    let (scattered, opened) = open_tables(code, &used, &open);
    // What goes to labels comes with its frame closed, and what goes behind them does not: a table serves one of the two.
    for ((number, jump), table, absorbed) in parts {
        if table.is_some_and(|table| opened.contains(&table)) {
            by_text[number].remove(&jump);
            for index in absorbed {
                code.unmark((number, index), mark::ABSORBED);
            }
        }
    }
    Switches { by_text, scattered }
}

/// Gives entry labels to the cases of tables that something else than a unit U4 may use: no unit uses them, or a
/// function in `open` takes their address or has one of their cases, or is a part of another function. Says whether
/// one of these tables has its parts in several code sections, and which they are.
fn open_tables(code: &mut Code, used: &HashSet<Key>, open: &HashSet<CodePlace>) -> (bool, HashSet<Key>) {
    let is_part = |&(number, start): &CodePlace| !code.texts[number].code[start].has(mark::FUNCTION);
    let some_part = open.iter().any(is_part);
    let is_open = |&(number, index): &CodePlace| {
        let text = &code.texts[number];
        index < text.code.len() && open.contains(&(number, text.function_around(index).0))
    };
    let mut scattered = some_part;
    let mut opened = HashSet::new();
    let mut cases = Vec::new();
    for (place, table) in code.tables.iter().filter(|(_, table)| table.form == Form::Distances) {
        let closed = table.read_only && used.contains(place) && !some_part;
        if !closed || table.targets.iter().chain(&table.owners).any(is_open) {
            scattered |= !table.is_in_one_text();
            opened.insert(*place);
            cases.extend_from_slice(&table.targets);
        }
    }
    for case in cases {
        code.mark(case, mark::ENTRY);
    }
    (scattered, opened)
}

/// The instructions of an indirect jump through a table: `movslq (B,I,4),X; add B,X; jmp *X` (the sum may be in either register).
pub(crate) struct Shape {
    pub(crate) load: usize,
    add: usize,
    index: Reg,
    pub(crate) base: Reg,
    target: Reg,
}

impl Shape {
    pub(crate) fn of(text: &Text, jump: usize, liveness: &mut Liveness) -> Option<Shape> {
        let branch = &text.code[jump].code;
        if branch.op0_kind() != OpKind::Register {
            return None;
        }
        let target = branch.op0_register();
        let add = back_to_write(text, jump, target, liveness)?;
        let sum = &text.code[add].code;
        if sum.mnemonic() != Mnemonic::Add
            || sum.op0_register() != target
            || sum.op1_kind() != OpKind::Register
        {
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
        let (index, base) = (number_of(index)?, number_of(base)?);
        let target = number_of(text.code[load].code.op0_register())?;
        // The unit does at the jump what was done from the load on: nothing between may see the difference.
        for at in (load + 1..jump).filter(|&at| at != add) {
            if liveness.effect(text, at, target) != Effect::None
                || liveness.writes(text, at, index)
                || liveness.writes(text, at, base)
            {
                return None;
            }
        }
        (base != index && base != target).then_some(Shape { load, add, index, base, target })
    }
}

/// The instructions of a jump through a table of labels' addresses: `jmp *(B,I,8)`, or `mov (B,I,8),X; jmp *X`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goto {
    /// What loads the address: the jump itself in the first form.
    pub(crate) load: usize,
    pub(crate) index: Reg,
    pub(crate) base: Reg,
    pub(crate) target: Option<Reg>,
}

impl Goto {
    pub(crate) fn of(text: &Text, jump: usize, liveness: &mut Liveness) -> Option<Goto> {
        let branch = &text.code[jump].code;
        let load = match branch.op0_kind() {
            OpKind::Memory => jump,
            _ => back_to_write(text, jump, branch.op0_register(), liveness)?,
        };
        let code = &text.code[load].code;
        let is_load = matches!(code.code(), Code64::Jmp_rm64 | Code64::Mov_r64_rm64)
            && memory_operand(code).is_some()
            && code.memory_index_scale() == 8
            && code.memory_displacement64() == 0
            && code.segment_prefix() == Register::None;
        if !is_load || code.memory_base() == Register::None || code.memory_index() == Register::None {
            return None;
        }
        let (index, base) = (number_of(code.memory_index())?, number_of(code.memory_base())?);
        let target = if load == jump { None } else { Some(number_of(code.op0_register())?) };
        // The unit does at the jump what was done from the load on: nothing between may see the difference.
        for at in load + 1..jump {
            if target.is_none_or(|target| liveness.effect(text, at, target) != Effect::None)
                || liveness.writes(text, at, index)
                || liveness.writes(text, at, base)
            {
                return None;
            }
        }
        (base != index).then_some(Goto { load, index, base, target })
    }
}

/// The unit for a jump through a known table, and the instructions that it stands for.
fn match_switch(
    code: &Code,
    number: usize,
    jump: usize,
    through: &Through,
    liveness: &mut Liveness,
) -> Option<(Switch, Vec<usize>)> {
    let text = &code.texts[number];
    let Shape { load, add, index, base, target } = Shape::of(text, jump, liveness)?;
    let (entries, table_from) = (code.tables.get(&through.table)?.targets.len() as u32, through.from);
    let mut absorbed = vec![load, add];
    if table_from.0 == number && only_for(text, table_from.1, jump, &absorbed, base, liveness) {
        absorbed.push(table_from.1);
    }
    let mut switch = Switch { index, base, target, entries, table_from, otherwise: None, distances: None };
    if let Some((check, otherwise)) = own_check(text, jump, &switch, &absorbed, liveness) {
        absorbed.extend(check);
        switch.otherwise = Some(otherwise);
    }
    Some((switch, absorbed))
}

/// The compiler's own check of the index, `cmp $n,S; ja D`, where the unit's says the same: between it and the jump there are only
/// `absorbed` parts of the switch and the index being made of S by zeros, and D does not see whether that has been done. The result is the check's two instructions, and D.
fn own_check(
    text: &Text,
    jump: usize,
    switch: &Switch,
    absorbed: &[usize],
    liveness: &mut Liveness,
) -> Option<([usize; 2], u32)> {
    let mut source = None;
    let mut branch = jump.checked_sub(1)?;
    while text.code[branch].code.mnemonic() != Mnemonic::Ja {
        let code = &text.code[branch].code;
        if text.code[branch + 1].has(mark::LABEL) {
            return None;
        } else if source.is_none() && is_zero_extension(code) && number(code.op0_register()) == switch.index {
            source = Some(code.op1_register());
        } else if !absorbed.contains(&branch) {
            return None;
        }
        branch = branch.checked_sub(1)?;
    }
    let compare = branch.checked_sub(1)?;
    let code = &text.code[compare].code;
    let is_check = code.mnemonic() == Mnemonic::Cmp
        && code.op0_kind() == OpKind::Register
        && !matches!(code.op1_kind(), OpKind::Register | OpKind::Memory)
        && code.immediate(1) == u64::from(switch.entries) - 1
        && match (code.op0_register(), source) {
            (compared, Some(source)) => compared == source,
            (compared, None) => compared.size() >= 4 && number(compared) == switch.index,
        };
    let labelled = text.code[branch].has(mark::LABEL) || text.code[branch + 1].has(mark::LABEL);
    let otherwise = text.local_target(branch).filter(|_| is_check && !labelled)?;
    let unseen = otherwise < text.code.len()
        && !text.code[otherwise].has(mark::FUNCTION)
        && liveness.flags_free(text, otherwise)
        && (source.is_none() || liveness.free(text, otherwise, switch.index));
    unseen.then_some(([compare, branch], otherwise as u32))
}

/// `movzbl`, `movzwl` or `movl` from one register to another.
fn is_zero_extension(code: &Instruction) -> bool {
    let widens = match code.mnemonic() {
        Mnemonic::Movzx => code.op0_register().size() >= 4,
        Mnemonic::Mov => code.op0_register().size() == 4,
        _ => false,
    };
    widens && code.op0_kind() == OpKind::Register && code.op1_kind() == OpKind::Register
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
pub(crate) fn only_for(
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

/// Whether the jump goes through a whole pointer read from memory: a tail call or a computed goto, whose targets are labelled
/// because their addresses are taken, and never an entry of a table of distances.
pub(crate) fn is_plain_pointer(text: &Text, jump: usize, liveness: &mut Liveness) -> bool {
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
