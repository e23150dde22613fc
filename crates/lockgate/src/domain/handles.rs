//! Handles: how domains name objects of others.
use super::api::Domain;
use crate::handle::{self, Handle, HandleError, HandleRights, ObjectInUse, Party};

impl Domain {
    fn with_party<R>(&self, f: impl FnOnce(Party<'_>) -> R) -> Result<R, HandleError> {
        let core = self.core();
        if core.is_inherited() {
            return Err(HandleError::Forked { domain: core.name().to_owned() });
        }
        Ok(f(Party { id: core.id(), name: core.name(), is_killed: &|| core.is_killed() }))
    }

    /// Gives `holder` a handle for an object of this domain: `object` is a number that this domain knows it by, for example its address, which
    /// the holder never learns. The handle ends when the holder releases it or ends, when this domain revokes it or ends, and with a reset
    /// of either.
    ///
    /// # Errors
    /// [`HandleError::TooMany`], [`HandleError::TooManyObjects`], [`HandleError::NoType`], [`HandleError::Ended`], [`HandleError::Forked`].
    pub fn give_handle(
        &self,
        holder: &Domain,
        kind: u16,
        object: u64,
        rights: HandleRights,
    ) -> Result<Handle, HandleError> {
        self.with_party(|owner| {
            holder.with_party(|holder| handle::give(owner, holder, kind, object, rights))
        })??
    }

    /// The object of this domain that `holder` names by `handle`, if it is of type `kind` and the holder has the right to use it and
    /// `rights`. The object is not told as released before the result is dropped.
    ///
    /// # Errors
    /// [`HandleError::Unknown`], [`HandleError::Gone`], [`HandleError::NotOwner`], [`HandleError::Type`], [`HandleError::Rights`],
    /// [`HandleError::Ended`], [`HandleError::Forked`].
    pub fn resolve_handle(
        &self,
        holder: &Domain,
        handle: Handle,
        kind: u16,
        rights: HandleRights,
    ) -> Result<ObjectInUse, HandleError> {
        self.with_party(|owner| {
            holder.with_party(|holder| handle::resolve(owner, holder, handle, kind, rights))
        })??
    }

    /// Gives `to` a handle for the object of a handle that this domain holds, with the same rights or fewer.
    ///
    /// # Errors
    /// [`HandleError::Rights`] if this domain may not pass it on, or has not all of `rights`; [`HandleError::TooDeep`]; as for
    /// [`Domain::give_handle`].
    pub fn pass_handle_on(
        &self,
        handle: Handle,
        to: &Domain,
        rights: HandleRights,
    ) -> Result<Handle, HandleError> {
        self.with_party(|giver| to.with_party(|to| handle::pass_on(giver, handle, to, rights)))??
    }

    /// Gives a handle back that this domain holds. Those to whom it has passed it on keep theirs.
    ///
    /// # Errors
    /// [`HandleError::Unknown`], [`HandleError::Gone`], [`HandleError::Forked`].
    pub fn release_handle(&self, handle: Handle) -> Result<(), HandleError> {
        self.with_party(|holder| handle::release(holder, handle))?
    }

    /// Takes away a handle of `holder`, and all that were passed on from it, if this domain owns the object or has given the handle. In force
    /// when it returns; a use that has begun goes on.
    ///
    /// # Errors
    /// [`HandleError::NotGiver`], [`HandleError::Unknown`], [`HandleError::Gone`], [`HandleError::Forked`].
    pub fn revoke_handle(&self, holder: &Domain, handle: Handle) -> Result<(), HandleError> {
        self.with_party(|giver| holder.with_party(|holder| handle::revoke(giver, holder, handle)))??
    }

    /// Types and numbers of this domain's objects that no domain holds and no call uses any more: each is told once.
    pub fn take_released(&self) -> Vec<(u16, u64)> {
        self.with_party(handle::take_released).unwrap_or_default()
    }

    /// How many handles this domain holds.
    pub fn held_handles(&self) -> usize {
        self.with_party(handle::held).unwrap_or_default()
    }
}
