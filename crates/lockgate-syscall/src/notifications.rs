//! What a domain is told of files beneath its grants (`inotify`).
//!
//! The kernel has the instance and its watches. A directory may leave the grant while it is watched, moved by the host: what happens there then is
//! none of the domain's business. So each event that has a name is passed on only if the directory is still where it was found. (To hold the directory
//! instead, and ask where it is now, would keep the kernel from telling that it was removed.)
use super::place::Place;
use lockgate_kernel::{Identity, locked};
use rustix::fd::BorrowedFd;
use rustix::fs::inotify::{self, WatchFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicI32;
use std::sync::{Arc, LazyLock, Mutex};

/// Most instances of a domain, and of all domains of the process: the kernel gives the host's user few (`fs.inotify.max_user_instances`, 128).
pub(super) const MOST: i32 = 4;
const MOST_OF_ALL: i32 = 32;

/// Instances of all domains of the process.
static ALL: LazyLock<Arc<AtomicI32>> = LazyLock::new(Arc::default);

/// Bytes of a `struct inotify_event` before its name.
const EVENT: usize = 16;
/// The watch is gone (`IN_IGNORED`).
const IGNORED: u32 = 0x8000;

/// One instance.
#[derive(Debug)]
pub(super) struct Notifications {
    watches: Mutex<BTreeMap<i32, Watched>>,
    /// What it counts for: of the domain, and of all.
    _instances: [Place; 2],
}

#[derive(Debug)]
pub(super) struct Watched {
    /// Absolute in the domain.
    pub(super) path: Vec<u8>,
    pub(super) identity: Identity,
    /// What it counts for: a descriptor, though it is memory of the kernel's.
    pub(super) _place: Place,
}

impl Notifications {
    /// One more.
    ///
    /// # Errors
    /// `EMFILE`: the domains of this process have as many as they may have together.
    pub(super) fn new(instance: Place) -> Result<Self, Errno> {
        let one_of_all = Place::new(&ALL, MOST_OF_ALL)?;
        Ok(Notifications { watches: Mutex::default(), _instances: [instance, one_of_all] })
    }

    /// Watches what `path` leads to, a link to `handle`; the kernel's number for it.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn add(
        &self,
        instance: BorrowedFd<'_>,
        path: &str,
        flags: WatchFlags,
        watched: Watched,
    ) -> Result<i32, Errno> {
        // (A thread that reads meanwhile that the watch is gone finds it here.)
        let mut watches = locked(&self.watches);
        let number = inotify::add_watch(instance, path, flags)?;
        watches.insert(number, watched);
        Ok(number)
    }

    /// Those of the kernel's `events` that the domain may hear of: `is_at` says whether a path of the domain leads to a directory.
    pub(super) fn filter(
        &self,
        instance: BorrowedFd<'_>,
        events: &[u8],
        is_at: impl Fn(Identity, &[u8]) -> bool,
    ) -> Vec<u8> {
        let mut watches = locked(&self.watches);
        let mut heard = Vec::with_capacity(events.len());
        let mut inside = BTreeMap::new();
        let mut rest = events;
        while let Some((head, _)) = rest.split_first_chunk::<EVENT>() {
            let word = |at: usize| super::wire::half(head, at);
            let (number, mask) = (word(0) as i32, word(4));
            let (event, others) = rest.split_at((EVENT + word(12) as usize).min(rest.len()));
            rest = others;
            let has_name = word(12) > 0;
            let is_inside = !has_name
                || watches.get(&number).is_some_and(|Watched { identity, path, .. }| {
                    *inside.entry(number).or_insert_with(|| is_at(*identity, path))
                });
            if mask & IGNORED != 0 {
                watches.remove(&number);
                heard.extend(event);
            } else if is_inside {
                heard.extend(event);
            } else {
                // The domain hears that it is gone.
                let _ = inotify::remove_watch(instance, number);
            }
        }
        heard
    }
}
