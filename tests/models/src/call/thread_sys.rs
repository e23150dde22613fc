//! Threads, as the modelled files see them.
use super::gate_tables_sys::GateTables;
use super::instance::Instance;
use super::layout::GateEntry;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

/// A domain, as calls keep it.
pub(crate) trait AnyDomain: Deref<Target = Instance> + Send + Sync {}

struct Modelled(Instance);

impl Deref for Modelled {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.0
    }
}

impl AnyDomain for Modelled {}

/// A domain.
pub(crate) fn domain() -> Arc<dyn AnyDomain> {
    Arc::new(Modelled(Instance::new()))
}

pub(crate) struct ThreadBlock {
    pub top: *const (),
    /// What the thread's proxy expects of an owner word.
    pub turn: u32,
}

pub(crate) struct ThreadState {
    pub tid: i32,
    pub block: *mut ThreadBlock,
    pub stop: AtomicBool,
    pub waits_for: AtomicPtr<AtomicU32>,
    /// The thread's innermost records: whether it is in a gate, and by which entry. (In the runtime three words: the record's kind and
    /// entry are stored before the thread's `top`, and loaded after it, which x86 keeps in order; here `top` says it all.)
    top: AtomicUsize,
    /// The exclusive domain that the thread waits for.
    awaited: UnsafeCell<Option<Arc<dyn AnyDomain>>>,
}

// SAFETY: nobody follows the block, and only the thread itself looks at what it awaits.
unsafe impl Send for ThreadState {}
// SAFETY: as above.
unsafe impl Sync for ThreadState {}

/// What `top` is while the thread runs the domain's code, and while it is outside.
const INSIDE: usize = 1;
const OUTSIDE: usize = 0;

impl ThreadState {
    /// A thread with this number, in the list of all.
    pub(crate) fn attached(tid: i32) -> Arc<ThreadState> {
        let block = Box::leak(Box::new(ThreadBlock { top: ptr::null(), turn: 0 }));
        let state = Arc::new(ThreadState {
            tid,
            block,
            stop: AtomicBool::new(false),
            waits_for: AtomicPtr::new(ptr::null_mut()),
            top: AtomicUsize::new(OUTSIDE),
            awaited: UnsafeCell::new(None),
        });
        THREADS.lock().expect("no panic").push(state.clone());
        state
    }

    /// The thread enters the domain, or comes back to its code from a gate: stores to `top` in proxies and gates.
    pub(crate) fn enter(&self) {
        self.top.store(INSIDE, Ordering::Release);
    }

    /// The thread goes through a gate by this entry.
    pub(crate) fn show(&self, entry: *const GateEntry) {
        self.top.store(entry as usize, Ordering::Release);
    }

    /// Keeps the domain that the thread waits for.
    pub(crate) fn await_domain(&self, domain: Arc<dyn AnyDomain>) -> &Instance {
        // SAFETY: the thread's own.
        unsafe { (*self.awaited.get()).insert(domain) }
    }

    /// Only who waits for a lock asks what others have said.
    pub(crate) fn looks_for_turn(&self, _begins: bool) {}

    pub(crate) fn await_none(&self) {
        // SAFETY: as above; what is dropped finds it empty.
        drop(unsafe { (*self.awaited.get()).take() });
    }

    /// The thread leaves the domain.
    pub(crate) fn leave(&self) {
        self.top.store(OUTSIDE, Ordering::Release);
    }
}

loom::lazy_static! {
    pub(crate) static ref THREADS: Mutex<Vec<Arc<ThreadState>>> = Mutex::new(Vec::new());
}

/// The runtime's `gate_entries`, of a process with one domain.
pub(crate) fn gate_entries(_: u64) -> (HashSet<*const GateEntry>, Vec<i32>) {
    let threads = THREADS.lock().expect("no panic");
    let (mut found, mut inside) = (HashSet::new(), Vec::new());
    for thread in threads.iter() {
        match thread.top.load(Ordering::Acquire) {
            OUTSIDE => {}
            INSIDE => inside.push(thread.tid),
            entry => {
                found.insert(entry as *const GateEntry);
            }
        }
    }
    (found, inside)
}

impl GateTables {
    /// As the runtime's.
    pub(crate) fn release(&self, base: u64) -> bool {
        self.release_unless_held(|| gate_entries(base))
    }
}
