//! Signals that end a process, held back until it has put something right.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// What ends a process, without a core file.
pub const SIGNALS: &[libc::c_int] = &[libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// While this lives, signals wait (but those that are ignored); then they do what they would have done.
pub struct Ends {
    waiting: OwnedFd,
    before: libc::sigset_t,
}

impl Ends {
    /// Has `held` wait. The thread is the process's only one, or they end another.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn held_back(held: &[libc::c_int]) -> io::Result<Ends> {
        // SAFETY: a set is plain data, made by `sigemptyset`; the actions are asked for and not changed; the descriptor is new and ours.
        unsafe {
            let mut signals: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut signals);
            for &signal in held {
                let mut action: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(signal, std::ptr::null(), &mut action) == 0
                    && action.sa_sigaction != libc::SIG_IGN
                {
                    libc::sigaddset(&mut signals, signal);
                }
            }
            let waiting = libc::signalfd(-1, &signals, libc::SFD_CLOEXEC);
            if waiting < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut before: libc::sigset_t = std::mem::zeroed();
            let waiting = OwnedFd::from_raw_fd(waiting);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &signals, &mut before) {
                0 => Ok(Ends { waiting, before }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

impl Ends {
    /// Waits for one, and takes it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn next(&self) -> io::Result<u32> {
        // A `struct signalfd_siginfo`, which begins with the number.
        let mut signal = [0; size_of::<libc::signalfd_siginfo>()];
        loop {
            match rustix::io::read(&self.waiting, &mut signal) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(u32::from_ne_bytes([signal[0], signal[1], signal[2], signal[3]])),
            }
        }
    }
}

impl AsFd for Ends {
    /// It can be read as soon as one waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiting.as_fd()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // SAFETY: the thread's own mask, as it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}
