//! Reads and writes of the kernel's with the window's memory itself, between none of which anything has to be dropped: a handler of the host's may
//! leave them by a jump, or end the thread.
//!
//! They are system calls made here, not libc's: those are cancellation points, and set the thread's `errno`.
use super::Stride;
use lockgate_abi::window;
use lockgate_kernel::NO_SIGNAL;
use lockgate_syscall::{EVENT, Exchange, PARTS};
use rustix::fd::{AsRawFd as _, BorrowedFd};
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, Ordering};

/// `preadv2` and `pwritev2`: where the description is.
const CURRENT: usize = usize::MAX;

/// The kernel has said that it does not know of [`NO_SIGNAL`].
static SENDS_SIGNALS: AtomicBool = AtomicBool::new(false);

impl Stride {
    /// [`lockgate_syscall::Memory::exchange`]; addresses are offsets in the window, or pointers into it.
    ///
    /// # Errors
    /// As there.
    pub fn exchange(&self, how: Exchange, file: BorrowedFd<'_>, parts: &[(u64, u64)]) -> Result<u64, Errno> {
        let mut vector = [[0; 2]; PARTS];
        if parts.is_empty() || parts.len() > PARTS {
            return Err(Errno::NOSYS);
        }
        for (piece, (at, length)) in vector.iter_mut().zip(parts) {
            let length = *length as usize;
            *piece = [self.window_address(at & (window::SIZE - 1), length)? as usize, length];
        }
        let (fd, [at, length]) = (file.as_raw_fd() as usize, vector[0]);
        let (pieces, count) = (vector.as_ptr() as usize, parts.len());
        let is_one = count == 1;
        let no_wait = libc::RWF_NOWAIT as usize;
        let (number, arguments) = match how {
            Exchange::Read if is_one => (libc::SYS_read, [fd, at, length, 0, 0, 0]),
            Exchange::ReadAt(offset) if is_one => {
                (libc::SYS_pread64, [fd, at, length, offset as usize, 0, 0])
            }
            Exchange::Read => (libc::SYS_preadv2, [fd, pieces, count, CURRENT, 0, 0]),
            Exchange::ReadAt(offset) => (libc::SYS_preadv2, [fd, pieces, count, offset as usize, 0, 0]),
            Exchange::ReadNow => (libc::SYS_preadv2, [fd, pieces, count, CURRENT, 0, no_wait]),
            Exchange::Write | Exchange::WriteAt(_) if has_file_limit() => return Err(Errno::NOSYS),
            Exchange::Write if is_one => (libc::SYS_write, [fd, at, length, 0, 0, 0]),
            Exchange::WriteAt(offset) if is_one => {
                (libc::SYS_pwrite64, [fd, at, length, offset as usize, 0, 0])
            }
            Exchange::Write => (libc::SYS_pwritev2, [fd, pieces, count, CURRENT, 0, 0]),
            Exchange::WriteAt(offset) => (libc::SYS_pwritev2, [fd, pieces, count, offset as usize, 0, 0]),
            Exchange::WriteNow if SENDS_SIGNALS.load(Ordering::Relaxed) => return Err(Errno::NOSYS),
            Exchange::WriteNow => {
                let flags = no_wait | NO_SIGNAL.bits() as usize;
                (libc::SYS_pwritev2, [fd, pieces, count, CURRENT, 0, flags])
            }
            Exchange::Receive if is_one => {
                (libc::SYS_recvfrom, [fd, at, length, libc::MSG_DONTWAIT as usize, 0, 0])
            }
            Exchange::Send if is_one => {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                (libc::SYS_sendto, [fd, at, length, flags as usize, 0, 0])
            }
            Exchange::Events(milliseconds) if is_one && length >= EVENT => {
                (libc::SYS_epoll_wait, [fd, at, length / EVENT, milliseconds as usize, 0, 0])
            }
            Exchange::Receive | Exchange::Send | Exchange::Events(_) => return Err(Errno::NOSYS),
        };
        // SAFETY: the kernel reads or writes no other memory than parts of the window, which are the module's, whichever thread maps or unmaps them
        // meanwhile, and the vector, which is ours.
        let done = unsafe { system_call(number, arguments) };
        if done >= 0 {
            return Ok(done as u64);
        }
        let error = Errno::from_raw_os_error(-done as i32);
        if how == Exchange::WriteNow && error == Errno::OPNOTSUPP {
            SENDS_SIGNALS.store(true, Ordering::Relaxed);
        }
        Err(error)
    }
}

/// Whether the host has limited the sizes of files: a write beyond that sends SIGXFSZ, which has to be held back.
/// (`prlimit`, which libc uses, takes more than twice as long.)
fn has_file_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let own = (&raw mut limit) as usize;
    // SAFETY: the kernel writes the limit, which is ours.
    let done = unsafe { system_call(libc::SYS_getrlimit, [libc::RLIMIT_FSIZE as usize, own, 0, 0, 0, 0]) };
    done != 0 || limit.rlim_cur != libc::RLIM_INFINITY
}

/// # Safety
/// The arguments are what the call asks for.
unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result;
    // SAFETY: the caller's promise; what the kernel changes of the registers is named.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}
