//! Options of sockets by number; rustix has a function for each of some.
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;

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
