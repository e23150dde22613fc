//! Numbers of the library's own descriptors.
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// One to keep, with a number above those of the process's streams.
///
/// A process that has closed one of these gets its number for the next file that is opened. Code that means that stream by its number,
/// such as a host that grants a domain the standard streams, must not find a file of the library's or of another domain there.
///
/// # Errors
/// The kernel's: no descriptors.
pub fn kept(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    const STREAMS: i32 = 3;
    match descriptor.as_raw_fd() {
        0..STREAMS => fcntl_dupfd_cloexec(&descriptor, STREAMS),
        _ => Ok(descriptor),
    }
}
