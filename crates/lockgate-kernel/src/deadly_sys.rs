//! Writing must not kill the host: SIGPIPE when a pipe's reader is gone, SIGXFSZ beyond the host's own limit of
//! file sizes.
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Signals that a write may send to its own thread, with the error that comes along.
const SIGNALS: [(i32, Errno); 2] = [(libc::SIGPIPE, Errno::PIPE), (libc::SIGXFSZ, Errno::FBIG)];

/// The signals alone.
pub const DEADLY: [i32; 2] = [SIGNALS[0].0, SIGNALS[1].0];

/// Runs `write` with these signals blocked for this thread, and swallows the one that it may cause.
pub fn without_signals<T>(write: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: each set is initialised by the first call that gets it, before another reads it; none of
    // these calls can fail with valid pointers and valid signal numbers.
    unsafe {
        libc::sigemptyset(blocked.as_mut_ptr());
        for (signal, _) in SIGNALS {
            libc::sigaddset(blocked.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
    }
    let result = write();
    let caused = SIGNALS.iter().find(|(_, error)| result.as_ref().err() == Some(error));
    // SAFETY: the sets were initialised above; a null information pointer means that it is not wanted, a
    // zero time that a signal is taken only if it is pending already.
    unsafe {
        if let Some((signal, _)) = caused
            && libc::sigismember(pending.as_ptr(), *signal) == 0
        {
            let mut one = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(one.as_mut_ptr());
            libc::sigaddset(one.as_mut_ptr(), *signal);
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // Not libc's function: a thread that was cancelled would end in that. (The kernel's sets have 8 bytes.)
            let information = null_mut::<libc::siginfo_t>();
            libc::syscall(libc::SYS_rt_sigtimedwait, one.as_ptr(), information, &raw const now, 8);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
    }
    result
}
