//! What calls read of a domain. What they have it do on the slow paths is [`AnyDomain`](super::thread_sys::AnyDomain).
use super::admission_sys::Admissions;
use super::call_abi::StateUsage;
use super::codes::Codes;
use super::contexts::Contexts;
use super::gate_tables_sys::GateTables;
use super::memory::Memory;
use super::stop::StopIf;
use super::turns::Turns;
use crate::error::CallError;
use crate::module::{Module, Placed};
use crate::policy::Policy;
use crate::space::{self, Services, Stride};
use crate::stats::{Gauge, Row};
use lockgate_abi::{stack, window};
use lockgate_syscall::Process;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a domain wants of its calls.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Stack of each thread, bytes.
    pub stack_size: u64,
    /// Of each call.
    pub time_limit: Option<Duration>,
    /// What the domain asks for in calls of it.
    pub policy: Policy,
    /// For an exclusive domain, how long callers wait for their turn; without end if that is `None`.
    pub exclusive: Option<Option<Duration>>,
    /// An exclusive domain gives its turns up while it sleeps in a system call.
    pub gives_up: bool,
    /// How deep calls of it may be nested.
    pub depth: Option<u32>,
    pub stop_if: Option<StopIf>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            stack_size: 1 << 20,
            time_limit: None,
            policy: Policy::MUTUAL_TRUST,
            exclusive: None,
            gives_up: false,
            depth: None,
            stop_if: None,
        }
    }
}

/// What calls read of a domain: a part of it, with its memory.
pub(crate) struct Instance {
    name: String,
    /// What code of the window may touch, now and later (rules V6, R26).
    usage: StateUsage,
    terms: Terms,
    /// Where code lies, of its own module and those that joined.
    codes: Codes,
    contexts: Contexts,
    /// What the stack of each slot keeps for handlers of its overflow ([`reserve`](super::reserve)). Only the thread that has the slot changes its
    /// word, or the thread that has emptied it.
    reserves: [AtomicU64; stack::SLOTS as usize],
    /// Shared with the grants of the domain, which end before it.
    stride: Arc<Stride>,
    /// The books of its memory.
    pub books: Services,
    process: Process,
    gates: GateTables,
    row: Option<Arc<Row>>,
    killed: AtomicBool,
    /// The domain has used up its CPU time. Then it is killed, too.
    spent: AtomicBool,
    /// How a thread that the module has started has ended the domain. Then it is killed, too.
    ended_by_thread: OnceLock<String>,
    admissions: Admissions,
    /// Of an exclusive domain: see `call/exclusive_sys.rs`.
    owner: AtomicU32,
    turns: Turns,
    /// Threads, by their slots: a call of theirs was ended in its midst, and what that has left with them is not repaired yet.
    broken: AtomicU64,
    /// Bits of slots whose thread has not finished its beginning in the module.
    begins: AtomicU64,
    /// The module has said that nothing can be left that way.
    is_unbreakable: AtomicBool,
}

/// What an instance is made of.
pub(crate) struct Parts<'a> {
    pub name: String,
    pub module: &'a Arc<Module>,
    pub usage: StateUsage,
    pub terms: Terms,
    pub stride: Stride,
    pub books: Services,
    pub process: Process,
    pub gates: GateTables,
    pub row: Option<Arc<Row>>,
}

impl Instance {
    pub fn new(parts: Parts<'_>) -> Instance {
        let Parts { name, module, usage, terms, stride, books, process, gates, row } = parts;
        Instance {
            name,
            usage,
            terms,
            codes: Codes::new(module, stride.base()),
            contexts: Contexts::default(),
            reserves: std::array::from_fn(|_| AtomicU64::new(0)),
            stride: Arc::new(stride),
            books,
            process,
            gates,
            row,
            killed: AtomicBool::new(false),
            spent: AtomicBool::new(false),
            ended_by_thread: OnceLock::new(),
            admissions: Admissions::default(),
            owner: AtomicU32::new(0),
            turns: Turns::default(),
            broken: AtomicU64::new(0),
            begins: AtomicU64::new(0),
            is_unbreakable: AtomicBool::new(false),
        }
    }

    /// Everything but the memory becomes that of a new domain, with this process. Every field is named: who adds one says here what a
    /// reset makes of it.
    pub fn renew(&mut self, new: Process) {
        let Instance {
            // What the domain was made of and with.
            name: _,
            usage: _,
            terms: _,
            // Modules stay where they are until the domain ends (R26); domains that others join are not reset.
            codes: _,
            // Its place.
            stride: _,
            // The memory's, which the domain restores or empties.
            books: _,
            // What is left is the last user's. (Others see what it uses: memory and threads by themselves.)
            row,
            contexts,
            reserves,
            process,
            gates,
            killed,
            spent,
            ended_by_thread,
            admissions,
            owner,
            turns,
            broken,
            begins,
            is_unbreakable,
        } = self;
        if let Some(row) = row {
            row.set(Gauge::Faults, 0);
        }
        *process = new;
        *contexts = Contexts::default();
        *reserves = std::array::from_fn(|_| AtomicU64::new(0));
        gates.renew();
        (*killed, *spent) = <(AtomicBool, AtomicBool)>::default();
        *ended_by_thread = OnceLock::new();
        *admissions = Admissions::default();
        *owner = AtomicU32::default();
        *turns = Turns::default();
        *broken = AtomicU64::default();
        *begins = AtomicU64::default();
        *is_unbreakable = AtomicBool::default();
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn module(&self) -> &Arc<Module> {
        self.codes.first().module()
    }

    /// Its own module's image.
    pub fn image(&self) -> Placed {
        self.codes.first().placed(self.base())
    }

    /// Its own module's image, then those of all that joined.
    pub fn images(&self) -> Vec<Placed> {
        self.codes.all().map(|code| code.placed(self.base())).collect()
    }

    /// What no code of the window goes beyond, whatever joins.
    pub fn state_usage(&self) -> StateUsage {
        self.usage
    }

    /// Where code lies in the window.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    pub(super) fn reserve_of(&self, slot: u32) -> Option<&AtomicU64> {
        self.reserves.get(slot as usize)
    }

    /// True in a forked child of the process that has it.
    pub fn is_inherited(&self) -> bool {
        space::is_inherited(self.base())
    }

    /// For what only the domain's own process may do with it.
    ///
    /// # Errors
    /// [`CallError::Forked`].
    pub fn here(&self) -> Result<&Instance, CallError> {
        if self.is_inherited() { Err(CallError::Forked) } else { Ok(self) }
    }

    /// `W`.
    pub fn base(&self) -> u64 {
        self.stride.base()
    }

    /// Index in slot tables.
    pub fn id(&self) -> u32 {
        self.stride.index()
    }

    pub fn stride(&self) -> &Arc<Stride> {
        &self.stride
    }

    pub fn gates(&self) -> &GateTables {
        &self.gates
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its place in the list of domains that other processes can read.
    pub fn row(&self) -> Option<&Row> {
        self.row.as_deref()
    }

    /// Memory: quota and use.
    pub fn memory(&self) -> space::Usage {
        self.books.usage()
    }

    /// The domain's memory as its system calls see it.
    pub fn services(&self) -> Memory<'_> {
        Memory { stride: &self.stride, services: &self.books }
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The lock word of an exclusive domain.
    pub fn owner(&self) -> &AtomicU32 {
        &self.owner
    }

    /// Whether it takes calls, and which thread is told that another has had a turn.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// A call of the thread with this slot, its own and no context's, ends in its midst. Whether there is something to repair then.
    /// Async-signal-safe.
    pub fn note_broken(&self, slot: u32) -> bool {
        let begins = self.begins.load(Ordering::Acquire) & bit(slot) != 0;
        let may_be = begins || !self.is_unbreakable.load(Ordering::Relaxed);
        if may_be {
            self.broken.fetch_or(bit(slot), Ordering::AcqRel);
        }
        may_be
    }

    /// The thread with this slot begins: the module's code for that runs, and is over.
    pub fn begin(&self, slot: u32) {
        self.begins.fetch_or(bit(slot), Ordering::AcqRel);
    }

    pub fn has_begun(&self, slot: u32) {
        self.begins.fetch_and(!bit(slot), Ordering::AcqRel);
    }

    /// Whether a jump has left that.
    pub fn has_not_begun(&self, slot: u32) -> bool {
        self.begins.load(Ordering::Acquire) & self.broken.load(Ordering::Acquire) & bit(slot) != 0
    }

    /// Whether one did, and it is not repaired, or has left open what its stack keeps.
    pub fn is_broken(&self, slot: u32) -> bool {
        self.broken.load(Ordering::Acquire) & bit(slot) != 0 || self.has_open_reserve(slot)
    }

    /// It is repaired, or about to be. Whether it was broken.
    pub fn take_broken(&self, slot: u32) -> bool {
        self.broken.fetch_and(!bit(slot), Ordering::AcqRel) & bit(slot) != 0
    }

    /// The module has nothing that a call's end could leave in progress. (If that is not so, the loss is its own.)
    pub fn says_that_nothing_breaks(&self) {
        self.is_unbreakable.store(true, Ordering::Relaxed);
    }

    pub fn admissions(&self) -> &Admissions {
        &self.admissions
    }

    /// Index of the stack slot that a control address lies in.
    pub fn slot_of(&self, control: u64) -> u32 {
        (control.wrapping_sub(self.base() + window::CONTROL) / stack::SLOT) as u32
    }

    /// Usable bytes of the stack that `control` lies on.
    pub fn stack_size_at(&self, control: u64) -> u64 {
        let slot = control.wrapping_sub(self.base() + window::CONTROL) / stack::SLOT;
        let context = u32::try_from(slot).ok().and_then(|slot| self.contexts.size(slot));
        context.unwrap_or(self.terms.stack_size)
    }

    /// Whether the host may want that.
    pub fn may_stop(&self) -> bool {
        self.terms.stop_if.is_some()
    }

    /// True if the host wants calls of the domain to end now. Async-signal-safe.
    pub fn must_stop(&self) -> bool {
        self.terms.stop_if.as_ref().is_some_and(StopIf::ask)
    }

    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// True if the domain was ended for its CPU time.
    pub fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Acquire)
    }

    /// Why a killed domain cannot be called.
    pub fn ended(&self) -> CallError {
        match self.is_spent() {
            true => CallError::CpuTime(self.name.clone()),
            false => CallError::Killed(self.name.clone()),
        }
    }

    /// A thread that the module has started is about to end it: with this error.
    pub fn note_end_by_thread(&self, error: &CallError) {
        let _ = self.ended_by_thread.set(error.to_string());
    }

    /// That error, if there was one.
    pub fn ended_by_thread(&self) -> Option<&str> {
        self.ended_by_thread.get().map(String::as_str)
    }

    /// It has used up its CPU time.
    pub(super) fn note_spent(&self) {
        self.spent.store(true, Ordering::Release);
    }

    /// Calls in progress end where they ask, and no new one is let in. False if that was so already.
    pub(super) fn close(&self) -> bool {
        let was_open = !self.killed.swap(true, Ordering::AcqRel);
        self.admissions.close();
        self.process.kill();
        was_open
    }
}

/// Of a slot's thread.
fn bit(slot: u32) -> u64 {
    const { assert!(stack::SLOTS <= u64::BITS as u64) };
    1_u64.checked_shl(slot).unwrap_or(0)
}
