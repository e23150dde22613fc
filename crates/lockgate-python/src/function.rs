//! Functions of domains as Python callables.
use crate::binding::{Binding, Conversions, Slot};
use crate::buffer_sys::{Region, View};
use crate::callback::Pin;
use crate::domain::Domain;
use crate::errors;
use crate::interpreter_sys::{self, detach, hold};
use crate::kinds::{self, Given, Kind};
use crate::live::Live;
use crate::pointer::{Pointer, address};
use crate::region::Grant;
use crate::registry::Found;
use crate::scratch::Passed;
use crate::values;
use lockgate::signature::Signature;
use lockgate::{CallError, Dynamic, Frame, GrantError};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// How often a call binds its function, which resets of other threads take away.
const ATTEMPTS: u32 = 100;

/// A function of a domain. The Python half derives `lockgate.Function` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Function {
    domain: Py<Domain>,
    name: String,
    slot: Arc<Slot>,
}

#[pymethods]
impl Function {
    /// One that the registry binds keeps its binding when the domain gets another instance.
    #[new]
    #[pyo3(signature = (domain, name, registered=false))]
    fn new(domain: Bound<'_, Domain>, name: String, registered: bool) -> Function {
        let slot = if registered { Arc::default() } else { domain.get().slot() };
        Function { domain: domain.unbind(), name, slot }
    }

    /// The domain that it belongs to.
    #[getter]
    fn domain(&self, py: Python<'_>) -> Py<Domain> {
        self.domain.clone_ref(py)
    }

    /// The name that the module exports it by.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Binds it: `kinds` are, for each parameter of the prototype and then the result, a code and an object (see
    /// `Kind::new`).
    #[allow(clippy::too_many_arguments, reason = "what the Python half knows, once")]
    fn _bind(
        &self,
        py: Python<'_>,
        prototype: &str,
        kinds: Vec<Given>,
        wrap: Option<Py<PyAny>>,
        check: Option<Py<PyAny>>,
        releases: bool,
        policy: &str,
        limit: Option<(Bound<'_, PyAny>, String)>,
    ) -> PyResult<()> {
        let signature: Signature = prototype
            .parse()
            .map_err(|error: lockgate::signature::PrototypeError| errors::bind(py, error.into()))?;
        let leaves = values::leaves(&limit);
        let (policy, limit) = (values::policy(py, policy)?, values::call_limit(py, limit)?);
        let domain = self.domain.get().live(py)?;
        let bound = detach(py, || match limit {
            Some(limit) => domain.bind_signature_within(signature, policy, limit),
            None => domain.bind_signature(signature, policy),
        });
        let bound = bound.map_err(|error| errors::bind(py, error))?;
        self.take((bound, false, leaves), kinds, wrap, check, releases)
    }

    /// The same with what the registry has bound.
    fn _take(
        &self,
        found: &Bound<'_, Found>,
        kinds: Vec<Given>,
        wrap: Option<Py<PyAny>>,
        check: Option<Py<PyAny>>,
        releases: bool,
    ) -> PyResult<()> {
        let found = found.get();
        let found = (found.dynamic().clone(), found.rebinds(), found.leaves());
        self.take(found, kinds, wrap, check, releases)
    }

    /// Lets go of the binding, so that the next call makes another one.
    fn _unbind(&self) {
        let binding = self.slot.take();
        drop(binding);
    }

    /// What is enforced, by name: what the caller and the domain ask for. None before the first call.
    #[getter]
    fn enforced(&self) -> Option<String> {
        self.slot.lock().as_ref().map(|binding| binding.dynamic.policy().to_string())
    }

    #[pyo3(signature = (*arguments))]
    fn __call__<'py>(slf: &Bound<'py, Self>, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let binding = Function::binding(slf)?;
        let mut call = Call::new(slf.get(), &binding, arguments)?;
        let py = slf.py();
        let done =
            if binding.releases { detach(py, || call.make(&binding)) } else { hold(|| call.make(&binding)) };
        match done {
            Ok(()) => {
                let result = call.finish(py, slf.get(), &binding)?;
                binding.class(slf, call.generation(), result, arguments)
            }
            Err(error) => Err(slf.get().error(py, &binding, error)),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)?;
        match &*self.slot.lock() {
            // A call that is in progress has it, too: then the collector must not take it for ours.
            Some(binding) if Arc::strong_count(binding) == 1 => binding.conversions.traverse(&visit),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        drop(self.slot.take());
    }
}

impl Function {
    fn take(
        &self,
        (dynamic, rebinds, leaves): (Dynamic, bool, bool),
        kinds: Vec<Given>,
        wrap: Option<Py<PyAny>>,
        check: Option<Py<PyAny>>,
        releases: bool,
    ) -> PyResult<()> {
        let (kinds, answer) = kinds::of_signature(dynamic.signature(), kinds)?;
        // A thread that waits for its turn with the GIL in hand may wait for one that needs it.
        let releases = releases || self.domain.get().is_exclusive();
        let binding = Binding {
            dynamic,
            conversions: Conversions { kinds: kinds.into(), answer, wrap, check },
            releases,
            rebinds,
            leaves,
        };
        let before = self.slot.lock().replace(Arc::new(binding));
        drop(before); // after the lock: Python objects go
        Ok(())
    }

    /// The binding, made by the Python half if there is none.
    #[inline]
    pub fn binding(slf: &Bound<'_, Self>) -> PyResult<Arc<Binding>> {
        if let Some(binding) = &*slf.get().slot.lock() {
            return Ok(binding.clone());
        }
        Function::prepare(slf)
    }

    #[cold]
    fn prepare(slf: &Bound<'_, Self>) -> PyResult<Arc<Binding>> {
        // A reset of another thread takes a binding that no call has yet: the next one is for the new image.
        for _ in 0..ATTEMPTS {
            slf.get().domain.get().live(slf.py())?;
            interpreter_sys::call(&slf.getattr("_prepare")?, (), None)?;
            if let Some(binding) = &*slf.get().slot.lock() {
                return Ok(binding.clone());
            }
        }
        Err(errors::plain(slf.py(), "Busy", &"the domain is reset again and again by other threads"))
    }

    /// What a call ended with.
    pub fn error(&self, py: Python<'_>, binding: &Binding, error: CallError) -> PyErr {
        match error {
            CallError::Restarted(domain) if binding.rebinds => errors::older(py, &domain),
            error => self.domain.get().error(py, error),
        }
    }

    /// The domain that it belongs to.
    pub fn owner(&self) -> &Py<Domain> {
        &self.domain
    }
}

impl Binding {
    /// The plain result with its class, and as ctypes' `errcheck` leaves it.
    #[inline]
    pub fn class<'py>(
        &self,
        function: &Bound<'py, Function>,
        generation: u64,
        mut result: Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        if let Some(wrap) = &self.conversions.wrap {
            let domain = function.get().domain.bind(py);
            result = interpreter_sys::call(wrap.bind(py), (domain, result), None)?;
            // An address of the instance that was called must not become a pointer into the next one.
            if result.cast::<Pointer>().is_ok_and(|pointer| pointer.get().generation() != generation) {
                return Err(errors::older(py, domain.get().name()));
            }
        }
        if let Some(check) = &self.conversions.check {
            result = interpreter_sys::call(check.bind(py), (result, function, arguments), None)?;
        }
        Ok(result)
    }
}

/// One call, of one instance: a restart between its preparation and its entry ends it, whatever its arguments are.
pub struct Call {
    frame: Frame,
    passed: Option<Passed>,
    /// The function in the instance, if that is not the one that it was bound in.
    newest: Option<Dynamic>,
    /// Of the domain.
    generation: u64,
}

impl Call {
    /// What is passed by reference, which stays with Python when another thread makes the call.
    pub fn take_passed(&mut self) -> Option<Passed> {
        self.passed.take()
    }

    /// How often the domain had got another instance when the call was prepared.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Gives what is passed by reference back.
    pub fn put_passed(&mut self, passed: Option<Passed>) {
        self.passed = passed;
    }

    /// Makes the call. None but the instance that its arguments are for can be entered: addresses are something else in another one.
    ///
    /// # Errors
    /// As [`Dynamic::call_frame`].
    #[inline]
    pub fn make(&mut self, binding: &Binding) -> Result<(), CallError> {
        let done = self.newest.as_ref().unwrap_or(&binding.dynamic).call_frame(&mut self.frame);
        if let (Err(CallError::Detached { .. }), Some(passed)) = (&done, &mut self.passed) {
            passed.leave();
        }
        done
    }

    /// An argument is an address for this instance of the domain's, which must be the one that is to be called.
    ///
    /// # Errors
    /// They are two.
    fn is_for(&self, py: Python<'_>, binding: &Binding, live: &Live) -> PyResult<()> {
        if self.newest.as_ref().unwrap_or(&binding.dynamic).base() == live.base() {
            return Ok(());
        }
        Err(errors::older(py, live.name()))
    }

    /// Converts the arguments.
    ///
    /// # Errors
    /// Their number or kinds are wrong.
    #[inline]
    pub fn new(function: &Function, binding: &Binding, arguments: &Bound<'_, PyTuple>) -> PyResult<Call> {
        let (given, wanted) = (arguments.len(), binding.conversions.kinds.len());
        if given != wanted {
            return Err(wrong_number(arguments.py(), binding, given, wanted));
        }
        let plan = binding.dynamic.plan();
        let mut call = Call {
            frame: Frame::new(plan),
            passed: None,
            newest: if binding.rebinds { binding.dynamic.newest() } else { None },
            generation: function.domain.get().generation(),
        };
        for (number, kind) in binding.conversions.kinds.iter().enumerate() {
            let value = arguments.get_borrowed_item(number)?;
            let done = match kind {
                Kind::Pointer { converter, decides } => {
                    let asked = converter.as_ref().filter(|_| *decides);
                    let asked = asked.map(|converter| convert(function, converter, &value)).transpose();
                    asked.and_then(|decided| match decided {
                        Some(decided) => call.pointer(function, binding, &None, &decided, number),
                        None => call.pointer(function, binding, converter, &value, number),
                    })
                }
                Kind::Struct { class, size } => structure(class, *size, &value).map(Some).map(|words| {
                    call.frame.set(&plan.parameters[number], &words.unwrap_or_default());
                    None
                }),
                kind => kind.word(&value).map(Some),
            };
            match done {
                Ok(Some(word)) => call.frame.set(&plan.parameters[number], &[word]),
                Ok(None) => {}
                Err(error) => return Err(explain(arguments.py(), error, binding, number)),
            }
        }
        if let Some(passed) = &mut call.passed {
            if let Some(number) = passed.moved(arguments.py()) {
                return Err(not_copied_back(arguments.py(), binding, number, MOVED));
            }
            let live = function.domain.get().live(arguments.py())?;
            let scratch = function.domain.get().scratch();
            let not_passed = |error| unpassed(arguments.py(), function, error);
            passed.place(&live, scratch).map_err(not_passed)?;
            let addresses = passed.addresses().map_err(not_passed)?;
            for (number, address) in addresses {
                call.frame.set(&plan.parameters[number], &[address]);
            }
            call.is_for(arguments.py(), binding, &live)?;
        }
        Ok(call)
    }

    /// The address of an argument, or None if it is one of those that are copied.
    fn pointer(
        &mut self,
        function: &Function,
        binding: &Binding,
        converter: &Option<Py<PyAny>>,
        value: &Bound<'_, PyAny>,
        number: usize,
    ) -> PyResult<Option<u64>> {
        let py = value.py();
        let domain = &function.domain;
        if let Ok(pointer) = value.cast::<Pointer>() {
            let address = pointer.get().address_for(py, domain)?;
            self.is_for(py, binding, &*domain.get().live(py)?)?;
            return Ok(Some(address));
        }
        if let Some(address) = address(value)? {
            return Ok(Some(address));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            self.pass(number, View::text(bytes), false);
            return Ok(None);
        }
        if let Ok(grant) = value.cast::<Grant>() {
            self.is_for(py, binding, &*domain.get().live(py)?)?;
            return grant.get().address_for(py, domain).map(Some);
        }
        if let Ok(region) = value.cast::<Region>() {
            self.is_for(py, binding, &*domain.get().live(py)?)?;
            self.share(binding, value);
            return domain.get().granted(py, region).map(Some);
        }
        if let Ok(pin) = value.cast::<Pin>() {
            self.is_for(py, binding, &*domain.get().live(py)?)?;
            let pointer = pin.get().pointer(py, domain.get().name())?;
            self.passed.get_or_insert_default().keep(pin.as_any());
            return Ok(Some(pointer));
        }
        // What a converter makes of it is an argument as any other, once.
        if let Some(converter) = converter {
            let made = convert(function, converter, value)?;
            return self.pointer(function, binding, &None, &made, number);
        }
        let view = View::of(value)?;
        match domain.get().shared(view.address(), view.length()) {
            Some(address) => {
                self.is_for(py, binding, &*domain.get().live(py)?)?;
                self.share(binding, value);
                Ok(Some(address))
            }
            None => {
                let writable = view.is_writable();
                self.pass(number, view, writable);
                Ok(None)
            }
        }
    }

    /// Shared memory is passed, whose end takes it away from the domain: the call's own it is if that goes on.
    fn share(&mut self, binding: &Binding, value: &Bound<'_, PyAny>) {
        if binding.leaves {
            self.passed.get_or_insert_default().keep(value);
        }
    }

    /// Has a copy of the memory made for a parameter.
    fn pass(&mut self, number: usize, view: View, copied_back: bool) {
        self.passed.get_or_insert_default().add(number, view, copied_back);
    }

    /// After the call: what was passed by reference as the domain left it, and the plain result.
    ///
    /// # Errors
    /// The memory is gone; the result is an address, and the domain has another instance now.
    #[inline]
    pub fn finish<'py>(
        &mut self,
        py: Python<'py>,
        function: &Function,
        binding: &Binding,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(passed) = &mut self.passed {
            if let Some(number) = passed.moved(py) {
                return Err(not_copied_back(py, binding, number, MOVED));
            }
            passed.take_back().map_err(|error| errors::grant(py, error))?;
            if let Some(number) = passed.lost().map_err(|error| errors::grant(py, error))? {
                return Err(not_copied_back(py, binding, number, LOST));
            }
        }
        // What it leads to was in the instance before.
        if binding.conversions.wrap.is_some() && function.domain.get().generation() != self.generation {
            return Err(errors::older(py, function.domain.get().name()));
        }
        let plan = binding.dynamic.plan();
        binding.conversions.answer.python(py, self.frame.first_word(plan), || self.frame.result(plan))
    }
}

/// What a converter makes of an argument.
fn convert<'py>(
    function: &Function,
    converter: &Py<PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    interpreter_sys::call(converter.bind(py), (function.domain.bind(py), value), None)
}

/// The words of a structure by value.
fn structure(class: &Py<PyAny>, size: usize, value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let class = class.bind(value.py());
    if !value.is_instance(class)? {
        let name: String = class.getattr("__name__")?.extract()?;
        return Err(pyo3::exceptions::PyTypeError::new_err(format!("expected an instance of {name}")));
    }
    let mut words = vec![0; size.div_ceil(8)];
    View::of(value)?.words(&mut words);
    Ok(words)
}

/// Arguments that cannot be passed by reference. Their blocks are the package's own: one that is revoked went with the instance that it was
/// made for, which has ended since this call looked.
#[cold]
fn unpassed(py: Python<'_>, function: &Function, error: GrantError) -> PyErr {
    let domain = function.domain.get();
    match (domain.live(py), error) {
        (Err(ended), _) => ended,
        (Ok(_), GrantError::Revoked { .. }) => errors::older(py, domain.name()),
        (Ok(_), error) => errors::grant(py, error),
    }
}

/// Why an argument's memory cannot be copied back, around the argument's number.
const MOVED: [&str; 2] = [
    "the memory of argument ",
    " was moved or resized before the call was over: nothing is copied to where it was",
];
const LOST: [&str; 2] = [
    "it wrote to argument ",
    ", which cannot be changed: pass a bytearray, an array that is writable or create_string_buffer()",
];

#[cold]
fn not_copied_back(py: Python<'_>, binding: &Binding, number: usize, [before, behind]: [&str; 2]) -> PyErr {
    let (signature, number) = (binding.dynamic.signature(), number + 1);
    errors::plain(py, "ArgumentError", &format_args!("{signature}: {before}{number}{behind}"))
}

#[cold]
fn wrong_number(py: Python<'_>, binding: &Binding, given: usize, wanted: usize) -> PyErr {
    let signature = binding.dynamic.signature();
    let plural = if wanted == 1 { "" } else { "s" };
    let text = format_args!("{signature} takes {wanted} argument{plural}, {given} given").to_string();
    errors::plain(py, "ArgumentError", &text)
}

/// What is wrong with an argument, with its number; other errors than those of conversion stay what they are.
#[cold]
fn explain(py: Python<'_>, error: PyErr, binding: &Binding, number: usize) -> PyErr {
    let conversion = error.is_instance_of::<pyo3::exceptions::PyTypeError>(py)
        || error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py)
        || error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
        || error.is_instance_of::<pyo3::exceptions::PyBufferError>(py);
    if !conversion {
        return error;
    }
    let signature = binding.dynamic.signature();
    let text = format!("argument {} of {signature}: {}", number + 1, error.value(py));
    let explained = errors::plain(py, "ArgumentError", &text);
    explained.set_cause(py, Some(error));
    explained
}
