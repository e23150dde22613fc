//! A thread's places on the stacks of domains: the slot table, which proxies read, and gates write.
use super::layout::{NO_DOMAIN, WHOSE};
use super::mapping_sys::Mapping;
use crate::space::MAX_STRIDES;
use rustix::io::Errno;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// In a record, in place of a place in a domain.
pub(super) const GONE: u64 = 0;

/// The slot table of a thread, behind the word that says whose it is.
pub(super) struct Places(Mapping);

impl Places {
    /// Without a place in any domain. Children of `fork` find zeros, and take the slow path into each domain before they have noticed what they are.
    pub fn new() -> Result<Places, Errno> {
        let table = Mapping::new((WHOSE + NO_DOMAIN) as usize + size_of::<u64>())?;
        table.wipe_in_children()?;
        let places = Places(table);
        // SAFETY: the first word of the new mapping.
        unsafe { places.table().byte_sub(WHOSE as usize).write(1) };
        Ok(places)
    }

    /// The entry of domain 0, which the others follow.
    pub fn table(&self) -> *mut u64 {
        self.0.start().wrapping_byte_add(WHOSE as usize).cast()
    }

    /// The entry of a domain.
    fn entry(&self, id: u32) -> *mut u64 {
        assert!((id as usize) < MAX_STRIDES);
        self.table().wrapping_add(id as usize)
    }

    /// Control rsp of the thread's next entry into domain `id`, or 0.
    pub fn of(&self, id: u32) -> u64 {
        // SAFETY: inside the table.
        unsafe { ptr::read_volatile(self.entry(id)) }
    }

    pub fn set(&self, id: u32, rsp: u64) {
        // SAFETY: inside the table. Another thread writes only when it ends the domain, which no thread calls then.
        unsafe { ptr::write_volatile(self.entry(id), rsp) }
    }

    /// Makes of the entry what `change` says, unless that says nothing.
    pub fn change(&self, id: u32, change: impl FnMut(u64) -> Option<u64>) {
        // SAFETY: an aligned word of the table, which lives as long as this does; another thread may leave the domain now.
        let entry = unsafe { AtomicU64::from_ptr(self.entry(id)) };
        let _ = entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    }

    /// The entry becomes what a gate's record has as its `place`, unless that is [`GONE`], or the entry 0.
    pub fn give_back(&self, id: u32, place: &u64) {
        // SAFETY: an aligned word of the array of records, which another thread that takes the domain away may write now.
        let place = unsafe { AtomicU64::from_ptr(ptr::from_ref(place).cast_mut()) };
        self.change(id, |now| match place.load(Ordering::Acquire) {
            GONE => None,
            place => (now != 0).then_some(place),
        });
    }
}
