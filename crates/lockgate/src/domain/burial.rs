//! Domains that were closed: they let go of the domains that they call when nobody is inside any more.
//!
//! Two domains that call each other keep each other alive: each one's tables hold bindings of the other. A thread
//! inside may be using an entry of the tables, so they are emptied at once, and let go of when no thread that was inside
//! then is inside still. The watcher, which looks after killed domains anyway, asks.
use super::core::Core;
use crate::call::thread_sys::calls_in;
use crate::call::watch;
use std::sync::{Arc, Mutex};

/// Closed domains that threads may still be in.
static CLOSED: Mutex<Vec<Arc<Core>>> = Mutex::new(Vec::new());

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
