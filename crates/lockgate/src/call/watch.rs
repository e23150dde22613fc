//! Time limits and kills: a watcher that reads each thread's records from time to time, so that calls pay nothing.
//!
//! It runs while a domain with a time limit exists, and after a kill until no thread is in the killed domain. An entry under
//! a limit shows its sequence number and limit in its record; one that shows the same number for longer than its limit is
//! nudged with a signal until it has ended.
use super::signals_sys;
use super::thread_sys::{OVERDUE, SeenEntry, THREADS};
use lockgate_abi::window;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How late the start of a call may be seen.
const POLL: Duration = Duration::from_millis(3);
/// Interval of nudges to a call that is overdue.
const INSIST: Duration = Duration::from_millis(1);

static INTERESTED: Mutex<Interested> =
    Mutex::new(Interested { domains: 0, killed: Vec::new(), started: false });
static WAKE: Condvar = Condvar::new();

struct Interested {
    /// Domains with a time limit.
    domains: usize,
    /// What threads must leave, and may still be in.
    killed: Vec<Condemned>,
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

/// What was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condemned {
    /// The domain in this stride.
    Domain(u64),
    /// The binding whose header is at this address.
    Binding(usize),
}

impl Condemned {
    fn holds(self, entry: &SeenEntry) -> bool {
        match self {
            Condemned::Domain(base) => entry.control - entry.control % window::STRIDE == base,
            Condemned::Binding(header) => entry.binding == header,
        }
    }
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

/// Asks every attached thread to look at its state: the domain at `base` was killed. One look may find a thread in the
/// middle of a proxy, where it cannot be stopped, so the watcher asks again until the domain is empty.
pub(crate) fn tell_of_kill(base: u64) {
    tell(Condemned::Domain(base));
}

/// The same for calls of the binding whose header is at `header`.
pub(crate) fn tell_of_stop(header: usize) {
    tell(Condemned::Binding(header));
}

fn tell(condemned: Condemned) {
    let mut interested = interested();
    interested.killed.push(condemned);
    // Without a watcher, the one nudge below must do.
    let _ = interested.wake();
    drop(interested);
    for thread in THREADS.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        signals_sys::nudge(thread.tid);
    }
}

/// A limited entry: thread and sequence number, and when it was first seen.
type Seen = HashMap<(i32, u32), Instant>;

fn watch() {
    signals_sys::block_all();
    let mut seen = Seen::new();
    loop {
        let mut interested = interested();
        while interested.domains == 0 && interested.killed.is_empty() {
            interested = WAKE.wait(interested).unwrap_or_else(|e| e.into_inner());
        }
        let killed = interested.killed.clone();
        drop(interested);
        let (pause, inhabited) = look(&mut seen, &killed);
        if !killed.is_empty() {
            let mut interested = self::interested();
            // Those that were killed meanwhile stay for the next look.
            interested.killed.retain(|one| inhabited.contains(one) || !killed.contains(one));
            drop(interested);
            crate::domain::bury();
        }
        std::thread::sleep(pause);
    }
}

/// Looks at every thread once. Returns when to look again, and what of the condemned threads are in.
fn look(seen: &mut Seen, killed: &[Condemned]) -> (Duration, Vec<Condemned>) {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    let now = Instant::now();
    let mut pause = POLL;
    let mut inhabited = Vec::new();
    let mut present = Seen::new();
    for thread in threads.iter() {
        let entries = thread.entries();
        let in_killed = killed.iter().copied().filter(|one| entries.iter().any(|entry| one.holds(entry)));
        let before = inhabited.len();
        inhabited.extend(in_killed);
        let overdue = entries.iter().filter_map(|entry| entry.limit).find_map(|(sequence, limit)| {
            let since = *seen.get(&(thread.tid, sequence)).unwrap_or(&now);
            present.insert((thread.tid, sequence), since);
            let left = Duration::from_millis(limit.into()).saturating_sub(now - since);
            pause = pause.min(left.max(INSIST));
            left.is_zero().then_some(sequence)
        });
        if let Some(sequence) = overdue {
            thread.overdue.store(OVERDUE | u64::from(sequence), Ordering::Release);
        }
        if overdue.is_some() || inhabited.len() > before {
            signals_sys::nudge(thread.tid);
            pause = INSIST;
        }
    }
    *seen = present;
    (pause, inhabited)
}
