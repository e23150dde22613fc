//! What domains are given of the host's memory.
use super::api::Domain;
use super::core::Core;
use crate::binding::Binding;
use crate::call::{Held, hold};
use crate::grant::{
    Arena, Block, Grant, GrantError, Region, Window, arena_pointer, pass_on_from, rights_at, shared_word,
};
use crate::host::frame_address;
use crate::memory::Pointer;
use crate::protection::Rights;
use lockgate_syscall::Sharing;
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl Core {
    /// Its window, for grants.
    fn for_grants(&self) -> Window<'_> {
        Window { name: self.name(), stride: self.stride() }
    }
}

impl Sharing for Core {
    fn pass_on(&self, import: &str, at: u64, size: u64, writable: bool) -> Result<(), Errno> {
        let rights = if writable { Rights::ReadWrite } else { Rights::Read };
        let imports = &self.module().parsed().imports;
        let slot = imports.iter().find(|one| one.name == import).ok_or(Errno::NOENT)?.slot;
        let binding = self.gates().binding_at(slot).ok_or(Errno::NOENT)?;
        let binding = binding.downcast::<Binding>().map_err(|_| Errno::NOENT)?;
        let to = binding.serving();
        let window = Window { name: to.name(), stride: to.stride() };
        // Whom the host no longer lets it call it gives nothing, either.
        let may = || !to.is_killed() && binding.is_open();
        pass_on_from(self.id(), (at, size), window, rights, may).map_err(|error| match error {
            GrantError::Range { .. } => Errno::FAULT,
            GrantError::Upgrade { .. } => Errno::ACCESS,
            GrantError::Overlap { .. } => Errno::EXIST,
            GrantError::TooMany { .. } => Errno::NOSPC,
            GrantError::Revoked { .. } => Errno::NOENT,
            _ => Errno::NOMEM,
        })
    }

    fn is_shared(&self, at: u64, size: u64, writable: bool) -> Result<(), Errno> {
        match rights_at(self.id(), at, size) {
            Err(_) => Err(Errno::FAULT),
            Ok(Rights::Read) if writable => Err(Errno::ACCESS),
            Ok(_) => Ok(()),
        }
    }

    fn shared_word(&self, at: u64) -> Result<Option<u64>, Errno> {
        match shared_word(self.id(), at) {
            None => Ok(None),
            // Who can only read would take the turn of those who are woken for what they are to do.
            Some((.., Rights::Read)) => Err(Errno::ACCESS),
            Some((.., Rights::ReadWrite)) => Ok(Some(self.stride().base() + at)),
        }
    }

    fn wake_shared(&self, at: u64, most: usize) -> Result<usize, Errno> {
        match shared_word(self.id(), at) {
            Some((region, at, Rights::ReadWrite)) => region.wake_some(at, most),
            _ => Err(Errno::FAULT),
        }
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

impl Arena {
    /// Gives the arena to `domain`, with these rights, until it is shut for the domain or closed, or the domain is reset or gone. It can be
    /// open for several domains with different rights. Costs microseconds.
    ///
    /// # Errors
    /// As [`Domain::grant`]: [`GrantError::Overlap`] if it is open for the domain already. [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn open(&self, domain: &Domain, rights: Rights) -> Result<(), GrantError> {
        self.open_for(domain.core().for_grants(), rights)
    }

    /// Takes the arena away from `domain`. In force when it returns, also for threads that are in the domain. Costs microseconds.
    ///
    /// # Errors
    /// [`GrantError::NotOpen`], [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn shut(&self, domain: &Domain) -> Result<(), GrantError> {
        self.shut_for(domain.core().for_grants())
    }
}

impl Block {
    /// The pointer to its first byte that `domain` uses. It is good until the arena is shut for the domain: what the domain does with it after
    /// the block was freed is done to whatever lies there then.
    ///
    /// # Errors
    /// [`GrantError::NotOpen`]; [`GrantError::Revoked`] if the domain was reset; [`GrantError::Block`] if the arena was.
    pub fn pointer<T>(&self, domain: &Domain) -> Result<Pointer<T>, GrantError> {
        Ok(Pointer::from_address(self.pointer_for(domain.core().for_grants())?.address()))
    }
}

impl Domain {
    /// This domain's pointer to `size` bytes that the host has at `at`, if they lie in one living block of an arena that is open for the
    /// domain with these rights: for callers that have the address alone.
    ///
    /// # Errors
    /// [`GrantError::NotArena`], [`GrantError::Block`] (freed, or never allocated), [`GrantError::Range`] (longer than the block),
    /// [`GrantError::NotOpen`], [`GrantError::Upgrade`], [`GrantError::Revoked`].
    pub fn arena_pointer(&self, at: *const u8, size: u64, rights: Rights) -> Result<Pointer<u8>, GrantError> {
        arena_pointer(self.core().for_grants(), at as u64, size, rights)
    }

    /// Shares `region` with this domain while `call` runs: the grant that `call` gets is revoked before this returns, with all that was passed
    /// on from it, however `call` ends.
    ///
    /// ```no_run
    /// # fn f(parser: &lockgate::Domain, text: &lockgate::Region) -> Result<(), Box<dyn std::error::Error>> {
    /// # use lockgate::{Pointer, Rights};
    /// let parse = parser.bind::<extern "C" fn(Pointer<u8>, u64) -> u64>("parse")?;
    /// let nodes = parser.lend(text, Rights::Read, |lent| parse.call(lent.pointer(0)?, 7).map_err(Box::<dyn std::error::Error>::from))??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`grant`](Domain::grant).
    pub fn lend<R>(
        &self,
        region: &Region,
        rights: Rights,
        call: impl FnOnce(&Grant) -> R,
    ) -> Result<R, GrantError> {
        let lent = self.grant(region, rights)?;
        // (So that no call goes on without it. A thread that cannot be told calls no domain.)
        let lends = Lending::default();
        let _ = hold(frame_address(), lends.0.clone());
        let result = call(&lent);
        lent.revoke();
        drop(lends);
        Ok(result)
    }
}

/// Memory is lent for calls until this goes.
#[derive(Default)]
struct Lending(Arc<Lends>);

impl Drop for Lending {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// What the thread holds for them.
#[derive(Default)]
struct Lends {
    is_over: AtomicBool,
}

impl Held for Lends {
    fn let_go(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}
