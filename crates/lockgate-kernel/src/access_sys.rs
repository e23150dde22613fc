//! `faccessat2` of an open handle, which rustix does not offer.
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// Fails if the host process may not do `mode` (`R_OK` and the like) with the file behind `handle`.
pub fn access_of_handle(handle: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    // SAFETY: the descriptor is open, the empty path is zero-terminated, and the call writes nothing.
    let result = unsafe {
        libc::syscall(libc::SYS_faccessat2, handle.as_raw_fd(), c"".as_ptr(), mode, libc::AT_EMPTY_PATH)
    };
    match result {
        0 => Ok(()),
        _ => Err(crate::last_error()),
    }
}
