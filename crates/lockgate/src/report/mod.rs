//! What is reported of a call that a domain did not return from.
//!
//! `fault` raw facts, and what they come to; `backtrace` who called whom; `stack_image` the copy of the stacks that says so;
//! `registers` those at a fault.
mod backtrace;
mod fault;
mod registers;
mod stack_image;

pub use backtrace::{Backtrace, DomainFrames, Frame};
pub(crate) use backtrace::{Captured, Entered};
pub use fault::{Access, Fault, FaultKind};
pub(crate) use fault::{Cause, Judgement, NoContext, NoResume, RawFault};
pub use registers::Registers;
