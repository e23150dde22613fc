//! Which registers and flags are free at an instruction: bounded walks forward from it.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};

use crate::decode::{Text, mark};
use crate::encode::{R10, R11, Reg};

/// Instructions that one walk visits before it gives up and says "live".
const BUDGET: usize = 2000;

/// The six flags that arithmetic writes.
pub(crate) const ARITHMETIC_FLAGS: u32 =
    RflagsBits::CF | RflagsBits::PF | RflagsBits::AF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF;

/// Shifts, whose count may be in cl.
const SHIFTS: [Mnemonic; 10] = [
    Mnemonic::Shl,
    Mnemonic::Sal,
    Mnemonic::Shr,
    Mnemonic::Sar,
    Mnemonic::Rol,
    Mnemonic::Ror,
    Mnemonic::Rcl,
    Mnemonic::Rcr,
    Mnemonic::Shld,
    Mnemonic::Shrd,
];

/// 64-bit registers by number.
pub(crate) const REGISTERS: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// What an instruction does to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing, or a conditional write.
    None,
    /// Reads it, perhaps writing it too.
    Reads,
    /// Overwrites all of it without reading.
    Overwrites,
}

/// What an instruction does to the sixteen registers: a bit for each.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    /// Reads it, also where it overwrites it.
    reads: u16,
    /// Overwrites all of it for certain.
    overwrites: u16,
    /// Writes a part of it, or perhaps.
    writes: u16,
}

impl Uses {
    fn of(info: &mut InstructionInfoFactory, code: &Instruction) -> Uses {
        let mut uses = Uses::default();
        for used in info.info(code).used_registers() {
            if !used.register().is_gpr() {
                continue;
            }
            let bit = 1 << crate::encode::number(used.register());
            match used.access() {
                OpAccess::Write => {
                    uses.writes |= bit;
                    uses.overwrites |= if used.register().size() >= 4 { bit } else { 0 };
                }
                OpAccess::CondWrite => uses.writes |= bit,
                OpAccess::Read | OpAccess::CondRead => uses.reads |= bit,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    uses.reads |= bit;
                    uses.writes |= bit;
                }
                OpAccess::None | OpAccess::NoMemAccess => (),
            }
        }
        if is_clear(code) {
            let bit = 1 << crate::encode::number(code.op0_register());
            uses.reads &= !bit;
            uses.overwrites |= bit;
        }
        uses
    }
}

/// Whether `code` writes any part of `reg`, perhaps only sometimes.
pub(crate) fn writes(info: &mut InstructionInfoFactory, code: &Instruction, reg: Reg) -> bool {
    Uses::of(info, code).writes & 1 << reg != 0
}

/// Answers questions about one section.
pub(crate) struct Liveness {
    info: InstructionInfoFactory,
    /// By instruction of `section`, as far as a walk has asked: walks come by again and again.
    uses: Vec<Option<Uses>>,
    section: usize,
    keeps_r11: HashSet<usize>,
    /// By a function's first instruction: see [`Liveness::r10_at_labels`].
    r10_at_labels: HashMap<usize, bool>,
    /// By a function's first instruction: the places inside it that its indirect jumps may reach.
    labels: HashMap<usize, Rc<[u32]>>,
    /// The functions whose labels the current walk has.
    entered: Vec<usize>,
    /// By instruction: the walk that last saw it.
    seen: Vec<u32>,
    walk: u32,
    work: Vec<u32>,
}

impl Liveness {
    /// `keeps_r11`: see [`crate::across::Across`].
    pub(crate) fn new(keeps_r11: HashSet<usize>) -> Self {
        Liveness {
            info: InstructionInfoFactory::new(),
            uses: Vec::new(),
            section: 0,
            keeps_r11,
            r10_at_labels: HashMap::new(),
            labels: HashMap::new(),
            entered: Vec::new(),
            seen: Vec::new(),
            walk: 0,
            work: Vec::new(),
        }
    }

    /// Whether r11 is free before instruction `index`.
    pub(crate) fn r11_free(&mut self, text: &Text, index: usize) -> bool {
        let keep = self.must_keep_r11(text, index);
        !self.live(text, index, R11, keep)
    }

    /// Whether register `reg` is free before instruction `index`: overwritten on every path before it is read.
    pub(crate) fn free(&mut self, text: &Text, index: usize, reg: Reg) -> bool {
        if reg == R11 { self.r11_free(text, index) } else { !self.live(text, index, reg, true) }
    }

    /// Whether all arithmetic flags are free before instruction `index`.
    pub(crate) fn flags_free(&mut self, text: &Text, index: usize) -> bool {
        let mut work = vec![(index, ARITHMETIC_FLAGS)];
        let mut budget = 200;
        while let Some((mut index, mut wanted)) = work.pop() {
            while let Some(ins) = text.code.get(index) {
                budget -= 1;
                if budget == 0 || flags_read(&ins.code) & wanted != 0 {
                    return false;
                }
                // A repeated comparison that runs zero times leaves the flags alone, and so does a shift by zero.
                let by_cl = ins.code.op_count() > 0
                    && ins.code.op_register(ins.code.op_count() - 1) == Register::CL
                    && SHIFTS.contains(&ins.code.mnemonic());
                if !(ins.code.has_rep_prefix() || ins.code.has_repne_prefix() || by_cl) {
                    wanted &= !ins.code.rflags_modified();
                }
                if wanted == 0 {
                    break;
                }
                match ins.code.flow_control() {
                    FlowControl::Next => index += 1,
                    FlowControl::ConditionalBranch => {
                        if let Some(target) = text.local_target(index) {
                            work.push((target, wanted));
                        }
                        index += 1;
                    }
                    FlowControl::UnconditionalBranch => match text.local_target(index) {
                        Some(target) => index = target,
                        None => break,
                    },
                    // No convention passes flags through calls and returns.
                    _ => break,
                }
            }
        }
        true
    }

    /// Whether the instructions from `index` on read the arithmetic flags before any of them writes flags.
    pub(crate) fn flags_read_next(&self, text: &Text, index: usize) -> bool {
        for ins in &text.code[index..] {
            if flags_read(&ins.code) != 0 {
                return true;
            }
            if ins.code.rflags_modified() & ARITHMETIC_FLAGS != 0
                || ins.code.flow_control() != FlowControl::Next
            {
                return false;
            }
        }
        false
    }

    /// Forgets what is known of another section.
    fn turn_to(&mut self, text: &Text) {
        if self.section != text.section {
            self.section = text.section;
            self.uses.clear();
            self.labels.clear();
            self.r10_at_labels.clear();
        }
    }

    fn uses(&mut self, text: &Text, index: usize) -> Uses {
        self.turn_to(text);
        self.uses.resize(text.code.len(), None);
        *self.uses[index].get_or_insert_with(|| Uses::of(&mut self.info, &text.code[index].code))
    }

    /// What instruction `index` does to `reg`.
    pub(crate) fn effect(&mut self, text: &Text, index: usize, reg: Reg) -> Effect {
        let (uses, bit) = (self.uses(text, index), 1 << reg);
        if uses.reads & bit != 0 {
            Effect::Reads
        } else if uses.overwrites & bit != 0 {
            Effect::Overwrites
        } else {
            Effect::None
        }
    }

    /// Whether instruction `index` writes any part of `reg`, perhaps only sometimes.
    pub(crate) fn writes(&mut self, text: &Text, index: usize, reg: Reg) -> bool {
        self.uses(text, index).writes & 1 << reg != 0
    }

    /// Whether `reg` may be read after reaching `from` before it is overwritten. `strict`: returns and calls
    /// read every register, as between functions compiled together.
    pub(crate) fn live(&mut self, text: &Text, from: usize, reg: Reg, strict: bool) -> bool {
        self.seen.resize(text.code.len(), 0);
        self.walk += 1;
        let mut visited = 0;
        self.entered.clear();
        self.work.clear();
        self.work.push(from as u32);
        while let Some(index) = self.work.pop() {
            let mut index = index as usize;
            loop {
                if index >= text.code.len() {
                    return true;
                }
                if std::mem::replace(&mut self.seen[index], self.walk) == self.walk {
                    break;
                }
                visited += 1;
                if visited > BUDGET {
                    return true;
                }
                match self.effect(text, index, reg) {
                    Effect::Reads => return true,
                    Effect::Overwrites => break,
                    Effect::None => (),
                }
                let ins = &text.code[index];
                match ins.code.flow_control() {
                    FlowControl::Next => index += 1,
                    FlowControl::Exception | FlowControl::Interrupt => {
                        if ins.code.mnemonic() != Mnemonic::Int3 {
                            break;
                        }
                        index += 1;
                    }
                    _ if ins.has(mark::LEAVES) => return true,
                    FlowControl::ConditionalBranch => {
                        match text.local_target(index) {
                            Some(target) => self.work.push(target as u32),
                            None if strict || reg != R11 => return true,
                            None => (),
                        }
                        index += 1;
                    }
                    FlowControl::UnconditionalBranch => match text.local_target(index) {
                        Some(target) if !text.code[target].has(mark::FUNCTION) => index = target,
                        _ if strict || reg != R11 => return true,
                        _ => break,
                    },
                    FlowControl::Call if reg == R11 && ins.has(mark::SPARES_R11) => index += 1,
                    FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return
                        if reg == R11 && !strict =>
                    {
                        break;
                    }
                    // An indirect jump may be a computed goto inside the function: ask its labels.
                    FlowControl::IndirectBranch if reg == R11 => {
                        if strict {
                            return true;
                        }
                        self.enter_labels(text, index);
                        break;
                    }
                    _ => return true,
                }
            }
        }
        false
    }

    /// Whether some place that indirect jumps inside the function of `index` may reach reads r10 before it overwrites it. Calls
    /// count as leaving r10 alone, since compilers know of some that do.
    pub(crate) fn r10_at_labels(&mut self, text: &Text, index: usize) -> bool {
        self.turn_to(text);
        let function = text.function_around(index).0;
        if let Some(&known) = self.r10_at_labels.get(&function) {
            return known;
        }
        self.seen.resize(text.code.len(), 0);
        self.walk += 1;
        self.work.clear();
        let labels = self.labels(text, index).1;
        self.work.extend_from_slice(&labels);
        let found = self.reads_r10(text);
        self.r10_at_labels.insert(function, found);
        found
    }

    /// Whether r10 is read before it is overwritten on a way from the places in `work`.
    fn reads_r10(&mut self, text: &Text) -> bool {
        while let Some(from) = self.work.pop() {
            let mut index = from as usize;
            while index < text.code.len() && std::mem::replace(&mut self.seen[index], self.walk) != self.walk
            {
                let ins = &text.code[index];
                match self.effect(text, index, R10) {
                    Effect::Reads => return true,
                    Effect::Overwrites => break,
                    Effect::None if ins.has(mark::LEAVES) => return true,
                    // Its fourth argument.
                    Effect::None if ins.code.mnemonic() == Mnemonic::Syscall => return true,
                    Effect::None => (),
                }
                let target =
                    text.local_target(index).filter(|_| ins.code.flow_control() != FlowControl::Call);
                if ins.ends_flow() {
                    let Some(target) = target else { break };
                    index = target;
                } else {
                    self.work.extend(target.map(|target| target as u32));
                    index += 1;
                }
            }
        }
        false
    }

    /// Has the walk go on at the places that the indirect jump `index` may reach: once, however many jumps lead there, and at as many
    /// as it may visit. (Walks without end would cost the rewriter more than the input is long.)
    fn enter_labels(&mut self, text: &Text, index: usize) {
        let (function, labels) = self.labels(text, index);
        if !self.entered.contains(&function) {
            self.entered.push(function);
            self.work.extend(labels.iter().take(BUDGET + 1));
        }
    }

    /// The first instruction of the function of `index`, and the places inside it that its indirect jumps may reach.
    fn labels(&mut self, text: &Text, index: usize) -> (usize, Rc<[u32]>) {
        self.turn_to(text);
        let (start, end) = text.function_around(index);
        let inside = || {
            let places = text.code.iter().enumerate().take(end).skip(start + 1);
            places.filter(|(_, ins)| ins.has(mark::ENTRY | mark::CASE)).map(|(at, _)| at as u32).collect()
        };
        (start, self.labels.entry(start).or_insert_with(inside).clone())
    }

    /// Whether the function of `index` is one whose callers read r11 when it returns.
    fn must_keep_r11(&self, text: &Text, index: usize) -> bool {
        !self.keeps_r11.is_empty() && self.keeps_r11.contains(&text.function_around(index).0)
    }
}

/// The arithmetic flags that `code` reads. A system call only passes them on.
fn flags_read(code: &Instruction) -> u32 {
    if code.mnemonic() == Mnemonic::Syscall { 0 } else { code.rflags_read() & ARITHMETIC_FLAGS }
}

/// `xor r,r`, `sub r,r`: writes without reading.
pub(crate) fn is_clear(code: &Instruction) -> bool {
    matches!(code.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
        && code.op_count() == 2
        && code.op0_kind() == OpKind::Register
        && code.op1_kind() == OpKind::Register
        && code.op0_register() == code.op1_register()
        && code.op0_register().size() >= 4
}
