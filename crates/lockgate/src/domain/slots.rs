//! Stack slots of a domain: which thread has which, and what the first one keeps while the domain rests.
use crate::host::{Owner, PerProcess};
use rustix::mm::ProtFlags;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rights of stacks, and of the header until it is written.
pub(super) const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Owner of a slot that the kernel would not unmap: no thread has this id.
pub(super) const LOST: i32 = 0;

/// Stack slots of a domain.
#[derive(Default)]
pub(super) struct Slots {
    /// Kernel ids of the threads that own each slot.
    pub(super) owners: Vec<Option<i32>>,
    /// The first slot is ready for a thread: the first thread's storage is in it.
    pub(super) first_parked: bool,
    /// That storage, while the domain rests and its first slot is not mapped.
    pub(super) resting: Option<RestingStorage>,
    /// Bytes that the start block takes at the top of the first slot.
    pub(super) start_block: u64,
}

impl Slots {
    /// How many threads have one.
    pub(super) fn threads(&self) -> u32 {
        self.owners.iter().flatten().filter(|owner| **owner != LOST).count() as u32
    }
}

/// How many [`RestingStorage`] there are: domains at rest.
static RESTING: PerProcess<AtomicUsize> = PerProcess::new(|| AtomicUsize::new(0));

/// The first thread's storage of a domain at rest.
pub(super) struct RestingStorage(pub Vec<u8>, Owner);

impl RestingStorage {
    /// `None` without memory for it: allocation, too, may need a mapping.
    pub(super) fn new(length: usize) -> Option<RestingStorage> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).ok()?;
        bytes.resize(length, 0);
        RESTING.fetch_add(1, Ordering::Relaxed);
        Some(RestingStorage(bytes, Owner::this()))
    }
}

/// How many domains rest.
pub(super) fn resting() -> usize {
    RESTING.load(Ordering::Relaxed)
}

impl Drop for RestingStorage {
    fn drop(&mut self) {
        if self.1.may_drop() {
            RESTING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
