//! Record locks of an open file description (`F_OFD_*`), which rustix does not offer.
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

/// What to do with a record lock.
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Take, change or drop it, without waiting.
    Set,
    /// Find what stands in its way.
    Get,
}

/// Applies `command`. `lock` is in absolute offsets, and `l_pid` is zero, as the kernel insists.
pub fn record_lock(fd: BorrowedFd<'_>, command: Command, lock: &mut libc::flock) -> Result<(), Errno> {
    let command = match command {
        Command::Set => libc::F_OFD_SETLK,
        Command::Get => libc::F_OFD_GETLK,
    };
    // SAFETY: the descriptor is open, and `lock` is a valid flock that both commands may read and write.
    match unsafe { libc::fcntl(fd.as_raw_fd(), command, lock as *mut libc::flock) } {
        0 => Ok(()),
        _ => Err(crate::last_error()),
    }
}
