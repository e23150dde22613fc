//! Functions of other processes, by name.
use crate::buffer_sys::View;
use crate::interpreter_sys::{attach, detach};
use crate::kinds::Kind;
use crate::registry::{Lateness, Registry, ask_in_slices};
use crate::{errors, values};
use lockgate::signature::Type;
use lockgate::{Value, Version};
use lockgate_kernel::locked;
use lockgate_programs::share::{self, Data, Limits, Offer, Query, RemoteError, RemoteFunction};
use pyo3::PyTraverseError;
use pyo3::exceptions::PyException;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::Mutex;

impl Lateness for RemoteError {
    fn is_late(&self) -> bool {
        matches!(self, RemoteError::Bind(error) if error.is_late())
    }
}

/// A connection. The Python half derives `lockgate.Remote` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Remote(share::Remote);

#[pymethods]
impl Remote {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, time_limit: Option<&Bound<'_, PyAny>>) -> PyResult<Remote> {
        let limit = time_limit.map(values::seconds).transpose()?;
        let remote = detach(py, || match limit {
            Some(limit) => share::Remote::connect_with(&path, limit),
            None => share::Remote::connect(&path),
        });
        remote.map(Remote).map_err(|error| errors::remote(py, error, None))
    }

    /// Binds a function by its prototype.
    #[allow(clippy::too_many_arguments, reason = "what the Python half knows, once")]
    fn _bind(
        &self,
        py: Python<'_>,
        name: &str,
        prototype: &str,
        version: Option<(u16, u16)>,
        rebind: bool,
        wait: &Bound<'_, PyAny>,
        time_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Called> {
        let mut query = match version {
            Some((major, minor)) => Query::new(name, Version::new(major, minor)),
            None => Query::newest(name),
        };
        if rebind {
            query = query.rebinds();
        }
        if let Some(limit) = time_limit.map(values::seconds).transpose()? {
            query = query.time_limit(limit);
        }
        let function = ask_in_slices(
            py,
            name,
            Some(wait),
            |slice| self.0.bind(&query.clone().wait(slice), prototype),
            |error| errors::remote(py, error, None),
        )?;
        let signature = function.signature();
        let kind = |kind: &Type| match kind {
            // (Structures are their bytes here, and arrays buffers.)
            Type::Struct(_) | Type::Pointer => Ok(Kind::Nothing),
            kind => Kind::new(kind, "", None),
        };
        let kinds = signature.parameters.iter().map(kind).collect::<PyResult<_>>()?;
        Ok(Called { kinds, answer: kind(&signature.result)?, function })
    }
}

/// A function of another process; `lockgate.Remote.bind` makes it. What it returns, and writes to buffers, is the other process's word: check it.
#[pyclass(frozen, name = "RemoteFunction", module = "lockgate._native")]
pub struct Called {
    function: RemoteFunction,
    kinds: Vec<Kind>,
    answer: Kind,
}

/// An argument while the call is made: another thread of the program's may change what it was made of.
enum Given {
    Value(Value),
    Read(Vec<u8>),
    Written(View, Vec<u8>),
}

#[pymethods]
impl Called {
    /// The name by which it was bound.
    #[getter]
    fn name(&self) -> &str {
        self.function.name()
    }

    /// The prototype, with typedefs resolved.
    #[getter]
    fn prototype(&self) -> String {
        self.function.signature().to_string()
    }

    /// The name of its domain, as the other process says.
    #[getter]
    fn domain(&self) -> &str {
        self.function.domain_name()
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.RemoteFunction {} of {}>", self.function.name(), self.function.domain_name())
    }

    #[pyo3(signature = (*arguments))]
    fn __call__<'py>(&self, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let (given, wanted) = (arguments.len(), self.kinds.len());
        if given != wanted {
            return Err(errors::plain(
                py,
                "ArgumentError",
                &format_args!("{} takes {wanted} arguments, {given} were given", self.function.signature()),
            ));
        }
        let mut given = Vec::with_capacity(given);
        for (number, value) in arguments.iter().enumerate() {
            given.push(self.given(number, &value).map_err(|error| self.explained(py, number, error))?);
        }
        let mut raised = None;
        let result = detach(py, || {
            let data = given.iter_mut().map(|given| match given {
                Given::Value(value) => Data::Value(value.clone()),
                Given::Read(bytes) => Data::Read(bytes),
                Given::Written(_, bytes) => Data::Written(bytes),
            });
            // The program's own handlers of signals run meanwhile, Ctrl-C among them.
            let mut goes_on = || {
                raised = attach(|py| py.check_signals()).err();
                raised.is_none()
            };
            self.function.call_while(&mut data.collect::<Vec<_>>(), &mut goes_on)
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let result = result.map_err(|error| errors::remote(py, error, Some(&self.function)))?;
        for (number, given) in given.into_iter().enumerate() {
            if let Given::Written(mut view, bytes) = given {
                if view.has_moved(py) {
                    let what = "what it was copied from has another place now: the call was made, and nothing is copied back";
                    return Err(self.explained(py, number, errors::plain(py, "ArgumentError", &what)));
                }
                view.bytes_mut().copy_from_slice(&bytes);
                view.settle();
            }
        }
        match result {
            Value::Struct(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
            value => {
                let words = value.words(&self.function.signature().result).unwrap_or_default();
                self.answer.python(py, words.first().copied().unwrap_or_default(), Vec::new)
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kinds.iter().chain([&self.answer]).try_for_each(|kind| kind.traverse(&visit))
    }
}

impl Called {
    fn given(&self, number: usize, value: &Bound<'_, PyAny>) -> PyResult<Given> {
        let kind = &self.function.signature().parameters[number];
        if let Some(buffer) = self.function.buffers().iter().find(|buffer| buffer.parameter == number) {
            if !buffer.is_written {
                return View::copied(value).map(Given::Read);
            }
            let view = View::of(value)?;
            if !view.is_writable() {
                let what = "the function writes to this array: pass a bytearray, or another buffer that can be written";
                return Err(errors::plain(value.py(), "ArgumentError", &what));
            }
            let bytes = view.bytes().to_vec();
            return Ok(Given::Written(view, bytes));
        }
        Ok(Given::Value(match kind {
            Type::Struct(_) => Value::Struct(View::copied(value)?),
            kind => Value::from_words(&[self.kinds[number].word(value)?], kind),
        }))
    }

    /// The error with the argument that it is about.
    fn explained(&self, py: Python<'_>, number: usize, error: PyErr) -> PyErr {
        // (Not what interrupts the program.)
        if !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let what = format!("argument {} of {}: {}", number + 1, self.function.signature(), error.value(py));
        let explained = errors::plain(py, "ArgumentError", &what);
        explained.set_cause(py, Some(error));
        explained
    }
}

/// Names that other processes may bind, until it is closed.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Served(Mutex<Option<share::Served>>);

#[pymethods]
impl Served {
    #[new]
    fn new(
        py: Python<'_>,
        registry: &Bound<'_, Registry>,
        path: PathBuf,
        names: Vec<(String, Option<String>)>,
        limits: (usize, usize, u32, usize, u64),
    ) -> PyResult<Served> {
        let (clients, clients_of_user, threads, functions, bytes) = limits;
        if [clients as u64, clients_of_user as u64, threads.into(), functions as u64, bytes].contains(&0) {
            return Err(errors::plain(py, "OptionError", &"a limit of clients is 0"));
        }
        let limits = Limits { clients, clients_of_user, threads, functions, bytes };
        let offer =
            names.into_iter().fold(Offer::new().limits(limits), |offer, (name, prototype)| match prototype {
                Some(prototype) => offer.function(name, prototype),
                None => offer.name(name),
            });
        let registry = registry.get().inner();
        let served = detach(py, || share::serve(registry, path, offer));
        served.map(|served| Served(Mutex::new(Some(served)))).map_err(|error| errors::share(py, &error))
    }

    /// Ends it.
    fn _close(&self, py: Python<'_>) {
        let served = locked(&self.0).take();
        detach(py, || drop(served));
    }
}
