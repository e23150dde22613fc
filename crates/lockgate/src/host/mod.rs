//! The machine and the process: what domains need of them, checked once.
mod process_sys;

pub(crate) use process_sys::{components, forked, is_privileged, prepare};
