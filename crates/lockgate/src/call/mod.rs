//! The life of a call, in execution order: thunk ([`code_sys`]) → proxy ([`emit`], of a [`shape`]) → [`proxy_asm`] → the
//! module → back to [`proxy_asm`] and the proxy; from the module to the host and back: [`stubs`] → [`gate_asm`] →
//! [`gate_sys`]; to another domain: [`stubs`] → [`gate_asm`] → a proxy, and [`crossing_sys`] if that does not return.
//! What interrupts it: [`signals_sys`] (faults), `interpose_sys` (the host's own handlers and masks), [`watch`] (time limits, kills). [`admit_sys`] is the slow way in.
mod admit_sys;
mod bell;
mod code_sys;
mod context_sys;
mod crossing_sys;
#[allow(
    clippy::useless_conversion,
    reason = "register numbers in instructions are converted, whatever their type"
)]
mod emit;
pub(crate) mod exclusive_sys;
mod fronts_sys;
mod gate_asm;
mod gate_sys;
#[cfg(all(target_env = "gnu", not(lockgate_sanitized)))]
mod interpose_sys;
pub(crate) mod layout;
mod left_sys;
pub(crate) mod listing;
#[cfg(test)]
mod listing_tests;
pub(crate) mod mask_sys;
pub(crate) mod meter;
mod process_sys;
mod proxy_asm;
pub(crate) mod resume_sys;
pub(crate) mod shape;
pub(crate) mod signals_sys;
pub(crate) mod stubs;
pub(crate) mod thread_sys;
mod undisturbed_asm;
mod undisturbed_sys;
pub(crate) mod unseen_sys;
pub(crate) mod watch;

pub(crate) use code_sys::Thunk;
pub(crate) use emit::flags;
pub(crate) use gate_sys::{
    OwnGate, caller, calling_base, component, context, end_when_it_returns, end_with, enter_early, has_caller,
};
pub(crate) use process_sys::{components, for_debuggers, prepare};
pub(crate) use proxy_asm::{forward, stale};
pub use undisturbed_sys::disturbed;
pub(crate) use undisturbed_sys::{asleep, poll, read, unseen, write};
