//! Python functions that domains call through pointers and imports.
use crate::caller::Caller;
use crate::domain::Domain;
use crate::errors;
use crate::interpreter_sys;
use crate::kinds::{self, Given, Kind, word_of};
use lockgate::signature::{PrototypeError, Signature};
use lockgate::{CallError, HostFunction, Value};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyWeakrefMethods, PyWeakrefReference};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What the runtime calls: conversions, and who answers.
struct Answering {
    kinds: Vec<Kind>,
    answer: Kind,
    target: Mutex<Option<Py<PyAny>>>,
    /// Nobody answers because the domain was ended.
    ended: AtomicBool,
}

impl Answering {
    /// For the collector. The locks of this file are only taken with the interpreter's, and nothing is allocated under them.
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kinds.iter().chain([&self.answer]).try_for_each(|kind| kind.traverse(visit))?;
        visit.call(&*lock(&self.target))
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
/// Whoever has a part in keeping the runtime's half alive has this.
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
        let before = lock(&self.0.target).take();
        drop(before); // after the lock: Python objects go
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Offer {
    /// A host function of this prototype that nobody answers yet; `kinds` as for functions.
    ///
    /// # Errors
    /// The prototype cannot be called by a domain.
    pub fn new(py: Python<'_>, prototype: &str, kinds: Vec<Given>) -> PyResult<Offer> {
        let signature: Signature =
            prototype.parse().map_err(|error: PrototypeError| errors::bind(py, error.into()))?;
        let (kinds, answer) = kinds::of_signature(&signature, kinds)?;
        let answering =
            Arc::new(Answering { kinds, answer, target: Mutex::default(), ended: AtomicBool::default() });
        let body = {
            let answering = answering.clone();
            move |domain: &lockgate::Domain, arguments: &[Value]| run(&answering, domain, arguments)
        };
        let function = HostFunction::dynamic(signature, body).map_err(|error| errors::bind(py, error))?;
        Ok(Offer { prototype: prototype.to_owned(), function, answering })
    }

    /// From now on `function` answers; it is called with the domain that calls, and the arguments.
    pub fn set(&self, function: Py<PyAny>) {
        let before = lock(&self.answering.target).replace(function);
        drop(before); // after the lock: Python objects go
    }

    /// From now on nobody answers; who did, for the caller to drop where Python objects may go.
    pub fn take(&self) -> Option<Py<PyAny>> {
        lock(&self.answering.target).take()
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

/// Runs a callback on the domain's thread, with the interpreter's lock.
fn run(
    answering: &Answering,
    caller: &lockgate::Domain,
    arguments: &[Value],
) -> Result<Value, Box<dyn Any + Send>> {
    let Answering { kinds, answer, target, ended } = answering;
    let call = |py: Python<'_>| -> PyResult<Value> {
        // Not under the lock: an exception is made by code of Python's, which may let other threads run.
        let answering = lock(target).as_ref().map(|function| function.clone_ref(py));
        let Some(function) = answering else {
            return Err(match ended.load(Ordering::Acquire) {
                true => errors::call(py, CallError::Killed(caller.name().to_owned())),
                false => errors::taken_back(py),
            });
        };
        let caller = Caller::of(py, caller)?;
        let mut given = vec![caller.domain().clone().into_any()];
        for (kind, value) in kinds.iter().zip(arguments) {
            given.push(kind.python(py, word_of(value), || words_of(value))?);
        }
        answer.value(&interpreter_sys::call(function.bind(py), PyTuple::new(py, given)?, None)?)
    };
    let told = |py: Python<'_>| {
        call(py).inspect_err(|error| {
            // Nobody's call is in progress that it could come out of. (That a domain was ended by the program is no news.)
            if lockgate::is_modules_thread() && !ended.load(Ordering::Acquire) {
                let function = lock(target).as_ref().map(|function| function.clone_ref(py));
                let function = function.as_ref().map(|function| function.bind(py));
                interpreter_sys::unraisable(py, error.clone_ref(py), function);
            }
        })
    };
    interpreter_sys::attach(told).map_err(|error| Box::new(error) as Box<dyn Any + Send>)
}

fn words_of(value: &Value) -> Vec<u64> {
    let Value::Struct(bytes) = value else { return Vec::new() };
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// A callback in a domain, and the place that it has there.
pub struct Pinned {
    inside: Mutex<Option<(lockgate::Callback, Option<Arc<Offer>>)>>,
    /// Base of the instance that serves it, if that is a domain.
    server: Option<u64>,
}

impl Pinned {
    /// Takes the callback away, for the caller to drop where Python objects may go.
    pub fn take(&self) -> Option<(lockgate::Callback, Option<Arc<Offer>>)> {
        lock(&self.inside).take()
    }

    /// How often it holds the domain that it belongs to, which starts at `base`.
    pub fn holds(&self, base: u64) -> usize {
        if lock(&self.inside).is_some() { 1 + usize::from(self.server == Some(base)) } else { 0 }
    }

    /// Takes the callback away. Its place, if it had one, is free.
    fn clear(&self) -> Option<Arc<Offer>> {
        let (callback, offer) = self.take()?;
        drop(callback);
        if let Some(offer) = &offer {
            drop(offer.take());
        }
        offer
    }
}

/// A function pointer of a domain that leads to Python or to another domain, as long as this lives and the domain is not
/// reset.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Pin {
    domain: Py<PyWeakrefReference>,
    /// Who serves it, if that is a domain.
    server: Option<Py<Domain>>,
    pinned: Arc<Pinned>,
}

impl Pin {
    /// Keeps a callback of `domain`.
    ///
    /// # Errors
    /// No memory.
    pub fn new(
        domain: &Bound<'_, Domain>,
        callback: lockgate::Callback,
        offer: Option<Arc<Offer>>,
        server: Option<(Py<Domain>, u64)>,
    ) -> PyResult<Pin> {
        let (server, base) = server.unzip();
        let pinned = Arc::new(Pinned { inside: Mutex::new(Some((callback, offer))), server: base });
        domain.get().pin(&pinned);
        Ok(Pin { domain: PyWeakrefReference::new(domain)?.unbind(), server, pinned })
    }

    /// A callback that `function` answers.
    ///
    /// # Errors
    /// The prototype cannot be called by a domain, or the domain has no function pointers left.
    pub fn of_python(
        domain: &Bound<'_, Domain>,
        prototype: &str,
        kinds: Vec<Given>,
        function: Py<PyAny>,
    ) -> PyResult<Pin> {
        let py = domain.py();
        let live = domain.get().live(py)?;
        let offer = domain.get().offer(prototype, || Offer::new(py, prototype, kinds))?;
        let Some(callback) = live.callback(offer.function().clone()) else {
            domain.get().take_offer(offer);
            let text = format_args!("domain {} has no function pointers left; drop callbacks", live.name())
                .to_string();
            return Err(errors::plain(py, "QuotaExceeded", &text));
        };
        offer.set(function);
        Pin::new(domain, callback, Some(offer), None)
    }
}

impl Pin {
    /// The function pointer.
    ///
    /// # Errors
    /// The domain was reset or closed.
    pub fn pointer(&self, py: Python<'_>) -> PyResult<u64> {
        let gone = || errors::plain(py, "Closed", &"the domain of this function pointer was reset or closed");
        self.address().ok_or_else(gone)
    }
}

#[pymethods]
impl Pin {
    /// The function pointer, or None if the domain was reset or closed.
    #[getter]
    fn address(&self) -> Option<u64> {
        lock(&self.pinned.inside).as_ref().map(|(callback, _)| callback.pointer::<u8>().address())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)?;
        visit.call(&self.server)?;
        match &*lock(&self.pinned.inside) {
            Some((_, Some(offer))) => offer.traverse(&visit),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        let offer = lock(&self.pinned.inside).as_ref().and_then(|(_, offer)| offer.clone());
        drop(offer.and_then(|offer| offer.take())); // after the lock: Python objects go
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let Some(offer) = self.pinned.clear() else { return };
        // An exception may be on its way: nothing here may raise one.
        Python::attach(|py| {
            if let Some(Ok(domain)) = self.domain.bind(py).upgrade().map(Bound::cast_into::<Domain>) {
                domain.get().take_offer(offer);
            }
        });
    }
}
