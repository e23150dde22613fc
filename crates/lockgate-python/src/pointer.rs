//! Pointers into domains, and values that are addresses.
use crate::domain::Domain;
use crate::errors;
use crate::kinds::{Kind, real, single};
use lockgate::Value;
use pyo3::PyTraverseError;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// An address in one instance of a domain. The Python half derives `lockgate.Pointer` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Pointer {
    domain: Py<Domain>,
    /// Of the instance.
    generation: u64,
    address: u64,
}

impl Pointer {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Of the instance ([`Domain::generation`]).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The address, for the domain that it belongs to.
    ///
    /// # Errors
    /// It belongs to another one, or to an instance that is no more.
    pub fn address_for(&self, py: Python<'_>, domain: &Py<Domain>) -> PyResult<u64> {
        if self.domain.is(domain) {
            return self.current(py).map(|()| self.address);
        }
        let text = format!(
            "this pointer is of domain {}, not of {}: share a lockgate.Region",
            self.domain.get().name(),
            domain.get().name()
        );
        Err(PyTypeError::new_err(text))
    }

    fn current(&self, py: Python<'_>) -> PyResult<()> {
        let domain = self.domain.get();
        if domain.generation() == self.generation || domain.is_closed() {
            return Ok(()); // (that it is closed is what its user hears then)
        }
        Err(errors::older(py, domain.name()))
    }
}

#[pymethods]
impl Pointer {
    /// One to what is there now; or, of the instance that `like` is of, to another place.
    #[new]
    #[pyo3(signature = (domain, address, like=None))]
    fn new(domain: Py<Domain>, address: u64, like: Option<&Bound<'_, Pointer>>) -> Pointer {
        let generation = like.map_or_else(|| domain.get().generation(), |like| like.get().generation);
        Pointer { domain, generation, address }
    }

    /// # Errors
    /// It is of an instance that is no more.
    fn _check(&self, py: Python<'_>) -> PyResult<()> {
        self.current(py)
    }

    /// Which instance it is of.
    #[getter]
    fn _generation(&self) -> u64 {
        self.generation
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)
    }

    /// The domain.
    #[getter]
    fn domain(&self, py: Python<'_>) -> Py<Domain> {
        self.domain.clone_ref(py)
    }

    /// The address, as the module sees it.
    #[getter(address)]
    fn get_address(&self) -> u64 {
        self.address
    }
}

/// An address that the value is already: None, a number, a pointer of the domain; None if it is something else.
///
/// # Errors
/// A number that is no address.
#[inline]
pub fn address(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if value.is_none() {
        return Ok(Some(0));
    }
    if value.is_instance_of::<PyInt>() {
        return value.extract().map(Some);
    }
    Ok(value.cast::<Pointer>().ok().map(|pointer| pointer.get().address()))
}

impl Kind {
    /// The runtime's value of what a callback returned.
    ///
    /// # Errors
    /// It is not of this kind, or does not fit.
    pub fn value(&self, result: &Bound<'_, PyAny>) -> PyResult<Value> {
        Ok(match self {
            Kind::Nothing => Value::Void,
            Kind::Integer { signed: true, .. } => Value::Signed(self.word(result)? as i64),
            Kind::Integer { .. } | Kind::Bool => Value::Unsigned(self.word(result)?),
            Kind::Char => Value::Signed(i64::from(self.word(result)? as i8)),
            Kind::Float => Value::Float(single(result)?),
            Kind::Double => Value::Double(real(result)?),
            Kind::Pointer { .. } => Value::Pointer(address(result)?.ok_or_else(|| {
                PyTypeError::new_err(
                    "a callback returns None, an address or a lockgate.Pointer for a pointer",
                )
            })?),
            Kind::Struct { .. } => Value::Struct(result.extract()?),
        })
    }
}
