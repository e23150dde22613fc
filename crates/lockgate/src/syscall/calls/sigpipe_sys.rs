//! Writing to a pipe whose reader is gone must not kill the host.
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Runs `write` with SIGPIPE blocked for this thread, and swallows the one that it may cause.
pub(super) fn without_sigpipe<T>(write: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: each set is initialised by the first call that gets it, before another reads it; none of
    // these calls can fail with valid pointers and a valid signal number.
    let was_pending = unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), before.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
    };
    let result = write();
    // SAFETY: as above; a null information pointer means that it is not wanted, a zero time that the
    // signal is taken only if it is pending already.
    unsafe {
        if matches!(result, Err(Errno::PIPE)) && !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(pipe.as_ptr(), null_mut(), &now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
    }
    result
}
