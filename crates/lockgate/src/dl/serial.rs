//! One thread at a time opens and closes libraries; constructors and destructors that it runs may do so, too. A function of the host's that
//! these call may end the thread, out of all frames that say so: then its turn ends, and what was about to be open, or over, is over.
use super::loaded::Loaded;
use super::table;
use crate::host::{AtThreadEnd, PerProcess};
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Whose turn it is.
struct Owner {
    /// Kernel id.
    thread: i32,
    depth: usize,
    /// Libraries whose constructors or destructors run.
    between: Vec<Arc<Loaded>>,
}

static OWNER: PerProcess<Mutex<Option<Owner>>> = PerProcess::new(Mutex::default);
static FREE: PerProcess<Condvar> = PerProcess::new(Condvar::new);
static END: AtThreadEnd = AtThreadEnd::new(give_up);

fn owner() -> MutexGuard<'static, Option<Owner>> {
    OWNER.lock().unwrap_or_else(|e| e.into_inner())
}

fn me() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

extern "C" fn give_up(_: *mut c_void) {
    let left = owner().take_if(|owner| owner.thread == me());
    FREE.notify_one();
    for loaded in left.into_iter().flat_map(|owner| owner.between) {
        table::strike(loaded.id());
        loaded.end();
    }
}

/// The right to open and close.
pub(super) struct Turn(());

impl Turn {
    /// Waits for it, unless the thread has it already.
    pub fn take() -> Turn {
        let me = me();
        let mut owner = owner();
        loop {
            match &mut *owner {
                None => {
                    *owner = Some(Owner { thread: me, depth: 1, between: Vec::new() });
                    END.arm();
                }
                Some(Owner { thread, depth, .. }) if *thread == me => *depth += 1,
                Some(_) => {
                    owner = FREE.wait(owner).unwrap_or_else(|e| e.into_inner());
                    continue;
                }
            }
            return Turn(());
        }
    }

    /// What `run` returns, in which code of the library's runs.
    pub fn between<R>(&self, loaded: &Arc<Loaded>, run: impl FnOnce(&Loaded) -> R) -> R {
        if let Some(owner) = &mut *owner() {
            owner.between.push(loaded.clone());
        }
        let done = run(loaded);
        if let Some(owner) = &mut *owner() {
            owner.between.retain(|other| !Arc::ptr_eq(other, loaded));
        }
        done
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut owner = owner();
        if owner.take_if(|owner| owner.depth == 1).is_some() {
            FREE.notify_one();
        } else if let Some(owner) = &mut *owner {
            owner.depth -= 1;
        }
    }
}
