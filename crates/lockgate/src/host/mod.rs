//! The machine and the process: what domains need of them, checked once.
pub(crate) mod environment_sys;
mod error;
pub(crate) mod fork_sys;
pub(crate) mod maps;
mod memory_file;
mod processor;
mod telling;
pub(crate) mod threads_sys;

pub(crate) use environment_sys as environment;

pub(crate) use environment_sys::is_privileged;
pub use error::HostError;
pub(crate) use error::remedy;
pub(crate) use fork_sys::{Once, Short, peek};
pub use fork_sys::{Owner, PerProcess, Still, still};
pub(crate) use fork_sys::{process, watch_forks};
pub(crate) use lockgate_kernel::kept;
pub(crate) use memory_file::memory_file;
pub(crate) use processor::{Processor, lacks};
pub(crate) use telling::{end_process, tell};
pub(crate) use threads_sys::cancellation;
pub use threads_sys::{AtThreadEnd, Uncancelled};
