//! `resume` (docs/returns.md): the one way in which a module leaves functions otherwise than by their returns. `longjmp`, unwinders
//! and coroutines go through it.
//!
//! The walk goes from the function that asks out to the place that the innermost entry was made at, and no further: what lies beyond
//! that is the host's, or another call's. It allocates nothing, waits for nobody, and asks as it goes whether its call is to end.
use super::gate_sys::{entry, lockgate_pending, refuse};
use super::layout::{GateRecord, ResumeFrame};
use super::thread_sys;
use super::walk::{Lost, Walk};
use crate::domain::Core;
use crate::fault::Cause;
use lockgate_abi::{code, stack};

/// Why control cannot go on where a module wants it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoResume {
    /// There is no label in verified code.
    NoLabel,
    /// The address is none of the thread's stack.
    OtherStack,
    /// It lies in a function that has returned.
    Returned,
    /// It lies in functions of an earlier call, beyond host code.
    Beyond,
    /// The stack is not what verified code leaves.
    Stack,
}

/// Activations between two looks at what is pending: some microseconds.
const PATIENCE: usize = 1024;

/// Called by the gate, with its record on top. Returns 1 if the call ends; else the frame says where control goes on.
///
/// # Safety
/// Only that gate calls it.
pub(super) unsafe extern "C" fn lockgate_resume(gate: *mut GateRecord, frame: *mut ResumeFrame) -> u32 {
    // SAFETY: live records; a live entry's binding keeps its domain; the frame is the gate's own.
    let (domain, frame, control, exit) = unsafe {
        let below = &*entry(gate);
        (&*(*below.binding).domain, &mut *frame, (*gate).control, below.control - size_of::<u64>() as u64)
    };
    let resumed = find(domain, control, exit, frame.address as u32, frame.label as u32, || {
        // SAFETY: a word of the thread's own block, which its signal handlers write; and the gate's record is on top.
        unsafe {
            let pending = (&raw const (*thread_sys::block()).pending).read_volatile();
            pending != 0 && lockgate_pending(gate) != 0
        }
    });
    match resumed {
        Ok(Some((entry, address, label))) => {
            *frame = ResumeFrame { entry, address, label };
            0
        }
        Ok(None) => 1,
        Err(no) => {
            // SAFETY: as above.
            unsafe { refuse(gate, Cause::Resume(no)) };
            1
        }
    }
}

/// The rsp, address on the data stack and label with which control goes on; `None` if the call ends, as `ends` says.
#[inline(always)]
fn find(
    domain: &Core,
    control: u64,
    exit: u64,
    address: u32,
    label: u32,
    ends: impl Fn() -> bool,
) -> Result<Option<(u64, u64, u64)>, NoResume> {
    let label = domain.base() + u64::from(label);
    let codes = domain.codes();
    if !codes.at(label).is_some_and(|code| code.holds(label + 3)) || read_label(label) != code::LABEL {
        return Err(NoResume::NoLabel);
    }
    // An address of either stack says where in the slot, if it is the thread's own.
    let slot = control - control % stack::SLOT;
    let data = slot - u64::from(code::OFF);
    let distance = u64::from(address.wrapping_sub(slot as u32).min(address.wrapping_sub(data as u32)));
    if distance >= stack::SLOT {
        return Err(NoResume::OtherStack);
    }
    let wanted = slot + distance;
    // SAFETY: the walk reads between a gate's rsp and the place of its entry, on one control stack, which is mapped there.
    let read = |at: u64| Some(unsafe { (at as *const u64).read() });
    let mut last = codes.first();
    let sites = |site: u64| {
        if !last.holds(site) {
            last = codes.at(site)?;
        }
        last.state(site)
    };
    let mut walk = Walk::new(control, exit, read, sites);
    let mut activation = walk.next().map_err(|_| NoResume::Stack)?;
    // Below all that is in progress there is nothing to go back to.
    if wanted < activation.rsp {
        return Err(NoResume::Returned);
    }
    let mut patience = PATIENCE;
    while activation.entry < wanted {
        patience -= 1;
        if patience == 0 {
            if ends() {
                return Ok(None);
            }
            patience = PATIENCE;
        }
        activation = walk.next().map_err(|lost| match lost {
            Lost::Exit => NoResume::Beyond,
            Lost::Word(_) => NoResume::Stack,
        })?;
    }
    Ok(Some((activation.entry, wanted - u64::from(code::OFF), label)))
}

fn read_label(at: u64) -> [u8; 4] {
    // SAFETY: in verified code, which is mapped and never written as long as its domain lives.
    unsafe { (at as *const [u8; 4]).read_unaligned() }
}
