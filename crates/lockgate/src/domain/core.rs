//! A domain: [`Instance`], which is all that calls read of it, and everything else that lives as long as it may be called. `life.rs` makes, resets and
//! ends it, `entering.rs` lets threads in, the other files have what is done with each of its parts.
use super::guest_threads::GuestThreads;
use super::limits::Usage;
use super::options::{DomainOptions, Resolver};
use super::slots::Slots;
use super::snapshot::Snapshot;
use crate::call::meter::Meter;
use crate::call::{AnyDomain, Instance, thread_sys, watch};
use crate::host::locked;
use crate::module::Placed;
use crate::symbols::Registration;
use lockgate_syscall::Started;
use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// One domain. Bindings and the domain's handle keep it alive, so no thread is inside when it goes (rule R22).
pub(crate) struct Core {
    /// For debuggers. Goes before the module and the name that it lists.
    pub(super) _listing: Registration,
    /// Modules that joined, in the order of their places: see `images.rs`. They are listed, too.
    pub(super) joined: Mutex<Vec<Joined>>,
    pub(super) instance: Instance,
    pub(super) resolver: Option<Arc<Resolver>>,
    pub(super) options: DomainOptions,
    pub(super) slots: Mutex<Slots>,
    /// What there was after the start, for domains of a pool: the memory, and the rest.
    pub(super) snapshot: Option<(Snapshot, Started)>,
    pub(super) guest_threads: GuestThreads,
    /// Parks the watcher again when the last domain that it watches goes.
    pub(super) watch: watch::Interest,
}

/// A module that joined.
pub(super) struct Joined {
    /// Goes before what it lists.
    pub _listing: Registration,
    pub image: Placed,
    /// No other module may have its place.
    pub in_use: bool,
    /// When it left: headers of the bindings that had led there, which threads may be in still.
    pub left_by: Vec<usize>,
    /// Numbers of the callbacks that its words lead to; closed ones when it has left.
    pub callbacks: Vec<u64>,
}

impl Deref for Core {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

impl Core {
    /// Every domain that calls know is one of these.
    pub fn of(domain: &dyn AnyDomain) -> &Core {
        (domain as &dyn Any).downcast_ref().expect("nothing else is a domain")
    }

    /// The same, shared.
    pub fn shared(domain: Arc<dyn AnyDomain>) -> Arc<Core> {
        (domain as Arc<dyn Any + Send + Sync>).downcast().expect("nothing else is a domain")
    }

    pub fn options(&self) -> &DomainOptions {
        &self.options
    }

    /// What the domain uses now.
    pub fn usage(&self) -> Usage {
        if self.is_inherited() {
            return Usage::default();
        }
        let memory = self.memory();
        let (detached, detached_ended, detached_failed, detached_settled) = {
            let detached = &self.guest_threads.books().detached;
            (detached.running(), detached.ended, detached.failed, detached.settled())
        };
        Usage {
            memory: memory.used,
            peak_memory: memory.peak,
            memory_limit: memory.limit,
            threads: self.slots().threads(),
            descriptors: self.process().descriptors_used(),
            calls: thread_sys::calls_in(self.base()) as u32,
            cpu_time: self.watch.meter().map(Meter::used),
            detached,
            detached_ended,
            detached_failed,
            detached_settled,
        }
    }

    /// What counts the CPU time of its calls, if anything does.
    pub fn meter(&self) -> Option<&Meter> {
        self.watch.meter()
    }

    pub fn stack_size(&self) -> u64 {
        self.terms().stack_size
    }

    /// Threads that the module has started.
    pub(super) fn guest_threads(&self) -> &GuestThreads {
        &self.guest_threads
    }

    pub(super) fn weak(self: &Arc<Core>) -> Weak<dyn AnyDomain> {
        Arc::downgrade(self) as Weak<dyn AnyDomain>
    }

    pub(super) fn slots(&self) -> MutexGuard<'_, Slots> {
        locked(&self.slots)
    }

    pub(super) fn joined(&self) -> MutexGuard<'_, Vec<Joined>> {
        locked(&self.joined)
    }
}
