//! Domains kept ready.
use crate::callback::{self, Import};
use crate::interpreter_sys::detach;
use crate::live::Live;
use crate::module::Module;
use crate::offer::Answer;
use crate::{errors, options, values};
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, MutexGuard};

/// The runtime's pool. The Python half derives `lockgate.Pool` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Pool {
    module: Py<Module>,
    capacity: usize,
    exclusive: bool,
    /// What answers imports of its domains.
    answers: Mutex<Vec<Py<Answer>>>,
    /// None once it is closed.
    inner: Mutex<Option<Arc<lockgate::Pool>>>,
}

impl Pool {
    fn inner(&self) -> Option<Arc<lockgate::Pool>> {
        locked(&self.inner).clone()
    }

    /// Only taken with the GIL, and nothing is allocated under it.
    fn answers(&self) -> MutexGuard<'_, Vec<Py<Answer>>> {
        locked(&self.answers)
    }

    /// True if its domains have one caller at a time.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// A pristine domain, and its module.
    ///
    /// # Errors
    /// The pool is closed; as for any domain.
    pub fn take(&self, py: Python<'_>) -> PyResult<(Live, Py<Module>)> {
        let pool = self.inner();
        let pool = pool.ok_or_else(|| errors::plain(py, "Closed", &"the pool is closed; make a new one"))?;
        let taken = detach(py, || pool.take_shared()).map_err(|error| errors::create(py, error))?;
        Ok((Live::Pooled(taken, pool), self.module.clone_ref(py)))
    }
}

#[pymethods]
impl Pool {
    #[new]
    fn new(
        module: &Bound<'_, Module>,
        capacity: usize,
        options: &Bound<'_, PyDict>,
        imports: Vec<Import>,
    ) -> PyResult<Pool> {
        let exclusive = values::is_exclusive(options)?;
        let (options, answers) =
            callback::answer(module.py(), options::domain(module.py(), options)?, imports)?;
        let inner = Arc::new(lockgate::Pool::new(module.get().inner(), options, capacity));
        let module = module.clone().unbind();
        Ok(Pool { module, capacity, exclusive, answers: Mutex::new(answers), inner: Mutex::new(Some(inner)) })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.module)?;
        self.answers().iter().try_for_each(|answer| visit.call(answer))
    }

    fn __clear__(&self) {
        let answers = std::mem::take(&mut *self.answers());
        drop(answers); // after the lock: Python objects go
    }

    /// The module, verified once.
    #[getter]
    fn module(&self, py: Python<'_>) -> Py<Module> {
        self.module.clone_ref(py)
    }

    /// Most domains that are kept ready.
    #[getter]
    fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many domains are ready.
    #[getter]
    fn ready(&self) -> usize {
        self.inner().map_or(0, |pool| pool.ready())
    }

    /// Ends the domains that are ready; those in use end when their users have done with them.
    fn close(&self, py: Python<'_>) {
        let pool = locked(&self.inner).take();
        detach(py, || {
            if let Some(pool) = pool {
                pool.clear();
            }
        });
    }
}
