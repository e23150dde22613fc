//! Bindings that are called through raw function pointers: found again when the host asks why such a call failed.
use super::Binding;
use crate::call::outcome_sys::{self, Whose};
use crate::error::CallError;
use crate::host::{PerProcess, locked};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// By address of the header.
static LENT: PerProcess<Mutex<BTreeMap<usize, Weak<Binding>>>> = PerProcess::new(Mutex::default);

fn lent() -> MutexGuard<'static, BTreeMap<usize, Weak<Binding>>> {
    locked(&LENT)
}

pub(super) fn add(binding: &Arc<Binding>) {
    binding.info.lend();
    // Each of those that share what `lend` says has its own place: the others may go before it.
    binding.listed.call_once(|| drop(lent().insert(binding.address(), Arc::downgrade(binding))));
}

pub(super) fn remove(binding: &Binding) {
    if binding.listed.is_completed() {
        lent().remove(&binding.address());
    }
}

/// The binding with this header, or the one that handed the call on to it.
fn find(header: usize) -> Option<Arc<Binding>> {
    let direct = lent().get(&header).and_then(Weak::upgrade);
    direct.or_else(|| {
        // Any of them may be the last to hold a binding, whose end takes the lock again: it is free while they go.
        let all: Vec<Arc<Binding>> = lent().values().filter_map(Weak::upgrade).collect();
        all.into_iter().find(|binding| binding.leads_to(header))
    })
}

/// Why the calling thread's last call through a raw function pointer ([`Function::as_ptr`](crate::Function::as_ptr),
/// [`Dynamic::as_ptr`](crate::Dynamic::as_ptr)) did not return; `None` if it did, or if this has been asked before.
pub fn take_call_error() -> Option<CallError> {
    if !outcome_sys::failed() {
        return None;
    }
    match outcome_sys::whose(true) {
        Whose::Handlers => Some(CallError::SignalHandler),
        Whose::Others => None,
        Whose::Callers => Some(match outcome_sys::take_refusal().or_else(outcome_sys::take_forked) {
            Some(error) => error,
            None => match find(outcome_sys::failed_binding() as usize) {
                Some(binding) => outcome_sys::take_fault(binding.info()),
                None => {
                    outcome_sys::forget_error();
                    CallError::Gone
                }
            },
        }),
    }
}

/// A call begins through a function pointer that leads to no domain of this process, but reports as those do that lead to one: by [`take_call_error`]. False: it
/// must not be made, since a signal handler makes it, which learns that when it asks.
pub fn begins_elsewhere() -> bool {
    outcome_sys::begins_elsewhere()
}

/// That call has failed: [`take_call_error`] returns a [`CallError::Panic`] with this payload.
pub fn failed_elsewhere(payload: Box<dyn Any + Send>) {
    outcome_sys::failed_elsewhere(payload);
}

impl Binding {
    fn address(&self) -> usize {
        &raw const *self.header as usize
    }

    /// True if calls of this binding go, or went, on to the one with this header.
    fn leads_to(&self, header: usize) -> bool {
        let mut next = self.successor.get();
        while let Some(binding) = next {
            if binding.address() == header {
                return true;
            }
            next = binding.successor.get();
        }
        false
    }
}
