//! What a system call is given.
use super::caller::{Caller, ControlStack, Sharing, Sleep, Thread, Threads};
use super::outcome::Halt;
use super::waits::Waits;
use super::{Memory, Process};
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// Pause between two tries of what the kernel has no wait for that a deadline could end: a lock of a file, a FIFO without a reader, a UNIX socket whose
/// queue is full.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// Everything that one system call may touch.
pub struct SyscallContext<'a> {
    /// The domain's window.
    pub memory: &'a dyn Memory,
    /// The domain's descriptors, directories, identity, counters.
    pub process: &'a Process,
    /// The calling thread.
    pub thread: Thread,
    /// Who starts threads for the domain.
    pub threads: &'a dyn Threads,
    /// What others share with the domain.
    pub sharing: &'a dyn Sharing,
    /// The calling thread's control stack.
    pub stack: &'a dyn ControlStack,
    /// How the thread sleeps.
    pub sleep: &'a dyn Sleep,
}

impl SyscallContext<'_> {
    /// Who waits.
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller { thread: self.thread, threads: self.threads, sleep: self.sleep, signals: self.process }
    }

    /// Fails if the domain was killed or the call's deadline has passed.
    pub(super) fn check(&self) -> Result<(), Halt> {
        self.process.waits.check(self.thread)
    }

    /// The same, or if a signal of the domain's waits for the thread.
    pub(super) fn check_signals(&self) -> Result<(), Halt> {
        self.check()?;
        if self.process.wakes(self.thread.slot) { Err(Errno::INTR.into()) } else { Ok(()) }
    }

    /// Sleeps until `until`, or for ever: the whole of `nanosleep`.
    pub(super) fn sleep_until(&self, until: Option<Instant>) -> Result<(), Halt> {
        // No futex lies at address 0, so nothing wakes this but time and death.
        self.process.waits.sleep(self.caller(), 0, Waits::ANY, until, || Ok(())).map(|_| ())
    }

    /// Sleeps for ever, and counts as a thread that waits for others meanwhile.
    pub(super) fn sleep_for_peers(&self) -> Result<(), Halt> {
        self.process.waits.sleep_for_peers(self.caller(), 0, || Ok(())).map(|_| ())
    }
}
