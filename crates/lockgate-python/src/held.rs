//! Grants as domains of Python's keep them.
use lockgate::GrantError;
use lockgate_kernel::locked;
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
        locked(&self.grant)
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
