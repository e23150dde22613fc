//! The slow path into a domain: what the proxy asks when its checks do not pass at once.
use super::gate_sys::{Then, lockgate_pending};
use super::instance::Instance;
use super::layout::{BindingHeader, GateRecord, IDLE};
use super::retired_sys::living;
use super::thread_sys::{self, ThreadState};
use super::undisturbed_sys::KeptErrno;
use super::{
    alternate_sys, attachment_sys, exclusive_sys, mask_sys, must_end_sys, out_of_turn_sys, outcome_sys,
    repair_sys, tsan_sys,
};
use crate::error::CallError;
use crate::host::{self, frame_address};
use crate::space;

/// Called by the proxy on the host's stack, undisturbed, before anything of the entry is recorded: the proxy is to try
/// again ([`Then::GoesOn`]), or the call is refused ([`Then::Ends`]), and the reason is with the thread.
///
/// # Safety
/// Only the proxy calls it, with the binding of the call and its own rsp.
pub(super) unsafe extern "C" fn lockgate_admit(binding: *const BindingHeader, rsp: u64) -> Then {
    let errno = KeptErrno::new();
    // SAFETY: a thunk's binding lives while it is called.
    let binding = unsafe { &*binding };
    tsan_sys::acquired(binding);
    let answer = answer(binding, rsp, admit(binding, rsp));
    if answer != Then::GoesOn {
        std::mem::forget(errno); // it tells of the failure
        // A handler's call that is refused may have interrupted another one between its first check and the one that this has passed for it by now:
        // what was to be asked is asked of that one still.
        thread_sys::ask_before_calls();
        give_back(binding);
    }
    answer
}

/// The same for a call from a domain, with its gate's record on top, and its frame at `rsp`. [`Then::Ends`] stands for the end of the caller's
/// own call, too; [`Then::Left`] as for gates.
///
/// # Safety
/// Only crossings call it.
pub(super) unsafe extern "C" fn lockgate_admit_crossing(
    binding: *const BindingHeader,
    gate: *mut GateRecord,
    rsp: u64,
) -> Then {
    let own = rsp as *mut u64;
    let admit = || {
        // SAFETY: the gate's entry keeps the binding while its domain may call it; the record is on top.
        let (binding, ends) = unsafe { (&*binding, lockgate_pending(gate, own)) };
        tsan_sys::acquired(binding);
        if ends != Then::GoesOn {
            return ends;
        }
        answer(binding, rsp, admit_crossing(binding, rsp))
    };
    // SAFETY: the crossing's own record and frame; as above.
    unsafe {
        let answer = out_of_turn_sys::under(gate, own, admit);
        if answer != Then::GoesOn {
            give_back(&*binding);
        }
        answer
    }
}

/// What an earlier pass of the slow path has taken for the call's proxy ([`exclusive_sys::wait`]) is free: the call is refused.
fn give_back(binding: &BindingHeader) {
    // SAFETY: the domain of a binding that is called lives, with its word.
    if let (Some(word), Some(state)) = (unsafe { binding.owner.as_ref() }, thread_sys::current()) {
        exclusive_sys::give_back(state, word);
    }
}

fn answer(binding: &BindingHeader, rsp: u64, admitted: Result<(), CallError>) -> Then {
    match admitted {
        Ok(()) => Then::GoesOn,
        Err(error) => {
            outcome_sys::refuse(binding, rsp, error);
            Then::Ends
        }
    }
}

/// Fails where a start of `domain` on the calling thread would be refused, or ended at once: before anything is given up for it.
pub(crate) fn may_start(domain: &Instance) -> Result<(), CallError> {
    let interrupted = || Err(CallError::Interrupted(domain.name().to_owned()));
    attachment_sys::has_room()?;
    let is_unwanted = domain.must_stop();
    if is_unwanted {
        return interrupted();
    }
    let Some(own) = thread_sys::current().filter(|state| state.owner.is_here()) else { return Ok(()) };
    let frame = frame_address();
    // (What a jump has left is in the way of no call.)
    repair_sys::repair(own, frame);
    thread_sys::may_call(own)?;
    if own.out_of_turn.get() {
        return Err(CallError::TooDeep);
    }
    thread_sys::may_nest(own, frame)?;
    match must_end_sys::no_call_may_begin(own) {
        true => interrupted(),
        false => Ok(()),
    }
}

fn admit(binding: &BindingHeader, rsp: u64) -> Result<(), CallError> {
    // First of all: a handler gets this answer alone, for which nothing is allocated or locked; not even that of a child's.
    let now = alternate_sys::in_use();
    if alternate_sys::is_on(&now) {
        return Err(CallError::SignalHandler);
    }
    // Then: what locks and tables of the parent's hold is of no meaning here.
    host::process();
    if space::is_inherited(binding.window) {
        return Err(CallError::Forked);
    }
    // (What a jump out of a wait skips has nothing to drop.)
    let unblock = mask_sys::unblock_in_hold;
    thread_sys::publish(&attachment_sys::attach_on_own_stack(rsp, &now, unblock)?);
    let state = thread_sys::current().ok_or(CallError::ThreadEnding)?;
    let top = repair_sys::repair(state, rsp);
    state.let_go_of_left(rsp + 8);
    if thread_sys::is_inside(state) {
        return Err(CallError::SignalHandler);
    }
    state.repairs_at_next_call();
    state.answers_question();
    thread_sys::may_call(state)?;
    // SAFETY: the top record is always valid.
    let nested = unsafe { (*top).kind } != IDLE;
    thread_sys::may_nest(state, rsp)?;
    // A thread that the module has started itself has no caller to tell that its turn did not come: it waits for it, as on any machine.
    let unlimited = !nested && thread_sys::is_modules_thread();
    take_place(state, binding, unlimited)?;
    state.enter_once();
    Ok(())
}

fn admit_crossing(binding: &BindingHeader, rsp: u64) -> Result<(), CallError> {
    if space::is_inherited(binding.window) {
        return Err(CallError::Forked);
    }
    attachment_sys::attach()?;
    let state = thread_sys::current().ok_or(CallError::ThreadEnding)?;
    if thread_sys::too_deep(state, rsp) {
        return Err(CallError::TooDeep);
    }
    take_place(state, binding, false)
}

/// A place on the domain's stacks; its turn, if the domain is exclusive: however long that takes, where the wait is `unlimited`.
fn take_place(state: &ThreadState, binding: &BindingHeader, unlimited: bool) -> Result<(), CallError> {
    let (domain, queue) = living(binding, |info| info.is_open().map(|()| (info.domain.clone(), info.queue)))
        .ok_or_else(|| CallError::Unloaded("the library".to_owned()))??;
    if thread_sys::beyond_depth(state, binding.depth) {
        return Err(CallError::Depth(domain.name().to_owned()));
    }
    if domain.is_killed() {
        state.set_slot(domain.id(), 0);
        return Err(domain.ended());
    }
    if domain.must_stop() {
        return Err(CallError::Interrupted(domain.name().to_owned()));
    }
    let exclusive = domain.terms().exclusive.filter(|_| !binding.owner.is_null());
    let timeout = exclusive.flatten().into_iter().chain(queue).min();
    let timeout = timeout.filter(|_| !unlimited);
    if state.place(domain.id()) == 0 {
        // What runs in the module before a thread's first call has a turn as well, and no handler of the host's comes while that waits for it: it
        // is waited for here.
        if exclusive.is_some() {
            exclusive_sys::take(state, domain.clone(), timeout)?;
        }
        domain.clone().attach(state, queue)?;
    }
    match exclusive {
        Some(_) => exclusive_sys::wait(state, domain, timeout),
        None => Ok(()),
    }
}
