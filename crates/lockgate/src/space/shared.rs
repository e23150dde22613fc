//! The shared region of windows: who has which offsets. One allocator for the process, so that what is shared lies at
//! the same offset in every window.
use super::ranges::Ranges;
use crate::syscall::Protection;
use lockgate_abi::{PAGE, window};
use std::ops::Range;
use std::sync::{LazyLock, Mutex, MutexGuard};

static TAKEN: LazyLock<Mutex<Ranges>> = LazyLock::new(Mutex::default);

fn taken() -> MutexGuard<'static, Ranges> {
    TAKEN.lock().unwrap_or_else(|e| e.into_inner())
}

/// Window offsets that nobody else shares anything at, until it is dropped.
#[derive(Debug)]
pub(crate) struct SharedRange(Range<u64>);

impl SharedRange {
    /// Takes `length` bytes, whole pages; `None` if there is no such room.
    ///
    /// A page that is never mapped follows: running off a region's end faults, and neighbours never become one kernel
    /// mapping, which a revocation would have to split.
    pub fn take(length: u64) -> Option<SharedRange> {
        let with_guard = length.checked_add(PAGE)?;
        let mut taken = taken();
        let at = taken.highest_gap(window::SHARED..window::SHARED_END, with_guard)?;
        taken.insert(at..at + with_guard, Protection::None);
        Some(SharedRange(at..at + length))
    }

    /// First offset.
    pub fn start(&self) -> u64 {
        self.0.start
    }
}

impl Drop for SharedRange {
    fn drop(&mut self) {
        taken().remove(self.0.start..self.0.end + PAGE);
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
        all.retain(|range| (range.0.end - range.start()) % (3 * PAGE) != 0);
        all.extend((1..100).map(|pages| SharedRange::take(pages * PAGE).unwrap()));
        all.sort_by_key(SharedRange::start);
        for pair in all.windows(2) {
            assert!(pair[0].0.end + PAGE <= pair[1].start(), "{pair:x?}");
        }
        assert!(all[0].start() >= window::SHARED && all[all.len() - 1].0.end < window::SHARED_END);
        let whole = size - PAGE;
        assert!(SharedRange::take(whole).is_none());
        drop(all);
        assert_eq!(SharedRange::take(whole).unwrap().start(), window::SHARED);
    }
}
