//! The life of a call, in execution order: thunk ([`code_sys`]) → proxy ([`emit`], of a [`call_abi`]) → the module → the same proxy's exit. Faults
//! and kills come to that proxy's second half through the common exit in [`proxy_asm`]. From the module to the host and back: [`thunks`] →
//! [`gate_asm`] → [`gate_sys`] and [`service_sys`]; to another domain: [`thunks`] → [`gate_asm`] → a proxy, and [`crossing_sys`] if that does not
//! return.
//!
//! What interrupts it: [`signals_sys`] (faults), `interpose_sys` (the host's own handlers and masks), [`watch`] (time limits, kills).
//! [`admit_sys`] is the slow path in; [`attachment_sys`] is a thread's first call, [`repair_sys`] what a jump has left, [`outcome_sys`] how a call
//! ended. What calls read of a domain is its `instance`, what they read of a binding its `info`.
//!
//! Files import what lies below them only: `tests/hygiene/layers.txt` has their order.
mod actions_sys;
pub(crate) mod admission_sys;
pub(crate) mod admit_sys;
mod alternate_sys;
pub(crate) mod attachment_sys;
mod block_sys;
pub(crate) mod call_abi;
mod clock_sys;
mod code_sys;
pub(crate) mod codes;
mod context_sys;
mod contexts;
mod crossing_sys;
#[allow(
    clippy::useless_conversion,
    reason = "register numbers in instructions are converted, whatever their type"
)]
mod emit;
mod eventcount;
pub(crate) mod exclusive_sys;
pub(crate) mod failure_sys;
mod fronts_sys;
mod gate_asm;
mod gate_sys;
pub(crate) mod gate_tables_sys;
pub(crate) mod gs_sys;
pub(crate) mod handover_sys;
mod held;
mod info;
mod instance;
#[cfg(all(target_env = "gnu", not(lockgate_sanitized)))]
mod interpose_sys;
mod interrupt_sys;
pub(crate) mod interruptions_sys;
mod judge;
mod kernel_signals_sys;
pub(crate) mod layout;
pub(crate) mod listing;
#[cfg(test)]
mod listing_tests;
mod mapping_sys;
pub(crate) mod mask_sys;
mod memory;
pub(crate) mod meter;
mod must_end_sys;
mod out_of_turn_sys;
pub(crate) mod outcome_sys;
mod places_sys;
mod plain_handlers_sys;
mod process_sys;
pub(crate) mod proxies;
mod proxy_asm;
pub(crate) mod repair_sys;
pub(crate) mod reporter;
mod reserve;
pub(crate) mod resume_sys;
mod retired_sys;
mod service_sys;
mod signal_frames_sys;
mod signalled_sys;
pub(crate) mod signals_sys;
mod stop;
mod thread_end_sys;
pub(crate) mod thread_sys;
pub(crate) mod thunks;
pub(crate) mod tsan_sys;
mod turn_sys;
mod turns;
mod undisturbed_asm;
mod undisturbed_sys;
mod waiting;
pub(crate) mod waiting_sys;
pub(crate) mod watch;

pub use attachment_sys::{hold, let_go_of_left};
pub(crate) use code_sys::{Thunk, is_code};
pub(crate) use emit::{flags, of_function};
pub(crate) use gate_sys::{
    OwnGate, caller, calling_site, components, context, end_when_it_returns, end_with, has_caller,
};
pub(crate) use gate_tables_sys::{Gate, GateTables};
pub use held::Held;
pub use info::OnFailure;
pub(crate) use info::{Closed, Info, Lent};
pub(crate) use instance::{Instance, Parts, Terms};
pub(crate) use process_sys::{for_debuggers, prepare};
pub(crate) use proxy_asm::{forward, stale};
pub use repair_sys::drop_left;
pub(crate) use retired_sys::retiring;
pub(crate) use stop::StopIf;
pub(crate) use thread_sys::AnyDomain;
pub(crate) use turn_sys::OwnTurn;
pub use undisturbed_sys::disturbed;
pub(crate) use undisturbed_sys::unseen;
