//! Lockgate's rewriter: relocatable objects and archives in, objects whose code cannot leave its window out.
//! `docs/code-model.md` tells what becomes of each kind of instruction.
#![forbid(unsafe_code)]

mod dwarf;
mod elf;
mod error;
mod map;

pub use error::{Error, Place, Reason};
