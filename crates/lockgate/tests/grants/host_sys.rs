//! What the tests need of the host's own memory.
use lockgate::{GrantError, Region, Rights};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// A mapping of the host's own, until it is dropped.
pub struct Mapping {
    at: *mut u8,
    length: usize,
}

impl Mapping {
    fn new(length: usize, flags: i32, fd: i32) -> Mapping {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, fd, 0) };
        assert_ne!(at, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapping { at: at.cast(), length }
    }

    /// Anonymous, shared.
    pub fn shared(length: usize) -> Mapping {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    /// Anonymous, private.
    pub fn private(length: usize) -> Mapping {
        Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// A file, shared.
    pub fn of_file(file: BorrowedFd<'_>, length: usize) -> Mapping {
        Mapping::new(length, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Address of byte `at`.
    pub fn address(&self, at: usize) -> *mut u8 {
        self.at.wrapping_add(at)
    }

    /// Shares a part of it, whole pages.
    pub fn share(&self, at: usize, length: u64, rights: Rights) -> Result<Region, GrantError> {
        share(self.address(at), length, rights)
    }

    /// The word at byte `at`.
    pub fn word(&self, at: usize) -> i64 {
        assert!(at + 8 <= self.length);
        // SAFETY: inside the mapping, aligned by the caller; no reference is made.
        unsafe { self.address(at).cast::<i64>().read_volatile() }
    }

    /// Sets the word at byte `at`.
    pub fn set_word(&self, at: usize, word: i64) {
        assert!(at + 8 <= self.length);
        // SAFETY: as in `word`.
        unsafe { self.address(at).cast::<i64>().write_volatile(word) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `new`.
        unsafe { libc::munmap(self.at.cast(), self.length) };
    }
}

/// Shares host memory to which no reference of Rust's points.
pub fn share(at: *mut u8, length: u64, rights: Rights) -> Result<Region, GrantError> {
    // SAFETY: tests reach such memory through raw pointers only, and keep it mapped meanwhile.
    unsafe { Region::from_host(at, length, rights) }
}

/// A word of a region where the host has it mapped.
pub fn word(region: &Region, at: u64) -> i64 {
    assert!(at + 8 <= region.length() && at.is_multiple_of(8));
    // SAFETY: inside the mapping, which lives as long as the region.
    unsafe { region.host_address().add(at as usize).cast::<i64>().read_volatile() }
}
