//! Names for addresses in modules: in reports, in debuggers, and in profilers.
//!
//! `symbols` functions and lines; `inlines` calls that the compiler inlined; `frames` and `chain` how stacks are laid out; `backtrace`
//! who called whom when a call ended; `registry_sys` what debuggers read; `perf_map` what profilers read.
mod backtrace;
mod chain;
mod elf;
mod frames;
mod inlines;
pub(crate) mod perf_map;
mod registry_sys;
mod stack_image;
mod symbols;
mod texts;

pub use backtrace::{Backtrace, DomainFrames, Frame};
pub(crate) use backtrace::{Captured, Entered};
#[doc(hidden)]
pub use frames::describes;
pub(crate) use frames::{Frames, Rules as FrameRules};
pub(crate) use registry_sys::{Registration, abandon};
pub(crate) use stack_image::StackImage;
pub use symbols::{SourcePlace, Symbols};
