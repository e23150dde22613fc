//! Domains that were closed: they let go of the domains that they call, and of what else was kept for their callers, when nobody
//! is inside any more.
//!
//! Two domains that call each other keep each other alive: each one's tables hold bindings of the other. A thread
//! inside may be using an entry of the tables, so they are emptied at once, and let go of when no thread that was inside
//! then is inside still. The watcher, which looks after killed domains anyway, tells.
use super::core::Core;
use crate::call::watch;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A closed domain that threads may still be in.
struct Closed {
    core: Arc<Core>,
    then: Box<dyn FnOnce() + Send>,
}

static CLOSED: Mutex<Vec<Closed>> = Mutex::new(Vec::new());
static BURIED: Condvar = Condvar::new();

fn closed() -> MutexGuard<'static, Vec<Closed>> {
    CLOSED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Ends all calls in `core`, refuses new ones, and lets go of what it calls as soon as nobody is inside.
pub(crate) fn close(core: &Arc<Core>) {
    close_then(core, || ());
}

/// The same, and `then` runs when no thread is inside, nor in a proxy on its way there.
pub(crate) fn close_then(core: &Arc<Core>, then: impl FnOnce() + Send + 'static) {
    core.kill();
    core.gates().clear();
    closed().push(Closed { core: core.clone(), then: Box::new(then) });
    // Again: the watcher may have found the domain empty before it was in the list.
    watch::tell_of_kill(core.base());
}

/// Lets go of closed domains, but for those whose base is in `inhabited`: threads may be in them, or about to be.
pub(crate) fn bury(inhabited: &[u64]) {
    let mut closed = closed();
    let empty: Vec<_> = closed.extract_if(.., |closed| !inhabited.contains(&closed.core.base())).collect();
    drop(closed);
    for Closed { core, then } in empty {
        core.gates().forget();
        then();
    }
    BURIED.notify_all();
}

/// Lets who closes faster than the watcher looks wait for it a little, so that closed domains do not use up the address space: until
/// few are left. Not for long: a domain may wait for the very thread that asks.
pub(crate) fn settle() {
    const FEW: usize = 64;
    const PATIENCE: Duration = Duration::from_millis(20);
    let _ = BURIED.wait_timeout_while(closed(), PATIENCE, |closed| closed.len() > FEW);
}
