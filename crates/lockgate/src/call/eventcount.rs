//! What the watcher sleeps on. Unlike a condition variable, it may be rung in a signal handler.
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Counts its rings, so that none is missed between a look at what there is to do and the sleep.
pub(super) struct Eventcount(AtomicU32);

impl Eventcount {
    pub const fn new() -> Eventcount {
        Eventcount(AtomicU32::new(0))
    }

    /// Wakes the thread that waits. Async-signal-safe.
    pub fn ring(&self) {
        self.0.fetch_add(1, Ordering::Release);
        // The word is mapped, so nothing can go wrong.
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
    }

    /// How often it was rung.
    pub fn rings(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Sleeps until it has been rung more often than `heard` times, or until `due`.
    pub fn wait(&self, heard: u32, due: Option<Instant>) {
        while self.rings() == heard {
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            // (A time too far to express is none.)
            let left = left.and_then(|left| futex::Timespec::try_from(left).ok());
            // Woken, interrupted, or rung meanwhile: the count tells.
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, heard, left.as_ref());
        }
    }
}

/// Sleeps for about that long, and not at all if the kernel does not let it: std's own panics where a filter of system calls
/// (seccomp) has no `clock_nanosleep`.
pub(super) fn pause(time: Duration) {
    static NEVER_WOKEN: AtomicU32 = AtomicU32::new(0);
    // A time that is too large for the kernel is none that callers ask for.
    let time = time.try_into().ok();
    let _ = futex::wait(&NEVER_WOKEN, futex::Flags::PRIVATE, 0, time.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_ring_before_the_wait_is_heard() {
        let eventcount = Arc::new(Eventcount::new());
        let heard = eventcount.rings();
        eventcount.ring();
        eventcount.wait(heard, None);
        let heard = eventcount.rings();
        let other = eventcount.clone();
        let ringer = std::thread::spawn(move || other.ring());
        eventcount.wait(heard, None);
        ringer.join().unwrap();
        assert_eq!(eventcount.rings(), 2);
    }
}
