//! Names for addresses in modules: for reports, debuggers and profilers.
//!
//! `names` functions and lines; `inlines` calls that the compiler inlined; `registry_sys` what debuggers read; `perf_map` what profilers read.
mod elf;
mod inlines;
mod names;
pub(crate) mod perf_map;
mod registry_sys;
mod texts;

pub use names::{SourcePlace, Symbols};
pub(crate) use registry_sys::{ProcessFacts, Registration, Site, abandon, sites};
