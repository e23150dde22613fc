//! Grants: rights of domains on regions.
use crate::buffer_sys::Region;
use crate::domain::Domain;
use crate::held::Held;
use crate::{errors, values};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

/// A domain's right on a region. As a context manager it is revoked at the end of the block; else when its
/// domain is reset or closed.
#[pyclass(frozen, module = "lockgate")]
pub struct Grant {
    held: Held,
    domain: Py<Domain>,
    region: Py<Region>,
}

impl Grant {
    pub fn new(held: Held, domain: Py<Domain>, region: Py<Region>) -> Grant {
        Grant { held, domain, region }
    }

    /// Where the region starts for `domain`, which must be the one that has the grant.
    pub fn address_for(&self, py: Python<'_>, domain: &Py<Domain>) -> PyResult<u64> {
        if !self.domain.is(domain) {
            let text = "this grant is another domain's: pass_on() gives the region to this one, too";
            return Err(pyo3::exceptions::PyTypeError::new_err(text));
        }
        self.held.address(0).map_err(|error| errors::grant(py, error))
    }
}

#[pymethods]
impl Grant {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)
    }

    /// The domain.
    #[getter]
    fn domain(&self, py: Python<'_>) -> Py<Domain> {
        self.domain.clone_ref(py)
    }

    /// The region.
    #[getter]
    fn region(&self, py: Python<'_>) -> Py<Region> {
        self.region.clone_ref(py)
    }

    /// What the domain may do now: "r" or "rw".
    #[getter]
    fn rights(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.held.with(lockgate::Grant::rights).map(values::letters).map_err(|error| errors::grant(py, error))
    }

    /// The domain's address of a byte of the region.
    #[pyo3(signature = (at=0))]
    fn address(&self, py: Python<'_>, at: u64) -> PyResult<u64> {
        self.held.address(at).map_err(|error| errors::grant(py, error))
    }

    /// Takes rights away, from here and from all domains that have it from here.
    fn downgrade(&self, py: Python<'_>, rights: &str) -> PyResult<()> {
        let rights = values::rights(py, rights)?;
        self.held.with(|grant| grant.downgrade(rights)).map_err(|error| errors::grant(py, error))
    }

    /// Gives the region to another domain, too, with these rights or fewer; that ends with this grant.
    #[pyo3(signature = (domain, rights="rw"))]
    fn pass_on(&self, domain: &Bound<'_, Domain>, rights: &str) -> PyResult<Grant> {
        let py = domain.py();
        let (rights, live) = (values::rights(py, rights)?, domain.get().live(py)?);
        let grant = self.held.with(|grant| grant.pass_on(&live, rights));
        let held = domain.get().hold(grant.map_err(|error| errors::grant(py, error))?);
        Ok(Grant::new(held, domain.clone().unbind(), self.region.clone_ref(py)))
    }

    /// Takes the region away from the domain, and from all that have it from here, before it returns.
    fn revoke(&self, py: Python<'_>) -> PyResult<()> {
        self.domain.get().here(py)?;
        self.held.revoke();
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        // In a forked child, what ended the block is what its user should hear of.
        if self.domain.get().here(py).is_ok() {
            self.held.revoke();
        }
    }
}
