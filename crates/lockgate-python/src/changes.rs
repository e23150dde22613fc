//! Waiting without the GIL, for what threads that have it change.
use lockgate::PerProcess;
use lockgate_kernel::locked;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How often something has changed. It has a lock of its own: what changes has one that is only taken with the GIL, which a
/// thread that forks has. So a child finds that one free, and this one is made anew there.
#[derive(Default)]
pub struct Changes(PerProcess<(Mutex<u64>, Condvar)>);

impl Changes {
    fn lock(&self) -> MutexGuard<'_, u64> {
        locked(&self.0.0)
    }

    /// To be asked before one looks at what changes.
    pub fn count(&self) -> u64 {
        *self.lock()
    }

    /// It has changed.
    pub fn tell(&self) {
        *self.lock() += 1;
        self.0.1.notify_all();
    }

    /// Waits until it has changed since `count`, at most for `time`.
    pub fn wait(&self, count: u64, time: Duration) {
        let same = |now: &mut u64| *now == count;
        drop(self.0.1.wait_timeout_while(self.lock(), time, same));
    }
}
