//! One thread at a time opens and closes libraries; constructors and destructors that it runs may do so, too.
use crate::host::PerProcess;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

static OWNER: PerProcess<Mutex<Option<(ThreadId, usize)>>> = PerProcess::new(Mutex::default);
static FREE: PerProcess<Condvar> = PerProcess::new(Condvar::new);

fn owner() -> MutexGuard<'static, Option<(ThreadId, usize)>> {
    OWNER.lock().unwrap_or_else(|e| e.into_inner())
}

/// The right to open and close.
pub(super) struct Turn(());

impl Turn {
    /// Waits for it, unless the thread has it already.
    pub fn take() -> Turn {
        let me = thread::current().id();
        let mut owner = owner();
        loop {
            match &mut *owner {
                None => *owner = Some((me, 1)),
                Some((thread, depth)) if *thread == me => *depth += 1,
                Some(_) => {
                    owner = FREE.wait(owner).unwrap_or_else(|e| e.into_inner());
                    continue;
                }
            }
            return Turn(());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut owner = owner();
        *owner = owner.filter(|(_, depth)| *depth > 1).map(|(thread, depth)| (thread, depth - 1));
        if owner.is_none() {
            FREE.notify_one();
        }
    }
}
