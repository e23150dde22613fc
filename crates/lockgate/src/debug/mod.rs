//! Names for addresses in modules: in reports, in debuggers, and in profilers.
//!
//! `symbols` functions and lines; `inlines` calls that the compiler inlined; `backtrace` who called whom when a call ended; `registry_sys` what debuggers read; `perf_map` what profilers read.
mod backtrace;
mod elf;
mod inlines;
pub(crate) mod perf_map;
mod registry_sys;
mod stack_image;
mod symbols;
mod texts;

pub use backtrace::{Backtrace, DomainFrames, Frame};
pub(crate) use backtrace::{Captured, Entered};
pub(crate) use registry_sys::{Registration, Site, abandon, sites};
pub(crate) use stack_image::StackImage;
pub use symbols::{SourcePlace, Symbols};
