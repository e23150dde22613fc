//! The runtime's side of a host thread: its records, slot table and alternate stack; and what it has domains do.
use super::alternate_sys::{self, AlternateStack};
use super::block_sys::block;
use super::clock_sys;
use super::gate_tables_sys::GateTables;
use super::gs_sys;
use super::held::Holdings;
use super::instance::Instance;
use super::interruptions_sys::{Interruptions, Left};
use super::layout::{
    BindingHeader, ENTRY, EntryRecord, GATE, GateEntry, GateRecord, IDLE, LIMITED_ENTRY, LOOKS_AGAIN, RECORD,
    RED_ZONE, Record, ThreadBlock, by_window, first_header,
};
use super::mapping_sys::Mapping;
use super::places_sys::{GONE, Places};
use super::signal_frames_sys;
use super::waiting::{For, Waiting};
use crate::copy_asm::{Loaded, lockgate_peek};
use crate::error::{CallError, Panic};
use crate::host::{Owner, PerProcess, locked, maps};
use crate::report::{Cause, RawFault, Registers};
use crate::space;
use lockgate_abi::stack;
use lockgate_syscall::{Sharing, Threads};
use rustix::io::Errno;
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::HashSet;
use std::ops::{Deref, Range};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

thread_local! {
    /// Base of the domain whose module has started the thread; 0 on threads of the host's.
    static STARTER: Cell<u64> = const { Cell::new(0) };
    /// The thread goes on with a call whose caller has left it.
    static GOES_ON: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is one that the module of the domain at `base` has started; with 0, one of the host's again.
pub(crate) fn set_starter(base: u64) {
    STARTER.set(base);
}

/// True on a thread that a module has started itself. A function that is called there has no caller in the host that
/// could be told of a failure: the failure ends the domain.
pub fn is_modules_thread() -> bool {
    STARTER.get() != 0
}

/// The calling thread goes on with a call whose caller has left it, to its end.
pub(crate) fn set_goes_on() {
    GOES_ON.set(true);
}

/// True where no caller in the host could be told of a failure of a function that a domain calls: on a thread that a module has started itself
/// ([`is_modules_thread`]), where the failure ends the domain, and on one of the library's that goes on with a call whose caller does not wait any
/// more ([`Expiry::Detach`](crate::Expiry::Detach)), where it ends the call.
pub fn is_without_caller() -> bool {
    is_modules_thread() || GOES_ON.get()
}

/// The number of the domain whose module has started the calling thread.
pub(super) fn starter() -> Option<u32> {
    Some(STARTER.get()).filter(|&base| base != 0 && !space::is_inherited(base)).map(space::index_of)
}

/// What calls have a domain do, on slow paths only: what takes the domain's own stacks, or calls of its module.
pub(crate) trait AnyDomain: Deref<Target = Instance> + Threads + Sharing + Any + Send + Sync {
    /// Gives the calling thread a stack slot and thread-local storage, and lets it in. If that takes its turn in an exclusive domain, it
    /// waits for `queue` at most, if that is given.
    ///
    /// # Errors
    /// Why it cannot enter.
    fn attach(self: Arc<Self>, thread: &ThreadState, queue: Option<Duration>) -> Result<(), CallError>;

    /// The module's own clean-up, on a thread that ends.
    fn clean_up(self: Arc<Self>, thread: &ThreadState);

    /// Takes back what [`attach`](AnyDomain::attach) gave, when the thread ends.
    fn detach(self: Arc<Self>, thread: &ThreadState);

    /// Finds import `slot`, which the domain has just called. Returns its entry.
    ///
    /// # Errors
    /// Why it was not found; the next call looks again.
    fn resolve(self: Arc<Self>, slot: u16) -> Result<*const GateEntry, CallError>;

    /// A context that begins at `label`, in verified code, for which the program has `stack`. Returns its word.
    ///
    /// # Errors
    /// `ENOMEM`: the stack is larger than a slot, or no slot is left, or no memory.
    fn create_context(&self, label: u64, stack: Range<u64>) -> Result<u64, Errno>;

    /// Has another thread go on with what `left` is of a call of `thread`'s, the calling one, which has nothing on that stack any more from then
    /// on. False if none can; then nothing has changed.
    fn adopt(self: Arc<Self>, thread: &ThreadState, left: Left) -> bool;
}

/// What the runtime keeps of an attached thread. Fields in cells belong to the thread itself; the signal handler
/// runs on it, too.
/// Who sets and clears its flags, and what they say: docs/life-of-a-call.md, "The flags of a thread".
pub(crate) struct ThreadState {
    /// Kernel id.
    pub tid: i32,
    /// Whose thread it is.
    pub(super) owner: Owner,
    /// The thread's block; valid while the thread is in [`THREADS`].
    pub block: *mut ThreadBlock,
    /// Why the innermost call did not return, if its status says so.
    pub fault: UnsafeCell<Option<RawFault>>,
    /// Why the call of the domain in whose gate the thread is will end when the host's function returns.
    pub ending: UnsafeCell<Option<RawFault>>,
    /// The binding of the call that `fault` ended. It may be gone by now.
    pub failed: Cell<*const BindingHeader>,
    /// Payload of a panic in a host function that a domain called.
    pub panic: Cell<Option<Box<dyn Any + Send>>>,
    /// The call to stop for its time limit: [`OVERDUE`] and its sequence number; or 0.
    pub overdue: AtomicU64,
    /// The base of a domain that was killed, or the header of a binding that was stopped, from which a call of another domain was made that has
    /// had its time; or 0.
    pub outlived: AtomicU64,
    /// True while everything that is in progress on the thread is to end: an asynchronous call that was stopped.
    pub stop: AtomicBool,
    /// When the thread ends: until when what a module does then may take, nanoseconds of the monotonic clock, or 0; and the timer that kicks
    /// it then.
    pub(super) leaves_by: AtomicU64,
    pub(super) leaving: Cell<Option<i32>>,
    /// The thread is to ask its domain's stop predicate ([`interrupt`](super::watch::interrupt)), and it has not been found where it can.
    pub look: AtomicBool,
    /// A kick has found that it is to: each of its domains is asked, when a call of that begins.
    pub(super) asked: Cell<bool>,
    /// A signal of a domain's own may wait for the thread there.
    pub signalled: AtomicBool,
    /// How often the domain whose code the thread runs had a signal for it.
    pub told: AtomicU32,
    /// The last kick found the thread in code of a domain's for which a signal waits, where no handler can begin yet; or in a handler of the host's, behind
    /// which no kick can wait.
    pub unready: AtomicBool,
    /// Where its code in domains was interrupted by such signals.
    pub(super) interruptions: Interruptions,
    /// The innermost gate whose function a kick has found left, as it seems, and the mark that it had.
    pub(super) left_gate: AtomicPtr<GateRecord>,
    pub(super) left_mark: AtomicU64,
    /// A kick waits behind a handler of the host's, which has its signal blocked.
    pub(super) kick_waits: AtomicBool,
    /// It has been kicked by the signal that comes before all others.
    pub kicked_first: AtomicBool,
    /// Why the innermost domain's last call of another domain failed, or ends it.
    pub failure: Cell<Option<CallError>>,
    /// The epoch in which the thread was last seen outside proxies ([`EPOCH`]).
    pub looked: AtomicU64,
    /// A function of the host's has come back to a domain's call that was not the innermost one: which records are alive is not known.
    pub out_of_turn: Cell<bool>,
    /// A handler of the host's has ended the thread in code of the domain that started it: how deep its frames go is not known.
    pub(crate) ended_in_code: Cell<bool>,
    /// The mark of a gate that has gone on without the domain's turn, since another call was in the way; or 0. Its call ends when it is asked
    /// about, by itself, which may be when the other one is over.
    pub(super) turnless: Cell<u64>,
    /// [`ThreadState::overdue`] of a call that cannot go on without its caller: it ends.
    pub(super) stays: Cell<u64>,
    /// How often kicks have found the call with this [`ThreadState::overdue`] where it cannot be taken over yet.
    pub(super) unable: Cell<(u64, u32)>,
    /// What the thread's next gate goes on with, which has been another thread's.
    pub(super) adopts: Cell<Option<Box<Left>>>,
    /// A call of the thread's has broken off, in a domain that has not repaired what that left.
    pub(super) broken: Cell<bool>,
    /// Base of the domain whose module has started the thread, while what it has of libc's there is given back by its end alone; or 0.
    pub(crate) lives_in: AtomicU64,
    /// The thread's own stack.
    pub(super) stack: Range<u64>,
    /// The word of the exclusive domain that the thread waits for.
    pub waits_for: AtomicPtr<AtomicU32>,
    /// That domain.
    pub(super) awaited: UnsafeCell<Option<Arc<dyn AnyDomain>>>,
    /// What it has said of the wait in which it is, or was.
    pub(super) waiting: Mutex<Waiting>,
    /// Shared with what the thread was in the parent, if that forked in a call.
    pub(super) records: Arc<Mapping>,
    pub(super) places: Places,
    /// For each record that says so ([`EntryRecord::masked`]) the mask that the thread had in its domain when the call began.
    pub(super) masks: Mapping,
    pub(super) alternate: AlternateStack,
    /// What the host holds for calls of the thread's.
    pub(super) holdings: Holdings,
    /// Domains that have a stack slot of this thread.
    pub(super) attached: RefCell<Vec<Attached>>,
}

/// A domain that has a stack slot of a thread.
pub(super) struct Attached {
    pub(super) domain: Weak<dyn AnyDomain>,
    /// The thread ends, and the domain's module has been told.
    pub(super) told: bool,
}

// SAFETY: other threads use atomics, what never changes (`tid`, `stack`, where `records` and `slots` are mapped), and, under the lock
// of THREADS, what `block`, `records` and `slots` lead to, by atomic or volatile accesses. Cells are the thread's own.
unsafe impl Send for ThreadState {}
// SAFETY: as above.
unsafe impl Sync for ThreadState {}

/// All attached threads. A thread leaves it, under the lock, before its memory goes.
pub(super) static THREADS: PerProcess<Mutex<Vec<Arc<ThreadState>>>> = PerProcess::new(Mutex::default);

/// The list of all attached threads, with its lock held: none of them goes, and what their blocks, records and slots lead to is there.
pub(crate) struct Listed(MutexGuard<'static, Vec<Arc<ThreadState>>>);

impl Listed {
    /// Takes domain `id`, which starts at `base` and which no call is in any more, away from all threads.
    pub fn leave(&self, id: u32, base: u64) {
        self.iter().for_each(|thread| thread.leave(id, base));
    }
}

impl Deref for Listed {
    type Target = [Arc<ThreadState>];

    fn deref(&self) -> &[Arc<ThreadState>] {
        &self.0
    }
}

/// Waits for the lock.
pub(crate) fn listed() -> Listed {
    Listed(locked(&THREADS))
}

impl ThreadState {
    /// A call's end waits for its gate to take it. Until then no call begins: a handler's own would have this end, or an end of its own in its place.
    pub(super) fn ends(&self, end: RawFault) {
        loop {
            // SAFETY: our own state.
            unsafe { *self.ending.get() = Some(end) };
            ask_before_calls();
            // (A handler may have come before the question, and its call have put an end of its own there.)
            if self.ending_of(end.entry).is_some() {
                break;
            }
        }
    }

    /// The end that waits for the gate of the call that was entered at this control address.
    pub(super) fn ending_of(&self, control: u64) -> Option<RawFault> {
        // SAFETY: our own state.
        unsafe { *self.ending.get() }.filter(|ending| ending.entry == control)
    }

    /// The same, which waits no more.
    pub(super) fn take_ending_of(&self, control: u64) -> Option<RawFault> {
        let ending = self.ending_of(control)?;
        // SAFETY: our own state.
        unsafe { *self.ending.get() = None };
        Some(ending)
    }

    /// The thread's control rsp for its next entry into domain `id`, or 0.
    pub fn place(&self, id: u32) -> u64 {
        self.places.of(id)
    }

    /// Lets the thread enter domain `id` at control address `rsp`, or, with 0, not any more.
    pub fn set_slot(&self, id: u32, rsp: u64) {
        self.places.set(id, rsp);
    }

    /// Gives the thread the place back that a gate's record has, unless the domain has been left since ([`leave`](ThreadState::leave)).
    pub(super) fn give_back(&self, id: u32, place: &u64) {
        self.places.give_back(id, place);
    }

    /// The same for an entry that began at `control`: a jump out of the few instructions in which a gate has moved the place, and shows no
    /// record, leaves it below frames that are gone, perhaps on a context's slot, which may become another thread's. Where that was the
    /// gate has written already, next to the entry's record: its rsp, from which the place follows, and what the place was. (The entry began
    /// below that by the room for its arguments and its result.)
    pub(super) fn give_back_from(&self, id: u32, control: u64, gate: Option<&GateRecord>) {
        let above = control..=control | (stack::SLOT - 1);
        let raised = |now: u64| {
            let moved_by = |gate: &&GateRecord| {
                // SAFETY: the thread's own.
                let interrupted =
                    self.interruptions.at_gate(gate.mark).and_then(|one| unsafe { (*one).room });
                let mut rooms = interrupted.into_iter().chain([RED_ZONE]);
                rooms.any(|room| now == gate.control.wrapping_sub(room) & !15)
            };
            let before = gate.filter(moved_by).map(|gate| gate.slot).filter(|before| above.contains(before));
            (now != 0 && !above.contains(&now)).then(|| before.unwrap_or(control))
        };
        self.places.change(id, raised);
    }

    /// In a kick: whether what a module does as the thread ends has taken too long.
    pub(super) fn look_at_leaving(&self) {
        let until = self.leaves_by.load(Ordering::Acquire);
        if until != 0 && clock_sys::now() >= until {
            self.stop.store(true, Ordering::Release);
        }
    }

    /// Where the mask is kept that the thread had when the call with this record began.
    fn kept_mask(&self, record: *const EntryRecord) -> *mut u64 {
        let index = (record.addr() - self.records.start().addr()) / RECORD as usize;
        self.masks.start().cast::<u64>().wrapping_add(index)
    }

    /// The thread's mask in `domain` is `mask`, and is about to change, in its innermost call: so it was when each of its calls there began that has
    /// not changed it yet.
    ///
    /// # Safety
    /// On the thread itself, in a gate of a call of the domain's.
    pub(super) unsafe fn mask_changes(&self, domain: &Instance, mask: u64) {
        for record in
            self.records().map(<*const Record>::cast::<EntryRecord>).map(<*const EntryRecord>::cast_mut)
        {
            // SAFETY: the thread's own records, below a gate in progress, and a word for each. A handler that ends the call finds both or none.
            unsafe {
                let is_its = (*record.cast::<Record>()).is_entry()
                    && space::base_of((*record).control) == domain.base();
                if is_its && (*record).masked == 0 {
                    self.kept_mask(record).write_volatile(mask);
                    compiler_fence(Ordering::SeqCst);
                    (&raw mut (*record).masked).write_volatile(1);
                }
            }
        }
    }

    /// The call of the entry with this record, of `domain`'s, which is there, ends in its midst, or was left by a jump: the thread's mask in it is
    /// what it was when the call began; and the thread's next call there repairs what this one leaves. Async-signal-safe.
    pub(super) fn breaks_off(&self, record: *const EntryRecord, domain: &Instance) {
        // SAFETY: the thread's own records, and its words for them.
        let (control, mask) = unsafe {
            ((*record).control, ((*record).masked != 0).then(|| self.kept_mask(record).read_volatile()))
        };
        let slot = domain.contexts().home(domain.slot_of(control));
        if let Some(mask) = mask {
            domain.process().gets_mask_back(slot, mask);
        }
        if domain.note_broken(slot) || domain.has_open_reserve(slot) {
            self.has_broken_off();
        }
    }

    /// A domain has something to repair. Async-signal-safe.
    pub(crate) fn has_broken_off(&self) {
        self.broken.set(true);
        ask_before_calls();
    }

    /// What the stack of `lowest`, of `domain`, keeps is closed, below which nothing is in use there; where it cannot be, at the thread's next
    /// call. Async-signal-safe.
    pub(super) fn closes(&self, domain: &Instance, lowest: u64) {
        if !domain.close_reserve(lowest) {
            self.has_broken_off();
        }
    }

    /// Has the thread's next call of each domain in which there is something to repair look for its place there ([`AnyDomain::attach`]), which does
    /// that. Where the thread is in another call of the domain it has to wait for the end of that: what is in progress there goes on.
    pub(super) fn repairs_at_next_call(&self) {
        if !self.broken.take() {
            return;
        }
        for domain in self.domains() {
            let place = self.place(domain.id());
            // (What is left of a thread that the module has started itself is its clean-up, below its frames.)
            let is_modules = starter().is_some_and(|id| id == domain.id());
            if place == 0 || is_modules || !domain.is_broken(domain.contexts().home(domain.slot_of(place))) {
                continue;
            }
            // SAFETY: the thread's own records.
            let is_inside = self.records().any(|record| unsafe {
                (*record).is_entry()
                    && space::base_of((*record.cast::<EntryRecord>()).control) == domain.base()
            });
            match is_inside {
                true => self.broken.set(true),
                false => self.set_slot(domain.id(), 0),
            }
        }
    }

    /// Takes domain `id`, which starts at `base` and which no call is in any more, away from the thread: nothing that a `longjmp` has left
    /// on record leads there again, whose place it may become. For any thread that is [`Listed`].
    fn leave(&self, id: u32, base: u64) {
        for record in self.records() {
            // Where an entry's record has its place in the domain, a gate's has that of the next.
            const PLACE: usize = std::mem::offset_of!(EntryRecord, control);
            const { assert!(PLACE == std::mem::offset_of!(GateRecord, slot)) };
            // SAFETY: an aligned word in the array of records. Its thread may write another record there, but none of this domain.
            let place = unsafe { AtomicU64::from_ptr(record.byte_add(PLACE).cast::<u64>().cast_mut()) };
            let is_in_domain = |at: u64| (space::base_of(at) == base).then_some(GONE);
            let _ = place.fetch_update(Ordering::AcqRel, Ordering::Acquire, is_in_domain);
        }
        self.set_slot(id, 0);
    }

    /// True if a kick has found the thread above the frame of the entry with this record ([`note_left`](ThreadState::note_left)), and it has
    /// not come back since. For any thread that has the list ([`Listed`]).
    pub(super) fn is_left(&self, record: *const Record) -> bool {
        let gate = self.left_gate.load(Ordering::Acquire);
        // SAFETY: a record of the array, or none; aligned words.
        unsafe {
            record.cast::<GateRecord>() < gate.cast_const()
                && self.top().cast::<GateRecord>() >= gate
                && ptr::read_volatile(&raw const (*gate).mark) == self.left_mark.load(Ordering::Relaxed)
        }
    }

    /// The thread has come back to `gate`.
    pub(super) fn comes_back(&self, gate: *const GateRecord) {
        if self.left_gate.load(Ordering::Relaxed).cast_const() >= gate {
            self.left_gate.store(ptr::null_mut(), Ordering::Release);
        }
    }

    /// The domain that an entry's record is of, unless that is gone, or a parent's.
    pub(super) fn domain_of(&self, control: u64) -> Option<Arc<dyn AnyDomain>> {
        let base = space::base_of(control);
        let is_there = control != GONE && !space::is_inherited(control);
        is_there.then(|| self.domains().into_iter().find(|domain| domain.base() == base))?
    }

    /// Those that have a stack slot of the thread.
    pub(super) fn domains(&self) -> Vec<Arc<dyn AnyDomain>> {
        self.attached.borrow().iter().filter_map(|attached| attached.domain.upgrade()).collect()
    }

    /// The gate with this mark cannot take its turn. It, and each gate until then, asks whether its call ends.
    pub(super) fn has_no_turn(&self, mark: u64) {
        match self.turnless.get() {
            0 => self.turnless.set(mark),
            already if already == mark => (),
            // (There is room for one.)
            _ => self.out_of_turn.set(true),
        }
        // SAFETY: our own block.
        unsafe { (*self.block).pending = 1 }
    }

    /// Whether the innermost gate, with this mark, [has no turn](ThreadState::has_no_turn). (Marks grow: a gate with a higher one is gone.)
    pub(super) fn lacks_turn(&self, mark: u64) -> bool {
        let lacks = self.turnless.get() == mark;
        if mark <= self.turnless.get() {
            self.turnless.set(0);
        }
        lacks
    }

    /// Whether gates ask, whatever they have been told.
    pub(super) fn always_asks(&self) -> bool {
        self.out_of_turn.get() || self.turnless.get() != 0
    }

    /// Remembers to leave `domain` when the thread ends.
    pub fn remember(&self, domain: Weak<dyn AnyDomain>) {
        let mut attached = self.attached.borrow_mut();
        attached.retain(|attached| attached.domain.strong_count() > 0);
        attached.push(Attached { domain, told: false });
    }

    /// Has nothing of the domain at `base` any more: another thread has it.
    pub(crate) fn gives_away(&self, id: u32, base: u64) {
        self.set_slot(id, 0);
        let is_it = |attached: &Attached| attached.domain.upgrade().is_some_and(|one| one.base() == base);
        self.attached.borrow_mut().retain(|attached| !is_it(attached));
    }

    /// Goes on with this at its next gate.
    pub(crate) fn will_adopt(&self, left: Box<Left>) {
        self.adopts.set(Some(left));
        // SAFETY: our own block.
        unsafe { (*self.block).pending = 1 };
    }

    /// What [`will_adopt`](ThreadState::will_adopt) has said, and no gate has taken.
    pub(crate) fn not_adopted(&self) -> Option<Box<Left>> {
        self.adopts.take()
    }

    /// In a kick.
    pub(super) fn notes_question(&self) {
        if self.look.load(Ordering::Acquire) {
            self.asked.set(true);
        }
    }

    /// Before a call. The question stands as long as one of its domains' predicates says yes: each of its calls asks that of its own domain.
    pub(super) fn answers_question(&self) {
        // (In this order: a kick that comes meanwhile asks anew.)
        if self.asked.replace(false) && self.domains().iter().any(|domain| domain.must_stop()) {
            self.asked.set(true);
        }
    }

    /// In a kick: whether the call whose limit has passed may still be found where it can be taken over. (Few instructions are no such place, and a
    /// stack that is nearly full has none.)
    pub(super) fn is_unable(&self) -> bool {
        const TRIES: u32 = 32;
        let overdue = self.overdue.load(Ordering::Acquire);
        let (of, times) = self.unable.get();
        let times = if of == overdue { times + 1 } else { 1 };
        self.unable.set((overdue, times));
        times < TRIES
    }

    /// True if `rsp` lies on the thread's own alternate stack: a host handler runs.
    pub fn on_alternate_stack(&self, rsp: u64) -> bool {
        self.alternate.contains(rsp)
    }

    /// Keeps the exclusive domain that the thread waits for, until [`await_none`](ThreadState::await_none). It waits for one only: it is in
    /// transit meanwhile.
    pub(super) fn await_domain(&self, domain: Arc<dyn AnyDomain>) -> &Instance {
        // SAFETY: the thread's own, which is undisturbed.
        unsafe { (*self.awaited.get()).insert(domain) }
    }

    /// It looks for its turn there, for the first time if this `begins`, and [has said](ThreadState::waits_for) that it waits.
    pub(super) fn looks_for_turn(&self, begins: bool) {
        locked(&self.waiting).says(For::Turn, begins);
    }

    /// It waits no more.
    pub(super) fn await_none(&self) {
        // SAFETY: as above; what is dropped finds it empty.
        drop(unsafe { (*self.awaited.get()).take() });
    }

    /// Has the kernel use the thread's alternate stack in place of `now`, of whose frames the innermost one is at `rsp`.
    pub(super) fn use_alternate_stack(&self, rsp: u64, now: &libc::stack_t) -> Result<(), Errno> {
        self.alternate.install(now)?;
        if !self.alternate.stays() {
            let may_go = signal_frames_sys::may_be_above(rsp, &self.stack, Some(self.alternate.low()));
            self.alternate.set_stays(!may_go);
        }
        Ok(())
    }

    /// What [`ThreadBlock::alternate_size`] is once the thread may enter domains.
    pub(super) fn admission(&self) -> u64 {
        if self.asks_each_time() { LOOKS_AGAIN } else { self.alternate.size() }
    }

    /// Lets go of what was held for calls that a jump has left, as a function tells that calls now with its stack pointer at `rsp`.
    pub(super) fn let_go_of_left(&self, rsp: u64) {
        let is_within = |frame, rsp| is_gone(self, frame, rsp) || word_at(frame).is_none();
        self.holdings.let_go_of_left(rsp, is_within);
    }

    /// Whether no call is to go the fast way: the alternate stack may go, or what the thread holds; or a domain that it is in has something to
    /// repair, or may be one whose calls the host does not want.
    fn asks_each_time(&self) -> bool {
        !self.alternate.stays() || self.holdings.is_in_doubt() || self.broken.get() || self.asked.get()
    }

    /// For a thread that is to ask each time: a proxy lets it in this once. The fault that its look through gs comes to then, behind the
    /// proxy's other checks, is [`has_entered`]. (A kick that came meanwhile stands.)
    pub(super) fn enter_once(&self) {
        if !self.asks_each_time() {
            return;
        }
        admission_becomes(LOOKS_AGAIN, self.alternate.size());
        gs_sys::point_gs_at(self.alternate.guard());
    }
}

/// In the handler of a proxy's look through gs that has found nothing: the thread's next call asks again, if it is to.
pub(super) fn has_entered() {
    if let Some(state) = current().filter(|state| state.asks_each_time()) {
        admission_becomes(state.alternate.size(), LOOKS_AGAIN);
    }
}

/// Changes [`ThreadBlock::alternate_size`], unless it is something else.
fn admission_becomes(old: u64, new: u64) {
    // SAFETY: our own block; an aligned word. (One instruction, as far as the thread's own signals are concerned.)
    let word = unsafe { AtomicU64::from_ptr(&raw mut (*block()).alternate_size) };
    let _ = word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
}

/// As [`leave_window`](gs_sys::leave_window), for a window that is going when the last call in it has ended, if none is in progress on the
/// calling thread: whose gate may come back to it.
pub(crate) fn leave_window_unless_inside(base: u64) {
    if current().is_some_and(|thread| thread.records().next().is_none()) {
        gs_sys::leave_window(base);
    }
}

/// As a return address: of no function. Gates lead there whose calls are another process's, or another thread's.
static NO_FUNCTION: u64 = 0;

/// The call that a gate was entered from is not the thread's any more. Who unwinds what the gate has called (`pthread_exit`, `backtrace`) finds no caller
/// of it, instead of memory that is gone.
///
/// # Safety
/// A live gate's record, of the calling thread.
pub(super) unsafe fn has_no_caller(gate: *mut GateRecord) {
    // SAFETY: the caller's.
    unsafe { (*gate).control = &raw const NO_FUNCTION as u64 };
}

/// rsp when a gate that had asked already has returned by it.
pub(super) fn behind_no_function() -> u64 {
    (&raw const NO_FUNCTION).wrapping_add(1) as u64
}

/// In a forked child: the next call takes the slow path, and the end of the host's function that forked is looked at.
pub(crate) fn leave_parent() {
    // SAFETY: our own block, and the records of this thread, in memory that the child has, too.
    unsafe {
        (*block()).alternate_size = u64::MAX;
        (*block()).pending = 1;
        let Some(state) = (*block()).state.as_ref() else { return };
        for record in state.records().filter(|record| (**record).kind == GATE) {
            has_no_caller(record.cast::<GateRecord>().cast_mut());
        }
    }
}

pub(super) fn lift_limit(record: *mut Record) {
    // SAFETY: a record of the calling thread.
    unsafe {
        if (*record).kind == LIMITED_ENTRY {
            (*record).kind = ENTRY;
        }
    }
}

/// Has the calling thread's next call take the slow path, where it is asked whether there may be one.
pub(super) fn ask_before_calls() {
    // SAFETY: our own block: the thread is admitted anew.
    unsafe { (*block()).alternate_size = u64::MAX };
}

/// A function of the host's that has ended the call that it was called in calls nothing before it has returned. Nor does a handler while the gate has
/// yet to take a call's end.
///
/// # Errors
/// [`CallError::Panic`], for such a function; [`CallError::SignalHandler`], where the library has ended the call. The thread's next call asks again.
pub(crate) fn may_call(state: &ThreadState) -> Result<(), CallError> {
    // SAFETY: our own state.
    let Some(ending) = (unsafe { *state.ending.get() }) else { return Ok(()) };
    // (A call that was left has no gate that would take its end.)
    // SAFETY: live records.
    if !state.records().any(|record| unsafe {
        (*record).is_entry() && (*record.cast::<EntryRecord>()).control == ending.entry
    }) {
        state.take_ending_of(ending.entry);
        return Ok(());
    }
    ask_before_calls();
    match ending.cause {
        Cause::Panic | Cause::Callee | Cause::Forked => {
            let why = "the function is to return before anything is called".to_owned();
            Err(CallError::Panic(Panic::new(Box::new(why))))
        }
        _ => Err(CallError::SignalHandler),
    }
}

/// Publishes the state to the signal handler and the slow paths: they find it through the block.
pub(crate) fn publish(state: &Arc<ThreadState>) {
    // SAFETY: our own block; the registry keeps the state alive until the thread ends.
    unsafe { (*block()).state = Arc::as_ptr(state) }
}

/// The calling thread's state, if it is attached.
pub(crate) fn current() -> Option<&'static ThreadState> {
    // SAFETY: set by `publish`, reset before the state goes; only the thread itself sees the reference, and
    // no caller keeps it beyond a call.
    unsafe { (*block()).state.as_ref() }
}

/// True while the thread runs a host function that a domain called.
pub(crate) fn in_gate() -> bool {
    // SAFETY: our own block; the top record is valid while a state is published.
    unsafe { current().is_some_and(|state| (*(*state.block).top).kind == GATE) }
}

/// True on an alternate signal stack, ours or another's (rule R13).
pub(crate) fn on_alternate_stack() -> bool {
    alternate_sys::is_on(&alternate_sys::in_use())
}

/// True if the host's frame at `host` is gone for a caller at `rsp`: they are on one stack, and the caller's frame is further out. (What
/// is on another stack, the thread's own or a coroutine's, may well go on.)
pub(super) fn is_gone(state: &ThreadState, host: u64, rsp: u64) -> bool {
    if rsp < host || rsp == u64::MAX {
        return rsp == u64::MAX;
    }
    match (state.stack.contains(&host), state.stack.contains(&rsp)) {
        (true, true) => true,
        (false, false) => {
            maps::mapping_at(host).is_ok_and(|mapping| mapping.is_some_and(|m| m.range.contains(&rsp)))
        }
        _ => false,
    }
}

/// The word at an address of the host's, if anything is there.
pub(super) fn word_at(at: u64) -> Option<u64> {
    // SAFETY: a guarded look at a word, whatever is there.
    match unsafe { lockgate_peek(at as *const u64) } {
        Loaded { word, ok: 1 } => Some(word),
        _ => None,
    }
}

/// True if a jump has left the frame at `frame`, of the calling thread, as a caller at `rsp` tells.
pub(super) fn is_left(frame: u64, rsp: u64) -> bool {
    current().map_or(frame < rsp, |state| is_gone(state, frame, rsp))
}

/// True if the innermost call, which is alive, lies on another stack than `rsp`, and above it.
pub(super) fn is_elsewhere(state: &ThreadState, rsp: u64) -> bool {
    // SAFETY: our own block; below a gate's record is its entry's.
    unsafe {
        let top = (*state.block).top;
        (*top).kind == GATE && rsp >= (*top.byte_sub(RECORD as usize).cast::<EntryRecord>()).host
    }
}

/// True if the thread runs a domain's code, or a proxy that is about to: a caller of a domain there is a signal handler.
pub(crate) fn is_inside(state: &ThreadState) -> bool {
    // SAFETY: our own block; the top record is always valid.
    unsafe { (*state.block).transit != 0 || (*(*state.block).top).is_entry() }
}

/// True if the thread is in a call of a domain, or was when it left that by a jump.
pub(super) fn is_in_a_call(state: &ThreadState) -> bool {
    // SAFETY: our own block; the top record is always valid.
    unsafe { (*state.block).transit != 0 || (*(*state.block).top).kind != IDLE }
}

/// True if the next entry would be nested in more calls than its domain allows.
pub(crate) fn beyond_depth(state: &ThreadState, allowed: u32) -> bool {
    // SAFETY: our own block; the top record lies in the array that begins at the first.
    let depth = unsafe { (*state.block).top as u64 - (*state.block).first as u64 };
    depth > allowed.into()
}

/// Stack that a thread must have left at its first call, bytes, where the library looks: what is done for it then, and for its domain, takes some
/// twenty thousand. So much a nested call on a coroutine's stack must leave, too. (lockgate.h says how much that is at the caller.)
pub(super) const LEAST_STACK: u64 = 32 << 10;

/// The same to make a domain, to start it, or to start it again: frames of the library's come before those of the call.
pub(super) const START_STACK: u64 = 64 << 10;

/// What a thread that is in a call does next there, from a frame at `rsp`, is nested in that: there is room, on its stack.
///
/// # Errors
/// [`CallError::TooDeep`].
pub(crate) fn may_nest(state: &ThreadState, rsp: u64) -> Result<(), CallError> {
    // SAFETY: the top record is always valid.
    let nested = unsafe { (*(*state.block).top).kind == GATE };
    match nested && (too_deep(state, rsp) || is_elsewhere(state, rsp)) {
        true => Err(CallError::TooDeep),
        false => Ok(()),
    }
}

/// True if `rsp` leaves too little of the host's stack for a call that is nested in the innermost one, whose gate's record is on top, or
/// too few records.
pub(crate) fn too_deep(state: &ThreadState, rsp: u64) -> bool {
    // SAFETY: our own block; below a gate's record is its entry's.
    unsafe {
        let block = state.block;
        let host = || (*(*block).top.byte_sub(RECORD as usize).cast::<EntryRecord>()).host;
        (*block).top as u64 + 3 * RECORD > (*block).records_end
            || rsp < (*block).stack_floor && !has_room_on_coroutine(state, host(), rsp)
    }
}

/// True if the call whose host's frame is at `host` was made on a coroutine's stack, and a caller at `rsp` is deeper on the same one, with
/// room for a call. (The floor is that of the thread's own stack, which may lie above.) Proxies go by that from now on.
fn has_room_on_coroutine(state: &ThreadState, host: u64, rsp: u64) -> bool {
    if rsp >= state.stack.start {
        return false;
    }
    let Ok(Some(mapping)) = maps::mapping_at(rsp) else { return false };
    let floor = mapping.range.start + LEAST_STACK;
    if !mapping.range.contains(&host) || rsp < floor || mapping.range.end > state.stack.start {
        return false;
    }
    // SAFETY: our own block.
    unsafe { ((*state.block).coroutine_floor, (*state.block).coroutine_end) = (floor, mapping.range.end) };
    true
}

/// What is known of a module's registers at a gate: where it goes on.
///
/// # Safety
/// A record of the calling thread.
pub(super) unsafe fn registers_at(gate: *const GateRecord) -> Registers {
    // SAFETY: the return address is on the control stack, where the module's call put it.
    unsafe {
        let control = (*gate).control;
        if space::is_inherited(control) {
            return Registers::default();
        }
        Registers { rip: (control as *const u64).read(), rsp: control + 8, ..Registers::default() }
    }
}

/// An entry of a thread, as another thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenEntry {
    /// Control rsp at its start: an address of the domain's stride.
    pub control: u64,
    /// Sequence number and limit, milliseconds, of an entry with a limit of its own.
    pub limit: Option<(u32, u32)>,
    /// No watch waits for its limit: [`note_left`](ThreadState::note_left).
    pub is_left: bool,
    /// Address of the binding called; it may be gone.
    pub binding: usize,
}

impl ThreadState {
    /// The innermost record, for any thread that has the list ([`Listed`]). A thread that has ended behind our back (a plain system call, a
    /// filter of system calls) is listed still, and its block is in memory that may be in other use by now, or gone: what is no record of its own is
    /// none.
    fn top(&self) -> *mut Record {
        let first = self.records.start().cast::<Record>();
        // SAFETY: a guarded look at an aligned word, which the thread writes in single instructions.
        match unsafe { lockgate_peek((&raw const (*self.block).top).cast()) } {
            Loaded { word, ok: 1 }
                if (first as u64..first as u64 + self.records.size() as u64).contains(&word) =>
            {
                word as *mut Record
            }
            _ => first,
        }
    }

    /// The records in use, outermost first, without the idle one. The thread itself, and any other that has the list ([`Listed`]),
    /// may read them, word by word; one that was made or went meanwhile may be missing or show another's values.
    pub(super) fn records(&self) -> impl Iterator<Item = *const Record> + Clone {
        let first = self.records.start().cast::<Record>();
        let count = (self.top() as usize - first as usize) / RECORD as usize;
        let most = self.records.size() / RECORD as usize - 1;
        (1..=count.min(most)).map(move |index| first.wrapping_byte_add(index * RECORD as usize).cast_const())
    }

    /// Whether the thread may have something of the module's in the domain at `base`: with entries in progress there, or started there and not
    /// ended. For any thread that has the list ([`Listed`]).
    pub(super) fn may_hold_in(&self, base: u64) -> bool {
        self.lives_in.load(Ordering::SeqCst) == base || self.has_calls_in(base)
    }

    /// Whether the thread's records tell of calls of the domain at `base`: in progress, or left by a jump.
    pub fn has_calls_in(&self, base: u64) -> bool {
        self.entries().iter().any(|entry| space::base_of(entry.control) == base)
    }

    /// Where the thread stands: its innermost record, and the number of the gates that it has been in. For any thread that holds the lock of
    /// [`THREADS`].
    pub(super) fn stands(&self) -> (usize, u64) {
        // SAFETY: as in `top`.
        let mark = unsafe { lockgate_peek(&raw const (*self.block).mark) };
        (self.top() as usize, mark.word)
    }

    /// Whether the thread is in a function of the host's that a domain has called, as far as can be told. For any thread that holds the lock of
    /// [`THREADS`].
    pub(super) fn is_with_host(&self) -> bool {
        let top = self.top();
        // SAFETY: a record of the array; aligned words, which the thread writes in single instructions.
        unsafe {
            ptr::read_volatile(&raw const (*top).kind) == GATE
                && !ptr::read_volatile(&raw const (*top.cast::<GateRecord>()).entry).is_null()
        }
    }

    /// Whether the call in progress is one of the domain at `base`, as far as can be told. As there.
    pub(super) fn is_in(&self, base: u64) -> bool {
        self.entries().last().is_some_and(|entry| space::base_of(entry.control) == base)
    }

    /// The entries in progress, outermost first, as [`records`](ThreadState::records) are: only what is seen twice is true.
    pub fn entries(&self) -> Vec<SeenEntry> {
        let entry = |record: *const Record| {
            let is_left = self.is_left(record);
            let record = record.cast::<EntryRecord>();
            // SAFETY: in the array of records, which lives as long as the thread; aligned words.
            unsafe {
                let limit = match ptr::read_volatile(&raw const (*record).kind) {
                    ENTRY => None,
                    LIMITED_ENTRY => {
                        let sequence = ptr::read_volatile(&raw const (*record).sequence);
                        Some((sequence, ptr::read_volatile(&raw const (*record).limit)))
                    }
                    _ => return None,
                };
                let control = ptr::read_volatile(&raw const (*record).control);
                let binding = first_header(ptr::read_volatile(&raw const (*record).binding)) as usize;
                Some(SeenEntry { control, limit, is_left, binding })
            }
        };
        self.records().filter_map(entry).collect()
    }
}

/// Takes a binding that ends off all threads' records: where a call through it was left by a jump, its record outlives it.
pub(crate) fn forget(binding: *const BindingHeader) {
    let threads = listed();
    for record in threads.iter().flat_map(|thread| thread.records()) {
        // SAFETY: an aligned word in the array of records, where gates have another one, which is no header's address. Its thread may
        // write another record there, but none of this binding, which cannot be called any more.
        let word = unsafe {
            AtomicPtr::from_ptr(
                record
                    .byte_add(std::mem::offset_of!(EntryRecord, binding))
                    .cast::<*mut BindingHeader>()
                    .cast_mut(),
            )
        };
        for header in [binding, by_window(binding)] {
            let header = header.cast_mut();
            let _ = word.compare_exchange(header, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Number of entries in progress in the domain at `base`, on all threads.
pub(crate) fn calls_in(base: u64) -> usize {
    let threads = listed();
    let inside = |entry: &SeenEntry| space::base_of(entry.control) == base;
    threads.iter().map(|thread| thread.entries().iter().filter(|entry| inside(entry)).count()).sum()
}

/// Whether the thread has no call in progress, of any domain. (One word says so, which a thread that is seen to have done something in a
/// domain has written before.)
pub(crate) fn is_idle(tid: i32) -> bool {
    let threads = listed();
    let mut its = threads.iter().filter(|thread| thread.tid == tid).peekable();
    its.peek().is_some() && its.all(|thread| thread.records().next().is_none())
}

/// The thread may be in calls from here on. One with its number that is listed still has ended behind our back (a plain system call, a filter
/// of system calls), as numbers come again. What the runtime had of that one stays, since it may lead to what was the thread's.
pub(super) fn enlist(state: &Arc<ThreadState>) {
    let mut threads = locked(&THREADS);
    threads
        .extract_if(.., |thread| thread.tid == state.tid && thread.owner.is_here())
        .for_each(std::mem::forget);
    threads.push(state.clone());
}

/// The thread is in no call, and does not begin one: its memory may go.
pub(super) fn delist(state: &Arc<ThreadState>) {
    locked(&THREADS).retain(|thread| !Arc::ptr_eq(thread, state));
}

/// Entries of gates that threads are in, and kernel ids of the threads that run the code of the domain at `base`: one of these
/// may be about to show an entry that it has already read from the domain's tables.
pub(crate) fn gate_entries(base: u64) -> (HashSet<*const GateEntry>, Vec<i32>) {
    let threads = listed();
    let (mut found, mut inside) = (HashSet::new(), Vec::new());
    for thread in threads.iter() {
        let mut innermost = None;
        for record in thread.records() {
            // SAFETY: in the array of records, which lives as long as the thread; aligned words.
            unsafe {
                if ptr::read_volatile(&raw const (*record).kind) == GATE {
                    found.insert(ptr::read_volatile(&raw const (*record.cast::<GateRecord>()).entry));
                    innermost = None;
                } else {
                    innermost = Some(ptr::read_volatile(&raw const (*record.cast::<EntryRecord>()).control));
                }
            }
        }
        if innermost.is_some_and(|control| space::base_of(control) == base) {
            inside.push(thread.tid);
        }
    }
    (found, inside)
}

/// How often something was ended from outside: a thread that was outside proxies in an epoch has passed no admission of what was ended
/// before. Changed under a lock of [`watch`](super::watch)'s; signal handlers read it.
pub(super) static EPOCH: AtomicU64 = AtomicU64::new(0);

/// What [`ThreadState::looked`] is set to.
pub(super) fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Bit of [`ThreadState::overdue`]: there is such a call.
pub(crate) const OVERDUE: u64 = 1 << 32;

impl GateTables {
    /// Lets go of entries that no table leads to and no thread can hold, in the domain at `base`; true if none is left.
    pub fn release(&self, base: u64) -> bool {
        self.release_unless_held(|| gate_entries(base))
    }
}
