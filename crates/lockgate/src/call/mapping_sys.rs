//! Memory that the runtime maps for itself, because the host's allocator gives neither a guard, at which a stack that overflows faults, nor pages
//! that are zero in forked children.
use lockgate_abi::PAGE;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ptr;

/// Memory of the runtime's own, behind a guard, which is inaccessible.
pub(crate) struct Mapping {
    at: *mut c_void,
    guard: usize,
    length: usize,
}

// SAFETY: an address and lengths; who may use what is there is its owner's affair.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// With a page in front.
    pub(super) fn new(length: usize) -> Result<Mapping, Errno> {
        Mapping::behind(PAGE as usize, length)
    }

    /// With a guard of so many bytes, whole pages, in front.
    pub(super) fn behind(guard: usize, length: usize) -> Result<Mapping, Errno> {
        let length = length.checked_add(guard).ok_or(Errno::NOMEM)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { mm::mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags)? };
        let mapping = Mapping { at, guard, length };
        // SAFETY: inside the mapping just made.
        unsafe {
            mm::mprotect(mapping.start(), mapping.size(), MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(mapping)
    }

    /// Children of `fork` find zeros.
    pub(super) fn wipe_in_children(&self) -> Result<(), Errno> {
        // SAFETY: changes nothing here.
        unsafe { mm::madvise(self.start(), self.size(), Advice::LinuxWipeOnFork) }
    }

    /// The lowest address of the guard.
    pub(super) fn guard(&self) -> *mut c_void {
        self.at
    }

    pub(super) fn start(&self) -> *mut c_void {
        self.at.wrapping_byte_add(self.guard)
    }

    pub(super) fn size(&self) -> usize {
        self.length - self.guard
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `behind`, not used any more.
        let done = unsafe { mm::munmap(self.at, self.length) };
        debug_assert!(done.is_ok());
    }
}
