//! Domains kept ready.
use crate::domain::{Domain, DomainOptions};
use crate::error::CreateError;
use crate::module::Module;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// Domains of one module with the same options, returned to their pristine image between users.
pub struct Pool {
    module: Arc<Module>,
    options: DomainOptions,
    capacity: usize,
    ready: Mutex<Vec<Domain>>,
}

impl Pool {
    /// An empty pool that keeps at most `capacity` domains.
    pub fn new(module: &Arc<Module>, options: DomainOptions, capacity: usize) -> Pool {
        Pool { module: module.clone(), options, capacity, ready: Mutex::default() }
    }

    /// A pristine domain: one that is ready, or a new one.
    ///
    /// # Errors
    /// As [`Domain::new`].
    pub fn take(&self) -> Result<PooledDomain<'_>, CreateError> {
        let ready = self.ready.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let domain = match ready {
            Some(domain) => domain,
            None => Domain::for_pool(&self.module, self.options.clone())?,
        };
        Ok(PooledDomain { pool: self, domain: Some(domain) })
    }

    /// Number of domains that are ready.
    pub fn ready(&self) -> usize {
        self.ready.lock().unwrap_or_else(|e| e.into_inner()).len()
    }
}

/// A domain that goes back to its pool, reset, when it is dropped. Bindings that outlive it keep it from that: it is
/// given up then.
///
/// ```compile_fail,E0596
/// # fn f(pool: &lockgate::Pool) {
/// pool.take().unwrap().reset(); // that is the pool's to do
/// # }
/// ```
pub struct PooledDomain<'a> {
    pool: &'a Pool,
    domain: Option<Domain>,
}

impl Deref for PooledDomain<'_> {
    type Target = Domain;

    fn deref(&self) -> &Domain {
        self.domain.as_ref().expect("present until the drop")
    }
}

impl Drop for PooledDomain<'_> {
    fn drop(&mut self) {
        let Some(mut domain) = self.domain.take() else { return };
        if self.pool.ready() < self.pool.capacity && domain.reset().is_ok() {
            self.pool.ready.lock().unwrap_or_else(|e| e.into_inner()).push(domain);
        }
    }
}
