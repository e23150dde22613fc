//! Domains: memory, code, resources and quota of one instance of a module.
mod api;
mod contexts;
mod core;
mod grants;
mod guest_threads_sys;
mod images;
mod limits;
mod options;
mod place_sys;
mod reclamation;
mod rest;
mod snapshot;
mod start;

pub use api::{Domain, Kept, ProgramEnd};
pub(crate) use core::Core;
pub use images::JoinError;
pub(crate) use images::Target;
pub use limits::Usage;
pub use options::DomainOptions;
pub use reclamation::until_reclaimed;
pub(crate) use reclamation::{close, close_then, reclaim, release_functions, release_leftovers, settle};

/// Ends the domain with this number: it has used up its CPU time. Nothing happens if it is gone.
fn end_for_cpu_time(id: u32) {
    if let Some(core) = rest::find(id) {
        core.spend();
    }
}

/// Has the timers of the domain with this number send what is due: its base, if anything was sent, and when the next is due.
fn look_at_timers(id: u32) -> (Option<u64>, Option<std::time::Instant>) {
    let Some(core) = rest::find(id).filter(|core| !core.is_killed()) else { return (None, None) };
    let next = core.process().look_at_timers();
    (core.process().tells_of_signals().then(|| core.base()), next)
}

/// Lets threads that are blocked in the domain with this number look whether they were stopped.
fn interrupt_waits(id: u32) {
    if let Some(core) = rest::find(id) {
        core.process().interrupt();
    }
}
