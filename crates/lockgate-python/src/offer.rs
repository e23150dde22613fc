//! Places of functions of Python's in domains: what the runtime keeps of them, and what the collector sees.
use crate::kinds::Kind;
use lockgate::HostFunction;
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What the runtime calls: conversions, and who answers.
pub struct Answering {
    pub kinds: Vec<Kind>,
    pub answer: Kind,
    target: Mutex<Option<Py<PyAny>>>,
    /// No Python function answers because the domain was ended.
    ended: AtomicBool,
}

impl Answering {
    /// No Python function answers yet.
    pub fn new(kinds: Vec<Kind>, answer: Kind) -> Arc<Answering> {
        Arc::new(Answering { kinds, answer, target: Mutex::default(), ended: AtomicBool::default() })
    }

    /// Who answers now.
    pub fn target(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        locked(&self.target).as_ref().map(|function| function.clone_ref(py))
    }

    /// True if no Python function answers because the domain was ended.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// For the collector. The locks of this file are only taken with the interpreter's, and nothing is allocated under them.
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kinds.iter().chain([&self.answer]).try_for_each(|kind| kind.traverse(visit))?;
        visit.call(&*locked(&self.target))
    }
}

/// A host function whose target changes: what a domain was given stays in its tables as long as it lives, so that places are
/// used again.
pub struct Offer {
    prototype: String,
    function: HostFunction,
    answering: Arc<Answering>,
}

/// A function of Python's that answers an import, or that a registry exports: what the runtime keeps of it, the collector sees here.
/// Objects that keep the runtime's half alive have this.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Answer(Arc<Answering>);

impl Answer {
    /// Of an offer that stays with its function.
    pub fn new(py: Python<'_>, offer: &Offer) -> PyResult<Py<Answer>> {
        Py::new(py, Answer(offer.answering.clone()))
    }

    /// False once the runtime has let go of it.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

#[pymethods]
impl Answer {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        let before = locked(&self.0.target).take();
        drop(before); // after the lock: Python objects go
    }
}

impl Offer {
    /// Of a function that answers as `answering` says.
    pub fn of(prototype: &str, function: HostFunction, answering: Arc<Answering>) -> Offer {
        Offer { prototype: prototype.to_owned(), function, answering }
    }

    /// From now on `function` answers; it is called with the domain that calls, and the arguments.
    pub fn set(&self, function: Py<PyAny>) {
        let before = locked(&self.answering.target).replace(function);
        drop(before); // after the lock: Python objects go
    }

    /// From now on no function answers; the one that did, for the caller to drop where Python objects may go.
    pub fn take(&self) -> Option<Py<PyAny>> {
        locked(&self.answering.target).take()
    }

    /// The same because the domain was ended, which is what calls in progress are told.
    pub fn end(&self) -> Option<Py<PyAny>> {
        self.answering.ended.store(true, Ordering::Release);
        self.take()
    }

    /// What the domain gets.
    pub fn function(&self) -> &HostFunction {
        &self.function
    }

    /// For the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.answering.traverse(visit)
    }

    /// True if it was made for this prototype.
    pub fn is_for(&self, prototype: &str) -> bool {
        self.prototype == prototype
    }
}

/// A callback in a domain, and the place that it has there.
pub struct Pinned {
    inside: Mutex<Option<(lockgate::Callback, Option<Arc<Offer>>)>>,
    /// Base of the instance that serves it, if that is a domain.
    server: Option<u64>,
}

impl Pinned {
    /// Of a callback; `server` is the base of the instance that serves it, if that is a domain.
    pub fn new(callback: lockgate::Callback, offer: Option<Arc<Offer>>, server: Option<u64>) -> Arc<Pinned> {
        Arc::new(Pinned { inside: Mutex::new(Some((callback, offer))), server })
    }

    /// The function pointer.
    pub fn address(&self) -> Option<u64> {
        locked(&self.inside).as_ref().map(|(callback, _)| callback.pointer::<u8>().address())
    }

    /// For the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &*locked(&self.inside) {
            Some((_, Some(offer))) => offer.traverse(visit),
            _ => Ok(()),
        }
    }

    /// No function answers any more; the one that did, for the caller to drop where Python objects may go.
    pub fn silence(&self) -> Option<Py<PyAny>> {
        let offer = locked(&self.inside).as_ref().and_then(|(_, offer)| offer.clone());
        offer.and_then(|offer| offer.take())
    }

    /// Takes the callback away, for the caller to drop where Python objects may go.
    pub fn take(&self) -> Option<(lockgate::Callback, Option<Arc<Offer>>)> {
        locked(&self.inside).take()
    }

    /// How often it holds the domain that it belongs to, which starts at `base`.
    pub fn holds(&self, base: u64) -> usize {
        if locked(&self.inside).is_some() { 1 + usize::from(self.server == Some(base)) } else { 0 }
    }

    /// Takes the callback away. Its place, if it had one, is free.
    pub fn clear(&self) -> Option<Arc<Offer>> {
        let (callback, offer) = self.take()?;
        drop(callback);
        if let Some(offer) = &offer {
            drop(offer.take());
        }
        offer
    }
}
