//! Where the verifier and another decoder part.

use crate::decoders::{Flow, View};
use lockgate_verify::{Control, Operand, Reading};

/// What they may disagree about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The other decoder knows no such instruction.
    Unknown,
    /// Length.
    Length,
    /// Where the memory operand lies, with its displacement where it counts.
    Memory,
    /// The other one sees a larger access.
    Size,
    /// General registers written.
    Written,
    /// How control goes on, and where to.
    Flow,
    /// The other one sees state used that the report would not show (rule V6).
    State,
    /// The verifier relies on an access that does not happen for sure (rule V3).
    Probe,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Aspect; 8] = {
        use Aspect::{Flow, Length, Memory, Probe, Size, State, Unknown, Written};
        [Unknown, Length, Memory, Size, Written, Flow, State, Probe]
    };
}

/// Registers whose writes are of no interest to the verifier, and the implicit ones not listed: rax, rcx, rdx.
const IMPLICIT: u16 = 7;

/// The aspects in which `theirs` contradicts `ours`.
#[must_use]
pub fn differences(ours: &Reading, theirs: Option<&View>) -> Vec<Aspect> {
    let Some(theirs) = theirs else { return vec![Aspect::Unknown] };
    let mut found = Vec::new();
    let mut note = |differs: bool, aspect| {
        if differs {
            found.push(aspect);
        }
    };
    note(theirs.len != ours.len, Aspect::Length);
    note(!same_flow(ours.control, theirs.flow), Aspect::Flow);
    if ours.control.is_none() {
        // Where an address is only computed (lea, nop), it does not matter how.
        let computed = ours.access == 0
            && theirs.access == Some(0)
            && ours.operand != Operand::None
            && theirs.operand != Operand::None;
        note(theirs.operand != ours.operand && !computed || theirs.several, Aspect::Memory);
        note(theirs.access.is_some_and(|access| access > ours.access.into()), Aspect::Size);
        // Both ways: 90 is listed as the exchange of rax with itself.
        let written = theirs.written.is_some_and(|theirs| (ours.written ^ theirs) & !IMPLICIT != 0);
        note(written, Aspect::Written);
        note(ours.probes && theirs.operand != Operand::None && theirs.certain == Some(false), Aspect::Probe);
        let usage = &ours.usage;
        let hidden = theirs.state.is_some_and(|state| {
            state.x87 && !usage.x87
                || state.mask && !usage.mask
                || state.vector && !usage.vector
                || state.ymm && !usage.ymm
                || state.evex != usage.evex
                || state.mxcsr_read != usage.mxcsr_read
                || state.mxcsr_write != usage.mxcsr_write
        });
        note(hidden, Aspect::State);
    }
    found
}

fn same_flow(ours: Option<Control>, theirs: Flow) -> bool {
    match (ours, theirs) {
        (None | Some(Control::Label | Control::Nop | Control::String { .. }), Flow::Next) => true,
        (Some(Control::Branch(ours)), Flow::Branch(theirs))
        | (Some(Control::Jump(ours)), Flow::Jump(theirs))
        | (Some(Control::Call(ours)), Flow::Call(theirs)) => i64::from(ours) == theirs,
        (Some(Control::Return), Flow::Return) | (Some(Control::Trap | Control::Breakpoint), Flow::Trap) => {
            true
        }
        (Some(Control::Gate(_)), Flow::CallThroughMemory) => true,
        (Some(Control::Indirect { register, call }), Flow::ThroughRegister(number, calls)) => {
            (register, call) == (number, calls)
        }
        _ => false,
    }
}
