//! Pointers into domains, and values that are addresses.
use crate::domain::Domain;
use crate::kinds::{Kind, real, single};
use lockgate::Value;
use pyo3::PyTraverseError;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// An address in a domain. The Python half derives `lockgate.Pointer` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Pointer {
    domain: Py<Domain>,
    address: u64,
}

impl Pointer {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address, for the domain that it belongs to.
    pub fn address_for(&self, domain: &Py<Domain>) -> PyResult<u64> {
        if self.domain.is(domain) {
            return Ok(self.address);
        }
        let text = format!(
            "this pointer is of domain {}, not of {}: share a lockgate.Region",
            self.domain.get().name(),
            domain.get().name()
        );
        Err(PyTypeError::new_err(text))
    }
}

#[pymethods]
impl Pointer {
    #[new]
    fn new(domain: Py<Domain>, address: u64) -> Pointer {
        Pointer { domain, address }
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
