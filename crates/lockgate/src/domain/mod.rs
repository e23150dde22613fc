//! Domains: memory, code, resources and quota of one instance of a module.
mod api;
mod burial;
mod contexts;
mod core;
mod grants;
mod images;
mod limits;
mod options;
mod own_threads_sys;
mod place_sys;
mod rest;
mod snapshot;
mod start;

pub use api::{Domain, Kept, ProgramEnd};
pub use burial::until_buried;
pub(crate) use burial::{bury, close, close_then, release_functions, release_leftovers, settle};
pub(crate) use core::Core;
pub use images::JoinError;
pub(crate) use images::Target;
pub use limits::Usage;
pub use options::DomainOptions;

/// Ends the domain with this number: it has used up its CPU time. Nothing happens if it is gone.
fn end_for_cpu_time(id: u32) {
    if let Some(core) = rest::find(id) {
        core.spend();
    }
}

/// Lets threads that are blocked in the domain with this number look whether they were stopped.
fn interrupt_waits(id: u32) {
    if let Some(core) = rest::find(id) {
        core.process().interrupt();
    }
}
