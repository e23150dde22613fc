//! The machine and the process: what domains need of them, checked once.
pub(crate) mod environment_sys;
mod error;
pub(crate) mod fork_sys;
pub(crate) mod maps;
mod memory_file;
mod processor;
pub(crate) mod stack_sys;
mod telling;
pub(crate) mod threads_sys;

pub(crate) use environment_sys as environment;

pub use error::HostError;
pub(crate) use error::remedy;
pub(crate) use fork_sys::{Once, Short, peek};
pub use fork_sys::{Owner, PerProcess, Still, still};
pub(crate) use fork_sys::{process, watch_forks};
pub(crate) use lockgate_kernel::{kept, locked};
pub(crate) use memory_file::memory_file;
pub(crate) use processor::{Processor, lacks};
pub(crate) use telling::{end_process, tell};
pub(crate) use threads_sys::cancellation;
pub(crate) use threads_sys::wakes_in_time;
pub use threads_sys::{AtThreadEnd, Uncancelled};

/// An address in the frame of the function that asks: it stands for the stack pointer where the stack's depth tells what goes on, and what a
/// jump has left.
#[inline(always)]
pub(crate) fn frame_address() -> u64 {
    let local = 0_u8;
    (&raw const local).addr() as u64
}

/// When `time` from now is over; `None` if no clock gets there: then there is no end.
pub(crate) fn end_after(time: std::time::Duration) -> Option<std::time::Instant> {
    std::time::Instant::now().checked_add(time)
}
