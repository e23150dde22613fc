//! Switches between contexts (docs/returns.md; `domain/contexts.rs`): a system call that comes back on another stack.
//!
//! It is made as any other. What its gate does last is to take rsp from its record, and `ret`: so the service needs no code of its own that leaves for
//! a domain. It puts where the wanted context waits into the record: the return word of that context's own last switch lies there, or the label that it
//! begins at, which is what its first function is entered by.
//!
//! Which context a call runs is told by rsp, as it was at the gate: nothing else has to be believed, and nothing is out of date
//! when a call has ended in the midst of a context. While a context runs, its slot is the thread's alone, and calls that are nested in its begin there.
use super::gate_sys::{end_call, entry};
use super::layout::{GATE, GateRecord, RED_ZONE, SyscallFrame};
use super::resume_sys::{is_label, is_on_own_frames};
use super::thread_sys::{self, Found, ThreadState};
use crate::domain::{Core, NoContext};
use crate::fault::Cause;
use crate::space;
use lockgate_abi::context;
use rustix::io::Errno;
use std::ptr;

/// What [`context::CALL`] asks for. Returns the value for rax.
///
/// # Safety
/// For the gate of system calls, with its record on top.
pub(super) unsafe fn serve(gate: *mut GateRecord, frame: &SyscallFrame) -> i64 {
    // SAFETY: live records; a live entry's binding keeps its domain; the thread's own state.
    let (domain, control, entered, state) = unsafe {
        let below = &*entry(gate);
        let Some(state) = (*thread_sys::block()).state.as_ref() else { return 0 };
        (&*(*below.binding).domain, (*gate).control, below.control, state)
    };
    let here = domain.slot_of(control);
    let is_own = is_on_own_frames(control, entered);
    let [wanted, word, start, size, ..] = frame.arguments;
    match wanted {
        context::SELF if is_own => 0,
        context::SELF => domain.contexts().word(here) as i64,
        context::CREATE => create(state, domain, word, start, size)
            .map_or_else(|error| -i64::from(error.raw_os_error()), |word| word as i64),
        context::SWITCH | context::LEAVE => {
            let own = domain.slot_of(entered);
            match domain.contexts().take(word, here, own, state.tid) {
                Ok(None) => domain.contexts().nobodys() as i64,
                Ok(Some(taken)) => {
                    // A handler's call begins below the frames of what is taken from here on, and no longer below those of what may run on another
                    // thread in a moment.
                    state.set_slot(domain.id(), (taken.control - RED_ZONE) & !15);
                    // SAFETY: as above; the gate's own frame is below the entry's, which has its mark.
                    unsafe {
                        (*gate).control = taken.control;
                        // Nor has a handler on another host stack made a call there that is in progress still: the gate ends this one then.
                        let own = ptr::from_ref(frame).add(1).cast::<u64>();
                        if thread_sys::find(state, gate, own) != Found::Innermost {
                            return 0;
                        }
                    }
                    let stays = wanted == context::SWITCH || is_own;
                    domain.contexts().give_back(here, is_own, stays.then_some(control)) as i64
                }
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

fn create(state: &ThreadState, domain: &Core, label: u64, start: u64, size: u64) -> Result<u64, Errno> {
    let label = domain.base() + u64::from(label as u32);
    let end = start.checked_add(size).ok_or(Errno::INVAL)?;
    if !is_label(domain, label) {
        return Err(Errno::INVAL);
    }
    // Calls that have ended in the midst of contexts have left them.
    let is_in_use = |slot: u32| {
        state
            .gates()
            .any(|control| space::base_of(control) == domain.base() && domain.slot_of(control) == slot)
    };
    domain.contexts().drop_lost(state.tid, is_in_use);
    domain.create_context(label, start..end)
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
