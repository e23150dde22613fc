//! Domains kept ready.
use crate::call::signals_sys;
use crate::domain::{Domain, DomainOptions};
use crate::error::CreateError;
use crate::host::{PerProcess, locked};
use crate::module::Module;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

/// Domains of one module with the same options, returned to their pristine image between users.
pub struct Pool {
    module: Arc<Module>,
    options: DomainOptions,
    capacity: usize,
    /// A forked child begins with none.
    ready: PerProcess<Mutex<Vec<Domain>>>,
}

impl Pool {
    /// An empty pool that keeps at most `capacity` domains.
    pub fn new(module: &Arc<Module>, options: DomainOptions, capacity: usize) -> Pool {
        Pool { module: module.clone(), options, capacity, ready: PerProcess::default() }
    }

    /// A pristine domain: one that is ready, or a new one.
    ///
    /// # Errors
    /// As [`Domain::new`].
    pub fn take(&self) -> Result<PooledDomain<&Pool>, CreateError> {
        Ok(PooledDomain { domain: Some(self.next()?), pool: self })
    }

    /// The same for users that no scope holds: the domain keeps the pool.
    ///
    /// # Errors
    /// As [`Domain::new`].
    pub fn take_shared(self: &Arc<Pool>) -> Result<PooledDomain<Arc<Pool>>, CreateError> {
        Ok(PooledDomain { domain: Some(self.next()?), pool: self.clone() })
    }

    fn next(&self) -> Result<Domain, CreateError> {
        signals_sys::look_again();
        let ready = self.domains().pop();
        ready.map_or_else(|| Domain::for_pool(&self.module, self.options.clone()), Ok)
    }

    /// Number of domains that are ready.
    pub fn ready(&self) -> usize {
        self.domains().len()
    }

    /// Ends the domains that are ready.
    pub fn clear(&self) {
        let ended = std::mem::take(&mut *self.domains());
        drop(ended); // after the lock
    }

    /// Keeps a domain, unless there are enough; or gives it back as it is, if it cannot be reset.
    fn keep(&self, mut domain: Domain) -> Result<(), Domain> {
        if domain.reset().is_err() {
            return Err(domain);
        }
        let mut ready = self.domains();
        if ready.len() < self.capacity {
            ready.push(domain);
            return Ok(());
        }
        drop(ready);
        drop(domain); // after the lock
        Ok(())
    }

    fn domains(&self) -> MutexGuard<'_, Vec<Domain>> {
        locked(&self.ready)
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
pub struct PooledDomain<P: Deref<Target = Pool>> {
    pool: P,
    domain: Option<Domain>,
}

impl<P: Deref<Target = Pool>> PooledDomain<P> {
    /// The domain, which does not go back any more.
    pub fn into_domain(mut self) -> Domain {
        self.domain.take().expect("present until the drop")
    }

    /// Gives the domain back now.
    ///
    /// # Errors
    /// The domain, which the pool has given up: it could not be reset, because a call is in progress or a binding is left.
    pub fn give_back(mut self) -> Result<(), Domain> {
        self.domain.take().map_or(Ok(()), |domain| self.pool.keep(domain))
    }
}

impl<P: Deref<Target = Pool>> Deref for PooledDomain<P> {
    type Target = Domain;

    fn deref(&self) -> &Domain {
        self.domain.as_ref().expect("present until the drop")
    }
}

impl<P: Deref<Target = Pool>> Drop for PooledDomain<P> {
    fn drop(&mut self) {
        let Some(domain) = self.domain.take() else { return };
        if self.pool.ready() < self.pool.capacity {
            drop(self.pool.keep(domain));
        }
    }
}
