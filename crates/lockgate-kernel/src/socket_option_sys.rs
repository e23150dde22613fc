//! Options of sockets by number; rustix has a function for each of some.
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// `getsockopt`: how many bytes of `value` are the option's.
pub fn socket_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: &mut [u8]) -> Result<usize, Errno> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the descriptor is open; the kernel writes at most `length` bytes of the value, and the length.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length) };
    match result {
        0 => Ok(length as usize),
        _ => Err(crate::last_error()),
    }
}

/// `setsockopt`. (Of the options that Lockgate sets none has a pointer in its value.)
pub fn set_socket_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the descriptor is open; the kernel reads the value.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), length) } {
        0 => Ok(()),
        _ => Err(crate::last_error()),
    }
}

/// The process at the other end of a UNIX socket, as it was when the connection was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its number; 0 if it has none in this process's namespace (which a type that cannot be zero does not say).
    pub pid: i32,
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

impl Peer {
    /// Whether it is this process.
    pub fn is_own(&self) -> bool {
        u32::try_from(self.pid) == Ok(std::process::id())
    }

    /// A descriptor that can be read when the process has ended; `None` if it has no number here, or is gone. (Children of its may have the other end of
    /// the socket open then.)
    pub fn process(&self) -> Option<OwnedFd> {
        pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()
    }

    /// Whether the process has ended. One that has no number here counts as one that has not.
    pub fn has_ended(&self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(error) => return error == Errno::SRCH,
        };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// `SO_PEERCRED`.
pub fn peer(socket: BorrowedFd<'_>) -> Result<Peer, Errno> {
    let mut value = [0; 12];
    let length = socket_option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut value)?;
    let word = |at: usize| [0, 1, 2, 3].map(|byte| value[at + byte]);
    match length == value.len() {
        true => Ok(Peer {
            pid: i32::from_ne_bytes(word(0)),
            user: u32::from_ne_bytes(word(4)),
            group: u32::from_ne_bytes(word(8)),
        }),
        false => Err(Errno::INVAL),
    }
}

/// Whether descriptors can be sent to a UNIX socket, where the kernel can refuse them (Linux 6.16): the last close of one may wait for as long as its
/// sender likes, and happens on the thread that receives it.
pub fn takes_descriptors(socket: BorrowedFd<'_>, takes: bool) {
    const SO_PASSRIGHTS: i32 = 83;
    let _ = set_socket_option(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, &i32::from(takes).to_ne_bytes());
}
