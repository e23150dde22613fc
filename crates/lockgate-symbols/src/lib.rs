//! Names for addresses in modules: functions, lines, and calls that the compiler inlined.
//!
//! The files may be hostile: see `names.rs`.
#![forbid(unsafe_code)]

mod elf;
mod inlines;
mod names;
mod texts;

pub use names::{SourcePlace, Symbols};
pub use texts::{printable, shown};
