//! The verifier's view of single instructions, for those who check it: other decoders, processors, provers.
//! [`crate::verify`] uses the same decoder, but does not go through here.

use crate::control::{self, Control};
use crate::decode::{Decoder, Instruction, Memory};
use crate::forms::{Forms, flag};
use crate::{Report, verify};

/// What the verifier understands of one instruction that it knows. Knowing is not allowing: whether the instruction is legal
/// where it stands (rules V2–V5) is for [`crate::verify`] to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Length, bytes.
    pub len: usize,
    /// Where its memory operand lies. Those of control transfers and string instructions follow from `control`.
    pub operand: Operand,
    /// Largest access to that operand, bytes; 0 if it has none or only computes an address.
    pub access: u8,
    /// General registers that it writes, bit i = register number i; *implicit* writes to rax, rcx and rdx are left out,
    /// because no rule needs them.
    pub written: u16,
    /// On the data stack, its access ends a change of rsp (rule V3).
    pub probes: bool,
    /// What it does if it is not an instruction that just computes.
    pub control: Option<Control>,
    /// What it adds to a module's report (rule V6).
    pub usage: Report,
}

/// The kinds of memory operands that the rules tell apart (rule V2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// None.
    None,
    /// M1: behind the prefixes 65 67; from any registers.
    Window,
    /// M2: the displacement from the instruction's end.
    Relative(i32),
    /// M3: `disp(%rsp)` without index; a compressed displacement is scaled already.
    Stack(i32),
    /// Legal nowhere but inside units.
    Unconfined,
}

impl Reading {
    /// Reads the instruction at the start of `text`; `None`: the verifier rejects it wherever it stands.
    ///
    /// ```
    /// use lockgate_verify::{Operand, Reading};
    /// let load = Reading::of(&[0x65, 0x67, 0x8b, 0x08]).unwrap(); // mov %gs:(%eax),%ecx
    /// assert_eq!((load.len, load.operand, load.access, load.written), (4, Operand::Window, 4, 1 << 1));
    /// assert!(Reading::of(&[0x0f, 0x05]).is_none()); // syscall
    /// ```
    #[must_use]
    pub fn of(text: &[u8]) -> Option<Reading> {
        let mut decoder = Decoder::new(Forms::get(), text, 0);
        match decoder.run() {
            Ok(()) => Some(Reading::computing(&decoder.instruction)),
            Err(_) => control::decode(text).map(|(len, control)| Reading::transferring(len, control)),
        }
    }

    fn computing(instruction: &Instruction) -> Reading {
        let operand = match instruction.memory {
            Memory::None => Operand::None,
            Memory::Window => Operand::Window,
            Memory::Rip => Operand::Relative(instruction.disp),
            Memory::Stack => Operand::Stack(instruction.disp),
            Memory::Other => Operand::Unconfined,
        };
        let mask = if instruction.mask != 0 { flag::MASKREGS } else { 0 };
        let mut usage = verify::state_usage(instruction.flags | mask, instruction.evex, instruction.written);
        (usage.text_bytes, usage.instructions) = (instruction.len as u64, 1);
        Reading {
            len: instruction.len,
            operand,
            access: if instruction.flags & flag::ADDRESS_ONLY != 0 { 0 } else { instruction.access },
            written: instruction.written,
            probes: instruction.flags & flag::PROBE != 0 && instruction.mask == 0,
            control: None,
            usage,
        }
    }

    fn transferring(len: usize, control: Control) -> Reading {
        let usage = Report { text_bytes: len as u64, instructions: 1, ..Report::default() };
        Reading {
            len,
            operand: Operand::None,
            access: 0,
            written: 0,
            probes: false,
            control: Some(control),
            usage,
        }
    }
}
