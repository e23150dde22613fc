//! What domains let go of later, when no thread can hold it any more.
//!
//! Functions that were taken from a domain, one by one: a thread may be using one, or be about to.
//!
//! Domains that were closed: they let go of the domains that they call, and of what else was kept for their callers, when no thread
//! is inside any more.
//!
//! Two domains that call each other keep each other alive: each one's tables hold bindings of the other. A thread
//! inside may be using an entry of the tables, so they are emptied at once, and let go of when no thread that was inside
//! then is inside still. The watcher, which looks after killed domains anyway, tells.
use super::core::Core;
use crate::call::{thread_sys, watch};
use crate::host::{PerProcess, locked};
use crate::{grant, handle};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// A closed domain that threads may still be in.
struct Closed {
    core: Arc<Core>,
    then: Box<dyn FnOnce() + Send>,
}

static CLOSED: PerProcess<Mutex<Vec<Closed>>> = PerProcess::new(Mutex::default);
/// Some are being let go of. Changed with the lock of [`CLOSED`].
static RECLAIMING: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::default);
static RECLAIMED: PerProcess<Condvar> = PerProcess::new(Condvar::new);

fn closed() -> MutexGuard<'static, Vec<Closed>> {
    locked(&CLOSED)
}

/// Domains from which functions were taken that threads may hold.
static WAITING: PerProcess<Mutex<Vec<Weak<Core>>>> = PerProcess::new(Mutex::default);

/// Lets go of functions that were taken from the tables of `core`, now or as soon as no thread can hold them.
pub(crate) fn release_functions(core: &Arc<Core>) {
    if !core.gates().release(core.base()) {
        let mut waiting = waiting();
        if !waiting.iter().any(|one| ptr::eq(one.as_ptr(), Arc::as_ptr(core))) {
            waiting.push(Arc::downgrade(core));
        }
        drop(waiting);
        watch::tell_of_leftovers();
    }
}

/// Tries again to let go of functions; true if none is left.
pub(crate) fn release_leftovers() -> bool {
    let before = std::mem::take(&mut *waiting());
    let is_held = |core: &Weak<Core>| core.upgrade().is_some_and(|core| !core.gates().release(core.base()));
    let mut after: Vec<_> = before.into_iter().filter(is_held).collect();
    let mut waiting = waiting();
    waiting.append(&mut after);
    waiting.is_empty()
}

fn waiting() -> MutexGuard<'static, Vec<Weak<Core>>> {
    locked(&WAITING)
}

/// Ends all calls in `core`, refuses new ones, and lets go of what it calls as soon as no thread is inside. What the caller held is the watcher's
/// from here on: whose thread ends a domain is not a matter of which of the two comes first.
pub(crate) fn close(core: Arc<Core>) {
    close_then(core, || ());
}

/// The same, and `then` runs when no thread is inside, nor in a proxy on its way there.
pub(crate) fn close_then(core: Arc<Core>, then: impl FnOnce() + Send + 'static) {
    core.kill();
    core.gates().clear();
    let base = core.base();
    // The last to hold it may be the watcher, whose thread is in no window.
    thread_sys::leave_window_unless_inside(base);
    let mut closed = closed();
    closed.push(Closed { core, then: Box::new(then) });
    // Again: the watcher may have found the domain empty before it was in the list. (With the lock: it ends what is there no earlier, and the
    // next domain at this base is not taken for killed.)
    watch::tell_of_kill(base);
}

/// Lets go of closed domains, but for those whose base is in `inhabited`: threads may be in them, or about to be.
pub(crate) fn reclaim(inhabited: &[u64]) {
    let mut closed = closed();
    let empty: Vec<_> = closed.extract_if(.., |closed| !inhabited.contains(&closed.core.base())).collect();
    RECLAIMING.store(true, Ordering::Relaxed);
    drop(closed);
    for Closed { core, then } in empty {
        core.gates().forget();
        // What it was given ends with it, and what others have from it, even if hosts keep its functions.
        grant::end_domain(core.id());
        handle::end_domain(core.id());
        then();
    }
    let closed = self::closed();
    RECLAIMING.store(false, Ordering::Relaxed);
    drop(closed);
    RECLAIMED.notify_all();
}

/// Waits until the watcher has reclaimed all that is closed; false if it has not in so much time. For those who count what is left.
pub fn until_reclaimed(timeout: Duration) -> bool {
    let waits = |closed: &mut Vec<Closed>| !closed.is_empty() || RECLAIMING.load(Ordering::Relaxed);
    let waited = RECLAIMED.wait_timeout_while(closed(), timeout, waits);
    !waited.unwrap_or_else(|e| e.into_inner()).1.timed_out()
}

/// Lets who closes faster than the watcher looks wait for it a little, so that closed domains do not use up the address space: until
/// few are left. Not for long: a domain may wait for the very thread that asks.
pub(crate) fn settle() {
    const FEW: usize = 64;
    const TIMEOUT: Duration = Duration::from_millis(20);
    let _ = RECLAIMED.wait_timeout_while(closed(), TIMEOUT, |closed| closed.len() > FEW);
}
