//! CPU time of domains, by samples: what a thread has used since the last look counts for the domain that it is found in.
use super::thread_sys::{ThreadState, processor_time};
use crate::space;
use crate::stats::{Gauge, Row};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The CPU time of one domain.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The domain's window, and its number.
    base: u64,
    pub id: u32,
    /// Nanoseconds.
    used: AtomicU64,
    limit: u64,
    /// Somebody has been told that the limit is reached.
    told: AtomicBool,
    /// Where other processes read it.
    row: Option<Arc<Row>>,
}

impl Meter {
    /// Of the domain `id` at `base`.
    pub fn new(base: u64, id: u32, limit: Option<Duration>, row: Option<Arc<Row>>) -> Meter {
        let nanoseconds = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Meter {
            base,
            id,
            used: AtomicU64::new(0),
            limit: limit.map_or(u64::MAX, nanoseconds),
            told: AtomicBool::new(false),
            row,
        }
    }

    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.used.load(Ordering::Relaxed))
    }

    pub fn reset(&self) {
        self.used.store(0, Ordering::Relaxed);
        self.told.store(false, Ordering::Relaxed);
    }

    /// Shows others what has been used, and how many threads are inside.
    fn publish(&self, threads: &[Arc<ThreadState>]) {
        let Some(row) = &self.row else { return };
        let is_inside = |thread: &&Arc<ThreadState>| {
            thread.entries().iter().any(|entry| space::base_of(entry.control) == self.base)
        };
        row.set_threads(true, threads.iter().filter(is_inside).count() as u32);
        row.set(Gauge::Cpu, self.used.load(Ordering::Relaxed));
    }

    /// True if the limit is reached.
    pub fn is_used_up(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.limit
    }

    /// The same, once.
    pub fn ends(&self) -> bool {
        self.is_used_up() && !self.told.swap(true, Ordering::Relaxed)
    }
}

/// What each thread had used at the last look, nanoseconds, by kernel id.
#[derive(Default)]
pub(super) struct Samples(HashMap<i32, u64>);

impl Samples {
    /// Looks at the clocks of all threads.
    pub fn take(&mut self, threads: &[Arc<ThreadState>], meters: &[Arc<Meter>]) {
        let mut now = HashMap::new();
        for thread in threads {
            let Some(used) = processor_time(thread.tid) else { continue };
            now.insert(thread.tid, used);
            let Some(innermost) = thread.entries().last().copied() else { continue };
            let base = space::base_of(innermost.control);
            if let Some(meter) = meters.iter().find(|meter| meter.base == base) {
                let before = self.0.get(&thread.tid).copied().unwrap_or(used);
                meter.used.fetch_add(used.saturating_sub(before), Ordering::Relaxed);
            }
        }
        self.0 = now;
        meters.iter().for_each(|meter| meter.publish(threads));
    }

    /// Forgets them: nobody will look for a while.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}
