//! When a program's domain takes its first call, and who has had turns: what threads sleep on besides the owner word.
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};

/// All that sleep.
const ALL: u32 = i32::MAX as u32;

/// The domain takes calls.
const BEGUN: u32 = 0;
/// It is a program that has not been started. (No thread has such an id.)
const BEFORE: u32 = 1 << 31;
/// It is a program that has ended before it had begun.
const ENDED: u32 = BEFORE | 1;

/// Of one domain.
#[derive(Default)]
pub(crate) struct Turns {
    /// How often a thread that had waited for the owner word has got it, or waits no more.
    settled: AtomicU32,
    /// How many threads sleep until that changes.
    listeners: AtomicU32,
    /// [`BEGUN`], [`BEFORE`], [`ENDED`], or the kernel id of a program's first thread while that is in its first turn.
    first: AtomicU32,
}

impl Turns {
    /// A thread that had waited has the domain, or waits no more. Async-signal-safe.
    pub fn settle(&self) {
        self.settled.fetch_add(1, Ordering::SeqCst);
        if self.listeners.load(Ordering::SeqCst) != 0 {
            // The word is mapped, so nothing can go wrong.
            let _ = futex::wake(&self.settled, futex::Flags::PRIVATE, ALL);
        }
    }

    /// A call of [`settle`](Turns::settle) from now on wakes a thread that sleeps at the word while it has the value.
    pub fn listen(&self) -> (&AtomicU32, u32) {
        self.listeners.fetch_add(1, Ordering::SeqCst);
        (&self.settled, self.settled.load(Ordering::SeqCst))
    }

    /// Ends what [`listen`](Turns::listen) began. (One that a jump has skipped costs the others a wake-up.)
    pub fn heard(&self) {
        self.listeners.fetch_sub(1, Ordering::SeqCst);
    }

    /// The domain is a program's: it takes no calls before that has begun.
    pub fn wait_for_program(&self) {
        self.first.store(BEFORE, Ordering::Release);
    }

    /// The program's first thread, with this kernel id, starts.
    pub fn start(&self, tid: u32) {
        let _ = self.first.compare_exchange(BEFORE, tid, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Whether a thread with this kernel id may call.
    pub fn admit(&self, tid: u32) -> bool {
        let first = self.first.load(Ordering::Acquire);
        first == BEGUN || first == tid
    }

    /// The thread with this kernel id is about to sleep in a system call: a program that it is the first of has begun. Async-signal-safe.
    pub fn rest(&self, tid: u32) {
        if self.first.load(Ordering::Relaxed) == tid {
            self.become_from(tid, BEGUN);
        }
    }

    /// A program that runs has begun, whatever it does.
    pub fn begin(&self) {
        let first = self.first.load(Ordering::Acquire);
        if first & BEFORE == 0 {
            self.become_from(first, BEGUN);
        }
    }

    /// The program has ended: no call waits for its beginning.
    pub fn end(&self) {
        let first = self.first.load(Ordering::Acquire);
        if first != BEGUN {
            self.become_from(first, ENDED);
        }
    }

    fn become_from(&self, first: u32, then: u32) {
        if self.first.compare_exchange(first, then, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            let _ = futex::wake(&self.first, futex::Flags::PRIVATE, ALL);
        }
    }

    /// Waits until a program has begun, or ended: whether it has begun.
    pub fn until_begun(&self) -> bool {
        loop {
            match self.first.load(Ordering::Acquire) {
                BEGUN => return true,
                ENDED => return false,
                // Woken, changed or interrupted: looks again in any case.
                first => drop(futex::wait(&self.first, futex::Flags::PRIVATE, first, None)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_program_begins_with_the_first_sleep_of_its_first_thread() {
        let turns = Arc::new(Turns::default());
        assert!(turns.admit(7), "a domain that is no program's takes calls at once");
        turns.wait_for_program();
        turns.begin();
        assert!(!turns.admit(7), "it has not been started");
        turns.start(7);
        assert!(turns.admit(7) && !turns.admit(8));
        turns.rest(8);
        assert!(!turns.admit(8), "another thread's sleep says nothing");
        let waits = {
            let turns = turns.clone();
            std::thread::spawn(move || turns.until_begun())
        };
        turns.rest(7);
        assert!(turns.admit(8) && waits.join().unwrap());
        turns.end();
        assert!(turns.until_begun());
    }

    #[test]
    fn nobody_waits_for_a_program_that_has_ended() {
        let turns = Turns::default();
        turns.wait_for_program();
        turns.start(7);
        turns.end();
        assert!(!turns.until_begun() && !turns.admit(7));
        turns.begin();
        assert!(!turns.admit(8), "what has ended does not begin");
    }
}
