//! What `crates/lockgate/src/sync.rs` is there, and `std::sync` in `crates/lockgate-kernel`.
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
pub(crate) use std::sync::{OnceLock, PoisonError};

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

    /// Models have no clock.
    pub(crate) enum Timespec {}
    impl TryFrom<Duration> for Timespec {
        type Error = ();
        fn try_from(_: Duration) -> Result<Timespec, ()> {
            Err(())
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

    pub(crate) fn wait(word: &AtomicU32, _: (), expected: u32, _: Option<&Timespec>) -> Result<(), ()> {
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
