//! All bindings of a domain, so that it can be closed to everyone by one act.
//!
//! A thread that has a place in a domain would go on to use it through any binding: to end the domain, each of them is told. So it
//! is this list, under its lock, that lets callers in by a binding: what is not in it yet is closed.
use super::layout::NO_DOMAIN;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;

/// Bindings of one domain, each by its word of admission: `BindingHeader::admission`.
#[derive(Default)]
pub(crate) struct Admissions(Mutex<State>);

#[derive(Default)]
struct State {
    /// Addresses.
    words: BTreeSet<usize>,
    closed: bool,
}

impl Admissions {
    /// Takes a binding in, which must be taken out before it goes, or finds it there; lets callers in who have a place at `slot`,
    /// unless the domain is closed.
    pub fn admit(&self, word: &AtomicU32, slot: u32) {
        let mut state = self.state();
        state.words.insert(std::ptr::from_ref(word) as usize);
        word.store(if state.closed { NO_DOMAIN } else { slot }, Ordering::Release);
    }

    /// Takes a binding out.
    pub fn remove(&self, word: &AtomicU32) {
        self.state().words.remove(&(std::ptr::from_ref(word) as usize));
    }

    /// From now on every call asks, and finds what the domain says.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for word in &state.words {
            // SAFETY: words live until they are taken out, which takes the lock.
            unsafe { (*(*word as *const AtomicU32)).store(NO_DOMAIN, Ordering::Release) };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
