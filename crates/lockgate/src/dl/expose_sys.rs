//! Memory of the host that a library may reach.
use super::{DlError, Library};
use crate::grant::{Region, Rights};

impl Library {
    /// Exposes host memory, whole pages of one shared mapping ([`Region::from_host`]), to the library. Returns where the library
    /// finds it.
    ///
    /// # Safety
    /// As [`Region::from_host`].
    ///
    /// # Errors
    /// [`DlError::Grant`], [`DlError::Handle`].
    pub unsafe fn expose(self, at: *mut u8, length: u64, rights: Rights) -> Result<u64, DlError> {
        let loaded = self.loaded()?;
        // SAFETY: the caller's promise.
        let region = unsafe { Region::from_host(at, length, rights)? };
        let grant = loaded.domain.grant(&region, rights)?;
        let address = grant.pointer::<u8>(0)?.address();
        loaded.exposed().push((at as u64, grant));
        Ok(address)
    }
}
