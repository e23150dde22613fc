//! Lockgate's verifier: the bytes of a module in, a verdict and a report out.
//!
//! It trusts nobody, least of all the rewriter: it shares only the constants of `lockgate-abi` with it.
//! Rules V0–V6 are stated in `docs/rules.md`.
#![forbid(unsafe_code)]

mod control;
mod decode;
mod elf;
mod forms;
mod module;
mod notes;
mod reject;
mod units;
mod verify;

pub use module::{Export, Import, Module, ParseError, Relocation, Segment, SegmentKind, Symbol};
pub use verify::verify;

/// What a module can read or modify, as a whole (rule V6). Proxies save, clear and restore only this.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Uses x87 or MMX state in any way.
    pub x87: bool,
    /// Reads the x87 environment (fnstenv): shows the host's last x87 instruction.
    pub x87_environment: bool,
    /// Writes MXCSR.
    pub mxcsr_write: bool,
    /// Reads MXCSR.
    pub mxcsr_read: bool,
    /// Names an EVEX instruction: can read or write zmm0–31.
    pub evex: bool,
    /// Names a mask register (VEX-coded kmov included).
    pub mask: bool,
    /// Names a ymm register or a VEX instruction.
    pub ymm: bool,
    /// Callee-saved general registers written anywhere, bit i = register number i (rbx 3, rbp 5, r12–r15).
    pub callee_saved_written: u16,
    /// Gate slots used, ascending.
    pub gates: Vec<u16>,
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
    /// Its bytes in hexadecimal.
    pub bytes: String,
    /// Its disassembly, or "(bad)".
    pub instruction: String,
    /// What is wrong with it.
    pub reason: String,
}
