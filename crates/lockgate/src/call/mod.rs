//! The life of a call, in execution order: [`thunks_sys`] → [`proxy_asm`] → the module → back to
//! [`proxy_asm`]; from the module to the host and back: [`stubs`] → [`gate_asm`] → [`gate_sys`]. What
//! interrupts it: [`signals_sys`] (faults), [`watch`] (time limits). [`admit_sys`] is the slow way in.
mod admit_sys;
mod gate_asm;
mod gate_sys;
pub(crate) mod layout;
mod proxy_asm;
pub(crate) mod signals_sys;
pub(crate) mod stubs;
pub(crate) mod thread_sys;
mod thunks_sys;
pub(crate) mod watch;

pub(crate) use gate_sys::{
    caller, component, context, end_with_panic, enter_early, missing, prepare as prepare_gates,
};
pub(crate) use thunks_sys::Thunk;

/// Code address of the proxy: every thunk leads there.
pub(crate) fn proxy() -> usize {
    proxy_asm::address()
}
