//! One CPU for the whole measurement: no migrations, and both sides meet the same caches and clock.

use anyhow::Context as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Keeps the calling thread, and the processes that it starts, on one CPU until dropped.
#[derive(Debug)]
pub struct Pinned {
    cpu: usize,
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread to the CPU on which it runs now.
    pub fn here() -> anyhow::Result<Self> {
        let before = sched_getaffinity(None).context("cannot read this thread's CPUs")?;
        let cpu = sched_getcpu();
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).context("cannot pin this thread to one CPU")?;
        Ok(Self { cpu, before })
    }

    /// The CPU.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    /// Does something on another CPU; what it starts stays there.
    pub fn on<R>(&self, cpu: usize, work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<R> {
        let pin = |cpu| {
            let mut one = CpuSet::new();
            one.set(cpu);
            sched_setaffinity(None, &one).context("cannot pin this thread to another CPU")
        };
        pin(cpu)?;
        let done = work();
        pin(self.cpu)?;
        done
    }

    /// Another CPU that the thread could use before, if there was one.
    pub fn other(&self) -> Option<usize> {
        (0..CpuSet::MAX_CPU).find(|cpu| *cpu != self.cpu && self.before.is_set(*cpu))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The old set was valid a moment ago; if a CPU has gone since, staying pinned does no harm.
        let _ = sched_setaffinity(None, &self.before);
    }
}
