//! Exclusive domains: proxies take and leave the word, `exclusive_sys` waits for it.
use super::exclusive_sys;
use super::instance::Instance;
use super::layout::{GOES_FIRST, OWNED};
use super::thread_sys::{AnyDomain, ThreadState, domain};
use crate::error::CallError;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// `take_exclusive` of `call/emit.rs`: `lock cmpxchg [owner], tid`, which expects the thread's `turn`; whether that was there.
fn takes(thread: &ThreadState, word: &AtomicU32) -> bool {
    // SAFETY: the thread's own block.
    let expected = unsafe { (*thread.block).turn };
    word.compare_exchange(expected, thread.tid as u32, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// The same, and the slow path if there is another word; what that has taken is given back if the call is refused (`call/admit_sys.rs`).
fn take(thread: &ThreadState, domain: &Arc<dyn AnyDomain>) -> Result<(), CallError> {
    take_within(thread, domain, None)
}

fn take_within(
    thread: &ThreadState,
    domain: &Arc<dyn AnyDomain>,
    timeout: Option<Duration>,
) -> Result<(), CallError> {
    while !takes(thread, domain.owner()) {
        if let Err(error) = exclusive_sys::wait(thread, domain.clone(), timeout) {
            exclusive_sys::give_back(thread, domain.owner());
            return Err(error);
        }
    }
    Ok(())
}

/// `leave_exclusive` of `call/emit.rs`: `xchg [owner], 0` if the thread has it, and a call of `set_free` if the bit 31 was set.
fn leave(thread: &ThreadState, domain: &Instance) {
    let word = domain.owner();
    if word.load(Ordering::SeqCst) & OWNED != thread.tid as u32 {
        return;
    }
    let was = word.swap(0, Ordering::SeqCst);
    if was >> 31 != 0 {
        exclusive_sys::set_free(word, was);
    }
}

/// A domain, and what only one thread at a time may touch.
struct Guarded {
    domain: Arc<dyn AnyDomain>,
    state: UnsafeCell<u32>,
}

// SAFETY: the state is what the model is about: loom tells of two threads that are at it.
unsafe impl Send for Guarded {}
// SAFETY: as above.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new() -> Arc<Guarded> {
        Arc::new(Guarded { domain: domain(), state: UnsafeCell::new(0) })
    }

    /// A call that gives the domain up in a system call (`call/turn_sys.rs`), and goes on.
    fn call_that_sleeps(&self, thread: &ThreadState) -> Result<(), CallError> {
        self.call_between(thread, |thread| {
            exclusive_sys::release(self.domain.owner(), thread.tid as u32);
            exclusive_sys::take_again(thread, self.domain.clone())
        })
    }

    fn call_between(
        &self,
        thread: &ThreadState,
        sleep: impl FnOnce(&ThreadState) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        take(thread, &self.domain)?;
        // SAFETY: loom checks that nobody else is here.
        self.state.with_mut(|state| unsafe { *state += 1 });
        sleep(thread)?;
        // SAFETY: as above.
        self.state.with_mut(|state| unsafe { *state -= 1 });
        leave(thread, &self.domain);
        Ok(())
    }

    fn call(&self, thread: &ThreadState) -> Result<(), CallError> {
        take(thread, &self.domain)?;
        // SAFETY: loom checks that nobody else is here.
        self.state.with_mut(|state| unsafe { *state += 1 });
        if thread.tid % 2 == 0 {
            leave(thread, &self.domain);
        } else {
            // The host has jumped out of the call; the thread's next one repairs that.
            exclusive_sys::release(self.domain.owner(), thread.tid as u32);
        }
        Ok(())
    }
}

/// Runs `calls` as thread `tid`.
fn on_thread(tid: i32, calls: impl FnOnce(&ThreadState) + Send + 'static) -> loom::thread::JoinHandle<()> {
    loom::thread::spawn(move || calls(&ThreadState::attached(tid)))
}

fn callers(threads: i32, calls: u32, preemptions: usize) {
    crate::explore(preemptions, move || {
        let guarded = Guarded::new();
        let start = |tid| {
            let guarded = guarded.clone();
            on_thread(tid, move |thread| (0..calls).for_each(|_| guarded.call(thread).expect("its turn")))
        };
        let others: Vec<_> = (1..threads).map(start).collect();
        let own = ThreadState::attached(100);
        (0..calls).for_each(|_| guarded.call(&own).expect("its turn"));
        others.into_iter().for_each(|thread| thread.join().expect("no panic"));
        // SAFETY: nobody else is left.
        assert_eq!(guarded.state.with(|state| unsafe { *state }), threads as u32 * calls);
        assert_eq!(guarded.domain.owner().load(Ordering::SeqCst) & OWNED, 0, "free at the end");
    });
}

/// One thread at a time, what it does is seen by the next, and nobody sleeps for ever (loom calls that a deadlock).
#[test]
fn two_callers_wait_for_each_other() {
    callers(2, 2, 3);
}

#[test]
fn three_callers_wait_for_each_other() {
    callers(3, 1, 2);
}

/// A thread that sleeps in the middle of its call lets others in meanwhile, and nobody in while it goes on.
fn sleepers(others: i32, preemptions: usize) {
    crate::explore(preemptions, move || {
        let guarded = Guarded::new();
        let start = |tid| {
            let guarded = guarded.clone();
            on_thread(tid, move |thread| guarded.call(thread).expect("its turn"))
        };
        let callers: Vec<_> = (1..=others).map(start).collect();
        guarded.call_that_sleeps(&ThreadState::attached(100)).expect("its turn");
        callers.into_iter().for_each(|thread| thread.join().expect("no panic"));
        // SAFETY: nobody else is left.
        assert_eq!(guarded.state.with(|state| unsafe { *state }), others as u32);
        assert_eq!(guarded.domain.owner().load(Ordering::SeqCst) & OWNED, 0, "free at the end");
    });
}

#[test]
fn a_sleeper_and_a_caller_take_turns() {
    sleepers(1, 4);
}

#[test]
fn a_sleeper_and_two_callers_take_turns() {
    sleepers(2, 1);
}

/// A thread that has waited for long has its turn before the one that leaves is back.
#[test]
fn who_is_overdue_goes_first() {
    crate::explore(3, || {
        let guarded = Guarded::new();
        let own = ThreadState::attached(100);
        take(&own, &guarded.domain).expect("it is free");
        let other = {
            let guarded = guarded.clone();
            on_thread(2, move |thread| {
                exclusive_sys::take_again(thread, guarded.domain.clone()).expect("its turn");
                // SAFETY: loom checks that nobody else is here.
                guarded.state.with_mut(|state| unsafe { *state += 1 });
                leave(thread, &guarded.domain);
            })
        };
        let word = guarded.domain.owner();
        // (The other one may have said so by now.)
        loom::thread::yield_now();
        let is_overdue = word.load(Ordering::SeqCst) & GOES_FIRST != 0;
        leave(&own, &guarded.domain);
        if takes(&own, word) {
            // SAFETY: loom checks that nobody else is here.
            let calls = guarded.state.with(|state| unsafe { *state });
            assert!(calls == 1 || !is_overdue, "it was overtaken");
            leave(&own, &guarded.domain);
        }
        other.join().expect("no panic");
    });
}

/// A word that is kept for a thread that does not come: others have their turns all the same.
#[test]
fn who_does_not_come_is_not_waited_for() {
    crate::explore(2, || {
        let guarded = Guarded::new();
        guarded.domain.owner().store(GOES_FIRST, Ordering::SeqCst);
        let other = {
            let guarded = guarded.clone();
            on_thread(1, move |thread| guarded.call(thread).expect("its turn"))
        };
        guarded.call(&ThreadState::attached(100)).expect("its turn");
        other.join().expect("no panic");
    });
}

/// Nor is a call that does not wait refused: nobody is inside.
#[test]
fn who_does_not_come_has_no_call_refused() {
    crate::explore(3, || {
        let guarded = Guarded::new();
        guarded.domain.owner().store(GOES_FIRST, Ordering::SeqCst);
        let own = ThreadState::attached(100);
        take_within(&own, &guarded.domain, Some(Duration::ZERO)).expect("its turn");
        leave(&own, &guarded.domain);
    });
}

/// Who waits for a domain that its owner never gives up learns that it was killed, whenever that was.
#[test]
fn a_kill_reaches_all_who_wait() {
    crate::explore(3, || {
        let domain = domain();
        take(&ThreadState::attached(100), &domain).expect("it is free");
        let waits = |tid| {
            let domain = domain.clone();
            on_thread(tid, move |thread| {
                let end = take(thread, &domain);
                assert!(matches!(end, Err(CallError::Killed(_))), "{end:?}");
            })
        };
        let others = [waits(1), waits(2)];
        domain.kill();
        others.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// Two threads, each with the domain that the other one calls: one of them is told, the other one has its turn, and both come back.
#[test]
fn a_circle_is_found() {
    crate::explore(3, || {
        let (a, b) = (domain(), domain());
        let nested = |thread: &ThreadState, outer: &Arc<dyn AnyDomain>, inner: &Arc<dyn AnyDomain>| {
            take(thread, outer)?;
            let got = take(thread, inner);
            if got.is_ok() {
                leave(thread, inner);
            }
            leave(thread, outer);
            got
        };
        let other = {
            let (a, b) = (a.clone(), b.clone());
            loom::thread::spawn(move || nested(&ThreadState::attached(1), &b, &a))
        };
        let own = nested(&ThreadState::attached(2), &a, &b);
        let other = other.join().expect("no panic");
        assert!(own.is_ok() || other.is_ok(), "both gave way");
        for end in [own, other] {
            assert!(matches!(end, Ok(()) | Err(CallError::Deadlock(_))), "{end:?}");
        }
        assert_eq!([a, b].map(|domain| domain.owner().load(Ordering::SeqCst) & OWNED), [0, 0]);
    });
}
