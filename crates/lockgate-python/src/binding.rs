//! Functions of the runtime's as they are bound, with what Python makes of their arguments and results.
use crate::kinds::Kind;
use lockgate::Dynamic;
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// A function as it is bound now.
pub struct Binding {
    pub dynamic: Dynamic,
    pub conversions: Conversions,
    /// Other threads may run Python meanwhile.
    pub releases: bool,
    /// After a restart, calls go to the new instance: with their arguments, not with those that were made before.
    pub rebinds: bool,
    /// Its calls may go on without their callers.
    pub leaves: bool,
}

/// Python's part of a binding.
pub struct Conversions {
    pub kinds: Box<[Kind]>,
    pub answer: Kind,
    /// Called with the domain and the plain result, for its class.
    pub wrap: Option<Py<PyAny>>,
    /// Called with result, function and arguments: ctypes' `errcheck`.
    pub check: Option<Py<PyAny>>,
}

impl Conversions {
    /// For the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kinds.iter().chain([&self.answer]).try_for_each(|kind| kind.traverse(visit))?;
        visit.call(&self.wrap)?;
        visit.call(&self.check)
    }
}

/// Where a function keeps its binding; the domain empties it.
#[derive(Default)]
pub struct Slot(Mutex<Option<Arc<Binding>>>);

impl Slot {
    /// Only taken with the GIL.
    pub fn lock(&self) -> MutexGuard<'_, Option<Arc<Binding>>> {
        locked(&self.0)
    }

    /// Takes the binding, for the caller to drop where Python objects may go: the next call binds again.
    pub fn take(&self) -> Option<Arc<Binding>> {
        self.lock().take()
    }

    /// Who has the binding, this among them: a call that is in progress or being prepared has it, too.
    pub fn users(&self) -> Option<usize> {
        self.lock().as_ref().map(Arc::strong_count)
    }
}

impl Binding {
    /// Lets go of the runtime's function.
    pub fn part(self) -> Conversions {
        self.conversions
    }
}
