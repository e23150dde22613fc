//! One instruction: what it makes of rsp, and of the registers that hold E minus a constant.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{CALLEE_SAVED, CLASH_LOOP, FRAME, Known, Set, State, Walk, uses_rsp};
use crate::code::CodePlace;
use crate::decode::{Ins, is_rsp, mark, memory_operand};
use crate::encode::{RBP, RSP, number as number_of};
use crate::stack::{Plan, constant_move, effect, restores, writes_rsp};

/// Instructions of the longest way that is followed to see what it leads to.
const LONGEST_WAY: usize = 64;

impl Walk<'_, '_> {
    /// What the instruction at `place` does. The result: how it sets rsp, if it does so by something else than a constant.
    pub(super) fn apply(&mut self, place: CodePlace, known: &mut Known) -> Option<Set> {
        let (number, index) = place;
        let text = &self.input.code.texts[number];
        let ins = &text.code[index];
        let code = &ins.code;
        match code.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                known.registers = known.registers.only(CALLEE_SAVED);
                return None;
            }
            FlowControl::Next => (),
            _ => return None,
        }
        match code.mnemonic() {
            Mnemonic::Push => {
                known.state = known.state.moved(-8);
                return None;
            }
            Mnemonic::Pop => {
                known.state = known.state.moved(8);
                if code.op0_kind() == OpKind::Register && code.op0_register().is_gpr() {
                    known.registers.set(number_of(code.op0_register()), None);
                }
                return None;
            }
            Mnemonic::Enter => {
                known.state = known.state.moved(-8);
                known.registers.set(RBP, constant(known.state));
                known.state = known.state.moved(-(code.immediate(0) as i32));
                return None;
            }
            Mnemonic::Leave => {
                let target = known.registers.get(RBP).map(|below| below - 8);
                let set = self.set(place, known, target);
                known.registers.set(RBP, None);
                return Some(set);
            }
            _ => (),
        }
        if writes_rsp(ins) {
            if let Some(by) = constant_move(ins) {
                known.state = known.state.moved(by);
                return None;
            }
            let target = match (code.mnemonic(), code.op1_kind()) {
                (Mnemonic::Mov, OpKind::Register) if code.op1_register().is_gpr64() => {
                    known.registers.get(number_of(code.op1_register()))
                }
                (Mnemonic::Lea, OpKind::Memory) => sum(code, known),
                _ => None,
            };
            return Some(self.set(place, known, target));
        }
        self.registers(place, known);
        None
    }

    /// rsp is set, to E minus `target` if that is known.
    fn set(&mut self, place: CodePlace, known: &mut Known, target: Option<i32>) -> Set {
        let (number, index) = place;
        let text = &self.input.code.texts[number];
        let by = Plan::behind(text, index);
        if let Some(below) = target {
            known.state = State::Constant(below);
            return Set::Constant(below);
        }
        let ins = &text.code[index];
        let end = self.end_of_run(number, index);
        let out = match end {
            End::SetAgain if ins.code.mnemonic() == Mnemonic::Leave => return Set::Unused,
            End::Jumps if ins.code.mnemonic() == Mnemonic::Mov => return Set::Resumes,
            End::Jumps => Some(by),
            _ => self.way_out((number, index + 1)),
        };
        let flags_free = self.live[number].flags_free(text, index + 1);
        // No frame can be opened as high as E. (What the flags are in the way of is refused.)
        match out.filter(|&below| below >= by.max(0) && (flags_free || below - by < FRAME)) {
            Some(below) => {
                known.state = State::Constant(below);
                Set::Leaves(below)
            }
            None => {
                known.state = State::Computed(by);
                Set::Computed
            }
        }
    }

    /// If there is one way from `place` on, and it leads out of the function: how far rsp moves on it. It is E there.
    pub(super) fn way_out(&self, mut place: CodePlace) -> Option<i32> {
        let (mut by, mut restores_any) = (0, false);
        for _ in 0..LONGEST_WAY {
            let ins = self.input.ins(place).filter(|ins| !ins.has(mark::FUNCTION))?;
            match ins.code.flow_control() {
                FlowControl::Return => return Some(by),
                // Of a function with computed gotos, too: these restore nothing.
                FlowControl::IndirectBranch if restores_any => return Some(by),
                FlowControl::UnconditionalBranch => {
                    match self.input.code.branch_place(self.input.object, place.0, place.1) {
                        Some(target) if !self.input.ins(target)?.has(mark::FUNCTION) => place = target,
                        _ => return Some(by),
                    }
                    continue;
                }
                FlowControl::Next if !effect(ins).ends => by += effect(ins).delta,
                _ => return None,
            }
            restores_any |= restores(ins);
            place.1 += 1;
        }
        None
    }

    /// Whether code at `place` sets rsp before it uses it: clang leaves the arguments of the last call on the stack there.
    pub(super) fn is_set_first(&self, mut place: CodePlace) -> bool {
        for _ in 0..LONGEST_WAY {
            let Some(ins) = self.input.ins(place).filter(|ins| !ins.has(mark::FUNCTION)) else {
                return false;
            };
            match ins.code.flow_control() {
                FlowControl::UnconditionalBranch => {
                    match self.input.code.branch_place(self.input.object, place.0, place.1) {
                        Some(target) => place = target,
                        None => return false,
                    }
                }
                FlowControl::Next if sets_anew(ins) => return true,
                FlowControl::Next if !uses_rsp(&ins.code) && effect(ins).delta == 0 => place.1 += 1,
                _ => return false,
            }
        }
        false
    }

    /// How the run of code goes on behind an instruction that sets rsp.
    fn end_of_run(&self, number: usize, index: usize) -> End {
        let text = &self.input.code.texts[number];
        let mut used = false;
        for at in index + 1..text.code.len() {
            let ins = &text.code[at];
            if ins.has(mark::LABEL) {
                break;
            }
            if ins.code.flow_control() == FlowControl::IndirectBranch {
                let is_switch = self.input.switches[number].contains_key(&(at as u32));
                return if is_switch || !self.may_leave(number, at) { End::Goes } else { End::Jumps };
            }
            if !used && sets_anew(ins) {
                return End::SetAgain;
            }
            used |= uses_rsp(&ins.code);
            if effect(ins).ends {
                break;
            }
        }
        End::Goes
    }

    /// Whether indirect jump `index` may leave its function: a computed goto stays, and has labels there.
    fn may_leave(&self, number: usize, index: usize) -> bool {
        let text = &self.input.code.texts[number];
        let (start, end) = text.function_around(index);
        !(start..end).any(|at| self.input.is_inner_label((number, at)) && !text.code[at].has(mark::PAD))
    }

    /// What becomes of the registers that hold E minus a constant.
    fn registers(&mut self, (number, index): CodePlace, known: &mut Known) {
        let text = &self.input.code.texts[number];
        let code = &text.code[index].code;
        let to = code.op0_register();
        let is_wide =
            code.op_count() >= 2 && code.op0_kind() == OpKind::Register && to.is_gpr64() && !is_rsp(to);
        let value = match code.mnemonic() {
            Mnemonic::Mov if is_wide && code.op1_kind() == OpKind::Register => match code.op1_register() {
                Register::RSP => constant(known.state),
                from if from.is_gpr64() => known.registers.get(number_of(from)),
                _ => None,
            },
            Mnemonic::Lea if is_wide => sum(code, known),
            Mnemonic::Add | Mnemonic::Sub
                if is_wide && !matches!(code.op1_kind(), OpKind::Register | OpKind::Memory) =>
            {
                let by = i32::try_from(code.immediate(1) as i64).ok();
                let sign = if code.mnemonic() == Mnemonic::Add { -1 } else { 1 };
                known.registers.get(number_of(to)).zip(by).map(|(below, by)| below.wrapping_add(sign * by))
            }
            _ => None,
        };
        if known.registers.known != 0 {
            for reg in (0..16).filter(|&reg| reg != RSP) {
                if known.registers.get(reg).is_some() && self.live[number].writes(text, index, reg) {
                    known.registers.set(reg, None);
                }
            }
        }
        if let Some(below) = value {
            known.registers.set(number_of(to), Some(below));
        }
    }

    /// A probing loop at `index`: by how much it moves rsp in all, and where that is then.
    pub(super) fn clash_loop(&self, number: usize, index: usize, known: &Known) -> Option<(i32, i32)> {
        let text = &self.input.code.texts[number];
        let code = text.code.get(index..index + CLASH_LOOP)?;
        let [step, probe, compare, again] = code else { return None };
        let by = constant_move(step).filter(|&by| by < 0)?;
        let State::Constant(from) = known.state else { return None };
        let probes = matches!(probe.code.mnemonic(), Mnemonic::Or | Mnemonic::Mov)
            && probe.code.op0_kind() == OpKind::Memory
            && probe.code.memory_base() == Register::RSP
            && !matches!(probe.code.op1_kind(), OpKind::Register | OpKind::Memory)
            && probe.code.immediate(1) == 0;
        let compares = compare.code.mnemonic() == Mnemonic::Cmp
            && compare.code.op_count() == 2
            && compare.code.op0_kind() == OpKind::Register
            && compare.code.op1_kind() == OpKind::Register;
        let other = match (compare.code.op0_register(), compare.code.op1_register()) {
            (Register::RSP, other) | (other, Register::RSP) if compares && other.is_gpr64() => other,
            _ => return None,
        };
        let loops = again.code.mnemonic() == Mnemonic::Jne && again.target as usize == index;
        let labelled = code[1..].iter().any(|ins| ins.has(mark::LABEL));
        let target = known.registers.get(number_of(other))?;
        let whole = target > from && (target - from) % -by == 0;
        (probes && loops && !labelled && whole).then_some((from - target, target))
    }
}

/// How a run of code ends.
enum End {
    /// By an indirect jump that leaves the function, or goes to the inside of another one.
    Jumps,
    /// By setting rsp once more.
    SetAgain,
    /// In another way.
    Goes,
}

fn constant(state: State) -> Option<i32> {
    match state {
        State::Constant(below) => Some(below),
        State::Computed(_) => None,
    }
}

/// The address that a `lea` makes of a register that holds E minus a constant.
fn sum(code: &Instruction, known: &Known) -> Option<i32> {
    if code.memory_index() != Register::None || !code.memory_base().is_gpr64() {
        return None;
    }
    let base = match code.memory_base() {
        Register::RSP => constant(known.state),
        base => known.registers.get(number_of(base)),
    };
    Some(base?.wrapping_sub(i32::try_from(code.memory_displacement64() as i64).ok()?))
}

/// Whether the instruction sets rsp to what does not depend on where it is.
fn sets_anew(ins: &Ins) -> bool {
    let looks = memory_operand(&ins.code).is_some() && is_rsp(ins.code.memory_base())
        || !matches!(ins.code.mnemonic(), Mnemonic::Mov | Mnemonic::Lea);
    ins.code.mnemonic() == Mnemonic::Leave || writes_rsp(ins) && constant_move(ins).is_none() && !looks
}
