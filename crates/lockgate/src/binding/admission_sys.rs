//! All bindings of a domain, so that it can be closed to everyone by one act.
//!
//! A thread that has a place in a domain would go on to use it through any binding: to end the domain, each of them is told.
use crate::call::layout::BindingHeader;
use crate::call::thread_sys::NOBODY;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

/// Bindings of one domain.
#[derive(Default)]
pub(crate) struct Admissions(Mutex<State>);

#[derive(Default)]
struct State {
    /// Addresses of headers.
    headers: BTreeSet<usize>,
    closed: bool,
}

impl Admissions {
    /// Takes a binding in, which must be taken out before it goes.
    pub(super) fn add(&self, header: &BindingHeader) {
        let mut state = self.state();
        state.headers.insert(std::ptr::from_ref(header) as usize);
        if state.closed {
            header.admission.store(NOBODY, Ordering::Release);
        }
    }

    /// Takes a binding out.
    pub(super) fn remove(&self, header: &BindingHeader) {
        self.state().headers.remove(&(std::ptr::from_ref(header) as usize));
    }

    /// From now on every call asks, and finds what the domain says.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for header in &state.headers {
            // SAFETY: headers live until they are taken out, which takes the lock.
            unsafe { (*(*header as *const BindingHeader)).admission.store(NOBODY, Ordering::Release) };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
