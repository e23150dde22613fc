//! Memory files (`memfd_create`): memory of the host's that lies in no window, and is counted here.
//!
//! All memory files of a domain together have at most as many bytes as its memory limit says, besides what that bounds. A file counts with the
//! largest size that it ever had, in whole pages, until it is closed; if it was mapped, a mapping may have all of it beyond that, and it counts as
//! long as the domain is not reset.
use lockgate_kernel::locked;
use lockgate_kernel::without_signals;
use rustix::fd::BorrowedFd;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PAGE: u64 = lockgate_abi::PAGE;

/// One memory file.
#[derive(Debug)]
pub(super) struct MemoryFile {
    /// Bytes of all of the domain's.
    all: Arc<AtomicU64>,
    /// Bytes that this one counts for. Who writes holds it: two that append must not both find the end where it was.
    counted: Mutex<u64>,
    is_mapped: AtomicBool,
}

impl MemoryFile {
    /// An empty one, which counts for a page.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(super) fn new(all: &Arc<AtomicU64>, limit: u64) -> Result<MemoryFile, Errno> {
        let file =
            MemoryFile { all: Arc::clone(all), counted: Mutex::new(0), is_mapped: AtomicBool::new(false) };
        file.grow(1, limit).map_err(|_| Errno::NOMEM)?;
        Ok(file)
    }

    /// Makes room for `size` bytes, before the file has them.
    ///
    /// # Errors
    /// `ENOSPC`.
    pub(super) fn grow(&self, size: u64, limit: u64) -> Result<(), Errno> {
        self.grow_counted(&mut locked(&self.counted), size, limit)
    }

    fn grow_counted(&self, counted: &mut u64, size: u64, limit: u64) -> Result<(), Errno> {
        let size = size.checked_next_multiple_of(PAGE).ok_or(Errno::NOSPC)?;
        let Some(more) = size.checked_sub(*counted) else { return Ok(()) };
        let fits = |all: u64| all.checked_add(more).filter(|all| *all <= limit);
        self.all.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).map_err(|_| Errno::NOSPC)?;
        *counted = size;
        Ok(())
    }

    /// Writes at `position`, or where the description is, or at the end if it `appends`.
    ///
    /// # Errors
    /// `ENOSPC`, or the kernel's.
    pub(super) fn write(
        &self,
        file: BorrowedFd<'_>,
        bytes: &[u8],
        position: Option<u64>,
        appends: bool,
        limit: u64,
    ) -> Result<usize, Errno> {
        let mut counted = locked(&self.counted);
        let place = match position {
            _ if appends => rustix::fs::fstat(file)?.st_size as u64,
            Some(position) => position,
            None => rustix::fs::tell(file)?,
        };
        self.grow_counted(&mut counted, place.saturating_add(bytes.len() as u64), limit)?;
        // (At this place: the description may be elsewhere by now.)
        let written = without_signals(|| rustix::io::pwrite(file, bytes, place))?;
        if position.is_none() {
            rustix::fs::seek(file, SeekFrom::Start(place + written as u64))?;
        }
        Ok(written)
    }

    /// It is about to be mapped: from now on it counts even where it is closed.
    pub(super) fn is_mapped(&self) {
        self.is_mapped.store(true, Ordering::SeqCst);
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if !*self.is_mapped.get_mut() {
            let counted = *self.counted.get_mut().unwrap_or_else(|e| e.into_inner());
            self.all.fetch_sub(counted, Ordering::SeqCst);
        }
    }
}
