//! The host's handles of what domains have.
use super::book::{Allowed, Key, Window, book};
use super::{GrantError, Region, Rights};
use crate::memory::Pointer;
use crate::space;
use std::sync::Arc;

/// A domain's right on a region. Dropping it revokes it.
#[derive(Debug)]
#[must_use = "a grant that is dropped is revoked"]
pub struct Grant {
    key: Key,
    /// Tells it from earlier and later grants of the same region to the same domain.
    serial: u64,
    allowed: Arc<Allowed>,
    /// `W`.
    window: u64,
    /// The domain's name.
    domain: String,
    region: Region,
}

impl Grant {
    /// A right from the host.
    pub(crate) fn new(domain: Window<'_>, region: &Region, rights: Rights) -> Result<Grant, GrantError> {
        GrantError::unless_within(rights, region.rights())?;
        let (key, serial, allowed) = book().grant(domain, region, rights, None)?;
        Ok(Grant::of(domain, region, key, serial, allowed))
    }

    fn of(domain: Window<'_>, region: &Region, key: Key, serial: u64, allowed: Arc<Allowed>) -> Grant {
        let (window, domain) = (domain.stride.base(), domain.name.to_owned());
        Grant { key, serial, allowed, window, domain, region: region.clone() }
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What the host allows the domain by this grant now.
    ///
    /// # Errors
    /// [`GrantError::Revoked`].
    pub fn rights(&self) -> Result<Rights, GrantError> {
        self.is_here()?;
        self.allowed.get().ok_or(GrantError::Revoked { offset: self.key.1 })
    }

    /// Address for the domain of the value at byte `at` of the region.
    ///
    /// # Errors
    /// [`GrantError::Range`] if it is not inside the region or not aligned, [`GrantError::Revoked`].
    pub fn pointer<T>(&self, at: u64) -> Result<Pointer<T>, GrantError> {
        self.pointer_for(at, Rights::Read)
    }

    /// The same, if the domain has these rights.
    pub(super) fn pointer_for<T>(&self, at: u64, rights: Rights) -> Result<Pointer<T>, GrantError> {
        GrantError::unless_within(rights, self.rights()?)?;
        let at = self.region.part::<T>(at, 1)?;
        Ok(Pointer::from_address(self.window + self.key.1 + at))
    }

    /// Takes rights away, here and from every domain that has them from here. In force before it returns, also for threads
    /// that are in the domains.
    ///
    /// # Errors
    /// [`GrantError::Upgrade`] if `rights` are more than the grant has, [`GrantError::Revoked`]. [`GrantError::System`]: the kernel could not
    /// lower the rights of some domains, which have lost the region instead.
    pub fn downgrade(&self, rights: Rights) -> Result<(), GrantError> {
        self.is_here()?;
        let mut book = book();
        GrantError::unless_within(rights, book.granted(self.key, self.serial)?)?;
        book.lower(self.key, rights)
    }

    /// The same region, in another window, with these rights or fewer than this grant has.
    ///
    /// # Errors
    /// As [`new`](Grant::new); [`GrantError::Upgrade`], [`GrantError::Revoked`].
    pub(crate) fn pass_on_to(&self, to: Window<'_>, rights: Rights) -> Result<Grant, GrantError> {
        self.is_here()?;
        let mut book = book();
        GrantError::unless_within(rights, book.granted(self.key, self.serial)?)?;
        let (key, serial, allowed) = book.grant(to, &self.region, rights, Some(self.key.0))?;
        drop(book);
        Ok(Grant::of(to, &self.region, key, serial, allowed))
    }

    /// Takes the region away from the domain, and from every domain that has it from here. In force before it returns: a later
    /// access, also by a thread that is in one of the domains now, is a fault of its call.
    pub fn revoke(self) {
        drop(self);
    }

    /// That it is no grant of a parent's.
    fn is_here(&self) -> Result<(), GrantError> {
        if space::is_inherited(self.window) {
            return Err(GrantError::Forked { domain: self.domain.clone() });
        }
        Ok(())
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if self.is_here().is_err() {
            return;
        }
        let mut book = book();
        if book.granted(self.key, self.serial).is_ok() {
            book.revoke(self.key);
        }
    }
}
