//! Calls: exclusive domains, and what other protocols need of threads.
mod exclusive_domains_sys;
#[path = "../../../../crates/lockgate/src/call/exclusive_sys.rs"]
pub(crate) mod exclusive_sys;
pub(crate) mod layout;
pub(crate) mod signals_sys;
pub(crate) mod thread_sys;
pub(crate) mod undisturbed_sys;
