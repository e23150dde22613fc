//! Grants: rights of domains on regions.
use crate::buffer_sys::Region;
use crate::domain::Domain;
use crate::{errors, options};
use lockgate::GrantError;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// A grant that its domain keeps until it is revoked, or the domain is reset or closed.
#[derive(Clone)]
pub struct Held {
    grant: Arc<Mutex<Option<lockgate::Grant>>>,
    host: usize,
    length: usize,
    offset: u64,
}

impl Held {
    pub fn new(grant: lockgate::Grant) -> Held {
        let region = grant.region();
        let (host, length, offset) =
            (region.host_address() as usize, region.length() as usize, region.offset());
        Held { grant: Arc::new(Mutex::new(Some(grant))), host, length, offset }
    }

    fn lock(&self) -> MutexGuard<'_, Option<lockgate::Grant>> {
        self.grant.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Does something with the grant.
    ///
    /// # Errors
    /// What `act` says, and [`GrantError::Revoked`].
    pub fn with<T>(
        &self,
        act: impl FnOnce(&lockgate::Grant) -> Result<T, GrantError>,
    ) -> Result<T, GrantError> {
        match &*self.lock() {
            Some(grant) => act(grant),
            None => Err(GrantError::Revoked { offset: self.offset }),
        }
    }

    /// The domain's address of byte `at`.
    ///
    /// # Errors
    /// As [`lockgate::Grant::pointer`].
    pub fn address(&self, at: u64) -> Result<u64, GrantError> {
        self.with(|grant| grant.pointer::<u8>(at)).map(lockgate::Pointer::address)
    }

    /// The domain's address of `length` bytes at `address` of the host, if they all lie in it.
    pub fn translate(&self, address: usize, length: usize) -> Option<u64> {
        let at = address.checked_sub(self.host)?;
        let inside = length > 0 && at.checked_add(length)? <= self.length;
        inside.then(|| self.address(at as u64).ok()).flatten()
    }

    /// True if it is of the region at `offset`, and still there.
    pub fn is_of(&self, offset: u64) -> bool {
        self.offset == offset && self.is_alive()
    }

    /// False once it is revoked.
    pub fn is_alive(&self) -> bool {
        self.with(lockgate::Grant::rights).is_ok()
    }

    /// Takes it back.
    pub fn revoke(&self) {
        let grant = self.lock().take();
        drop(grant);
    }
}

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
        self.held
            .with(lockgate::Grant::rights)
            .map(options::letters)
            .map_err(|error| errors::grant(py, error))
    }

    /// The domain's address of a byte of the region.
    #[pyo3(signature = (at=0))]
    fn address(&self, py: Python<'_>, at: u64) -> PyResult<u64> {
        self.held.address(at).map_err(|error| errors::grant(py, error))
    }

    /// Takes rights away, from here and from all domains that have it from here.
    fn downgrade(&self, py: Python<'_>, rights: &str) -> PyResult<()> {
        let rights = options::rights(py, rights)?;
        self.held.with(|grant| grant.downgrade(rights)).map_err(|error| errors::grant(py, error))
    }

    /// Gives the region to another domain, too, with these rights or fewer; that ends with this grant.
    #[pyo3(signature = (domain, rights="rw"))]
    fn pass_on(&self, domain: &Bound<'_, Domain>, rights: &str) -> PyResult<Grant> {
        let py = domain.py();
        let (rights, live) = (options::rights(py, rights)?, domain.get().live(py)?);
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
