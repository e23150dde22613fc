//! Calls that were left by jumps, or whose functions have switched stacks: which records are alive (rule R16).
use super::block_sys::{block, set_top};
use super::exclusive_sys;
use super::layout::{
    BindingHeader, EntryRecord, FRAME, GATE, GIVES_UP, GateRecord, IDLE, NEXT_MARK, RECORD, Record, UNTAKEN,
};
use super::places_sys::GONE;
use super::thread_sys::{
    self, ThreadState, ask_before_calls, current, is_elsewhere, is_gone, on_alternate_stack,
};
use super::undisturbed_sys::{ends_unseen, undisturbed};
use crate::host::frame_address;
use crate::space;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

impl ThreadState {
    /// For a kick that finds the thread at `rsp`, on no alternate stack: the calls whose frames it is above were left by a jump, unless the
    /// thread runs on a stack that lies in a frame of its own, and comes back. So no watch waits for their limits any more, as long as it has
    /// not. Where the gate's mark is overwritten, no function comes back: in what was ended such calls are not. (Else kicks would come until the
    /// next call, which drops their records: [`repair`].) Takes no lock, and no memory.
    pub(super) fn note_left(&self, rsp: u64) {
        let first = self.records.start().cast::<Record>();
        // SAFETY: records between the first and the top were written by proxies and gates of this thread, which a signal has interrupted; what
        // is, or was, a frame of its own stack can be read.
        unsafe {
            let top = (*self.block).top;
            let mut record = top;
            let mut is_left = false;
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
                // (A call between domains has no mark: a jump leaves it with the call that it has made, as no function of the host's is between.)
                if (*gate).mark != GATE.into() {
                    is_left = ptr::read_volatile(host as *const u64) != (*gate).mark;
                }
                if let Some(binding) = binding
                    && ((*binding.domain).is_killed() || (*binding.info).is_stopped())
                    && is_left
                {
                    if (*binding.domain).is_killed() {
                        (&raw mut (*entry).control).write_volatile(GONE);
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
        (*top).kind == GATE && rsp >= (*block).stack_floor && is_within(state, top.cast(), rsp)
    };
    // SAFETY: as above.
    plainly
        || !on_alternate_stack() && unsafe { (*repair(state, rsp)).kind == GATE } && !is_elsewhere(state, rsp)
}

/// Drops the calls that a jump has left, with all that they hold, as a function tells that calls the library with its stack pointer at `rsp`.
/// (Frames of the library's own lie where those of the calls did.)
#[doc(hidden)]
pub fn drop_left(rsp: u64) {
    // (Where other stacks lie in one mapping nothing says which of them goes on: what calls a domain is refused there.)
    let Some(state) = current().filter(|state| state.stack.contains(&rsp)) else { return };
    if !is_settled(state, rsp) {
        let work = lockgate_drop_left as *const ();
        // SAFETY: a function of two arguments.
        unsafe { undisturbed(work, [ptr::from_ref(state) as usize, rsp as usize, 0]) };
    }
}

/// The same for a thread of the library's own, which has run functions of the program's from its frame here: none of these goes on, on its stack.
pub(crate) fn drop_what_functions_left() {
    drop_left(frame_address());
}

extern "C" fn lockgate_drop_left(state: &ThreadState, rsp: u64) {
    // (What a handler has interrupted goes on; and so does all that is in progress on stacks of which nothing is known.)
    if state.owner.is_here() && !state.out_of_turn.get() && !on_alternate_stack() {
        repair(state, rsp);
        state.let_go_of_left(rsp);
    }
}

/// True if a caller at `rsp` has left nothing by a jump, as can be told without asking the kernel.
fn is_settled(state: &ThreadState, rsp: u64) -> bool {
    // SAFETY: our own block; a record is always on top, and an entry's is below a gate's.
    unsafe {
        let (top, transit) = ((*state.block).top, (*state.block).transit);
        // (A call that has failed is over.)
        let is_underway = transit != 0 && transit & UNTAKEN == 0;
        let is_alive = match (*top).kind {
            IDLE => true,
            GATE => is_within(state, top.cast(), rsp),
            _ => false,
        };
        is_alive && !is_underway && !state.holdings.is_to_be_asked()
    }
}

/// True if a caller at `rsp` is deeper than a gate, which its function has not left.
unsafe fn is_within(state: &ThreadState, gate: *const GateRecord, rsp: u64) -> bool {
    // SAFETY: a gate's record of ours; below it is its entry's.
    unsafe {
        let host = (*gate.byte_sub(RECORD as usize).cast::<EntryRecord>()).host;
        rsp < host && !is_overwritten(state, gate, host, rsp)
    }
}

/// True if the function of a gate was left by a jump, though a caller at `rsp` is deeper than the frame of its entry, at `host`, or on another stack: the
/// gate's mark is there no more, since others have had frames there. (A crossing that asks has its mark in its own frame, below.)
unsafe fn is_overwritten(state: &ThreadState, gate: *const GateRecord, host: u64, rsp: u64) -> bool {
    let is_own = state.stack.contains(&host);
    if is_own && state.stack.contains(&rsp) && rsp >= host {
        return false;
    }
    // SAFETY: a gate's record of ours; the thread's own stack, where it is in use, or below that. Another stack may be gone: a guarded look.
    unsafe {
        let mark = (*gate).mark;
        let is_there = |at: u64| match is_own {
            true => ptr::read_volatile(at as *const u64) == mark,
            false => thread_sys::word_at(at) == Some(mark),
        };
        mark != GATE.into() && !is_there(host) && !is_there(host - FRAME)
    }
}

/// True if what was interrupted above the host's frame at `host`, a domain's code or a proxy, has to be taken for something that goes on: on a
/// coroutine's stack, whose handlers do not jump out, but they may switch to another stack in the same mapping.
fn goes_on(state: &ThreadState, host: u64, rsp: u64) -> bool {
    rsp != u64::MAX && !state.stack.contains(&host)
}

/// Drops records that a host's longjmp left behind: those of frames that no longer exist, because the stack
/// pointer is above them, or others are in their place (rule R16). Returns the innermost living one.
pub(crate) fn repair(state: &ThreadState, rsp: u64) -> *mut Record {
    let first = state.records.start().cast::<Record>();
    // SAFETY: our own block; a function of two arguments.
    unsafe {
        if (*state.block).top == first && (*state.block).transit == 0 && (*state.block).unseen.at == 0 {
            return first;
        }
        let work = lockgate_repair as *const ();
        undisturbed(work, [ptr::from_ref(state) as usize, rsp as usize, 0]) as *mut Record
    }
}

unsafe extern "C" fn lockgate_repair(state: &ThreadState, rsp: u64) -> *mut Record {
    ends_unseen(state, rsp);
    // SAFETY: records between the first and the top were written by proxies and gates of this thread.
    unsafe {
        let block = state.block;
        let first = state.records.start().cast::<Record>();
        let mut of_gate = false;
        let mut left = None;
        let mut left_host = 0;
        loop {
            // Read again: a signal handler may have repaired as well.
            let top = (*block).top;
            // (The next call asks what was held for them.)
            if left.is_some_and(|left_by| state.holdings.note_left(top, left_by)) {
                ask_before_calls();
            }
            if top == first {
                repair_transit(state, rsp);
                return top;
            }
            let entry =
                if (*top).kind == GATE { top.byte_sub(RECORD as usize) } else { top }.cast::<EntryRecord>();
            let host = (*entry).host;
            // A crossing goes with the call that it has made: no function of the host's is between.
            let is_left = (*top).kind == GATE
                && (host == left_host + FRAME || is_overwritten(state, top.cast(), host, rsp));
            let is_gone = || is_gone(state, host, rsp) && !((*top).is_entry() && goes_on(state, host, rsp));
            if !of_gate && !is_left && !is_gone() {
                repair_transit(state, rsp);
                return top;
            }
            of_gate = (*top).kind == GATE;
            // The binding may be gone, and its header another's: only the domain can be asked, if that is still there.
            let control = ptr::read_volatile(&raw const (*entry).control);
            let domain = state.domain_of(control);
            let binding = domain.as_ref().and_then(|_| (*entry).binding.as_ref());
            let pushed = binding.map_or(0, pushed_for);
            if (*top).kind == GATE {
                if !state.waits_for.load(Ordering::Relaxed).is_null() {
                    exclusive_sys::stop_waiting(state); // for a turn that it had given up in the gate
                }
                // (The call breaks off with its entry, which is next.)
                if let Some(domain) = domain {
                    state.give_back(domain.id(), &(*top.cast::<GateRecord>()).slot);
                    domain.process().thread_jumps(domain.contexts().home(domain.slot_of(control)), rsp);
                }
                // Should its function come back all the same, the gate does not know its record any more.
                (*top.cast::<GateRecord>()).mark = GATE.into();
                state.take_ending_of(control);
            } else if let Some(domain) = domain {
                state.breaks_off(entry, &domain);
                let next = top.byte_add(RECORD as usize).cast::<GateRecord>();
                let next = ((next as u64) < (*block).records_end).then(|| next.read_volatile());
                state.give_back_from(domain.id(), control, next.as_ref());
                if binding.is_none_or(|binding| has_turn(binding, domain.owner())) {
                    exclusive_sys::release(domain.owner(), state.tid as u32);
                }
            }
            set_top(block, top.byte_sub(RECORD as usize));
            left = Some(host + FRAME + pushed);
            left_host = host;
        }
    }
}

/// Bytes by which a caller's stack pointer is lower at a call of `binding` than elsewhere: its arguments, with what keeps the stack aligned.
fn pushed_for(binding: &BindingHeader) -> u64 {
    u64::from(binding.stack_words).next_multiple_of(2) * 8
}

/// Whether a call of `binding` is a turn in the exclusive domain whose word this is, of its own or of its thread's.
fn has_turn(binding: &BindingHeader, word: &AtomicU32) -> bool {
    ptr::eq(binding.owner, word) || binding.flags & GIVES_UP != 0
}

/// True if something is in transit on another stack, or deeper on this one, than a caller at `rsp`: it has not been left by a jump.
pub(super) fn is_in_transit(state: &ThreadState, rsp: u64) -> bool {
    repair_transit(state, rsp);
    // SAFETY: our own block.
    unsafe { (*state.block).transit != 0 }
}

/// The same of a proxy in transit: it shows no record, and may have taken an exclusive domain.
fn repair_transit(state: &ThreadState, rsp: u64) {
    // SAFETY: our own block.
    let transit = unsafe { &mut (*state.block).transit };
    if *transit == 0 || !is_gone(state, *transit, rsp) || goes_on(state, *transit, rsp) {
        return;
    }
    *transit = 0;
    exclusive_sys::stop_waiting(state);
    for domain in state.domains() {
        let word = domain.owner();
        // SAFETY: records in use were written by proxies and gates of this thread; their bindings are alive.
        let in_use = state.records().any(|record| unsafe {
            (*record).is_entry() && {
                let entry = record.cast::<EntryRecord>();
                space::base_of((*entry).control) == domain.base()
                    && (*entry).binding.as_ref().is_some_and(|binding| has_turn(binding, word))
            }
        });
        if !in_use {
            exclusive_sys::release(word, state.tid as u32);
        }
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

/// Whether the record of a gate is its own, as the frame of its entry says, where the mark is at `own`: for what a handler of the host's may
/// interrupt, and leave for another stack, where calls are made that overwrite records. What was read of the record, and of its entry's, before
/// this is the gate's own, too.
///
/// # Safety
/// The record, in the thread's array, and the frame, on the stack that the thread runs on.
pub(super) unsafe fn is_own(gate: *const GateRecord, own: *const u64) -> bool {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller's.
    unsafe { ptr::read_volatile(&raw const (*gate).mark) == *own }
}

/// Gives a gate's record a mark, and its copy to the frame of the gate's entry: for gates that make none themselves.
///
/// # Safety
/// The innermost record of the calling thread, which is a gate's, and the frame.
pub(super) unsafe fn mark(gate: *mut GateRecord, own: *mut u64) {
    // SAFETY: our own block.
    unsafe {
        (*block()).mark += NEXT_MARK;
        own.write_volatile((*block()).mark);
        (&raw mut (*gate).mark).write_volatile(*own);
    }
}
