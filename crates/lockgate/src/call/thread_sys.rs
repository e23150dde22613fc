//! The runtime's side of a host thread: its block, records, slot table and alternate stack.
use super::info::Info;
use super::instance::{AnyDomain, Instance};
use super::layout::{
    BindingHeader, ENTRY, EntryRecord, FRAME, FROM_DOMAIN, GATE, GateEntry, GateRecord, LIMITED_ENTRY,
    NEXT_MARK, RECORD, RED_ZONE, Record, ThreadBlock, UNTAKEN,
};
use super::undisturbed_sys::{self, undisturbed};
use crate::error::CallError;
use crate::host::{AtThreadEnd, Owner, PerProcess, maps};
use crate::report::Entered;
use crate::report::{Cause, RawFault, Registers};
use crate::space::{self, MAX_STRIDES};
use lockgate_abi::{PAGE, stack};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Bytes of records: nesting ends there.
const RECORDS: usize = 64 << 10;
/// What handlers need beyond the kernel's frame: ours, and the ones they are chained to.
const HANDLER_NEED: usize = 64 << 10;
/// Host stack that a nested call must leave, bytes.
const STACK_RESERVE: u64 = 128 << 10;

/// The calling thread's block.
#[inline(always)]
pub(crate) fn block() -> *mut ThreadBlock {
    let block: *mut ThreadBlock;
    // SAFETY: computes an address from fs.
    unsafe {
        core::arch::asm!(
            "mov {block}, qword ptr fs:[0]",
            "add {block}, qword ptr [rip + lockgate_thread@GOTTPOFF]",
            block = out(reg) block,
            options(nostack, readonly)
        );
    }
    block
}

thread_local! {
    /// Base of the domain whose module has started the thread; 0 on threads of the host's.
    static STARTER: Cell<u64> = const { Cell::new(0) };
}

/// Says whose thread the calling one is: 0 for nobody's.
pub(crate) fn set_starter(base: u64) {
    STARTER.set(base);
}

/// True on a thread that a module has started itself. Whoever is called there has no caller of the host's to tell of a failure:
/// it ends the domain.
pub fn is_modules_thread() -> bool {
    STARTER.get() != 0
}

/// The number of the domain whose module has started the calling thread.
fn starter() -> Option<u32> {
    Some(STARTER.get()).filter(|&base| base != 0 && !space::is_inherited(base)).map(space::index_of)
}

/// Offset of every thread's block from `fs`: static thread-local storage, the same in all threads.
pub(crate) fn block_offset() -> i32 {
    let base: u64;
    // SAFETY: reads the thread pointer, which the x86-64 ABI keeps at fs:0.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags)) };
    i32::try_from(block() as i64 - base as i64).expect("static thread-local storage lies near fs")
}

/// What the runtime keeps of an attached thread. Fields in cells belong to the thread itself; the signal handler
/// runs on it, too.
pub(crate) struct ThreadState {
    /// Kernel id.
    pub tid: i32,
    /// Whose thread it is.
    owner: Owner,
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
    /// True while everything that is in progress on the thread is to end: an asynchronous call that was stopped.
    pub stop: AtomicBool,
    /// Somebody wants the thread to ask its domain's stop predicate ([`interrupt`]), and it has not been found where it can.
    pub look: AtomicBool,
    /// The last kick found a handler of the host's in the way.
    pub covered: AtomicBool,
    /// The innermost gate whose function a kick has found left, as it seems, and the mark that it had.
    left_gate: AtomicPtr<GateRecord>,
    left_mark: AtomicU64,
    /// It has been kicked by SIGTRAP.
    pub kicked_by_trap: AtomicBool,
    /// Why the innermost domain's last call of another domain failed, or ends it.
    pub failure: Cell<Option<CallError>>,
    /// The last sentence of the watcher that the thread has heard outside proxies.
    pub looked: AtomicU64,
    /// A function of the host's has come back to a domain's call that was not the innermost one: which records are alive is not known.
    pub out_of_turn: Cell<bool>,
    /// The thread's own stack.
    stack: Range<u64>,
    /// The word of the exclusive domain that the thread waits for.
    pub waits_for: AtomicPtr<AtomicU32>,
    /// That domain.
    awaited: UnsafeCell<Option<Arc<dyn AnyDomain>>>,
    /// Shared with what the thread was in the parent, if that forked in a call.
    records: Arc<Mapping>,
    slots: Mapping,
    alternate: Mapping,
    /// Domains that have a stack slot of this thread.
    attached: RefCell<Vec<Attached>>,
}

/// A domain that has a stack slot of a thread.
struct Attached {
    domain: Weak<dyn AnyDomain>,
    /// The thread ends, and the domain's module has been told.
    told: bool,
}

// SAFETY: other threads use atomics, what never changes (`tid`, `stack`, where `records`, `slots` and `alternate` are mapped), and, under the lock
// of THREADS, what `block`, `records` and `slots` lead to, by atomic or volatile accesses. Cells are the thread's own.
unsafe impl Send for ThreadState {}
// SAFETY: as above.
unsafe impl Sync for ThreadState {}

/// All attached threads. A thread leaves it, under the lock, before its memory goes.
pub(crate) static THREADS: PerProcess<Mutex<Vec<Arc<ThreadState>>>> = PerProcess::new(Mutex::default);

/// In a record, in place of a place in a domain: it is gone.
const LEFT: u64 = 0;

thread_local! {
    /// Dropped as [`AtThreadEnd`] says.
    static THREAD: RefCell<Option<ManuallyDrop<Attachment>>> = const { RefCell::new(None) };
    /// How often the thread has detached, in rounds of destructors.
    static ENDS: Cell<u32> = const { Cell::new(0) };
    /// Why a call was refused before it began. (As above: handlers of `atexit` may ask, too.)
    static REFUSED: Cell<Option<ManuallyDrop<CallError>>> = const { Cell::new(None) };
}

/// Has the calling thread detach when it ends, among its keys' destructors. Those that come later may attach it again: it detaches in
/// their next round then.
///
/// # Errors
/// There is no round any more, or no key: nothing would tell that the thread's memory goes.
fn detach_at_the_end() -> Result<(), CallError> {
    /// `PTHREAD_DESTRUCTOR_ITERATIONS` of POSIX, which is glibc's.
    const ROUNDS: u32 = 4;
    extern "C" fn end(_: *mut c_void) {
        ENDS.set(ENDS.get() + 1);
        // No frame is left that holds signals back.
        undisturbed_sys::forget();
        // What modules do then may call the host, which may end the thread once more, out of this frame: the rest is done then.
        END.arm();
        let state = THREAD.with_borrow(|thread| thread.as_ref().map(|attachment| Arc::as_ptr(&attachment.0)));
        // SAFETY: the attachment keeps it, which only the next line but one drops.
        if let Some(state) = state.and_then(|state| unsafe { state.as_ref() }) {
            state.let_modules_clean_up();
        }
        END.disarm();
        drop(THREAD.take().map(ManuallyDrop::into_inner));
    }
    static END: AtThreadEnd = AtThreadEnd::new(end);
    match ENDS.get() < ROUNDS - 1 {
        true if END.arm() => Ok(()),
        true => Err(CallError::memory(Errno::AGAIN)),
        false => Err(CallError::ThreadEnding),
    }
}

/// Detaches the thread when it ends.
struct Attachment(Arc<ThreadState>);

impl Drop for Attachment {
    fn drop(&mut self) {
        let state = &self.0;
        if !state.owner.may_drop() {
            // A forked child's first thread, which has called nothing since: the rest is the parent's.
            state.restore_alternate_stack();
            return;
        }
        for domain in state.domains() {
            domain.detach(state);
        }
        THREADS.lock().unwrap_or_else(|e| e.into_inner()).retain(|t| !Arc::ptr_eq(t, state));
        // SAFETY: our own block; from here on proxies refuse the thread (rule R12).
        unsafe {
            (*state.block).alternate_size = u64::MAX;
            (*state.block).state = ptr::null();
        }
        state.restore_alternate_stack();
    }
}

/// Memory of the runtime's own, with an inaccessible page in front.
pub(crate) struct Mapping {
    at: *mut c_void,
    length: usize,
}

// SAFETY: an address and a length; who may use what is there is its owner's affair.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(length: usize) -> Result<Mapping, Errno> {
        let length = length + PAGE as usize;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { mm::mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags)? };
        let mapping = Mapping { at, length };
        // SAFETY: inside the mapping just made.
        unsafe {
            mm::mprotect(mapping.start(), mapping.size(), MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(mapping)
    }

    /// Children of `fork` find zeros.
    fn wipe_in_children(&self) -> Result<(), Errno> {
        // SAFETY: changes nothing here.
        unsafe { mm::madvise(self.start(), self.size(), Advice::LinuxWipeOnFork) }
    }

    fn start(&self) -> *mut c_void {
        self.at.wrapping_byte_add(PAGE as usize)
    }

    fn size(&self) -> usize {
        self.length - PAGE as usize
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `new`, used by nobody any more.
        let done = unsafe { mm::munmap(self.at, self.length) };
        debug_assert!(done.is_ok());
    }
}

impl ThreadState {
    /// Address of the slot table's entry for a domain.
    fn slot(&self, id: u32) -> *mut u64 {
        assert!((id as usize) < MAX_STRIDES);
        self.slots.start().cast::<u64>().wrapping_add(id as usize)
    }

    /// The thread's control rsp for its next entry into domain `id`, or 0.
    pub fn place(&self, id: u32) -> u64 {
        // SAFETY: inside the table.
        unsafe { ptr::read_volatile(self.slot(id)) }
    }

    /// Lets the thread enter domain `id` at control address `rsp`, or, with 0, not any more.
    pub fn set_slot(&self, id: u32, rsp: u64) {
        // SAFETY: inside the table. Another thread writes only when it ends the domain, which nobody calls then.
        unsafe { ptr::write_volatile(self.slot(id), rsp) }
    }

    /// Gives the thread the place back that a gate's record has, unless the domain has been left since ([`leave`](ThreadState::leave)).
    fn give_back(&self, id: u32, place: &u64) {
        // SAFETY: aligned words of the tables of slots and records, which live as long as the state; another thread may leave the domain now.
        let (slot, place) = unsafe {
            (AtomicU64::from_ptr(self.slot(id)), AtomicU64::from_ptr(ptr::from_ref(place).cast_mut()))
        };
        let raised = |now| match place.load(Ordering::Acquire) {
            LEFT => None,
            place => (now != 0).then_some(place),
        };
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, raised);
    }

    /// The same for an entry that began at `control`: a jump out of the few instructions in which a gate has moved the place, and shows no
    /// record, leaves it below frames that are gone, perhaps on a context's slot, which may become another thread's. Where that was the
    /// gate has written already, next to the entry's record: its rsp, from which the place follows, and what the place was. (The entry began
    /// below that by the room for its arguments and its result.)
    fn give_back_from(&self, id: u32, control: u64, gate: Option<&GateRecord>) {
        // SAFETY: as above.
        let slot = unsafe { AtomicU64::from_ptr(self.slot(id)) };
        let above = control..=control | (stack::SLOT - 1);
        let raised = |now: u64| {
            let moved_by = |gate: &&GateRecord| now == gate.control.wrapping_sub(RED_ZONE) & !15;
            let before = gate.filter(moved_by).map(|gate| gate.slot).filter(|before| above.contains(before));
            (now != 0 && !above.contains(&now)).then(|| before.unwrap_or(control))
        };
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, raised);
    }

    /// Takes domain `id`, which starts at `base` and which nobody is in any more, away from the thread: nothing that a `longjmp` has left
    /// on record leads there again, whose place it may become. For any thread, with the lock of [`THREADS`].
    pub fn leave(&self, id: u32, base: u64) {
        for record in self.records() {
            // Where an entry's record has its place in the domain, a gate's has that of the next.
            const PLACE: usize = std::mem::offset_of!(EntryRecord, control);
            const { assert!(PLACE == std::mem::offset_of!(GateRecord, slot)) };
            // SAFETY: an aligned word in the array of records. Its thread may write another record there, but none of this domain.
            let place = unsafe { AtomicU64::from_ptr(record.byte_add(PLACE).cast::<u64>().cast_mut()) };
            let is_in_domain = |at: u64| (space::base_of(at) == base).then_some(LEFT);
            let _ = place.fetch_update(Ordering::AcqRel, Ordering::Acquire, is_in_domain);
        }
        self.set_slot(id, 0);
    }

    /// For a kick that finds the thread at `rsp`, on no alternate stack: the calls whose frames it is above were left by a jump, unless the
    /// thread runs on a stack that lies in a frame of its own, and comes back. So nobody waits for their limits any more, as long as it has
    /// not. Where the gate's mark is overwritten, nobody comes back: in what was ended such calls are not. (Else kicks would come until the
    /// next call, which drops their records: [`repair`].) Takes no lock, and no memory.
    pub(super) fn note_left(&self, rsp: u64) {
        let first = self.records.start().cast::<Record>();
        // SAFETY: records between the first and the top were written by proxies and gates of this thread, which a signal has interrupted; what
        // is, or was, a frame of its own stack can be read.
        unsafe {
            let top = (*self.block).top;
            let mut record = top;
            while record != first && (*record).kind == GATE {
                let gate = record.cast::<GateRecord>();
                let entry = record.byte_sub(RECORD as usize).cast::<EntryRecord>();
                let host = (*entry).host;
                // On other stacks than the thread's own a higher address says nothing. The proxy is over when its return address is popped.
                let is_own = self.stack.contains(&host) && self.stack.contains(&rsp);
                if !is_own || rsp < host + FRAME {
                    break;
                }
                let binding = (*entry).binding.as_ref();
                if let Some(binding) = binding
                    && ((*binding.domain).is_killed() || (*binding.info).is_stopped())
                    && ptr::read_volatile(host as *const u64) != (*gate).mark
                {
                    if (*binding.domain).is_killed() {
                        (&raw mut (*entry).control).write_volatile(LEFT);
                    }
                    (*gate).mark = GATE.into();
                    (&raw mut (*entry).binding).write_volatile(ptr::null());
                }
                if record == top {
                    self.left_mark.store((*gate).mark, Ordering::Relaxed);
                    self.left_gate.store(gate, Ordering::Release);
                }
                record = entry.cast::<Record>().byte_sub(RECORD as usize);
            }
        }
    }

    /// True if a kick has found the thread above the frame of the entry with this record ([`note_left`](ThreadState::note_left)), and it has
    /// not come back since. For any thread that holds the lock of [`THREADS`].
    pub(super) fn is_left(&self, record: *const Record) -> bool {
        let gate = self.left_gate.load(Ordering::Acquire);
        // SAFETY: the block lives as long as its state; a record of the array, or none; aligned words.
        unsafe {
            let top = AtomicPtr::from_ptr(&raw mut (*self.block).top).load(Ordering::Relaxed);
            record.cast::<GateRecord>() < gate.cast_const()
                && top.cast::<GateRecord>() >= gate
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
    fn domain_of(&self, control: u64) -> Option<Arc<dyn AnyDomain>> {
        let base = space::base_of(control);
        let is_there = control != LEFT && !space::is_inherited(control);
        is_there.then(|| self.domains().into_iter().find(|domain| domain.base() == base))?
    }

    /// Those that have a stack slot of the thread.
    fn domains(&self) -> Vec<Arc<dyn AnyDomain>> {
        self.attached.borrow().iter().filter_map(|attached| attached.domain.upgrade()).collect()
    }

    /// When the thread ends, which it may have done in a function of the host's.
    fn let_modules_clean_up(&self) {
        if !self.owner.may_drop() {
            return;
        }
        let own = starter().map(|id| (id, self.place(id)));
        // No frame of the host's is left. The calls that it leaves behind end, and so does what they hold.
        repair(self, u64::MAX);
        // The frames of a module's own thread are where they were, as for a thread that is cancelled.
        if let Some((id, place)) = own {
            self.set_slot(id, place);
        }
        // Rust's std has switched the alternate stack off by now (rule R12).
        let usable = self.use_alternate_stack().is_ok();
        let next = || {
            let mut attached = self.attached.borrow_mut();
            let next = attached.iter_mut().find(|attached| !attached.told)?;
            next.told = true;
            Some(next.domain.clone())
        };
        while let Some(domain) = next().filter(|_| usable) {
            if let Some(domain) = domain.upgrade() {
                domain.clean_up(self);
            }
        }
    }

    /// Remembers to leave `domain` when the thread ends.
    pub fn remember(&self, domain: Weak<dyn AnyDomain>) {
        let mut attached = self.attached.borrow_mut();
        attached.retain(|attached| attached.domain.strong_count() > 0);
        attached.push(Attached { domain, told: false });
    }

    /// True if `rsp` lies on the thread's own alternate stack: a host handler runs.
    pub fn on_alternate_stack(&self, rsp: u64) -> bool {
        rsp.wrapping_sub(self.alternate.start() as u64) < self.alternate.size() as u64
    }

    /// Keeps the exclusive domain that the thread waits for, until [`await_none`](ThreadState::await_none). It waits for one only: it is in
    /// transit meanwhile.
    pub(super) fn await_domain(&self, domain: Arc<dyn AnyDomain>) -> &Instance {
        // SAFETY: the thread's own, which is undisturbed.
        unsafe { (*self.awaited.get()).insert(domain) }
    }

    /// It waits no more.
    pub(super) fn await_none(&self) {
        // SAFETY: as above; what is dropped finds it empty.
        drop(unsafe { (*self.awaited.get()).take() });
    }

    fn use_alternate_stack(&self) -> Result<(), Errno> {
        let stack =
            libc::stack_t { ss_sp: self.alternate.start(), ss_flags: 0, ss_size: self.alternate.size() };
        // SAFETY: the stack lives as long as this state.
        if unsafe { super::signals_sys::kernel_sigaltstack(&stack, ptr::null_mut()) } != 0 {
            return Err(Errno::INVAL);
        }
        Ok(())
    }

    fn restore_alternate_stack(&self) {
        let mut now = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: queries, then switches off our own stack before it is unmapped.
        unsafe {
            super::signals_sys::kernel_sigaltstack(ptr::null(), &mut now);
            if now.ss_sp == self.alternate.start() {
                super::signals_sys::kernel_sigaltstack(&none, ptr::null_mut());
            }
        }
    }
}

/// Where gs points on a thread that is in no window: the word that proxies read through it is this one.
static NO_WINDOW: u64 = 0;

/// Takes the calling thread's gs out of the window at `base`, which is going, or gives a new thread's, which points nowhere
/// (0), its first value. Proxies would notice without, by a fault (rule R19), but debuggers stop there.
pub(crate) fn leave_window(base: u64) {
    let parked = (&raw const NO_WINDOW as u64).wrapping_sub(lockgate_abi::header::W);
    // SAFETY: gs belongs to Lockgate; no domain runs on the thread whose window this is.
    unsafe {
        let gs: u64;
        core::arch::asm!("rdgsbase {}", out(reg) gs, options(nomem, nostack, preserves_flags));
        if gs == base {
            core::arch::asm!("wrgsbase {}", in(reg) parked, options(nomem, nostack, preserves_flags));
        }
    }
}

/// The same for a window that is going when the last call in it has ended, if none is in progress on the calling thread: whose gate may come
/// back to it.
pub(crate) fn leave_window_unless_inside(base: u64) {
    if current().is_some_and(|thread| thread.records().next().is_none()) {
        leave_window(base);
    }
}

/// Gives the calling thread its alternate stack again, and the signals that the library lives by, if it is attached; or has its next call
/// do it, where that cannot be now.
pub(crate) fn settle() {
    let Some(state) = current() else { return };
    if on_alternate_stack() || state.use_alternate_stack().is_err() {
        // SAFETY: our own block: the thread is admitted anew.
        unsafe { (*block()).alternate_size = u64::MAX };
        return;
    }
    super::mask_sys::unblock();
}

/// The calling thread's state, attached now if it was not.
///
/// # Errors
/// Why the thread cannot enter any domain.
pub(crate) fn attach() -> Result<Arc<ThreadState>, CallError> {
    match on_alternate_stack() {
        true => Err(CallError::SignalHandler),
        false => attach_on_own_stack(),
    }
}

/// The same, where the thread is not [`on_alternate_stack`].
///
/// # Errors
/// As there.
pub(super) fn attach_on_own_stack() -> Result<Arc<ThreadState>, CallError> {
    let known = THREAD.with_borrow(|thread| thread.as_ref().map(|attachment| attachment.0.clone()));
    super::signals_sys::check_handlers().map_err(CallError::Handler)?;
    let state = match known {
        Some(state) if state.owner.is_here() => state,
        stale => {
            let state = Arc::new(new_state(stale.as_deref()).map_err(CallError::memory)?);
            detach_at_the_end()?;
            THREADS.lock().unwrap_or_else(|e| e.into_inner()).push(state.clone());
            // What a forked child's first thread was in the parent, others of whose threads had it, too, stays.
            THREAD.replace(Some(ManuallyDrop::new(Attachment(state.clone()))));
            state
        }
    };
    if state.out_of_turn.get() {
        return Err(CallError::TooDeep);
    }
    state.use_alternate_stack().map_err(CallError::memory)?;
    super::mask_sys::unblock();
    leave_window(0);
    let block = block();
    // SAFETY: our own thread's block; its size is published last.
    unsafe {
        (*block).alternate_low = state.alternate.start() as u64;
        (*block).alternate_size = state.alternate.size() as u64;
    }
    Ok(state)
}

/// The state of the calling thread; of a forked child's first thread with the records of the calls that it is in: they end when
/// the host's functions return, and what is called meanwhile is nested in them.
fn new_state(parent: Option<&ThreadState>) -> Result<ThreadState, Errno> {
    // SAFETY: a plain query.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let alternate = (frame.max(libc::MINSIGSTKSZ) + HANDLER_NEED).next_multiple_of(PAGE as usize);
    let state = ThreadState {
        tid: rustix::thread::gettid().as_raw_nonzero().get(),
        owner: Owner::this(),
        block: block(),
        fault: UnsafeCell::new(None),
        ending: UnsafeCell::new(None),
        failed: Cell::new(ptr::null()),
        panic: Cell::new(None),
        overdue: 0.into(),
        stop: AtomicBool::new(false),
        look: AtomicBool::new(false),
        covered: AtomicBool::new(false),
        left_gate: AtomicPtr::default(),
        left_mark: 0.into(),
        kicked_by_trap: AtomicBool::new(false),
        failure: Cell::new(None),
        looked: super::watch::last_sentence().into(),
        out_of_turn: Cell::new(false),
        stack: own_stack(),
        waits_for: AtomicPtr::default(),
        awaited: UnsafeCell::new(None),
        records: match parent {
            Some(parent) => parent.records.clone(),
            None => Arc::new(Mapping::new(RECORDS)?),
        },
        slots: Mapping::new(NOBODY as usize + size_of::<u64>())?,
        alternate: Mapping::new(alternate)?,
        attached: RefCell::default(),
    };
    // Without a place in any domain, a child that has not noticed that it is one takes the slow path into each.
    state.slots.wipe_in_children()?;
    let block = state.block;
    let records = state.records.start();
    if parent.is_some() {
        // Nobody watches the time of what the parent called.
        state.records().for_each(|record| lift_limit(record.cast_mut()));
    }
    // SAFETY: our own thread's block, which nobody else writes; records start as zeros, that is IDLE.
    unsafe {
        if parent.is_none() {
            (*block).top = records.cast();
        }
        (*block).first = records.cast();
        (*block).records_end = records as u64 + state.records.size() as u64;
        (*block).slots = state.slots.start().cast();
        (*block).stack_floor = state.stack.start + STACK_RESERVE;
        (*block).tid = state.tid as u32;
        // No number comes twice, though the thread may have been attached before.
        (*block).mark = (*block).mark.max(GATE.into());
    }
    Ok(state)
}

/// As a return address: nobody's. Gates of the parent's calls lead there in a child.
static NOBODYS_RETURN: u64 = 0;

/// rsp when a gate that had asked already has returned by it.
pub(super) fn behind_nobodys_return() -> u64 {
    (&raw const NOBODYS_RETURN).wrapping_add(1) as u64
}

/// In a forked child: the next call takes the slow path, and the end of the host's function that forked is looked at. Who unwinds that
/// function (`pthread_exit`, `backtrace`) finds no caller of it instead of memory that is gone.
pub(crate) fn leave_parent() {
    // SAFETY: our own block, and the records of this thread, in memory that the child has, too.
    unsafe {
        (*block()).alternate_size = u64::MAX;
        (*block()).pending = 1;
        let Some(state) = (*block()).state.as_ref() else { return };
        for record in state.records().filter(|record| (**record).kind == GATE) {
            (*record.cast::<GateRecord>().cast_mut()).control = &raw const NOBODYS_RETURN as u64;
        }
    }
}

fn lift_limit(record: *mut Record) {
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

/// True if a function of the host's has ended the call that it was called in, and has not returned yet.
pub(super) fn is_to_return(state: &ThreadState) -> bool {
    // SAFETY: our own state.
    unsafe { (*state.ending.get()).is_some() }
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

/// The same of a frame at `rsp`, which is not deceived by the record of a function that was left by `longjmp`, nor by a signal
/// handler.
pub(crate) fn in_living_gate(rsp: u64) -> bool {
    let Some(state) = current() else { return false };
    // SAFETY: our own block; a record is always on top, and an entry's is below a gate's.
    let plainly = unsafe {
        let block = state.block;
        let top = (*block).top;
        // On the thread's own stack and deeper than the call: no need to ask the kernel.
        (*top).kind == GATE
            && rsp >= (*block).stack_floor
            && rsp < (*top.byte_sub(RECORD as usize).cast::<EntryRecord>()).host
    };
    // SAFETY: as above.
    plainly
        || !on_alternate_stack() && unsafe { (*repair(state, rsp)).kind == GATE } && !is_elsewhere(state, rsp)
}

/// True on an alternate signal stack, ours or anybody's (rule R13).
pub(crate) fn on_alternate_stack() -> bool {
    let mut now = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: a query.
    unsafe { super::signals_sys::kernel_sigaltstack(ptr::null(), &mut now) };
    now.ss_flags & libc::SS_ONSTACK != 0
}

/// The calling thread's own stack, as libc knows it; the first thread's within its limit.
fn own_stack() -> Range<u64> {
    // SAFETY: the attribute object is initialised by pthread_getattr_np and destroyed once.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0..0;
        }
        let (mut low, mut size) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        low as u64..low as u64 + size as u64
    }
}

/// True if the host's frame at `host` is gone for a caller at `rsp`: they are on one stack, and the caller's frame is further out. (What
/// is on another stack, the thread's own or a coroutine's, may well go on.)
fn is_gone(state: &ThreadState, host: u64, rsp: u64) -> bool {
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

/// True if a jump has left the frame at `frame`, of the calling thread, as a caller at `rsp` tells.
pub(super) fn is_left(frame: u64, rsp: u64) -> bool {
    current().map_or(frame < rsp, |state| is_gone(state, frame, rsp))
}

/// True if what was interrupted above the host's frame at `host`, a domain's code or a proxy, has to be taken for something that goes on: on a
/// coroutine's stack, out of whose handlers nobody jumps, but they may switch to another stack in the same mapping.
fn goes_on(state: &ThreadState, host: u64, rsp: u64) -> bool {
    rsp != u64::MAX && !state.stack.contains(&host)
}

/// Drops records that a host's longjmp left behind: those of frames that no longer exist, because the stack
/// pointer is above them (rule R16). Returns the innermost living one.
pub(crate) fn repair(state: &ThreadState, rsp: u64) -> *mut Record {
    let first = state.records.start().cast::<Record>();
    // SAFETY: our own block; a function of two arguments.
    unsafe {
        if (*state.block).top == first && (*state.block).transit == 0 {
            return first;
        }
        let work = lockgate_repair as *const ();
        undisturbed(work, [ptr::from_ref(state) as usize, rsp as usize, 0]) as *mut Record
    }
}

unsafe extern "C" fn lockgate_repair(state: &ThreadState, rsp: u64) -> *mut Record {
    // SAFETY: records between the first and the top were written by proxies and gates of this thread.
    unsafe {
        let block = state.block;
        let first = state.records.start().cast::<Record>();
        let mut of_gate = false;
        loop {
            // Read again: a signal handler may have repaired as well.
            let top = (*block).top;
            if top == first {
                repair_transit(state, rsp);
                return top;
            }
            let entry =
                if (*top).kind == GATE { top.byte_sub(RECORD as usize) } else { top }.cast::<EntryRecord>();
            let host = (*entry).host;
            if !of_gate && (!is_gone(state, host, rsp) || (*top).is_entry() && goes_on(state, host, rsp)) {
                repair_transit(state, rsp);
                return top;
            }
            of_gate = (*top).kind == GATE;
            // The binding may be gone, and its header another's: only the domain can be asked, if that is still there.
            let control = ptr::read_volatile(&raw const (*entry).control);
            let domain = state.domain_of(control);
            if (*top).kind == GATE {
                if let Some(domain) = domain {
                    state.give_back(domain.id(), &(*top.cast::<GateRecord>()).slot);
                    domain.process().thread_jumps(domain.contexts().home(domain.slot_of(control)), rsp);
                }
                // Should its function come back all the same, the gate does not know its record any more.
                (*top.cast::<GateRecord>()).mark = GATE.into();
                *state.ending.get() = None;
            } else if let Some(domain) = domain {
                let next = top.byte_add(RECORD as usize).cast::<GateRecord>();
                let next = ((next as u64) < (*block).records_end).then(|| next.read_volatile());
                state.give_back_from(domain.id(), control, next.as_ref());
                if (*entry).binding.as_ref().is_none_or(|binding| ptr::eq(binding.owner, domain.owner())) {
                    super::exclusive_sys::release(domain.owner(), state.tid as u32);
                }
            }
            set_top(block, top.byte_sub(RECORD as usize));
        }
    }
}

/// The same of a proxy in transit: it shows no record, and may have taken an exclusive domain.
fn repair_transit(state: &ThreadState, rsp: u64) {
    // SAFETY: our own block.
    let transit = unsafe { &mut (*state.block).transit };
    if *transit == 0 || !is_gone(state, *transit, rsp) || goes_on(state, *transit, rsp) {
        return;
    }
    *transit = 0;
    super::exclusive_sys::stop_waiting(state);
    for domain in state.domains() {
        let word = domain.owner();
        // SAFETY: records in use were written by proxies and gates of this thread; their bindings are alive.
        let in_use = state.records().any(|record| unsafe {
            (*record).is_entry() && {
                let entry = record.cast::<EntryRecord>();
                space::base_of((*entry).control) == domain.base()
                    && (*entry).binding.as_ref().is_some_and(|binding| ptr::eq(binding.owner, word))
            }
        });
        if !in_use {
            super::exclusive_sys::release(word, state.tid as u32);
        }
    }
}

/// True if the innermost call, which is alive, lies on another stack than `rsp`, and above it.
pub(super) fn is_elsewhere(state: &ThreadState, rsp: u64) -> bool {
    // SAFETY: our own block; below a gate's record is its entry's.
    unsafe {
        let top = (*state.block).top;
        (*top).kind == GATE && rsp >= (*top.byte_sub(RECORD as usize).cast::<EntryRecord>()).host
    }
}

/// What came of the record of a gate to which a function of the host's has returned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It is the innermost one, now that what the function has jumped out of is off the records.
    Innermost,
    /// It is there, but not the innermost one: calls on another stack are.
    Covered,
    /// It was taken for a dead one, and may be another call's by now; or it is another thread's.
    Lost,
}

/// Looks for the record of a gate whose entry has its frame at `own`, where the gate's mark is.
///
/// # Safety
/// The frame is there, on the stack that the thread runs on.
pub(super) unsafe fn find(state: &ThreadState, gate: *const GateRecord, own: *const u64) -> Found {
    let records = state.records.start() as usize..state.records.start() as usize + state.records.size();
    // SAFETY: our own block and records, and the caller's frame.
    unsafe {
        if !records.contains(&(gate as usize)) || (*gate).mark != *own {
            return Found::Lost;
        }
        let (block, gate) = (state.block, gate.cast::<Record>());
        if (*block).top.cast_const() > gate {
            repair(state, own as u64 - 1);
        }
        match (*block).top.cast_const().cmp(&gate) {
            std::cmp::Ordering::Less => Found::Lost,
            std::cmp::Ordering::Equal => Found::Innermost,
            std::cmp::Ordering::Greater => Found::Covered,
        }
    }
}

/// Gives a gate's record a mark, and its copy to the frame of the gate's entry: for gates that make none themselves.
///
/// # Safety
/// The innermost record of the calling thread, which is a gate's, and the frame.
pub(super) unsafe fn mark(gate: *mut GateRecord, own: *mut u64) {
    // SAFETY: our own block.
    unsafe {
        (*block()).mark += NEXT_MARK;
        (*gate).mark = (*block()).mark;
        *own = (*gate).mark;
    }
}

/// True if the thread runs a domain's code, or a proxy that is about to: whoever calls a domain there is a signal handler.
pub(crate) fn is_inside(state: &ThreadState) -> bool {
    // SAFETY: our own block; the top record is always valid.
    unsafe { (*state.block).transit != 0 || (*(*state.block).top).is_entry() }
}

/// Makes `record` the top one, which other threads may read meanwhile ([`ThreadState::records`]).
///
/// # Safety
/// The calling thread's own block, and a record of its array.
pub(super) unsafe fn set_top(block: *mut ThreadBlock, record: *mut Record) {
    // SAFETY: an aligned word of the block.
    unsafe { AtomicPtr::from_ptr(&raw mut (*block).top) }.store(record, Ordering::Relaxed);
}

/// True if the next entry would be nested in more calls than its domain allows.
pub(crate) fn beyond_depth(state: &ThreadState, allowed: u32) -> bool {
    // SAFETY: our own block; the top record lies in the array that begins at the first.
    let depth = unsafe { (*state.block).top as u64 - (*state.block).first as u64 };
    depth > allowed.into()
}

/// True if `rsp` leaves too little of the host's stack for a nested call, or too few records.
pub(crate) fn too_deep(state: &ThreadState, rsp: u64) -> bool {
    // SAFETY: our own block.
    unsafe {
        rsp < (*state.block).stack_floor
            || (*state.block).top as u64 + 3 * RECORD > (*state.block).records_end
    }
}

/// Makes the call in progress, of `binding` by a caller whose frame is at `rsp`, fail with `error` before it begins.
pub(super) fn refuse(binding: &BindingHeader, rsp: u64, error: CallError) {
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    match error {
        // A signal handler may not allocate, which the first use of thread-local storage does; and the call that it interrupted may
        // just have failed, with nobody having looked yet.
        CallError::SignalHandler if is_looked_at(binding) => block.status += STATUS_HANDLER,
        CallError::SignalHandler => block.status |= STATUS_RAW_HANDLER,
        error => {
            if binding.flags & FROM_DOMAIN != 0 {
                block.transit = rsp & !UNTAKEN;
            } else if is_looked_at(binding) {
                block.transit = rsp | UNTAKEN;
            }
            drop(REFUSED.replace(Some(ManuallyDrop::new(error))).map(ManuallyDrop::into_inner));
            block.status = STATUS_REFUSED;
        }
    }
}

/// True if callers of `binding` ask how a call ended as soon as it did: all but those that have a raw function pointer.
fn is_looked_at(binding: &BindingHeader) -> bool {
    // SAFETY: the information lives while the binding is called; of one with a reporter it may be gone, which is not looked at then.
    binding.flags & FROM_DOMAIN == 0 && (!binding.reporter.is_null() || unsafe { !(*binding.info).is_lent() })
}

/// The word of transit for a call that ends without a return: with [`UNTAKEN`], if its caller will look at once.
///
/// # Safety
/// A live entry of the calling thread.
pub(super) unsafe fn untaken(entry: *const EntryRecord) -> u64 {
    // SAFETY: live records have live bindings.
    unsafe { (*entry).host & !UNTAKEN | if is_looked_at(&*(*entry).binding) { UNTAKEN } else { 0 } }
}

/// Status of a call that ended with a fault, recorded in [`ThreadState::fault`].
pub(crate) const STATUS_FAULT: u64 = 1;
/// Status of a call that was refused; why is in [`REFUSED`].
const STATUS_REFUSED: u64 = 2;
/// What of the status is about the last call that was no handler's: 0 if that returned.
pub(crate) const STATUS_ENDED: u64 = STATUS_FAULT | STATUS_REFUSED;
/// Bit of the status: a call through a raw function pointer was refused because a signal handler made it. It may never be asked about.
const STATUS_RAW_HANDLER: u64 = 4;
/// In the status, this times the number of other such calls whose callers have not looked yet: handlers that have interrupted each other.
const STATUS_HANDLER: u64 = 8;

/// True if the last call through a thunk did not return normally.
#[inline(always)]
pub(crate) fn failed() -> bool {
    let status: u64;
    // SAFETY: reads one word of the thread's own block.
    unsafe {
        core::arch::asm!(
            "mov {status}, qword ptr [rip + lockgate_thread@GOTTPOFF]",
            "mov {status}, qword ptr fs:[{status} + {STATUS}]",
            status = out(reg) status,
            STATUS = const std::mem::offset_of!(ThreadBlock, status),
            options(nostack, readonly, preserves_flags)
        );
    }
    status != 0
}

/// Whose the status is, as somebody sees it who has called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The caller is a handler whose call was refused.
    Handlers,
    /// The caller's own call has ended.
    Callers,
    /// The caller's call has returned: a handler's has not, which nobody has asked about; or the caller is such a handler.
    Nobodys,
}

/// Whose the status is, given that [`failed`]. A handler's is taken with that.
pub(crate) fn whose(raw: bool) -> Whose {
    if !raw && take_handlers_refusal() {
        return Whose::Handlers;
    }
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    // Those who look at once are never let in while another's is untaken: it is their own, or they have been refused.
    let is_handler = raw && (on_alternate_stack() || current().is_some_and(is_inside));
    let refused = block.status & STATUS_RAW_HANDLER != 0;
    block.status &= !STATUS_RAW_HANDLER;
    match is_handler {
        true if refused => Whose::Handlers,
        true => Whose::Nobodys,
        false if block.status & STATUS_ENDED != 0 => Whose::Callers,
        false => Whose::Nobodys,
    }
}

/// Why the call through the thunk of `binding` that has just come back failed, given that [`failed`]; `None` if it returned.
#[cold]
pub(crate) fn take_error(binding: &Info) -> Option<CallError> {
    match whose(binding.is_lent()) {
        Whose::Handlers => Some(CallError::SignalHandler),
        Whose::Nobodys => None,
        Whose::Callers => Some(take_refusal().unwrap_or_else(|| take_fault(binding))),
    }
}

/// True if the call that has just come back, of one of those that look at once, was a signal handler's and refused; that is taken then.
pub(crate) fn take_handlers_refusal() -> bool {
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    let is_handlers = block.status >= STATUS_HANDLER;
    if is_handlers {
        block.status -= STATUS_HANDLER;
    }
    is_handlers
}

/// Takes the error of a call whose binding is gone; `None` if it was a fault, which only the binding could explain.
#[cold]
pub(crate) fn take_orphaned_error() -> Option<CallError> {
    match whose(false) {
        Whose::Handlers => Some(CallError::SignalHandler),
        Whose::Nobodys => None,
        Whose::Callers => {
            let refusal = take_refusal();
            if let Some(state) = current() {
                // SAFETY: our own state.
                drop((unsafe { (*state.fault.get()).take() }, state.failure.take(), state.panic.take()));
            }
            taken();
            refusal
        }
    }
}

/// Why the last call ended, which was not refused.
pub(crate) fn take_fault(binding: &Info) -> CallError {
    let error = fault(binding);
    taken();
    error
}

/// Nothing is left of the last call's error: handlers may call again.
fn taken() {
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    block.status &= !STATUS_ENDED;
    if block.transit & UNTAKEN != 0 {
        block.transit = 0;
    }
}

fn fault(binding: &Info) -> CallError {
    let block = block();
    // SAFETY: our own block and, while attached, our own state; the binding is alive, so is the domain.
    let (raw, state) = unsafe {
        let state = (*block).state.as_ref();
        (state.and_then(|state| (*state.fault.get()).take()), state)
    };
    let (Some(raw), Some(state)) = (raw, state) else { return CallError::ThreadEnding };
    if is_parents(&raw) {
        drop((state.failure.take(), state.panic.take()));
        return CallError::Forked;
    }
    let binding = binding.that_ran(raw.registers.rsp);
    if raw.cause == Cause::Revoked {
        return CallError::Revoked(binding.name.clone());
    }
    if raw.cause == Cause::Callee
        && let Some(error) = state.failure.take()
    {
        return error;
    }
    match state.panic.take().filter(|_| raw.cause == Cause::Panic) {
        Some(payload) => CallError::Panic(crate::error::Panic::new(payload)),
        None => binding.fault(raw, outer_calls(state)).into(),
    }
}

/// True if a call ended that this process's parent had begun, by whatever: a function of the host's that has forked may end it, too.
fn is_parents(raw: &RawFault) -> bool {
    raw.cause == Cause::Forked || space::is_inherited(raw.entry)
}

/// True, once, if the last call through a thunk ended because this process is a child of the one that began it. (The binding is in the
/// parent's books.)
pub(crate) fn take_forked() -> bool {
    // SAFETY: our own block and, while attached, our own state.
    unsafe {
        let forked = (*block())
            .state
            .as_ref()
            .filter(|state| (*state.fault.get()).take_if(|raw| is_parents(raw)).is_some())
            .map(|state| drop((state.failure.take(), state.panic.take())))
            .is_some();
        if forked {
            taken();
        }
        forked
    }
}

/// Most domains that a report goes on through, outwards.
const MOST_OUTER: usize = 16;

/// The calls in progress on the calling thread, which is in no domain, or in a gate: innermost first, with their stacks.
fn outer_calls(state: &ThreadState) -> Vec<Entered> {
    let mut calls = Vec::new();
    // SAFETY: records between the first and the top were written by proxies and gates of this thread; their bindings are alive.
    unsafe {
        let mut record = (*state.block).top;
        while (*record).kind == GATE && calls.len() < MOST_OUTER {
            let gate = record.cast::<GateRecord>();
            let entry = record.byte_sub(RECORD as usize).cast::<EntryRecord>();
            let binding = (*entry).binding;
            if state.domain_of((*entry).control).is_none() || binding.is_null() {
                break; // its stacks are the parent's, or gone
            }
            let binding = (*(*binding).info).that_ran((*gate).control);
            calls.push(binding.entered(registers_at(gate), (*entry).control));
            record = record.byte_sub(2 * RECORD as usize);
        }
    }
    calls
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

/// Why the last call was refused, if it was: that needs no binding.
pub(crate) fn take_refusal() -> Option<CallError> {
    // SAFETY: our own block.
    if unsafe { (*block()).status } & STATUS_ENDED != STATUS_REFUSED {
        return None;
    }
    let error = REFUSED.take().map_or(CallError::ThreadEnding, ManuallyDrop::into_inner);
    taken();
    Some(error)
}

/// The binding whose last call on this thread ended with a fault; it may be gone.
pub(crate) fn failed_binding() -> *const BindingHeader {
    current().map_or(ptr::null(), |state| state.failed.get())
}

/// Forgets the error of a call through a raw function pointer, if nobody took it.
pub(crate) fn forget_error() {
    taken();
}

/// Bit of [`ThreadState::overdue`]: there is such a call.
pub(crate) const OVERDUE: u64 = 1 << 32;

/// An entry of a thread, as another thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenEntry {
    /// Control rsp at its start: an address of the domain's stride.
    pub control: u64,
    /// Sequence number and limit, milliseconds, of an entry with a limit of its own.
    pub limit: Option<(u32, u32)>,
    /// Nobody waits for its limit: [`ThreadState::note_left`].
    pub is_left: bool,
    /// Address of the binding called; it may be gone.
    pub binding: usize,
}

impl ThreadState {
    /// The records in use, outermost first, without the idle one. The thread itself, and any other that holds the lock of [`THREADS`],
    /// may read them, word by word; one that was made or went meanwhile may be missing or show another's values.
    pub(super) fn records(&self) -> impl Iterator<Item = *const Record> {
        let first = self.records.start().cast::<Record>();
        // SAFETY: the block lives as long as its state; an aligned word, which the thread writes in single instructions.
        let top = unsafe { AtomicPtr::from_ptr(&raw mut (*self.block).top) }.load(Ordering::Relaxed);
        let count = (top as usize).saturating_sub(first as usize) / RECORD as usize;
        let most = self.records.size() / RECORD as usize - 1;
        (1..=count.min(most)).map(move |index| first.wrapping_byte_add(index * RECORD as usize).cast_const())
    }

    /// Where the thread stands: its innermost record, and the number of the gates that it has been in. For any thread that holds the lock of
    /// [`THREADS`].
    pub(super) fn stands(&self) -> (usize, u64) {
        // SAFETY: the block lives as long as its state; aligned words, which the thread writes in single instructions.
        unsafe {
            let top = AtomicPtr::from_ptr(&raw mut (*self.block).top).load(Ordering::Relaxed);
            let mark = AtomicU64::from_ptr(&raw mut (*self.block).mark).load(Ordering::Relaxed);
            (top as usize, mark)
        }
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
                let binding = ptr::read_volatile(&raw const (*record).binding) as usize;
                Some(SeenEntry { control, limit, is_left, binding })
            }
        };
        self.records().filter_map(entry).collect()
    }
}

/// Takes a binding that ends off all threads' records: where a call through it was left by a jump, its record outlives it.
pub(crate) fn forget(binding: *const BindingHeader) {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    for record in threads.iter().flat_map(|thread| thread.records()) {
        // SAFETY: an aligned word in the array of records, where gates have another one, which is no header's address. Its thread may
        // write another record there, but none of this binding, which nobody can call any more.
        let word = unsafe {
            AtomicPtr::from_ptr(
                record
                    .byte_add(std::mem::offset_of!(EntryRecord, binding))
                    .cast::<*mut BindingHeader>()
                    .cast_mut(),
            )
        };
        let _ =
            word.compare_exchange(binding.cast_mut(), ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Number of entries in progress in the domain at `base`, on all threads.
pub(crate) fn calls_in(base: u64) -> usize {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    let inside = |entry: &SeenEntry| space::base_of(entry.control) == base;
    threads.iter().map(|thread| thread.entries().iter().filter(|entry| inside(entry)).count()).sum()
}

/// Whether the thread has no call in progress, of any domain. (One word says so, which a thread that is seen to have done something in a
/// domain has written before.)
pub(crate) fn is_idle(tid: i32) -> bool {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    threads.iter().any(|thread| thread.tid == tid && thread.records().next().is_none())
}

/// Entries of gates that threads are in, and kernel ids of the threads that run the code of the domain at `base`: one of these
/// may be about to show an entry that it has already read from the domain's tables.
pub(crate) fn gate_entries(base: u64) -> (HashSet<*const GateEntry>, Vec<i32>) {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
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

/// When the first of the calling thread's time limits ends, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub at: Instant,
    /// The entry's sequence number.
    pub sequence: u32,
    /// Its limit, milliseconds.
    pub limit: u32,
}

/// The first deadline of the calling thread's entries in progress.
pub(crate) fn deadline() -> Option<Deadline> {
    let state = current()?;
    let of = |(sequence, limit): (u32, u32)| {
        // An entry that the watcher has not seen yet has just begun.
        let began = super::watch::began(state.tid, sequence).unwrap_or_else(Instant::now);
        Deadline { at: began + Duration::from_millis(limit.into()), sequence, limit }
    };
    let entries = state.entries().into_iter().filter(|entry| !entry.is_left);
    entries.filter_map(|entry| entry.limit.map(of)).min()
}

/// True if everything in progress on the calling thread is to end.
pub(crate) fn is_stopped() -> bool {
    current().is_some_and(|state| state.stop.load(Ordering::Acquire))
}

/// Has the domain whose call is innermost on the calling thread ask its stop predicate ([`DomainOptions::stop_if`](crate::DomainOptions::stop_if)):
/// within a millisecond or so the call ends, if the answer is yes by then. A call that begins meanwhile asks, too. Nothing happens on a
/// thread that has called no domain.
///
/// Async-signal-safe: it is made for handlers of signals by which a host is told to give up what it does.
pub fn interrupt() {
    // SAFETY: the thread's own block, whose state is there while it is published.
    if let Some(state) = unsafe { (*block()).state.as_ref() } {
        state.look.store(true, Ordering::Release);
        super::watch::ring();
    }
}

/// Processor time that a thread has used so far, nanoseconds; `None` if it has ended.
pub(crate) fn processor_time(tid: i32) -> Option<u64> {
    // The clock of one thread (4) while it is scheduled (2): linux/posix-timers.h, CPUCLOCK_*.
    let clock = !tid << 3 | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes `time`; a clock that does not exist is an error.
    let read = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    read.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Bytes of an entry of slot tables.
pub(crate) const SLOT_SIZE: u32 = size_of::<u64>() as u32;

/// Offset of the last entry of slot tables, which is no domain's: always 0.
pub(crate) const NOBODY: u32 = MAX_STRIDES as u32 * SLOT_SIZE;
