//! Calls that go on without their callers ([`Expiry::Detach`](crate::Expiry::Detach), [decision 0148](../../../../docs/decisions/0148-calls-that-go-on-without-their-caller.md)):
//! one thread gives up what it has of a call, at a gate, and another one takes that over, at a gate of its own.
//!
//! What goes from thread to thread is an interruption ([`interruptions_sys`](super::interruptions_sys)), as a signal of the domain's own makes one at any
//! instruction or behind a system call, and the stack slot that it lies on. The first thread's call ends there. The second one comes into the domain
//! as any caller does, below all that is in use on the slot, at the thunk of a system call; its gate then goes on with what was interrupted, as behind
//! a handler. So nothing is at an instruction, or between two, that could not be there when a handler returns, and one thread runs on the slot at
//! any time: its owner.
use super::exclusive_sys;
use super::gate_sys::entry;
use super::instance::Instance;
use super::interruptions_sys::{Interruption, Left, Stage, XSAVE_SIZE};
use super::layout::{GIVES_UP, GateRecord, Going};
use super::places_sys::GONE;
use super::thread_sys::{ThreadState, has_no_caller};
use crate::report::{Cause, RawFault, Registers};
use crate::sync::atomic::AtomicU32;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Gives what `one` has interrupted, of the call below `gate`, to a thread that goes on with it, and ends the call for the calling thread. False if there
/// is none, or memory that was lent for the call would be taken from it.
///
/// # Safety
/// The gate of system calls, or that of interruptions, undisturbed, with its record on top; the call [may](super::must_end_sys::may_detach) go on;
/// `one` is the gate's.
pub(super) unsafe fn hand_over(state: &ThreadState, gate: *mut GateRecord, one: *const Interruption) -> bool {
    // SAFETY: the caller's: live records, a live entry's binding, the thread's own interruption, whose state is as large as is said.
    unsafe {
        let below = entry(gate);
        let binding = &*(*below).binding;
        // (Each field by name: one that is forgotten would be lost without a word.)
        let Interruption {
            saved,
            control,
            returns,
            room,
            fault,
            opened,
            // Of a handler: none has begun, or it has been left.
            bottom: _,
            context: _,
            copy: _,
            alternate: _,
            begins: _,
            // Of this thread's, and of this gate's.
            number: _,
            previous: _,
            mark: _,
            stage: _,
            // Hidden in `saved` already; found anew.
            unhidden: _,
            entry: _,
        } = &*one;
        let Some(room) = room.filter(|_| !state.holdings.holds()) else { return false };
        let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
        let info = &*binding.info;
        let (control, entered, limit) = (*control, (*below).control, (*below).limit);
        let left = Left {
            saved: Going { state: ptr::null(), interruption: 0, ..*saved },
            state: std::slice::from_raw_parts(saved.state, size).to_vec(),
            control,
            returns: *returns,
            room,
            fault: *fault,
            opened: *opened,
            entered,
            place: (*gate).slot,
            gives_up: binding.flags & GIVES_UP != 0,
            limit,
            entry_point: info.name.clone(),
        };
        if !Arc::clone(&info.domain).adopt(state, left) {
            return false;
        }
        // From here on the stack is another thread's: nothing of it is read, and the thread has no place there.
        (*gate).slot = GONE;
        has_no_caller(gate);
        let registers = Registers { rsp: control + 8, ..Registers::default() };
        state.ends(RawFault { cause: Cause::Detached(limit), address: 0, entry: entered, registers });
        (*state.block).pending = 1;
        true
    }
}

/// Whether the calling thread is to go on, at this gate, with what another has left: its call came in below that.
///
/// # Safety
/// A live gate's record.
pub(super) unsafe fn takes_over(state: &ThreadState, gate: *const GateRecord) -> Option<Box<Left>> {
    let left = state.adopts.take()?;
    // SAFETY: the caller's.
    let is_here = unsafe { (*entry(gate)).control == left.below() };
    if is_here {
        return Some(left);
    }
    // (A handler of the host's has called another domain.)
    state.adopts.set(Some(left));
    None
}

/// The gate goes on with what is `left`, in the place of the call that it was entered by; [`None`]: there is no memory to note it.
///
/// # Safety
/// As [`hand_over`]; the slot of `left` is the thread's.
pub(super) unsafe fn take_over(
    state: &ThreadState,
    gate: *mut GateRecord,
    domain: &Instance,
    left: &Left,
) -> Option<*mut Interruption> {
    let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
    // SAFETY: the caller's; the area has room for so much.
    unsafe {
        let one = state.interruptions.begin(state.records(), domain.base(), size)?;
        let vectors = (*one).saved.state;
        ptr::copy_nonoverlapping(left.state.as_ptr(), vectors.cast_mut(), left.state.len().min(size));
        (*one).saved = Going { state: vectors, ..left.saved };
        ((*one).control, (*one).returns, (*one).room) = (left.control, left.returns, Some(left.room));
        ((*one).fault, (*one).opened, (*one).unhidden) = (left.fault, left.opened, 0);
        ((*one).mark, (*one).stage) = ((*gate).mark, Stage::Asks);
        // The call is the one that was left: walks end where that began, and what it calls begins below its frames.
        (*entry(gate).cast_mut()).control = left.entered;
        ((*gate).control, (*gate).slot) = (left.control, left.place);
        state.set_slot(domain.id(), left.below());
        Some(one)
    }
}

/// A turn of `from`'s goes on as `to`'s, both by their kernel ids, if it has one.
pub(crate) fn pass_turn_on(word: &AtomicU32, from: u32, to: u32) {
    exclusive_sys::pass_on(word, from, to);
}

/// The turn that a thread has kept is over.
pub(crate) fn end_turn(word: &AtomicU32, tid: u32) {
    exclusive_sys::release(word, tid);
}
