//! What domains let go of later, when no thread can hold it any more.
//!
//! Functions that were taken from a domain, one by one: a thread may be using one, or be about to.
//!
//! Domains that were closed: they let go of the domains that they call when nobody is inside any more.
//!
//! Two domains that call each other keep each other alive: each one's tables hold bindings of the other. A thread
//! inside may be using an entry of the tables, so they are emptied at once, and let go of when no thread that was inside
//! then is inside still. The watcher, which looks after killed domains anyway, asks.
use super::core::Core;
use crate::call::thread_sys::calls_in;
use crate::call::watch;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Closed domains that threads may still be in.
static CLOSED: Mutex<Vec<Arc<Core>>> = Mutex::new(Vec::new());

/// Domains from which functions were taken that threads may hold.
static WAITING: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

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
    WAITING.lock().unwrap_or_else(|e| e.into_inner())
}

/// Ends all calls in `core`, refuses new ones, and lets go of what it calls as soon as nobody is inside.
pub(crate) fn close(core: &Arc<Core>) {
    core.kill();
    core.gates().clear();
    CLOSED.lock().unwrap_or_else(|e| e.into_inner()).push(core.clone());
    // Again: the watcher may have found the domain empty before it was in the list.
    watch::tell_of_kill(core.base());
}

/// Lets go of what closed domains call, if nobody is inside any more.
pub(crate) fn bury() {
    let mut closed = CLOSED.lock().unwrap_or_else(|e| e.into_inner());
    let empty: Vec<_> = closed.extract_if(.., |core| calls_in(core.base()) == 0).collect();
    drop(closed);
    for core in empty {
        core.gates().forget();
    }
}
