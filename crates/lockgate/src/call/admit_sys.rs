//! The slow way into a domain: what the proxy asks when its checks do not pass at once.
use super::layout::{BindingHeader, ENTRY, IDLE};
use super::thread_sys::{self, ThreadState};
use crate::error::CallError;
use crate::host;
use std::sync::Arc;

/// Called by the proxy on the host's stack, before anything of the entry is recorded. Returns 0 to try again,
/// 1 if the call is refused; the reason is with the thread then.
///
/// # Safety
/// Only the proxy calls it, with the binding of the call and its own rsp.
pub(super) unsafe extern "C" fn lockgate_admit(binding: *const BindingHeader, rsp: u64) -> u32 {
    // SAFETY: a thunk's binding lives while it is called.
    let binding = unsafe { &*binding };
    match admit(binding, rsp) {
        Ok(()) => 0,
        Err(error) => {
            thread_sys::refuse(error);
            1
        }
    }
}

fn admit(binding: &BindingHeader, rsp: u64) -> Result<(), CallError> {
    if host::forked() {
        return Err(CallError::Forked);
    }
    let state = thread_sys::attach()?;
    thread_sys::publish(&state);
    let top = thread_sys::repair(&state, rsp);
    // SAFETY: the top record is always valid.
    let kind = unsafe { (*top).kind };
    if kind == ENTRY {
        return Err(CallError::SignalHandler);
    }
    if kind != IDLE && thread_sys::too_deep(&state, rsp) {
        return Err(CallError::TooDeep);
    }
    // SAFETY: the binding keeps its domain alive; cores are always inside an Arc.
    let domain = unsafe {
        Arc::increment_strong_count(binding.domain);
        Arc::from_raw(binding.domain)
    };
    if domain.is_killed() {
        state.set_slot(binding.id, 0);
    }
    if slot(&state, binding) == 0 {
        domain.attach(&state)?;
    }
    Ok(())
}

fn slot(state: &ThreadState, binding: &BindingHeader) -> u64 {
    // SAFETY: inside the thread's own table.
    unsafe { (*state.block).slots.add(binding.id as usize).read_volatile() }
}
