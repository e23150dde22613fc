//! What `crates/lockgate/src/sync.rs` is there, and `std::sync` in `crates/lockgate-kernel`.
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
pub(crate) use std::sync::{OnceLock, PoisonError};
pub(crate) use time::Instant;

/// A barrier of all threads cannot be had here. The other side, which has none in the runtime, takes one itself wherever it stores and then
/// loads: `membarrier(2)` gives to the side that calls it what two full barriers would give, and orders nothing else on x86.
pub(crate) fn barrier() {
    atomic::fence(atomic::Ordering::SeqCst);
}

/// futex(2): the kernel looks at the word and puts the thread to sleep under one lock, which wakers take, too.
pub(crate) mod futex {
    use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::collections::VecDeque;
    use std::time::Duration;

    pub(crate) enum Flags {}
    impl Flags {
        pub(crate) const PRIVATE: () = ();
    }

    pub(crate) struct Timespec(Duration);
    impl TryFrom<Duration> for Timespec {
        type Error = ();
        fn try_from(duration: Duration) -> Result<Timespec, ()> {
            Ok(Timespec(duration))
        }
    }

    /// Who sleeps on which word, longest first.
    #[derive(Default)]
    struct Sleepers {
        queue: VecDeque<(usize, u64)>,
        tickets: u64,
    }

    loom::lazy_static! {
        static ref SLEEPERS: Mutex<Sleepers> = Mutex::new(Sleepers::default());
        static ref EVENTCOUNT: Condvar = Condvar::new();
    }

    fn address(word: &AtomicU32) -> usize {
        std::ptr::from_ref(word) as usize
    }

    /// A sleep with an end is over at once, as far as others can tell.
    pub(crate) fn wait(word: &AtomicU32, _: (), expected: u32, left: Option<&Timespec>) -> Result<(), ()> {
        if let Some(Timespec(left)) = left {
            super::time::pass(*left);
            return Err(());
        }
        let mut sleepers = SLEEPERS.lock().expect("no panic");
        if word.load(Ordering::SeqCst) != expected {
            return Err(());
        }
        sleepers.tickets += 1;
        let own = (address(word), sleepers.tickets);
        sleepers.queue.push_back(own);
        while sleepers.queue.contains(&own) {
            sleepers = EVENTCOUNT.wait(sleepers).expect("no panic");
        }
        Ok(())
    }

    pub(crate) fn wake(word: &AtomicU32, _: (), most: u32) -> Result<usize, ()> {
        let mut sleepers = SLEEPERS.lock().expect("no panic");
        let before = sleepers.queue.len();
        for _ in 0..most {
            let Some(first) = sleepers.queue.iter().position(|(at, _)| *at == address(word)) else { break };
            sleepers.queue.remove(first);
        }
        EVENTCOUNT.notify_all();
        Ok(before - sleepers.queue.len())
    }
}

/// Each thread has a clock of its own, which goes on while it sleeps.
mod time {
    use std::cell::Cell;
    use std::time::Duration;

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct Instant(Duration);

    loom::thread_local! {
        static NOW: Cell<Duration> = Cell::new(Duration::ZERO);
    }

    pub(crate) fn pass(time: Duration) {
        NOW.with(|now| now.set(now.get() + time));
        // (Else the models take ten times as long.)
        loom::thread::yield_now();
    }

    impl Instant {
        pub(crate) fn now() -> Instant {
            Instant(NOW.with(Cell::get))
        }

        pub(crate) fn checked_add(self, time: Duration) -> Option<Instant> {
            self.0.checked_add(time).map(Instant)
        }

        pub(crate) fn saturating_duration_since(self, earlier: Instant) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }
}
