//! One CPU for the whole measurement: no migrations, and both sides meet the same caches and clock.

use anyhow::Context as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Keeps the calling thread, and the processes that it starts, on one CPU until dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread to the CPU on which it runs now.
    pub fn here() -> anyhow::Result<Self> {
        let before = sched_getaffinity(None).context("cannot read this thread's CPUs")?;
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        sched_setaffinity(None, &one).context("cannot pin this thread to one CPU")?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The old set was valid a moment ago; if a CPU has gone since, staying pinned harms nobody.
        let _ = sched_setaffinity(None, &self.before);
    }
}
