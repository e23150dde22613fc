//! Threads that call domains: what each gets before its first call, and gives back when it ends.
use super::alternate_sys::{self, AlternateStack};
use super::block_sys::block;
use super::held::{Held, Holdings};
use super::interruptions_sys::Interruptions;
use super::layout::{GATE, GateRecord, LOOKS_AGAIN, NEXT_MARK, RECORD, RED_ZONE, Record};
use super::mapping_sys::Mapping;
use super::places_sys::{GONE, Places};
use super::signals_sys::{self, Look};
use super::thread_sys::{
    LEAST_STACK, START_STACK, ThreadState, epoch, lift_limit, on_alternate_stack, starter,
};
use super::{gs_sys, mask_sys, repair_sys, signal_frames_sys, thread_sys, undisturbed_sys};
use crate::error::CallError;
use crate::host::{AtThreadEnd, Owner, frame_address, stack_sys};
use crate::space;
use rustix::io::Errno;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Bytes of records: nesting ends there.
const RECORDS: usize = 64 << 10;
/// Host stack that a nested call must leave, bytes.
const STACK_RESERVE: u64 = 128 << 10;

thread_local! {
    /// Dropped as [`AtThreadEnd`] says.
    static THREAD: RefCell<Option<ManuallyDrop<Attachment>>> = const { RefCell::new(None) };
    /// In how many rounds of destructors the thread has detached.
    static DETACHED_ROUNDS: Cell<u32> = const { Cell::new(0) };
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
        DETACHED_ROUNDS.set(DETACHED_ROUNDS.get() + 1);
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
    match DETACHED_ROUNDS.get() < ROUNDS - 1 {
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
        // It may point into what goes now.
        gs_sys::leave_any_window();
        if !state.owner.may_drop() {
            // A forked child's first thread, which has called nothing since: the rest is the parent's.
            state.alternate.remove();
            return;
        }
        state.holdings.let_go_of_all();
        state.forget_leaving();
        for domain in state.domains() {
            domain.detach(state);
        }
        thread_sys::delist(state);
        // SAFETY: our own block; from here on proxies refuse the thread (rule R12).
        unsafe {
            (*state.block).alternate_size = u64::MAX;
            (*state.block).state = ptr::null();
        }
        state.alternate.remove();
    }
}

/// Holds `what` for calls that the calling thread makes from its frame at `rsp`, or deeper, until it is let go of; and where a jump leaves these
/// calls, until the thread's next call of any domain, or its end.
///
/// # Errors
/// Why the thread cannot enter any domain. Nothing is held.
#[doc(hidden)]
pub fn hold(rsp: u64, what: Arc<dyn Held>) -> Result<(), CallError> {
    let state = attached(rsp)?;
    state.holdings.hold(repair_sys::repair(&state, rsp), rsp, what);
    Ok(())
}

/// Lets go of what was held for calls that a jump has left, as the caller's frame at `rsp` tells.
///
/// # Errors
/// Why the thread cannot enter any domain.
#[doc(hidden)]
pub fn let_go_of_left(rsp: u64) -> Result<(), CallError> {
    let state = attached(rsp)?;
    repair_sys::repair(&state, rsp);
    state.let_go_of_left(rsp);
    Ok(())
}

impl ThreadState {
    /// Where the last call of domain `id` begins, which it makes for a thread of its own when all others are over: where the next one would;
    /// or, from within a context, which is lost with the calls, below what waits on the thread's own slot.
    fn last_place(&self, id: u32) -> u64 {
        let place = self.place(id);
        let mut domains = self.domains().into_iter();
        let domain = domains.find(|domain| place != 0 && domain.id() == id);
        let waits = domain.and_then(|domain| domain.contexts().waits_for(domain.slot_of(place)));
        waits.map_or(place, |control| (control - RED_ZONE) & !15)
    }

    /// Whether the innermost call is one of domain `id`, and in no gate.
    fn is_in_code(&self, id: u32) -> bool {
        // SAFETY: our own block; a record of ours.
        let is_entry = unsafe { (*(*self.block).top).is_entry() };
        is_entry && self.entries().last().is_some_and(|entry| space::index_of(entry.control) == id)
    }

    /// When the thread ends, which it may have done in a function of the host's.
    fn let_modules_clean_up(&self) {
        if !self.owner.may_drop() {
            return;
        }
        let own = starter().map(|id| (id, self.last_place(id)));
        self.ended_in_code.set(own.is_some_and(|(id, _)| self.is_in_code(id)));
        // No frame of the host's is left. The calls that it leaves behind end, and so does what they hold.
        repair_sys::repair(self, u64::MAX);
        // The frames of a module's own thread are where they were, as for a thread that is cancelled.
        if let Some((id, place)) = own {
            self.set_slot(id, place);
        }
        // Rust's std has switched the alternate stack off by now (rule R12).
        let usable = self.alternate.install(&alternate_sys::in_use()).is_ok();
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
}

/// The calling thread's state, attached now if it was not.
///
/// # Errors
/// Why the thread cannot enter any domain.
pub(crate) fn attach() -> Result<Arc<ThreadState>, CallError> {
    let now = alternate_sys::in_use();
    match alternate_sys::is_on(&now) {
        true => Err(CallError::SignalHandler),
        false => attach_on_own_stack(frame_address(), &now, mask_sys::unblock),
    }
}

/// The same for a thread that calls from a frame at `rsp`, and whose alternate stack, `now`, it is not on; `unblock` lets the signals through that the
/// library lives by.
///
/// # Errors
/// As there.
pub(super) fn attach_on_own_stack(
    rsp: u64,
    now: &libc::stack_t,
    unblock: fn(),
) -> Result<Arc<ThreadState>, CallError> {
    let known = known();
    // SAFETY: our own block.
    let looks_at_stack = unsafe { (*block()).alternate_size } == LOOKS_AGAIN;
    match &known {
        Some(_) if looks_at_stack => Ok(()),
        Some(_) => signals_sys::check_handlers(Look::Again),
        None => signals_sys::check_handlers(Look::Whole),
    }
    .map_err(CallError::Handler)?;
    let state = match known {
        Some(state) if state.owner.is_here() => state,
        stale => {
            // (libc allocates to answer that, and a handler may have interrupted an allocation.)
            let is_ending = DETACHED_ROUNDS.get() > 0;
            let stack = if is_ending { stack_sys::known() } else { stack_sys::own() };
            if stack.contains(&rsp) && rsp - stack.start < LEAST_STACK {
                return Err(CallError::TooDeep);
            }
            // Who calls when the library has left the thread is a destructor, or a handler that interrupts what ends the thread: without an
            // alternate stack to tell by. There nothing is lost if one is taken for the other.
            if is_ending && signal_frames_sys::may_be_above(rsp, &stack, None) {
                return Err(CallError::SignalHandler);
            }
            let state = Arc::new(new_state(stack, stale.as_deref()).map_err(CallError::memory)?);
            detach_at_the_end()?;
            thread_sys::enlist(&state);
            // What a forked child's first thread was in the parent, others of whose threads had it, too, stays.
            THREAD.replace(Some(ManuallyDrop::new(Attachment(state.clone()))));
            state
        }
    };
    if state.out_of_turn.get() {
        return Err(CallError::TooDeep);
    }
    state.use_alternate_stack(rsp, now).map_err(CallError::memory)?;
    unblock();
    gs_sys::leave_window(0);
    let block = block();
    // SAFETY: our own thread's block; its size is published last.
    unsafe {
        (*block).alternate_low = state.alternate.low();
        (*block).alternate_size = state.admission();
    }
    Ok(state)
}

/// The calling thread's state, if it has been attached: it may be that of what the thread was in a parent process.
fn known() -> Option<Arc<ThreadState>> {
    THREAD.with_borrow(|thread| thread.as_ref().map(|attachment| attachment.0.clone()))
}

/// The calling thread's state, for what enters no domain: its frame at `rsp` is that of a function on the thread's own stack, mostly, and then
/// the state is enough as it is. Whatever else the thread's next call wants is left to that call.
///
/// # Errors
/// As [`attach`].
fn attached(rsp: u64) -> Result<Arc<ThreadState>, CallError> {
    let usable = |state: &Arc<ThreadState>| {
        state.owner.is_here() && !state.out_of_turn.get() && state.stack.contains(&rsp)
    };
    match known().filter(usable) {
        // (An alternate stack of the host's may be an array on the thread's own.)
        Some(_) if on_alternate_stack() => Err(CallError::SignalHandler),
        Some(state) => Ok(state),
        None => attach(),
    }
}

/// Where the marks of a new thread's gates begin: far from where those of all others do, whose array of records may have been where this one's
/// is. (Multiples of the golden ratio lie as far apart as numbers can that come one by one.)
fn first_mark() -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    static THREADS_SO_FAR: AtomicU64 = AtomicU64::new(0);
    let number = THREADS_SO_FAR.fetch_add(1, Ordering::Relaxed) + 1;
    // (The upper bit is left for them to grow into.)
    number.wrapping_mul(GOLDEN) >> 1 & !(NEXT_MARK - 1) | u64::from(GATE)
}

/// The state of the calling thread; of a forked child's first thread with the records of the calls that it is in: they end when
/// the host's functions return, and what is called meanwhile is nested in them.
fn new_state(stack: Range<u64>, parent: Option<&ThreadState>) -> Result<ThreadState, Errno> {
    let state = ThreadState {
        tid: rustix::thread::gettid().as_raw_nonzero().get(),
        owner: Owner::this(),
        block: block(),
        fault: UnsafeCell::new(None),
        ending: UnsafeCell::new(None),
        failed: Cell::new(ptr::null()),
        panic: Cell::new(None),
        overdue: 0.into(),
        outlived: 0.into(),
        stop: AtomicBool::new(false),
        leaves_by: 0.into(),
        leaving: Cell::default(),
        look: AtomicBool::new(false),
        signalled: AtomicBool::new(false),
        told: 0.into(),
        unready: AtomicBool::new(false),
        interruptions: Interruptions::default(),
        left_gate: AtomicPtr::default(),
        left_mark: 0.into(),
        kick_waits: AtomicBool::new(false),
        kicked_first: AtomicBool::new(false),
        failure: Cell::new(None),
        looked: epoch().into(),
        out_of_turn: Cell::new(false),
        ended_in_code: Cell::new(false),
        turnless: Cell::new(0),
        stays: Cell::new(0),
        unable: Cell::default(),
        adopts: Cell::new(None),
        broken: Cell::new(false),
        asked: Cell::new(false),
        lives_in: 0.into(),
        stack,
        waits_for: AtomicPtr::default(),
        awaited: UnsafeCell::new(None),
        waiting: std::sync::Mutex::default(),
        records: match parent {
            Some(parent) => parent.records.clone(),
            None => Arc::new(Mapping::new(RECORDS)?),
        },
        places: Places::new()?,
        masks: Mapping::new(RECORDS / RECORD as usize * size_of::<u64>())?,
        alternate: AlternateStack::new()?,
        holdings: Holdings::default(),
        attached: RefCell::default(),
    };
    let block = state.block;
    let records = state.records.start();
    if parent.is_some() {
        for record in state.records().map(<*const Record>::cast_mut) {
            // The watcher does not watch the time of what the parent called; and no gate of that gives the thread its place back.
            lift_limit(record);
            // SAFETY: a record of the calling thread.
            unsafe {
                if (*record).kind == GATE {
                    (*record.cast::<GateRecord>()).slot = GONE;
                }
            }
        }
    }
    // SAFETY: our own thread's block, which no other thread writes; records start as zeros, that is IDLE.
    unsafe {
        if parent.is_none() {
            (*block).top = records.cast();
        }
        (*block).first = records.cast();
        (*block).records_end = records as u64 + state.records.size() as u64;
        (*block).slots = state.places.table();
        (*block).stack_floor = state.stack.start + STACK_RESERVE;
        (*block).tid = state.tid as u32;
        // No number comes twice, though the thread may have been attached before.
        (*block).mark = (*block).mark.max(first_mark());
    }
    Ok(state)
}

/// Fails where a domain can be neither made nor started on the calling thread, whose own stack is nearly used up.
pub(crate) fn has_room() -> Result<(), CallError> {
    let rsp = frame_address();
    let stack = match known() {
        Some(state) if state.owner.is_here() => state.stack.clone(),
        _ if DETACHED_ROUNDS.get() > 0 => stack_sys::known(),
        Some(_) => stack_sys::own(),
        // One that makes domains for others to run, perhaps many: libc would read all of the process's mappings each time to tell of the first thread.
        None => stack_sys::known_or_own(),
    };
    match stack.contains(&rsp) && rsp - stack.start < START_STACK {
        true => Err(CallError::TooDeep),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two threads with one number, the first has ended without a word: the number is the second one's.
    #[test]
    fn a_number_that_comes_again_is_one_threads() {
        let state = attach().expect("a thread");
        thread_sys::enlist(&state);
        let its = thread_sys::listed().iter().filter(|thread| thread.tid == state.tid).count();
        assert_eq!(its, 1);
        assert!(thread_sys::is_idle(state.tid));
    }

    #[test]
    fn marks_of_threads_begin_far_apart() {
        let mut marks: Vec<u64> = (0..1000).map(|_| first_mark()).collect();
        marks.sort_unstable();
        assert!(marks.iter().all(|mark| mark % NEXT_MARK == u64::from(GATE) && mark >> 63 == 0));
        assert!(marks.windows(2).all(|pair| pair[1] - pair[0] > NEXT_MARK << 40));
    }
}
