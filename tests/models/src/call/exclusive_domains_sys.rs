//! Exclusive domains: proxies take and leave the word, `exclusive_sys` waits for it.
use super::exclusive_sys;
use super::instance::{AnyDomain, Instance, domain};
use super::thread_sys::ThreadState;
use crate::error::CallError;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// `take_exclusive` of `call/emit.rs`: `lock cmpxchg [owner], tid`, and the slow path if somebody has it.
fn take(thread: &ThreadState, domain: &Arc<dyn AnyDomain>) -> Result<(), CallError> {
    let free =
        |word: &AtomicU32| word.compare_exchange(0, thread.tid as u32, Ordering::SeqCst, Ordering::SeqCst);
    while free(domain.owner()).is_err() {
        exclusive_sys::wait(thread, domain.clone(), None)?;
    }
    Ok(())
}

/// `leave_exclusive` of `call/emit.rs`: `xchg [owner], 0`, and a call of `wake` if the bit 31 was set.
fn leave(domain: &Instance) {
    if domain.owner().swap(0, Ordering::SeqCst) >> 31 != 0 {
        exclusive_sys::wake(domain.owner());
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

    fn call(&self, thread: &ThreadState) -> Result<(), CallError> {
        take(thread, &self.domain)?;
        // SAFETY: loom checks that nobody else is here.
        self.state.with_mut(|state| unsafe { *state += 1 });
        if thread.tid % 2 == 0 {
            leave(&self.domain);
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
        assert_eq!(guarded.domain.owner().load(Ordering::SeqCst), 0, "free at the end");
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

/// Two threads, each with the domain that the other one calls: at least one is told, and both come back.
#[test]
fn a_circle_is_found() {
    crate::explore(3, || {
        let (a, b) = (domain(), domain());
        let nested = |thread: &ThreadState, outer: &Arc<dyn AnyDomain>, inner: &Arc<dyn AnyDomain>| {
            take(thread, outer)?;
            let got = take(thread, inner);
            if got.is_ok() {
                leave(inner);
            }
            leave(outer);
            got
        };
        let other = {
            let (a, b) = (a.clone(), b.clone());
            loom::thread::spawn(move || nested(&ThreadState::attached(1), &b, &a))
        };
        let own = nested(&ThreadState::attached(2), &a, &b);
        let other = other.join().expect("no panic");
        for end in [own, other] {
            assert!(matches!(end, Ok(()) | Err(CallError::Deadlock(_))), "{end:?}");
        }
        assert_eq!((a.owner().load(Ordering::SeqCst), b.owner().load(Ordering::SeqCst)), (0, 0));
    });
}
