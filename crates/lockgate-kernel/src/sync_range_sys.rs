//! `sync_file_range`, which rustix does not offer.
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// Writes a part of a file out, as `flags` say.
pub fn sync_range(fd: BorrowedFd<'_>, from: i64, length: i64, flags: u32) -> Result<(), Errno> {
    // SAFETY: the descriptor is open, and the call touches no memory of the process's.
    match unsafe { libc::sync_file_range(fd.as_raw_fd(), from, length, flags) } {
        0 => Ok(()),
        _ => Err(crate::last_error()),
    }
}
