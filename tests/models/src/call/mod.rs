//! Calls: exclusive domains, functions that domains call (whose tables are laid out as `lockgate_abi` says), and what other protocols
//! need of threads.
#[path = "../../../../crates/lockgate/src/call/admission_sys.rs"]
pub(crate) mod admission_sys;
mod exclusive_domains_sys;
#[path = "../../../../crates/lockgate/src/call/exclusive_sys.rs"]
pub(crate) mod exclusive_sys;
#[path = "../../../../crates/lockgate/src/call/gate_tables_sys.rs"]
mod gate_tables_sys;
#[path = "../../../../crates/lockgate/src/call/held.rs"]
pub(crate) mod held;
mod holdings;
pub(crate) mod instance;
pub(crate) mod layout;
pub(crate) mod must_end_sys;
mod retired_gates_sys;
pub(crate) mod thread_sys;
pub(crate) mod undisturbed_sys;

pub(crate) use gate_tables_sys::Gate;
