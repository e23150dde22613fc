//! Signals of the process, handed on to a program.
use super::program::ProgramSignals;
use crate::call::signals_sys;
use std::io;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::ptr::null_mut;

impl ProgramSignals {
    /// From now on `signals` of the process go to the program if it has handlers for them; without one they do what they do to the process.
    /// Those that are ignored already stay so. Call it before the process has other threads: they are blocked in the calling one, and in those
    /// that it starts, and a thread of their own waits for them.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn forward(self, signals: &[c_int]) -> io::Result<()> {
        // SAFETY: sets and actions are initialised before they are read; the calls change nothing but the calling thread's mask.
        let set = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                let mut action = MaybeUninit::<libc::sigaction>::uninit();
                let known = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0;
                if known && action.assume_init().sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(set.as_mut_ptr(), signal);
                }
            }
            let set = set.assume_init();
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
            set
        };
        let serve = move || {
            loop {
                let mut signal = 0;
                // SAFETY: an initialised set, room for a number.
                if unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 && !self.send(signal as u32)
                {
                    act_by_default(signal);
                }
            }
        };
        let builder = std::thread::Builder::new().name("lockgate-signals".to_owned());
        signals_sys::starting_a_thread(|| builder.spawn(serve)).map(|_| ())
    }
}

/// What `signal`, which the calling thread has blocked, does to a process that knows nothing of it.
fn act_by_default(signal: c_int) {
    // SAFETY: as above. The action is the kernel's own for a moment, or the process ends by it; the signal goes to the calling thread.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        let mut one = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(one.as_mut_ptr());
        libc::sigaddset(one.as_mut_ptr(), signal);
        default.sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(signal, &raw const default, before.as_mut_ptr()) != 0 {
            return;
        }
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, one.as_ptr(), null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, one.as_ptr(), null_mut());
        libc::sigaction(signal, before.as_ptr(), null_mut());
    }
}
