//! What Rust knows of a binding while it is called.
use super::thread_sys::AnyDomain;
use crate::error::CallError;
use crate::host::locked;
use crate::report::{Entered, Registers};
use crate::space;
use crate::stats::{Row, Traffic};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// The part of a binding that the slow paths of its calls read.
pub(crate) struct Info {
    /// Name of the procedure.
    pub name: String,
    /// The callee, kept alive.
    pub domain: Arc<dyn AnyDomain>,
    /// For calls from a domain.
    pub on_failure: OnFailure,
    /// How long a call may wait for its turn in an exclusive domain, if not as long as the domain says.
    pub queue: Option<Duration>,
    traffic: Traffic,
    /// Its place in the list of bindings that other processes can read.
    row: Option<Arc<Row>>,
    closed: Mutex<Option<Closed>>,
    /// Calls in progress end, too.
    stopped: AtomicBool,
    /// Of what takes the calls of this binding since its domain was restarted.
    successor: OnceLock<Arc<Info>>,
    lent: Lent,
}

/// Whether a caller has a raw function pointer to a binding, or to one that it takes calls of, or that takes calls of it: by whichever
/// of them a call came, the one that it ran in says how it ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lent(Arc<AtomicBool>);

/// Why a binding admits no calls any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Revoked,
    Restarted,
    /// The library was closed.
    Unloaded,
}

/// What a domain gets when its call of another domain fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The call returns this value, in every register that can hold a result.
    Return(u64),
    /// The domain's own call ends, too, with [`CallError::Callee`].
    Propagate,
}

impl Default for OnFailure {
    /// All bits set: -1, not a number, or a pointer to nothing.
    fn default() -> OnFailure {
        OnFailure::Return(u64::MAX)
    }
}

impl Info {
    pub fn new(
        name: String,
        domain: Arc<dyn AnyDomain>,
        on_failure: OnFailure,
        row: Option<Arc<Row>>,
        queue: Option<Duration>,
        lent: Lent,
    ) -> Info {
        Info {
            name,
            domain,
            on_failure,
            queue,
            traffic: Traffic::default(),
            row,
            closed: Mutex::default(),
            stopped: AtomicBool::new(false),
            successor: OnceLock::new(),
            lent,
        }
    }

    /// True if a raw function pointer was given out.
    pub fn is_lent(&self) -> bool {
        self.lent.0.load(Ordering::Acquire)
    }

    /// A raw function pointer is given out.
    pub fn lend(&self) {
        self.lent.0.store(true, Ordering::Release);
    }

    /// For a binding that takes the calls of this one.
    pub fn lent(&self) -> &Lent {
        &self.lent
    }

    /// # Errors
    /// Why no call may begin.
    pub fn is_open(&self) -> Result<(), CallError> {
        match *self.closed() {
            None => Ok(()),
            Some(Closed::Revoked) => Err(CallError::Revoked(self.name.clone())),
            Some(Closed::Restarted) => Err(CallError::Restarted(self.domain.name().to_owned())),
            Some(Closed::Unloaded) => Err(CallError::Unloaded(self.domain.name().to_owned())),
        }
    }

    /// True if the library whose function it is was closed.
    pub fn is_unloaded(&self) -> bool {
        *self.closed() == Some(Closed::Unloaded)
    }

    fn closed(&self) -> MutexGuard<'_, Option<Closed>> {
        locked(&self.closed)
    }

    /// No call may begin any more. The first reason stays.
    pub fn close(&self, why: Closed) {
        self.closed().get_or_insert(why);
    }

    /// Calls in progress must end.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Calls may begin again.
    pub fn reopen(&self) {
        *self.closed() = None;
        self.stopped.store(false, Ordering::Release);
    }

    /// True if calls in progress must end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Later calls are `successor`'s.
    pub fn hand_on(&self, successor: Arc<Info>) {
        let _ = self.successor.set(successor);
    }

    /// Of this binding and its successors, the one that takes calls now.
    pub fn newest(&self) -> &Info {
        let mut info = self;
        while let Some(successor) = info.successor.get() {
            info = successor;
        }
        info
    }

    /// Of this binding and its successors, the one whose domain has `address`.
    pub fn that_ran(&self, address: u64) -> &Info {
        let mut info = self;
        while space::base_of(address) != info.domain.base()
            && let Some(successor) = info.successor.get()
        {
            info = successor;
        }
        info
    }

    /// A call of it that began with its stack pointer at `entry`, with its stacks as they are now.
    pub fn entered(&self, registers: Registers, entry: u64) -> Entered {
        let domain = &self.domain;
        let call = Entered::new(domain.name(), &self.name, domain.images(), domain.stride(), registers);
        let size = domain.stack_size_at(call.rsp());
        call.with_stack(domain.stride(), size, entry)
    }

    /// Where calls are counted and timed.
    pub fn traffic(&self) -> &Traffic {
        self.row.as_ref().map_or(&self.traffic, |row| row.traffic())
    }

    pub fn row(&self) -> Option<&Arc<Row>> {
        self.row.as_ref()
    }
}
