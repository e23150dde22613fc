//! Lockgate's verifier: the bytes of a module in, a verdict and a report out.
//!
//! It trusts no other crate, least of all the rewriter: it shares only the constants of `lockgate-abi` with it.
//! Rules V0–V6 are stated in `docs/rules.md`.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `verify.rs` | the rules: one pass over the text, then labels, branch targets and switch tables |
//! | `units.rs`, `control.rs` | units (U1–U5) and control transfers, by exact bytes |
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
pub use reject::Rejection;
pub use verify::{Report, place, verify};

/// Reads the allow-list, which the first verification does otherwise.
pub fn prepare() {
    forms::Forms::get();
}

/// The example there compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
