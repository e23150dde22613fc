//! Functions of the host, whose life the models watch.
use crate::call::Gate;
use crate::call::layout::GateEntry;
use loom::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// A function. When the last copy goes, it is dead.
#[derive(Clone)]
pub(crate) struct HostFunction(Arc<Life>);

struct Life(&'static AtomicBool);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Tells whether a function is alive. Looking orders nothing.
pub(crate) struct Liveness(&'static AtomicBool);

impl Liveness {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl HostFunction {
    pub(crate) fn new() -> HostFunction {
        HostFunction(Arc::new(Life(Box::leak(Box::new(AtomicBool::new(true))))))
    }

    pub(crate) fn liveness(&self) -> Liveness {
        Liveness(self.0.0)
    }

    pub(crate) fn gate(self) -> Gate {
        let context = std::ptr::from_ref(self.0.0) as usize;
        let entry = GateEntry { function: 0, context, stack_distance: 0 };
        Gate { entry, keeps: Some(self.0), is_binding: false }
    }

    /// What a gate does with the entry that it has found and shown.
    pub(crate) fn run(entry: *const GateEntry) {
        // SAFETY: that is the question; memory of models that went wrong may be read after its end.
        let alive = unsafe { &*((*entry).context as *const AtomicBool) };
        assert!(alive.load(Ordering::Relaxed), "a function was let go of while a thread is about to call it");
    }
}
