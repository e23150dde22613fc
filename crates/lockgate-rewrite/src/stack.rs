//! The stack pointer inside one straight run of code: what moves it, what touches the stack, and where one
//! merged move goes (rule V3).
//!
//! Inside a run nothing but the rewriter decides where rsp is: the original's pushes and subtractions only
//! change the displacement of the operands. So a run has one `lea`, placed where a later access of the run
//! touches the stack anyway.

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};
use lockgate_abi::code::MAX_MOVE;

use crate::decode::{Ins, Text, is_rsp, mark, memory_operand};

/// Largest change of rsp that takes part in merging, bytes; larger ones are made at once, in steps.
pub(crate) const MAX_MERGED: i32 = MAX_MOVE as i32 / 2;

/// What one instruction means for the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Constant change of rsp, bytes.
    pub(crate) delta: i32,
    /// Accesses the stack at a constant distance from rsp.
    pub(crate) touches: bool,
    /// How it ends the run, if it does.
    pub(crate) end: Option<End>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A call or return, which touches the stack itself.
    Touching,
    /// Anything else before which every move must have been touched, or that sets rsp anew.
    Open,
}

/// Where the merged move of a run goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    /// Instruction before which rsp moves.
    pub(crate) at: usize,
    /// By how much, bytes; 0 for no move.
    pub(crate) by: i32,
    /// Whether an access of the run, or the call or return that ends it, touches the stack after the move.
    pub(crate) touched: bool,
    /// One past the run's last instruction.
    pub(crate) end: usize,
}

const NOTHING: Effect = Effect { delta: 0, touches: false, end: None };

/// What `ins` does to the stack pointer.
pub(crate) fn effect(ins: &Ins) -> Effect {
    let code = &ins.code;
    match code.flow_control() {
        FlowControl::Next => (),
        FlowControl::Call | FlowControl::Return => return Effect { end: Some(End::Touching), ..NOTHING },
        _ => return Effect { end: Some(End::Open), ..NOTHING },
    }
    match code.mnemonic() {
        Mnemonic::Push => return Effect { delta: -8, touches: true, end: None },
        Mnemonic::Pop => return Effect { delta: 8, touches: true, end: None },
        Mnemonic::Leave | Mnemonic::Enter => return Effect { end: Some(End::Open), ..NOTHING },
        _ => (),
    }
    if writes_rsp(ins) {
        return match constant_move(ins) {
            Some(delta) if delta.unsigned_abs() <= MAX_MERGED.unsigned_abs() => Effect { delta, ..NOTHING },
            _ => Effect { end: Some(End::Open), ..NOTHING },
        };
    }
    if code.is_string_instruction() {
        return Effect { end: Some(End::Open), ..NOTHING };
    }
    Effect { touches: code.memory_base() == Register::RSP && is_touch(ins), ..NOTHING }
}

/// Whether the instruction's first operand is rsp and it writes it.
pub(crate) fn writes_rsp(ins: &Ins) -> bool {
    let code = &ins.code;
    code.op_count() > 0
        && code.op0_kind() == OpKind::Register
        && is_rsp(code.op0_register())
        && !matches!(code.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Bt)
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

/// Whether an access of memory by `ins` counts as a touch: plain moves and arithmetic.
pub(crate) fn is_touch(ins: &Ins) -> bool {
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
        let (mut first_move, mut last_touch) = (None, None);
        let (mut touched_at_end, mut end) = (false, text.code.len());
        for index in start..text.code.len() {
            let ins = &text.code[index];
            if index > start && ins.has(mark::LABEL) {
                end = index;
                break;
            }
            let effect = effect(ins);
            if effect.touches && !ins.has(mark::ABSORBED) {
                last_touch = Some(index);
            }
            if effect.delta != 0 {
                sum += effect.delta;
                (lowest, highest) = (lowest.min(sum), highest.max(sum));
                first_move = first_move.or(Some(index));
                if highest - lowest > MAX_MERGED {
                    end = index + 1;
                    break;
                }
            }
            if let Some(how) = effect.end {
                touched_at_end = how == End::Touching;
                end = index + 1;
                break;
            }
        }
        let Some(first) = first_move else { return Plan { at: end, by: 0, touched: true, end } };
        let at = if touched_at_end { first } else { last_touch.map_or(first, |touch| touch.min(first)) };
        Plan { at, by: sum, touched: touched_at_end || last_touch.is_some(), end }
    }
}
