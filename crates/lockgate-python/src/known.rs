//! The objects of Python's for domains, by where their instances lie.
use lockgate_kernel::locked;
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Python's domains by the bases of their instances. Only taken with the GIL, and no object of Python's is made or dropped
/// under it.
static KNOWN: Mutex<BTreeMap<u64, Py<PyWeakrefReference>>> = Mutex::new(BTreeMap::new());

fn known() -> MutexGuard<'static, BTreeMap<u64, Py<PyWeakrefReference>>> {
    locked(&KNOWN)
}

/// From now on, calls of the host by the instance at `base` come from this domain.
///
/// # Errors
/// No memory.
pub fn know(domain: &Bound<'_, PyAny>, base: u64) -> PyResult<()> {
    let reference = PyWeakrefReference::new(domain)?.unbind();
    let before = known().insert(base, reference);
    drop(before); // after the lock
    Ok(())
}

/// Before the instance at `base` goes: another one may come to lie there. For the caller to drop.
pub fn forget(base: u64) -> Option<Py<PyWeakrefReference>> {
    known().remove(&base)
}

/// The object for the instance at `base`, if there is one still.
pub fn find(py: Python<'_>, base: u64) -> Option<Bound<'_, PyAny>> {
    let reference = known().get(&base).map(|reference| reference.clone_ref(py))?;
    reference.bind(py).upgrade()
}
