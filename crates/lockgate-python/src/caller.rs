//! Which of Python's domains a call of the host comes from.
use crate::domain::Domain;
use crate::known;
use crate::module::Module;
use lockgate::KeptDomain;
use lockgate_kernel::locked;
use pyo3::prelude::*;
use std::sync::Mutex;

fn find<'py>(py: Python<'py>, base: u64) -> Option<Bound<'py, Domain>> {
    let domain = known::find(py, base)?.cast_into::<Domain>().ok()?;
    domain.get().is_at(base).then_some(domain)
}

/// The domain that calls the host, as long as it waits for the answer.
pub struct Caller<'py> {
    domain: Bound<'py, Domain>,
    /// It has no object of its own yet: its constructors run. Or not any more: another instance has taken its place.
    is_lent: bool,
}

impl<'py> Caller<'py> {
    /// The object of Python's for the domain that calls; one that ends with this, if it has none.
    ///
    /// # Errors
    /// No memory.
    pub fn of(py: Python<'py>, domain: &lockgate::Domain) -> PyResult<Caller<'py>> {
        if let Some(domain) = find(py, domain.base()) {
            return Ok(Caller { domain, is_lent: false });
        }
        let lent = Lent(Mutex::new(Some(domain.keep())));
        let class = py.import("lockgate._domain")?.getattr("Domain")?;
        let domain = class.call1((lent,))?.cast_into::<Domain>()?;
        Ok(Caller { domain, is_lent: true })
    }

    pub fn domain(&self) -> &Bound<'py, Domain> {
        &self.domain
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if self.is_lent {
            self.domain.get().leave(self.domain.py());
        }
    }
}

/// What a domain for one call of the host is made of.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Lent(Mutex<Option<KeptDomain>>);

impl Lent {
    /// The runtime's domain, and its module. None the second time.
    pub fn take(&self, py: Python<'_>) -> PyResult<Option<(KeptDomain, Py<Module>)>> {
        let kept = locked(&self.0).take();
        let Some(kept) = kept else { return Ok(None) };
        let module = Py::new(py, Module::from(kept.module().clone()))?;
        Ok(Some((kept, module)))
    }
}
