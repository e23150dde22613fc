//! The stack pointer inside one straight run of code: what moves it, and where one merged move goes (rule V3).
//!
//! Inside a run nothing but the rewriter decides where rsp is: the original's pushes and subtractions only
//! change the displacement of the operands. So a run has one `lea`.

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};
use lockgate_abi::code::MAX_MOVE;

use crate::decode::{Ins, Text, mark, memory_operand};

/// Largest change of rsp that takes part in merging, bytes; larger ones are made at once, in steps.
pub(crate) const MAX_MERGED: i32 = MAX_MOVE as i32 / 2;

/// What one instruction means for the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Constant change of rsp, bytes.
    pub(crate) delta: i32,
    /// Whether it ends the run: control may come or go here, or rsp is set anew.
    pub(crate) ends: bool,
}

/// Where the merged move of a run goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    /// Instruction before which rsp moves: the first that moves the original's.
    pub(crate) at: usize,
    /// By how much, bytes; 0 for no move.
    pub(crate) by: i32,
    /// One past the run's last instruction.
    pub(crate) end: usize,
}

/// What `ins` does to the stack pointer.
pub(crate) fn effect(ins: &Ins) -> Effect {
    let code = &ins.code;
    let by = |delta| Effect { delta, ends: false };
    let end = Effect { delta: 0, ends: true };
    if code.flow_control() != FlowControl::Next {
        return end;
    }
    match code.mnemonic() {
        Mnemonic::Push => return by(-8),
        Mnemonic::Pop => return by(8),
        Mnemonic::Leave | Mnemonic::Enter => return end,
        _ => (),
    }
    if writes_rsp(ins) {
        return match constant_move(ins) {
            Some(delta) if delta.unsigned_abs() <= MAX_MERGED.unsigned_abs() => by(delta),
            _ => end,
        };
    }
    if code.is_string_instruction() { end } else { by(0) }
}

/// Whether the instruction has rsp, or a part of it, as an operand that it writes; `pop` is another matter.
pub(crate) fn writes_rsp(ins: &Ins) -> bool {
    ins.has(mark::SETS_RSP)
}

/// Whether the instruction gives a register back to the caller, as the end of a function does. (Compilers take arguments off the stack
/// by `pop`, too, but into registers that callees change.)
pub(crate) fn restores(ins: &Ins) -> bool {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    let is_callee_saved = matches!(ins.code.op0_register(), RBX | RBP | R12 | R13 | R14 | R15);
    ins.code.mnemonic() == Mnemonic::Leave || ins.code.mnemonic() == Mnemonic::Pop && is_callee_saved
}

/// The change of rsp by `add`, `sub` or `lea` with a constant.
pub(crate) fn constant_move(ins: &Ins) -> Option<i32> {
    let code = &ins.code;
    if code.op_count() != 2 || code.op0_register() != Register::RSP {
        return None;
    }
    let is_immediate = !matches!(code.op1_kind(), OpKind::Register | OpKind::Memory);
    match code.mnemonic() {
        Mnemonic::Add if is_immediate => i32::try_from(code.immediate(1) as i64).ok(),
        Mnemonic::Sub if is_immediate => i32::try_from(-(code.immediate(1) as i64)).ok(),
        Mnemonic::Lea if code.memory_base() == Register::RSP && code.memory_index() == Register::None => {
            i32::try_from(code.memory_displacement64() as i64).ok()
        }
        _ => None,
    }
}

/// Whether an access of memory by `ins` counts as a probe: plain moves and arithmetic.
pub(crate) fn is_probe(ins: &Ins) -> bool {
    use Mnemonic::*;
    let code = &ins.code;
    memory_operand(code).is_some()
        && code.memory_index() == Register::None
        // An x87 exception that is pending comes before the access of an MMX form.
        && !(0..code.op_count()).any(|operand| code.op_register(operand).is_mm())
        && matches!(
            code.mnemonic(),
            Mov | Movzx
                | Movsx
                | Movsxd
                | Add
                | Sub
                | And
                | Or
                | Xor
                | Cmp
                | Test
                | Adc
                | Sbb
                | Inc
                | Dec
                | Neg
                | Not
                | Imul
                | Movaps
                | Movups
                | Movapd
                | Movupd
                | Movdqa
                | Movdqu
                | Movss
                | Movsd
                | Movq
                | Movd
                | Addss
                | Addsd
                | Subss
                | Subsd
                | Mulss
                | Mulsd
                | Divss
                | Divsd
                | Vmovaps
                | Vmovups
                | Vmovapd
                | Vmovupd
                | Vmovdqa
                | Vmovdqu
                | Vmovss
                | Vmovsd
                | Vmovq
                | Vmovd
        )
        && !code.has_op_mask()
}

impl Plan {
    /// Plans the run that starts at instruction `start`.
    pub(crate) fn run(text: &Text, start: usize) -> Plan {
        let (mut sum, mut lowest, mut highest) = (0i32, 0i32, 0i32);
        let (mut first_move, mut end) = (None, text.code.len());
        for index in start..text.code.len() {
            let ins = &text.code[index];
            if index > start && ins.has(mark::LABEL) {
                end = index;
                break;
            }
            let effect = effect(ins);
            if effect.delta != 0 {
                sum += effect.delta;
                (lowest, highest) = (lowest.min(sum), highest.max(sum));
                first_move = first_move.or(Some(index));
            }
            if effect.ends || highest - lowest > MAX_MERGED {
                end = index + 1;
                break;
            }
        }
        Plan { at: first_move.unwrap_or(end), by: sum, end }
    }

    /// By how much the run behind instruction `index`, which sets rsp, moves it: the new rsp is there at once. A label begins another run.
    pub(crate) fn behind(text: &Text, index: usize) -> i32 {
        match text.code.get(index + 1) {
            Some(next) if !next.has(mark::LABEL) => Plan::run(text, index + 1).by,
            _ => 0,
        }
    }
}
