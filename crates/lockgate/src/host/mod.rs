//! The machine and the process: what domains need of them, checked once.
pub(crate) mod environment_sys;
pub(crate) mod fork_sys;
pub(crate) mod maps;
mod process_sys;
mod processor;
pub(crate) mod threads_sys;

pub(crate) use environment_sys as environment;

pub(crate) use fork_sys::process;
pub(crate) use fork_sys::{Once, Short, peek};
pub use fork_sys::{Owner, PerProcess, Still, still};
pub(crate) use process_sys::{components, is_privileged, prepare, settle_in_child};
pub(crate) use processor::{Processor, lacks};
pub(crate) use threads_sys::cancellation;
pub use threads_sys::{AtThreadEnd, Uncancelled};
