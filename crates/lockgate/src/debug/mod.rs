//! Names for addresses in modules: in reports, and in debuggers.

mod elf;
mod registry_sys;
mod symbols;

pub(crate) use registry_sys::Registration;
pub use symbols::{SourcePlace, Symbols};
