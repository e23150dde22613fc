//! Descriptors that become readable when a word of a region is woken, for hosts that wait for many things at once.
use super::GrantError;
use crate::host::PerProcess;
use rustix::fs::{OFlags, fcntl_getfl};
use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most words of one region.
const MOST: usize = 64;

/// By word, the descriptor that is told. (A forked child has none: its wakes are told where it asks for that.)
pub(super) struct Listeners(PerProcess<Mutex<BTreeMap<u64, OwnedFd>>>);

impl Listeners {
    pub fn new() -> Listeners {
        Listeners(PerProcess::new(Mutex::default))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, OwnedFd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `event` told of wakes at the word `at`, instead of what was before; or nothing.
    pub fn set(&self, at: u64, event: Option<BorrowedFd<'_>>) -> Result<(), GrantError> {
        let Some(event) = event else {
            self.lock().remove(&at);
            return Ok(());
        };
        let ask = |error| GrantError::system("ask what the descriptor is")(error);
        let link = std::fs::read_link(format!("/proc/self/fd/{}", event.as_raw_fd()));
        if !link.is_ok_and(|name| name.as_os_str() == "anon_inode:[eventfd]") {
            return Err(GrantError::Event { what: "it is no eventfd" });
        }
        // Domains wake: what they make the host do is never to wait.
        if !fcntl_getfl(event).map_err(ask)?.contains(OFlags::NONBLOCK) {
            return Err(GrantError::Event { what: "it was made without EFD_NONBLOCK" });
        }
        let kept = event.try_clone_to_owned();
        let kept = kept.map_err(|source| GrantError::System { what: "keep the descriptor", source })?;
        let mut all = self.lock();
        if all.len() >= MOST && !all.contains_key(&at) {
            return Err(GrantError::Event { what: "the region has as many as it can have" });
        }
        all.insert(at, kept);
        Ok(())
    }

    /// The word was woken.
    pub fn tell(&self, at: u64) {
        if let Some(event) = self.lock().get(&at) {
            // It fails only when its counter is full, and then it is readable already.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}
