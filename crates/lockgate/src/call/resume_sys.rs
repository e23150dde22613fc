//! `resume` (docs/returns.md): the one way in which a module leaves functions otherwise than by their returns. `longjmp`, unwinders
//! and coroutines go through it.
//!
//! The walk goes from the function that asks out to the place that the innermost entry was made at, and no further: what lies beyond
//! that is the host's, or another call's. It allocates nothing, does not wait, and asks as it goes whether its call is to end.
use super::block_sys;
use super::gate_sys::{Then, entry, lockgate_pending, refuse};
use super::instance::Instance;
use super::interruptions_sys::Interruption;
use super::layout::{EntryRecord, GateRecord, RED_ZONE, ResumeFrame};
use super::repair_sys::{self, Found};
use super::thread_sys::ThreadState;
use super::undisturbed_sys::undisturbed;
use crate::copy_asm::{Loaded, lockgate_copy, lockgate_peek};
use crate::report::{Cause, NoResume};
use crate::space;
use crate::walk::{Activation, Behind, Lost, Walk, end_of_walk, is_on_own_frames};
use lockgate_abi::{code, stack};
use lockgate_verify::State;
use std::ffi::c_void;

/// Activations between two looks at what is pending: some microseconds.
const BUDGET: usize = 1024;

/// How a search ends that finds nothing.
pub(super) enum Over {
    /// The gate is to do this, which is not to go on.
    Now(Then),
    No(NoResume),
}

impl From<NoResume> for Over {
    fn from(no: NoResume) -> Over {
        Over::No(no)
    }
}

/// Called by the gate, with its record on top, and the frame of its entry, which has the gate's mark. If the gate goes on, the frame says
/// where.
///
/// # Safety
/// Only that gate calls it.
pub(super) unsafe extern "C-unwind" fn lockgate_resume(
    gate: *mut GateRecord,
    frame: *mut ResumeFrame,
    own: *const u64,
) -> Then {
    // SAFETY: live records; a live entry's binding keeps its domain; the frame is the gate's own.
    let (domain, frame, control, entered) = unsafe {
        let below = &*entry(gate);
        (&*(*below.binding).domain, &mut *frame, (*gate).control, below.control)
    };
    let over = || {
        // SAFETY: a word of the thread's own block, which its signal handlers write; the gate's record and frame.
        unsafe {
            match (&raw const (*block_sys::block()).pending).read_volatile() {
                0 => Then::GoesOn,
                _ => Then::in_register(undisturbed(
                    lockgate_pending as *const (),
                    [gate as usize, own as usize, 0],
                )),
            }
        }
    };
    // SAFETY: the gate's, in progress.
    let behind = |at| unsafe { interrupted(gate, at) };
    // SAFETY: as above.
    match unsafe { find((domain, control, entered), frame.address as u32, frame.label as u32, &behind, over) }
    {
        Ok((found, rsp)) => {
            // SAFETY: as above; a word of the entry's record.
            unsafe {
                if leaves_handlers(gate, found.entry) {
                    let (left, to) = (lockgate_handlers_left as *const (), [found.entry, rsp]);
                    let forgets = undisturbed(left, [gate as usize, own as usize, (&raw const to) as usize]);
                    if forgets == 0 {
                        return Then::Left;
                    }
                }
            }
            *frame = found;
            Then::GoesOn
        }
        Err(Over::Now(what)) => what,
        // SAFETY: as above; a handler of the host's may have switched stacks, and the record may be another call's.
        Err(Over::No(no)) => unsafe {
            let state = (*block_sys::block()).state.as_ref();
            if state.is_none_or(|state| repair_sys::find(state, gate, own) != Found::Innermost) {
                return Then::Left;
            }
            // (The parent's window is not there.)
            let forked = space::is_inherited(entered);
            refuse(gate, if forked { Cause::Forked } else { Cause::Resume(no) });
            Then::Ends
        },
    }
}

/// The label at `address`, if there is one in verified code.
#[inline(always)]
pub(super) fn is_label(domain: &Instance, address: u64) -> bool {
    domain.codes().at(address).is_some_and(|code| code.holds(address + 3))
        && read_label(address) == Some(code::LABEL)
}

/// What the handler has interrupted whose frames end at `at`, in the call below `gate`.
///
/// # Safety
/// The gate is in progress on the calling thread.
pub(super) unsafe fn interrupted(gate: *const GateRecord, at: u64) -> Option<Activation> {
    // SAFETY: live records; the thread's own state.
    unsafe {
        let below = entry(gate);
        if (*below).interruption == 0 {
            return None;
        }
        let interruptions = &(*block_sys::block()).state.as_ref()?.interruptions;
        let ends_at = |one: &*mut Interruption| [(**one).bottom, (**one).bottom - 8].contains(&at);
        let one = interruptions.on(below, &*(*(*below).binding).domain, at).find(ends_at)?;
        (*one).activation()
    }
}

/// The functions in progress, from a gate's rsp at `control` out to where a walk [ends](end_of_walk) in a call that was `entered` there.
///
/// # Safety
/// The gate is in progress on the calling thread: the control stack is mapped there, and stays so.
#[inline(always)]
pub(super) unsafe fn functions<'a>(
    domain: &'a Instance,
    control: u64,
    entered: u64,
    behind: Behind<'a>,
) -> Walk<'a, impl Fn(u64) -> Option<u64>, impl FnMut(u64) -> Option<State>> {
    // (A handler may fork in the midst of it, and a child has no control stack.)
    // SAFETY: the walk reads between the two, on one control stack.
    let read = |at: u64| match unsafe { lockgate_peek(at as *const u64) } {
        Loaded { word, ok: 1 } => Some(word),
        _ => None,
    };
    let codes = domain.codes();
    let mut last = codes.first();
    let sites = move |site: u64| {
        if !last.holds(site) {
            last = codes.at(site)?;
        }
        last.state(site)
    };
    Walk::new(control, end_of_walk(control, entered), read, sites).behind(behind)
}

/// Where control goes on, and the rsp that the function there has as long as others are in progress below it; unless it is `over` before.
///
/// # Safety
/// As [`functions`].
#[inline(always)]
pub(super) unsafe fn find(
    (domain, control, entered): (&Instance, u64, u64),
    address: u32,
    label: u32,
    behind: Behind<'_>,
    over: impl Fn() -> Then,
) -> Result<(ResumeFrame, u64), Over> {
    let label = domain.base() + u64::from(label);
    if !is_label(domain, label) {
        return Err(NoResume::NoLabel.into());
    }
    // An address of either stack says where in the slot, if it is the thread's own.
    let slot = control - control % stack::SLOT;
    let data = slot - u64::from(code::OFF);
    let distance = u64::from(address.wrapping_sub(slot as u32).min(address.wrapping_sub(data as u32)));
    if distance >= stack::SLOT {
        return Err(NoResume::OtherStack.into());
    }
    let wanted = slot + distance;
    // SAFETY: as the caller's.
    let mut walk = unsafe { functions(domain, control, entered, behind) };
    let mut activation = walk.next().map_err(|_| NoResume::Stack)?;
    // Below all that is in progress there is nothing to go back to.
    if wanted < activation.rsp {
        return Err(NoResume::Returned.into());
    }
    let mut budget = BUDGET;
    while activation.entry < wanted {
        budget -= 1;
        if budget == 0 {
            match over() {
                Then::GoesOn => budget = BUDGET,
                what => return Err(Over::Now(what)),
            }
        }
        activation = walk.next().map_err(|lost| match lost {
            Lost::Exit if is_on_own_frames(control, entered) => NoResume::Beyond,
            Lost::Exit => NoResume::Context,
            Lost::Word(_) => NoResume::Stack,
        })?;
    }
    let frame = ResumeFrame { entry: activation.entry, address: wanted - u64::from(code::OFF), label };
    Ok((frame, activation.rsp))
}

/// Whether the functions in progress from a gate's rsp at `control` out lead to the handler whose frames end at `bottom`, over no other handler
/// of any call's; asks now and then whether it is `over` before.
///
/// # Safety
/// As [`functions`].
pub(super) unsafe fn leads_to(
    (domain, control, entered): (&Instance, u64, u64),
    bottom: u64,
    over: impl Fn() -> Then,
) -> Result<bool, Over> {
    let nothing = |_| None;
    // SAFETY: as the caller's.
    let mut walk = unsafe { functions(domain, control, entered, &nothing) };
    let mut budget = BUDGET;
    loop {
        // The handler's own frame ends with the word that leads to what it returns to.
        match walk.next() {
            Ok(activation) if activation.entry < bottom - 8 => (),
            Ok(activation) => return Ok(activation.entry <= bottom),
            Err(_) => return Ok(false),
        }
        budget -= 1;
        if budget == 0 {
            match over() {
                Then::GoesOn => budget = BUDGET,
                what => return Err(Over::Now(what)),
            }
        }
    }
}

/// Handlers on the stack of `rsp` that lie below it are no more, since a jump has left them. Whether what the stack keeps was opened for one.
///
/// # Safety
/// The record of the thread's innermost entry, of a domain's that is there.
pub(super) unsafe fn forget_handlers(state: &ThreadState, below: *mut EntryRecord, rsp: u64) -> bool {
    let mut opened = false;
    // SAFETY: as the caller says.
    unsafe {
        while let Some(one) = left_handlers(state, below, rsp).next() {
            opened |= (*one).opened;
            state.interruptions.unlink(below, one);
        }
    }
    opened
}

/// The handlers of the entry `below`, on the stack of `rsp`, that lie below that.
///
/// # Safety
/// The record of the thread's innermost entry, of a domain's that is there.
unsafe fn left_handlers(
    state: &ThreadState,
    below: *const EntryRecord,
    rsp: u64,
) -> impl Iterator<Item = *mut Interruption> {
    // SAFETY: as the caller says; interruptions of its own.
    unsafe {
        let domain = &*(*(*below).binding).domain;
        state.interruptions.on(below, domain, rsp).filter(move |one| (**one).bottom < rsp)
    }
}

/// Whether a jump to `rsp` leaves handlers. (Most jumps leave none, however many handlers are in progress on other contexts, and hold no signal
/// back: that takes two system calls.)
///
/// # Safety
/// The gate is in progress on the calling thread.
unsafe fn leaves_handlers(gate: *const GateRecord, rsp: u64) -> bool {
    // SAFETY: live records; the thread's own state.
    unsafe {
        let below = entry(gate);
        let state = (*block_sys::block()).state.as_ref().filter(|_| (*below).interruption != 0);
        state.is_some_and(|state| left_handlers(state, below, rsp).next().is_some())
    }
}

/// As [`forget_handlers`], for the jump of a gate's to a function with this entry and this rsp ([`find`]). Returns 0, and has done nothing, if a
/// handler of the host's has switched stacks, and made a call there that is in progress still.
///
/// # Safety
/// For the gate, with the frame of its entry, which has the gate's mark.
unsafe extern "C" fn lockgate_handlers_left(
    gate: *mut GateRecord,
    own: *const u64,
    to: *const [u64; 2],
) -> usize {
    // SAFETY: live records; the thread's own state.
    unsafe {
        let Some(state) = (*block_sys::block()).state.as_ref() else { return 0 };
        if repair_sys::find(state, gate, own) != Found::Innermost {
            return 0;
        }
        let (below, [entered, rsp]) = (entry(gate).cast_mut(), *to);
        let control = rsp - 8;
        // (Who was interrupted may have more below its rsp than who has called.)
        let interrupted =
            left_handlers(state, below, entered).find(|one: &*mut Interruption| (**one).control == control);
        let room = interrupted.and_then(|one| (*one).room).unwrap_or(RED_ZONE);
        if forget_handlers(state, below, entered) {
            // The gate's call is made from what is gone to, from here on, and calls of the host's handlers begin below all that this has: what the
            // module's handler has had of the stack is not there in a moment.
            let domain = &*(*(*below).binding).domain;
            (*gate).control = control;
            state.set_slot(domain.id(), (control - room) & !15);
            state.closes(domain, control);
        }
    }
    1
}

/// In verified code, which is mapped and never written as long as its domain lives; [`None`] in a child.
fn read_label(at: u64) -> Option<[u8; 4]> {
    let mut label = [0; 4];
    // SAFETY: a guarded copy to our own bytes.
    let left = unsafe { lockgate_copy(label.as_mut_ptr().cast(), at as *const c_void, label.len()) };
    (left == 0).then_some(label)
}
