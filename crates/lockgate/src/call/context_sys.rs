//! Switches between contexts (docs/returns.md; [`contexts`](super::contexts)): a system call that comes back on another stack.
//!
//! Its gate calls it as a host function. What the gate does last is to take rsp from its record, and `ret`: so the service needs no code of its own
//! that leaves for a domain. It puts where the wanted context waits into the record: the return word of that context's own last switch lies there, or the label that it
//! begins at, which is what its first function is entered by.
//!
//! Which context a call runs is told by rsp, as it was at the gate: nothing else has to be believed, and nothing is out of date
//! when a call has ended in the midst of a context. While a context runs, its slot is the thread's alone, and calls that are nested in its begin there.
use super::block_sys;
use super::gate_sys::{end_call, end_with_panic, entry};
use super::instance::Instance;
use super::layout::{GATE, GateRecord, RED_ZONE};
use super::repair_sys::{self, Found};
use super::resume_sys::is_label;
use super::thread_sys::{AnyDomain, ThreadState};
use super::undisturbed_sys::undisturbed;
use crate::report::{Cause, NoContext};
use crate::space;
use crate::walk::is_on_own_frames;
use lockgate_abi::context;
use rustix::io::Errno;
use std::ptr;

/// What [`context::CALL`] asks for. Returns the value for rax.
///
/// # Safety
/// For the gate of system calls, with its record and the place of its mark.
pub(super) unsafe extern "C-unwind" fn lockgate_context(
    wanted: u64,
    word: u64,
    start: u64,
    size: u64,
    gate: *mut GateRecord,
    own: *const u64,
) -> i64 {
    // SAFETY: live records; a live entry's binding keeps its domain; the thread's own state.
    let (domain, control, entered, state) = unsafe {
        let below = &*entry(gate);
        let Some(state) = (*block_sys::block()).state.as_ref() else { return 0 };
        (&*(*below.binding).domain, (*gate).control, below.control, state)
    };
    // SAFETY: the entry's frame has the gate's mark. (Else the gate ends this call.)
    if unsafe { !repair_sys::is_own(gate, own) } {
        return 0;
    }
    // (The parent's window is not there.)
    if space::is_inherited(entered) {
        return refuse(Cause::Forked);
    }
    let here = domain.slot_of(control);
    let is_own = is_on_own_frames(control, entered);
    match wanted {
        context::SELF if is_own => 0,
        context::SELF => domain.contexts().word(here) as i64,
        // SAFETY: a function of these arguments.
        context::CREATE => unsafe {
            let asked = Asked { label: word, start, size };
            undisturbed(lockgate_create as *const (), [gate as usize, ptr::from_ref(&asked) as usize, 0])
                as i64
        },
        context::SWITCH | context::LEAVE => {
            let leaves = wanted == context::LEAVE && !is_own;
            // SAFETY: as above.
            let word = unsafe {
                if !block_sys::begin_transit(own as u64) {
                    return domain.contexts().no_context() as i64; // the gate ends this call
                }
                let word = switch(gate, own, state, domain, word, leaves);
                block_sys::end_transit(own as u64);
                word
            };
            match word {
                Ok(word) => word as i64,
                Err(no) => refuse(Cause::Context(no)),
            }
        }
        context::END => refuse(Cause::Context(NoContext::Ended)),
        _ => -i64::from(Errno::INVAL.raw_os_error()),
    }
}

fn refuse(cause: Cause) -> i64 {
    end_call(cause);
    0
}

/// Goes on in what `word` says; what the thread is in waits, or `leaves` for good. Returns the word for it. The thread is in transit
/// meanwhile ([`ThreadBlock::transit`](super::layout::ThreadBlock::transit)), by an address above all that it does: no handler's call is let in
/// before the gate says where the thread runs.
///
/// # Safety
/// For the gate of system calls, with its record on top.
unsafe fn switch(
    gate: *mut GateRecord,
    mark: *const u64,
    state: &ThreadState,
    domain: &Instance,
    word: u64,
    leaves: bool,
) -> Result<u64, NoContext> {
    // SAFETY: live records.
    let (control, entered) = unsafe { ((*gate).control, (*entry(gate)).control) };
    let (here, own) = (domain.slot_of(control), domain.slot_of(entered));
    // A handler on another host stack has made a call there that is in progress still: the gate ends this one. If that call is over by then,
    // the gate goes on, in what it was in. From here on no call begins, and so none is in the way before the gate is off the records.
    // SAFETY: as above; the entry's frame has the gate's mark.
    // (As in the gate, what is in transit still when the record is the innermost one stays so.)
    if unsafe { repair_sys::find(state, gate, mark) } != Found::Innermost
        || !block_sys::is_in_transit(mark as u64)
    {
        return Ok(domain.contexts().no_context());
    }
    let Some(taken) = domain.contexts().take(word, here, own)? else {
        return Ok(domain.contexts().no_context());
    };
    let is_own = is_on_own_frames(control, entered);
    if is_own {
        domain.contexts().frames_wait(here, control);
    }
    // A handler's call begins below the frames of what is taken from here on, and no longer below those of what may run on another
    // thread in a moment.
    state.set_slot(domain.id(), (taken.control - RED_ZONE) & !15);
    // SAFETY: as above.
    unsafe { (*gate).control = taken.control }
    Ok(domain.contexts().give_back(here, is_own, (!leaves).then_some(control)))
}

/// A context that is to be made.
struct Asked {
    label: u64,
    start: u64,
    size: u64,
}

/// Makes a context, as [`lockgate_context`] is asked to.
unsafe extern "C" fn lockgate_create(gate: *mut GateRecord, asked: &Asked) -> i64 {
    let create = || {
        // SAFETY: as in `lockgate_context`.
        let (domain, control, state) = unsafe {
            let Some(state) = (*block_sys::block()).state.as_ref() else { return Ok(0) };
            (&*(*(*(*entry(gate)).binding).info).domain, (*gate).control, state)
        };
        create(state, domain, domain.contexts().home(domain.slot_of(control)), asked)
    };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(create)) {
        Ok(Ok(word)) => word as i64,
        Ok(Err(error)) => -i64::from(error.raw_os_error()),
        Err(payload) => {
            end_with_panic(payload);
            0
        }
    }
}

/// For the thread with the slot `home` in the domain.
fn create(state: &ThreadState, domain: &dyn AnyDomain, home: u32, asked: &Asked) -> Result<u64, Errno> {
    let label = domain.base() + u64::from(asked.label as u32);
    let end = asked.start.checked_add(asked.size).ok_or(Errno::INVAL)?;
    // (A handler may have forked just before: only from here on does none.)
    if space::is_inherited(label) || !is_label(domain, label) {
        return Err(Errno::INVAL);
    }
    // Calls that have ended in the midst of contexts have left them.
    let is_in_use = |slot: u32| {
        state
            .gates()
            .any(|control| space::base_of(control) == domain.base() && domain.slot_of(control) == slot)
    };
    domain.contexts().drop_lost(home, is_in_use);
    domain.create_context(label, asked.start..end)
}

impl ThreadState {
    /// Where on control stacks the calls lie that the thread has in progress out of domains.
    fn gates(&self) -> impl Iterator<Item = u64> {
        // SAFETY: records in use were written by proxies and gates of this thread, which asks.
        self.records().filter_map(|record| unsafe {
            ((*record).kind == GATE).then(|| (*record.cast::<GateRecord>()).control)
        })
    }
}
