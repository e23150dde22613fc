//! Time limits: a watcher that reads each thread's block from time to time, so that calls pay nothing.
//!
//! It runs while a domain with a time limit exists, and for a moment after a kill. A call under a limit shows its sequence number and limit in
//! the thread's block; one that shows the same number for longer than its limit is nudged with a signal
//! until it has ended.
use super::signals_sys;
use super::thread_sys::THREADS;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How late the start of a call may be seen.
const POLL: Duration = Duration::from_millis(3);
/// Interval of nudges to a call that is overdue.
const INSIST: Duration = Duration::from_millis(1);
/// How long threads are nudged after a kill.
const KILLS: Duration = Duration::from_millis(100);

static INTERESTED: Mutex<Interested> =
    Mutex::new(Interested { domains: 0, kills_until: None, started: false });
static WAKE: Condvar = Condvar::new();

struct Interested {
    /// Domains with a time limit.
    domains: usize,
    /// A domain was killed: nudge all threads until then.
    kills_until: Option<Instant>,
    started: bool,
}

impl Interested {
    fn wake(&mut self) -> std::io::Result<()> {
        if !self.started {
            std::thread::Builder::new().name("lockgate-watch".to_owned()).spawn(watch)?;
            self.started = true;
        }
        WAKE.notify_one();
        Ok(())
    }
}

fn interested() -> MutexGuard<'static, Interested> {
    INTERESTED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Keeps the watcher awake.
pub(crate) struct Interest(());

impl Interest {
    /// Wakes the watcher; starts it the first time.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn new() -> std::io::Result<Interest> {
        let mut interested = interested();
        interested.wake()?;
        interested.domains += 1;
        Ok(Interest(()))
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        interested().domains -= 1;
    }
}

/// Asks every attached thread to look at its state: a domain was killed. One look may find a thread in the middle of
/// a proxy, where it cannot be stopped, so the watcher asks some more times.
pub(crate) fn tell_of_kill() {
    let mut interested = interested();
    interested.kills_until = Some(Instant::now() + KILLS);
    // Without a watcher, the one nudge below must do.
    let _ = interested.wake();
    drop(interested);
    nudge_all();
}

fn nudge_all() {
    for thread in THREADS.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        signals_sys::nudge(thread.tid);
    }
}

fn watch() {
    signals_sys::block_all();
    // Thread → sequence number of the call seen, and when it was first seen.
    let mut calls: HashMap<i32, (u64, Instant)> = HashMap::new();
    loop {
        let mut interested = interested();
        while interested.domains == 0 && interested.kills_until.is_none() {
            interested = WAKE.wait(interested).unwrap_or_else(|e| e.into_inner());
        }
        let killing = interested.kills_until;
        interested.kills_until = killing.filter(|until| *until > Instant::now());
        drop(interested);
        let mut pause = look(&mut calls);
        if killing.is_some() {
            nudge_all();
            pause = INSIST;
        }
        std::thread::sleep(pause);
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
