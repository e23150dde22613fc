//! Other people's decoders, asked the questions that the verifier answers.
//!
//! Each of them was written from the manuals by other authors: Zydis (C), yaxpeax-x86 (Rust) and iced-x86 (Rust). The last one is the least
//! independent: the verifier's table of forms was made with it, but the verifier's decoder was not.

mod iced;
mod yaxpeax;
mod zydis;

pub use iced::{Iced, mnemonic};
pub use yaxpeax::Yaxpeax;
pub use zydis::{Index, Place, Zydis};

use lockgate_verify::Operand;

/// A decoder.
pub trait Decoder {
    /// Its name in `explained.txt`.
    const NAME: &'static str;

    /// The instruction at the start of `bytes`, in 64-bit mode; `None` if there is none.
    fn view(&self, bytes: &[u8]) -> Option<View>;
}

/// What a decoder says about an instruction. A field that it has no opinion about is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Length, bytes.
    pub len: usize,
    /// Its memory operand.
    pub operand: Operand,
    /// Whether it has more than one memory operand (string instructions, `call *mem`).
    pub several: bool,
    /// Bytes that it accesses there.
    pub access: Option<u32>,
    /// General registers written, bit i = register number i. Those that it writes without naming them count too.
    pub written: Option<u16>,
    /// How control goes on.
    pub flow: Flow,
    /// State besides general registers and vectors that it uses.
    pub state: Option<State>,
    /// Whether it accesses its memory operand whatever registers hold.
    pub certain: Option<bool>,
}

/// How control goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the displacement from its end, or on.
    Branch(i64),
    /// To the displacement from its end.
    Jump(i64),
    /// The same, leaving a return address.
    Call(i64),
    /// To the address on the stack.
    Return,
    /// Into the kernel as a fault.
    Trap,
    /// To a register's value.
    ThroughRegister(u8, bool),
    /// To a word in memory, leaving a return address.
    CallThroughMemory,
    /// Anything else.
    Other,
}

/// State that a report is about (rule V6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    /// x87 or MMX.
    pub x87: bool,
    /// Mask registers other than k0 as "no mask".
    pub mask: bool,
    /// Vector registers of any length.
    pub vector: bool,
    /// Vector registers longer than 128 bits.
    pub ymm: bool,
    /// Coded as EVEX.
    pub evex: bool,
    /// Loads MXCSR.
    pub mxcsr_write: bool,
    /// Stores MXCSR.
    pub mxcsr_read: bool,
}

/// An address as all decoders describe it.
#[derive(Debug, Clone, Copy)]
struct Address {
    /// Its segment is gs; no other override counts in 64-bit mode but `fs`.
    gs: bool,
    /// Its segment is fs.
    fs: bool,
    /// 32-bit address registers.
    narrow: bool,
    /// Number of the base; rip is [`RIP`].
    base: Option<u8>,
    /// Has an index.
    index: bool,
    /// Displacement; of rip-relative ones, from the instruction's end.
    disp: i64,
}

const RIP: u8 = 16;
const RSP: u8 = 4;

impl Address {
    /// Which of rule V2's kinds it is.
    fn operand(self) -> Operand {
        let plain = !self.gs && !self.fs && !self.narrow && !self.index;
        match self.base {
            base if self.gs && self.narrow && base != Some(RIP) => Operand::Window,
            Some(RIP) if plain => Operand::Relative(self.disp as i32),
            Some(RSP) if plain => Operand::Stack(self.disp as i32),
            _ => Operand::Unconfined,
        }
    }
}
