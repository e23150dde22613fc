//! Memory of the host that domains can share.
use super::listeners::Listeners;
use super::memory_sys::Memory;
use super::{GrantError, Rights};
use crate::call;
use crate::space::SharedRange;
use lockgate_abi::{PAGE, window};
use rustix::io::Errno;
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Memory that the host can share with domains, whole pages, with the same window offset in all of them.
///
/// The region belongs to the host: it counts against no domain's memory limit. Clones are handles of the same region; grants,
/// slices and rings keep it alive.
#[derive(Debug, Clone)]
pub struct Region(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub memory: Memory,
    pub listeners: Listeners,
    /// Its place in every window. Goes after the mapping of the host and after every grant.
    pub range: SharedRange,
}

impl Region {
    /// A region of at least `length` bytes of zeros: whole pages.
    ///
    /// # Errors
    /// [`GrantError`]: no bytes, or no room in the shared region of windows (1 GiB for all regions together).
    pub fn new(length: u64) -> Result<Region, GrantError> {
        let pages = length.checked_next_multiple_of(PAGE).ok_or(GrantError::NoRoom { length })?;
        Region::make(pages, || Memory::new(pages))
    }

    /// Shares `length` bytes of a memory file (or an ordinary one) from the offset `from`, both whole pages: what the host keeps
    /// in `memfd_create` or `shm_open` memory. The descriptor is duplicated.
    ///
    /// If a process truncates the file, accesses behind its new end are faults in domains and [`GrantError::Lost`] here: seal it
    /// (`F_SEAL_SHRINK`).
    ///
    /// # Errors
    /// [`GrantError`]: the file is not of that kind or not that long, or its descriptor has not the rights.
    pub fn from_file(file: impl AsFd, from: u64, length: u64, rights: Rights) -> Result<Region, GrantError> {
        whole_pages(from, length)?;
        Region::make(length, || Memory::of_file(file.as_fd(), from, length, rights))
    }

    /// Shares host memory that is there already: whole pages of one shared mapping (`mmap` with `MAP_SHARED`, anonymous or
    /// of a file). The pages stay shared if the host unmaps its own mapping.
    ///
    /// Private memory (heap, stacks, static data) cannot be shared: the kernel gives no second address to it, and what
    /// lies next to it in a page would be exposed. Allocate with [`Region::new`], or map a memory file.
    ///
    /// # Safety
    /// Domains will read, and with [`Rights::ReadWrite`] write, these bytes at any time: no reference of Rust's may point to
    /// them while the region lives, and no thread may unmap them before this returns.
    ///
    /// # Errors
    /// [`GrantError`]: the memory is not of that kind, or not the host's.
    pub unsafe fn from_host(at: *mut u8, length: u64, rights: Rights) -> Result<Region, GrantError> {
        whole_pages(at as u64, length)?;
        // SAFETY: the caller's promise.
        Region::make(length, || unsafe { Memory::of_host(at.cast::<c_void>(), length, rights) })
    }

    fn make(length: u64, memory: impl FnOnce() -> Result<Memory, GrantError>) -> Result<Region, GrantError> {
        if length == 0 {
            return Err(GrantError::Empty);
        }
        // Copies survive what files do only with our handlers installed.
        call::prepare()?;
        let range = SharedRange::take(length).ok_or(GrantError::NoRoom { length })?;
        Ok(Region(Arc::new(Shared { memory: memory()?, listeners: Listeners::new(), range })))
    }

    /// Bytes: whole pages.
    pub fn length(&self) -> u64 {
        self.0.memory.length()
    }

    /// Offset of the first byte in every window of this process that has it: a forked child's windows have it elsewhere.
    pub fn offset(&self) -> u64 {
        self.0.range.start().unwrap_or(window::SHARED_END)
    }

    /// What the host may do with it, and the most that it can grant.
    pub fn rights(&self) -> Rights {
        self.0.memory.rights()
    }

    /// Where the host has it mapped as long as a handle of the region lives, for host code that works in place. Domains may
    /// change the bytes at any time: copy before you check ([`Region::slice`] does).
    pub fn host_address(&self) -> *mut u8 {
        self.0.memory.address()
    }

    /// Sleeps while the word at byte `at` is `value`, until it is woken: by a domain that may write to the region, with `FUTEX_WAKE` (not private), by
    /// the host with [`wake`](Region::wake), or by another process that has the same memory. False when `timeout` is over (none: never). Signals end it,
    /// too: look at the word again in any case. A domain may change the word without a wake: give a timeout where that matters.
    ///
    /// # Errors
    /// [`GrantError::Range`] for what is no aligned word of the region, [`GrantError::Lost`].
    pub fn wait(&self, at: u64, value: u32, timeout: Option<Duration>) -> Result<bool, GrantError> {
        self.memory().wait(self.part::<u32>(at, 1)?, value, timeout)
    }

    /// Wakes all who sleep at the word at byte `at`: threads of the host, of domains, and of other processes. Returns how many those were. Async-signal-safe it is
    /// not.
    ///
    /// # Errors
    /// As for [`wait`](Region::wait).
    pub fn wake(&self, at: u64) -> Result<usize, GrantError> {
        let at = self.part::<u32>(at, 1)?;
        self.wake_some(at, usize::MAX).map_err(|error| match error {
            Errno::FAULT => GrantError::Lost { at, size: 4, rights: Rights::Read },
            error => GrantError::system("wake who sleeps at a word of the region")(error),
        })
    }

    /// Has an eventfd (with `EFD_NONBLOCK`) told whenever the word at byte `at` is woken, by a domain or by [`wake`](Region::wake), and no longer with
    /// `None`: for hosts that wait for many things at once. The descriptor is duplicated. One for each word; not for wakes by other processes.
    ///
    /// # Errors
    /// [`GrantError::Range`], [`GrantError::Event`].
    pub fn notify(&self, at: u64, event: Option<BorrowedFd<'_>>) -> Result<(), GrantError> {
        self.0.listeners.set(self.part::<u32>(at, 1)?, event)
    }

    /// Wakes so many that sleep at the word at byte `at`, a multiple of 4, and tells the listener.
    pub(crate) fn wake_some(&self, at: u64, most: usize) -> Result<usize, Errno> {
        let woken = self.memory().wake(at, most)?;
        self.0.listeners.tell(at);
        Ok(woken)
    }

    /// `at` if `count` values of `T` lie there, aligned.
    pub(super) fn part<T>(&self, at: u64, count: u64) -> Result<u64, GrantError> {
        let length = self.length();
        let size = count.saturating_mul(size_of::<T>() as u64);
        match at.checked_add(size) {
            Some(end) if end <= length && at.is_multiple_of(align_of::<T>() as u64) => Ok(at),
            _ => Err(GrantError::Range { at, size, length }),
        }
    }

    /// # Errors
    /// [`GrantError::NoRoom`] in a forked child whose windows have none.
    pub(super) fn place(&self) -> Result<u64, GrantError> {
        self.0.range.start().ok_or(GrantError::NoRoom { length: self.length() })
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.0.memory
    }
}

fn whole_pages(at: u64, length: u64) -> Result<(), GrantError> {
    if at.is_multiple_of(PAGE) && length.is_multiple_of(PAGE) {
        Ok(())
    } else {
        Err(GrantError::Unaligned { at, length })
    }
}
