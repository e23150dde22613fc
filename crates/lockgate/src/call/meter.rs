//! CPU time of domains, by samples: what a thread has used since the last look counts for the domain that it is found in.
use super::clock_sys::processor_time;
use super::thread_sys::ThreadState;
use crate::space;
use crate::stats::{Gauge, Row};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The CPU time of one domain.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The domain's window, and its number.
    base: u64,
    pub id: u32,
    /// Nanoseconds.
    used: AtomicU64,
    limit: u64,
    /// It has been told that the limit is reached.
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

/// What each thread had used at the last look, nanoseconds, by kernel id; and when that was.
#[derive(Default)]
pub(super) struct Samples(HashMap<i32, u64>, Option<Instant>);

/// What threads have used since the last look.
#[derive(Default)]
pub(super) struct Spent {
    /// When the last look began.
    pub since: Option<Instant>,
    /// Some thread has run in one of the domains below, or may have.
    pub runs: bool,
    /// By the number of the domain that the thread is found in, with the control address of its call there.
    pub by: HashMap<u32, Vec<(u64, Duration)>>,
}

impl Samples {
    /// Looks at the clocks of all threads. Returns what those have used that are in the domains `counted`.
    pub fn take(
        &mut self,
        threads: &[Arc<ThreadState>],
        meters: &[Arc<Meter>],
        counted: &HashSet<u32>,
    ) -> Spent {
        let mut spent = Spent { since: self.1.replace(Instant::now()), ..Spent::default() };
        let mut now = HashMap::new();
        for thread in threads {
            let Some(used) = processor_time(thread.tid) else { continue };
            now.insert(thread.tid, used);
            let Some(innermost) = thread.entries().last().copied() else { continue };
            let base = space::base_of(innermost.control);
            let before = self.0.get(&thread.tid).copied();
            let more = used.saturating_sub(before.unwrap_or(used));
            if let Some(meter) = meters.iter().find(|meter| meter.base == base) {
                meter.used.fetch_add(more, Ordering::Relaxed);
            }
            let id = space::index_of(base);
            if counted.contains(&id) {
                let its = spent.by.entry(id).or_default();
                its.push((innermost.control, Duration::from_nanos(more)));
                spent.runs |= more > 0 || before.is_none();
            }
        }
        self.0 = now;
        meters.iter().for_each(|meter| meter.publish(threads));
        spent
    }

    /// Forgets them: they will not be looked at for a while.
    pub fn forget(&mut self) {
        *self = Samples::default();
    }
}
