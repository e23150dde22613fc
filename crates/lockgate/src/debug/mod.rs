//! Names for addresses in modules: in reports, and in debuggers.

mod elf;
mod symbols;

pub use symbols::{SourcePlace, Symbols};
