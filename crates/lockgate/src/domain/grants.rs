//! What domains are given of the host's memory.
use super::api::Domain;
use super::core::Core;
use crate::grant::{Grant, GrantError, Region, Window};
use crate::protection::Rights;

impl Core {
    /// Its window, for grants.
    fn for_grants(&self) -> Window<'_> {
        Window { name: self.name(), stride: self.stride() }
    }
}

impl Domain {
    /// Shares `region` with this domain, until the grant is dropped or the domain is reset or gone.
    ///
    /// # Errors
    /// [`GrantError`]: the domain has the region already, or [`MAX_GRANTS`](crate::grant::MAX_GRANTS) others; the region itself allows less.
    pub fn grant(&self, region: &Region, rights: Rights) -> Result<Grant, GrantError> {
        Grant::new(self.core().for_grants(), region, rights)
    }
}

impl Grant {
    /// Gives the same region to another domain, with these rights or fewer than this grant has. The new grant ends with
    /// this one.
    ///
    /// # Errors
    /// As [`Domain::grant`]; [`GrantError::Upgrade`] if `rights` are more than the grant has, [`GrantError::Revoked`].
    pub fn pass_on(&self, to: &Domain, rights: Rights) -> Result<Grant, GrantError> {
        self.pass_on_to(to.core().for_grants(), rights)
    }
}
