//! One file per system call or close family. Each function takes the raw registers, copies what they
//! point to once, and answers with rax.
mod access_sys;
pub(super) mod attributes;
pub(super) mod brk;
pub(super) mod clock;
pub(super) mod cwd;
mod deadly_sys;
pub(super) mod dup;
pub(super) mod exit;
pub(super) mod fcntl;
pub(super) mod functions;
pub(super) mod futex;
pub(super) mod getdents;
pub(super) mod identity;
pub(super) mod limits;
pub(super) mod lock;
mod lock_sys;
pub(super) mod mmap;
pub(super) mod names;
pub(super) mod open;
pub(super) mod pipe;
pub(super) mod poll;
pub(super) mod random;
pub(super) mod read_write;
pub(super) mod readlink;
pub(super) mod seek;
pub(super) mod signal;
pub(super) mod sleep;
pub(super) mod stat;
pub(super) mod sync;
pub(super) mod system;
pub(super) mod terminal;
pub(super) mod thread;
pub(super) mod timer;
pub(super) mod truncate;

use rustix::io::Errno;

/// The error of the libc call that has just failed.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
