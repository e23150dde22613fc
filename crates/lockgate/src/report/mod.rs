//! What is reported of a call that a domain did not return from.
//!
//! `fault` raw facts, and what they come to; `backtrace` who called whom; `stack_image` the copy of the stacks that says so.
mod backtrace;
mod fault;
mod stack_image;

pub use backtrace::{Backtrace, DomainFrames, Frame};
pub(crate) use backtrace::{Captured, Entered};
pub use fault::{Access, Fault, FaultKind, Registers};
pub(crate) use fault::{Cause, Judgement, NoContext, NoResume, RawFault};
