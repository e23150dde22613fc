//! Lockgate's verifier: the bytes of a module in, a verdict and a report out.
//!
//! It trusts no other crate, least of all the rewriter: it shares only the constants of `lockgate-abi` with it.
//! Rules V0–V6 are stated in `docs/rules.md`.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `verify.rs` | the rules: one pass over the text, then labels, branch targets and switch tables |
//! | `units.rs`, `control.rs` | macros (U1–U5) and control transfers, by exact bytes |
//! | `rsp.rs`, `frame.rs` | where rsp is (V3), and the table of return sites |
//! | `function.rs` | what one function can touch (V6) |
//! | `decode.rs` | prefixes, ModRM, SIB: what an instruction reads and writes |
//! | `forms.rs`, `encodings.txt` | the allow-list, made from `forms.txt` |
//! | `features.rs` | what its instructions need of the processor |
//! | `module.rs`, `notes.rs`, `elf.rs` | the one parse of a module file |
//! | `reject.rs` | a rejection in words |
//! | `reading.rs` | single instructions, for those who check the verifier |
//!
//! That is one sitting: some 2,810 lines of code (without tests, comments, empty lines), and never more than 2,820 (`tests/hygiene`).
#![forbid(unsafe_code)]

mod bitmap;
mod control;
mod decode;
mod elf;
mod features;
mod forms;
mod frame;
mod function;
mod module;
mod notes;
mod reading;
mod reject;
mod rsp;
mod units;
mod verify;

pub use control::Control;
pub use elf::ParseError;
pub use features::FEATURES;
pub use frame::{Frames, Place, State};
pub use function::Functions;
pub use module::{Export, Join, Module, Relocation, Segment, SegmentKind, Symbol, Word};
pub use notes::{Import, Symbolic};
pub use reading::{Operand, Reading};
pub use verify::{place, verify};

/// Reads the allow-list, which the first verification does otherwise.
pub fn prepare() {
    forms::Forms::get();
}

/// What a module can read or modify, as a whole (rule V6). Proxies save, clear and restore only this.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Uses x87 or MMX state in any way.
    pub x87: bool,
    /// Reads the x87 environment (fnstenv): shows the host's last x87 instruction.
    pub x87_environment: bool,
    /// Writes MXCSR as a whole (ldmxcsr). Its status flags, which any SSE operation may set, are not counted: they
    /// do not survive a call in the System V ABI either.
    pub mxcsr_write: bool,
    /// Reads MXCSR (stmxcsr), the host's status flags included.
    pub mxcsr_read: bool,
    /// Names an EVEX instruction: can read or write zmm0–31.
    pub evex: bool,
    /// Names a mask register (VEX-coded kmov included).
    pub mask: bool,
    /// Names a vector register of any size, or clears them all.
    pub vector: bool,
    /// Names a ymm or zmm register, or is a VEX- or EVEX-coded vector instruction, which clears upper halves.
    pub ymm: bool,
    /// Asks the processor what it has (cpuid): code for other processors may stand beside code for this one.
    pub cpuid: bool,
    /// What its instructions need of the processor, beyond x86-64 with AVX: names of [`FEATURES`].
    pub needs: Vec<&'static str>,
    /// Callee-saved general registers written anywhere, bit i = register number i (rbx 3, rbp 5, r12–r15).
    pub callee_saved_written: u16,
    /// Gate slots used, ascending.
    pub gates: Vec<u16>,
    /// Where rsp is behind each call.
    #[serde(skip)]
    pub frames: Frames,
    /// Bytes of verified text.
    pub text_bytes: u64,
    /// Instructions decoded.
    pub instructions: u64,
}

/// Why a module was refused.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("{rule}: {reason} at {address:#x}: {bytes} {instruction}")]
pub struct Rejection {
    /// Rule of `docs/rules.md`: "V0" … "V5".
    pub rule: &'static str,
    /// Image-relative address of the unit.
    pub address: u64,
    /// Its bytes in hexadecimal; without the feature `disassembly` the 15 that it begins with.
    pub bytes: String,
    /// Its disassembly, or "(bad)"; without the feature `disassembly` who shows it.
    pub instruction: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The example there compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
