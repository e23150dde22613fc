//! Time limits: a watcher that reads each thread's block from time to time, so that calls pay nothing.
//!
//! It runs while a domain with a time limit exists. A call under a limit shows its sequence number and limit in
//! the thread's block; one that shows the same number for longer than its limit is nudged with a signal
//! until it has ended.
use super::signals_sys;
use super::thread_sys::THREADS;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How late the start of a call may be seen.
const POLL: Duration = Duration::from_millis(3);
/// Interval of nudges to a call that is overdue.
const INSIST: Duration = Duration::from_millis(1);

static INTERESTED: Mutex<Interested> = Mutex::new(Interested { domains: 0, started: false });
static WAKE: Condvar = Condvar::new();

struct Interested {
    domains: usize,
    started: bool,
}

/// Keeps the watcher awake.
pub(crate) struct Interest(());

impl Interest {
    /// Wakes the watcher; starts it the first time.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn new() -> std::io::Result<Interest> {
        let mut interested = INTERESTED.lock().unwrap_or_else(|e| e.into_inner());
        if !interested.started {
            std::thread::Builder::new().name("lockgate-watch".to_owned()).spawn(watch)?;
            interested.started = true;
        }
        interested.domains += 1;
        WAKE.notify_one();
        Ok(Interest(()))
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        INTERESTED.lock().unwrap_or_else(|e| e.into_inner()).domains -= 1;
    }
}

/// Asks every attached thread to look at its state.
pub(crate) fn nudge_all() {
    for thread in THREADS.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        signals_sys::nudge(thread.tid);
    }
}

fn watch() {
    signals_sys::block_all();
    // Thread → sequence number of the call seen, and when it was first seen.
    let mut calls: HashMap<i32, (u64, Instant)> = HashMap::new();
    loop {
        {
            let mut interested = INTERESTED.lock().unwrap_or_else(|e| e.into_inner());
            while interested.domains == 0 {
                interested = WAKE.wait(interested).unwrap_or_else(|e| e.into_inner());
            }
        }
        std::thread::sleep(look(&mut calls));
    }
}

/// Looks at every thread once; returns when to look again.
fn look(calls: &mut HashMap<i32, (u64, Instant)>) -> Duration {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    let now = Instant::now();
    let mut pause = POLL;
    calls.retain(|tid, _| threads.iter().any(|t| t.tid == *tid));
    for thread in threads.iter() {
        let (sequence, limit) = thread.limited_call();
        if limit == 0 {
            calls.remove(&thread.tid);
            continue;
        }
        let (seen, since) = calls.entry(thread.tid).or_insert((sequence, now));
        if *seen != sequence {
            (*seen, *since) = (sequence, now);
        }
        let left = Duration::from_millis(limit).saturating_sub(now - *since);
        if left.is_zero() {
            thread.overdue.store(sequence, Ordering::Release);
            signals_sys::nudge(thread.tid);
            pause = INSIST;
        }
        pause = pause.min(left.max(INSIST));
    }
    pause
}
