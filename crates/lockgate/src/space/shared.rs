//! The shared region of windows: who has which offsets. One allocator for the process, so that what is shared lies at
//! the same offset in every window.
use super::ranges::Ranges;
use crate::host::{PerProcess, locked};
use lockgate_abi::{PAGE, window};
use lockgate_syscall::Protection;
use std::sync::{Mutex, MutexGuard, OnceLock};

static TAKEN: PerProcess<Mutex<Ranges>> = PerProcess::new(Mutex::default);

fn taken() -> MutexGuard<'static, Ranges> {
    locked(&TAKEN)
}

/// Window offsets at which nothing else is shared, until it is dropped. A forked child has other windows, and takes offsets of its
/// own when it first asks.
#[derive(Debug)]
pub(crate) struct SharedRange {
    length: u64,
    start: PerProcess<OnceLock<Option<u64>>>,
}

impl SharedRange {
    /// Takes `length` bytes, whole pages; `None` if there is no such room.
    ///
    /// A page that is never mapped follows: running off a region's end faults, and neighbours never become one kernel
    /// mapping, which a revocation would have to split.
    pub fn take(length: u64) -> Option<SharedRange> {
        let range = SharedRange { length, start: PerProcess::default() };
        range.start()?;
        Some(range)
    }

    /// First offset; `None` in a forked child whose windows have no such room.
    pub fn start(&self) -> Option<u64> {
        *self.start.get_or_init(|| {
            let with_guard = self.length.checked_add(PAGE)?;
            let mut taken = taken();
            let at = taken.highest_gap(window::SHARED..window::SHARED_END, with_guard)?;
            taken.insert(at..at + with_guard, Protection::None);
            Some(at)
        })
    }
}

impl Drop for SharedRange {
    fn drop(&mut self) {
        if let Some(Some(at)) = self.start.known().and_then(OnceLock::take) {
            taken().remove(at..at + self.length + PAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because the allocator is the process's.
    #[test]
    fn ranges_are_disjoint_guarded_and_used_again() {
        let size = window::SHARED_END - window::SHARED;
        assert!(SharedRange::take(size).is_none(), "no room for its guard");
        assert!(SharedRange::take(u64::MAX - 100).is_none());
        let mut all: Vec<_> = (1..100).map(|pages| SharedRange::take(pages * PAGE).unwrap()).collect();
        all.retain(|range| range.length % (3 * PAGE) != 0);
        all.extend((1..100).map(|pages| SharedRange::take(pages * PAGE).unwrap()));
        let start = |range: &SharedRange| range.start().unwrap();
        all.sort_by_key(start);
        for pair in all.windows(2) {
            assert!(start(&pair[0]) + pair[0].length + PAGE <= start(&pair[1]), "{pair:x?}");
        }
        let last = &all[all.len() - 1];
        assert!(start(&all[0]) >= window::SHARED && start(last) + last.length < window::SHARED_END);
        let whole = size - PAGE;
        assert!(SharedRange::take(whole).is_none());
        drop(all);
        assert_eq!(SharedRange::take(whole).unwrap().start(), Some(window::SHARED));
    }
}
