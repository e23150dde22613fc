//! Writing must not kill the host: SIGPIPE when a pipe's reader is gone, SIGXFSZ beyond the host's own limit of
//! file sizes.
use rustix::io::{Errno, ReadWriteFlags};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Signals that a write may send to its own thread, with the error that comes along.
const SIGNALS: [(i32, Errno); 2] = [(libc::SIGPIPE, Errno::PIPE), (libc::SIGXFSZ, Errno::FBIG)];

/// `RWF_NOSIGNAL`, which headers of before Linux 6.18 do not have: a write to a pipe or socket without a reader sends no SIGPIPE.
pub const NO_SIGNAL: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x100);

/// The signals alone.
pub const DEADLY: [i32; 2] = [SIGNALS[0].0, SIGNALS[1].0];

/// Runs `write`, and takes the signal that it causes, so that no handler ever sees it. Both are blocked for the calling thread: it could not take
/// them otherwise.
pub fn without_signals<T>(write: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    debug_assert!(are_blocked(), "a signal that a write causes would come");
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: room for a set, which the call initialises; it cannot fail.
    let pending = unsafe {
        libc::sigpending(pending.as_mut_ptr());
        pending.assume_init()
    };
    let result = write();
    let caused = SIGNALS.iter().find(|(_, error)| result.as_ref().err() == Some(error));
    // SAFETY: the sets are initialised before another call reads them; a null information pointer means that it is not wanted, a
    // zero time that a signal is taken only if it is pending already.
    unsafe {
        if let Some((signal, _)) = caused
            && libc::sigismember(&raw const pending, *signal) == 0
        {
            let mut one = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(one.as_mut_ptr());
            libc::sigaddset(one.as_mut_ptr(), *signal);
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // Not libc's function: a thread that was cancelled would end in that. (The kernel's sets have 8 bytes.)
            let information = null_mut::<libc::siginfo_t>();
            libc::syscall(libc::SYS_rt_sigtimedwait, one.as_ptr(), information, &raw const now, 8);
        }
    }
    result
}

/// Blocks both signals for the calling thread.
pub fn block_deadly() {
    let mut both = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised before another call reads it; the calls cannot fail.
    unsafe {
        libc::sigemptyset(both.as_mut_ptr());
        for signal in DEADLY {
            libc::sigaddset(both.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, both.as_ptr(), null_mut());
    }
}

/// Whether the calling thread has both signals blocked.
fn are_blocked() -> bool {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: room for a set, which the call initialises; nothing is changed.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
        DEADLY.iter().all(|&signal| libc::sigismember(mask.as_ptr(), signal) == 1)
    }
}
