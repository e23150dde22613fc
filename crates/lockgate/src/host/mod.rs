//! The machine and the process: what domains need of them, checked once.
pub(crate) mod environment_sys;
mod process_sys;
mod processor;

pub(crate) use environment_sys as environment;

pub(crate) use process_sys::{components, forked, is_privileged, prepare};
pub(crate) use processor::lacks;
