//! Python functions that domains call through pointers and imports.
use crate::caller::Caller;
use crate::domain::Domain;
use crate::errors;
use crate::interpreter_sys;
use crate::kinds::{self, Given, word_of};
use crate::offer::{Answer, Answering, Offer, Pinned};
use lockgate::signature::{PrototypeError, Signature};
use lockgate::{CallError, HostFunction, Value};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyWeakrefMethods, PyWeakrefReference};
use std::any::Any;
use std::sync::Arc;

impl Offer {
    /// A host function of this prototype that no Python function answers yet; `kinds` as for functions.
    ///
    /// # Errors
    /// The prototype cannot be called by a domain.
    pub fn new(py: Python<'_>, prototype: &str, kinds: Vec<Given>) -> PyResult<Offer> {
        let signature: Signature =
            prototype.parse().map_err(|error: PrototypeError| errors::bind(py, error.into()))?;
        let (kinds, answer) = kinds::of_signature(&signature, kinds)?;
        let answering = Answering::new(kinds, answer);
        let body = {
            let answering = answering.clone();
            move |domain: &lockgate::Domain, arguments: &[Value]| run(&answering, domain, arguments)
        };
        let function = HostFunction::dynamic(signature, body).map_err(|error| errors::bind(py, error))?;
        Ok(Offer::of(prototype, function, answering))
    }
}

/// A host function for an import: its name, prototype, kinds, and what answers.
pub type Import = (String, String, Vec<Given>, Py<PyAny>);

/// Options with functions of Python's for imports.
///
/// # Errors
/// A prototype that cannot be called by a domain.
pub fn answer(
    py: Python<'_>,
    mut options: lockgate::DomainOptions,
    imports: Vec<Import>,
) -> PyResult<(lockgate::DomainOptions, Vec<Py<Answer>>)> {
    let mut answers = Vec::new();
    for (name, prototype, kinds, function) in imports {
        let offer = Offer::new(py, &prototype, kinds)?;
        offer.set(function);
        options = options.gate(name, offer.function().clone());
        answers.push(Answer::new(py, &offer)?);
    }
    Ok((options, answers))
}

/// Runs a callback on the domain's thread, with the GIL.
fn run(
    answering: &Answering,
    caller: &lockgate::Domain,
    arguments: &[Value],
) -> Result<Value, Box<dyn Any + Send>> {
    let call = |py: Python<'_>| -> PyResult<Value> {
        // Not under the lock: an exception is made by code of Python's, which may let other threads run.
        let Some(function) = answering.target(py) else {
            return Err(match answering.has_ended() {
                true => errors::call(py, CallError::Killed(caller.name().to_owned())),
                false => errors::taken_back(py),
            });
        };
        let caller = Caller::of(py, caller)?;
        let mut given = vec![caller.domain().clone().into_any()];
        for (kind, value) in answering.kinds.iter().zip(arguments) {
            given.push(kind.python(py, word_of(value), || words_of(value))?);
        }
        answering.answer.value(&interpreter_sys::call(function.bind(py), PyTuple::new(py, given)?, None)?)
    };
    let told = |py: Python<'_>| {
        call(py).inspect_err(|error| {
            // No call of the program's is in progress that it could come out of. (That a domain was ended by the program is no news.)
            if lockgate::is_without_caller() && !answering.has_ended() {
                let function = answering.target(py);
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
        let pinned = Pinned::new(callback, offer, base);
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
    /// The function pointer, for a call of the domain of this name.
    ///
    /// # Errors
    /// The domain was reset since the call's argument was converted.
    pub fn pointer(&self, py: Python<'_>, domain: &str) -> PyResult<u64> {
        self.address().ok_or_else(|| errors::older(py, domain))
    }
}

#[pymethods]
impl Pin {
    /// The function pointer, or None if the domain was reset or closed.
    #[getter]
    fn address(&self) -> Option<u64> {
        self.pinned.address()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)?;
        visit.call(&self.server)?;
        self.pinned.traverse(&visit)
    }

    fn __clear__(&self) {
        drop(self.pinned.silence()); // after the lock: Python objects go
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
