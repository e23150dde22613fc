//! Whether calls in progress must end: their domain was killed, their binding revoked, they are stopped, or their time is over.
use super::layout::{BindingHeader, DETACHES, EntryRecord, GATE, IDLE, LIMITED_ENTRY, RECORD, Record};
use super::thread_sys::{OVERDUE, ThreadState};
use crate::report::Cause;
use crate::space;
use crate::walk::is_on_own_frames;
use std::ptr;
use std::sync::atomic::Ordering;

/// Whether the host is asked, too, if it may want calls to end ([`must_stop`](super::instance::Instance::must_stop)): its function says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Host,
    NoHost,
}

/// Why the entry `record` must end, if it must. One whose binding has ended was left by a jump.
///
/// # Safety
/// `record` is an entry of the calling thread.
pub(super) unsafe fn why_stop(state: &ThreadState, record: *const EntryRecord) -> Option<Cause> {
    // SAFETY: the caller's.
    unsafe { why(state, record, Ask::Host) }
}

/// Whether a kick has come, and the entry `record` is one that must end: for long work in a service, which then leaves it to the gate. The host
/// is not asked.
///
/// # Safety
/// `record` is an entry of the calling thread.
pub(super) unsafe fn is_over(state: &ThreadState, record: *const EntryRecord) -> bool {
    // SAFETY: the caller's; a word that the thread's handlers write.
    unsafe {
        (&raw const (*state.block).pending).read_volatile() != 0
            && match why(state, record, Ask::NoHost) {
                None => false,
                Some(Cause::TimeLimit(_)) => !may_detach(state, record, (*record).control),
                Some(_) => true,
            }
    }
}

/// All reasons that there are for an entry's end, but for those that calls have themselves.
unsafe fn why(state: &ThreadState, record: *const EntryRecord, ask: Ask) -> Option<Cause> {
    // SAFETY: live records have live bindings; the block is our own.
    unsafe {
        if space::is_inherited((*record).control) {
            return Some(Cause::Forked);
        }
        let binding = (*record).binding.as_ref()?;
        if (*binding.domain).is_killed() {
            return Some(Cause::Killed);
        }
        if (*binding.info).is_stopped() {
            return Some(Cause::Revoked);
        }
        if ask == Ask::Host && (*binding.domain).must_stop() {
            return Some(Cause::Stopped);
        }
        why_nested_stop(state, record.cast())
    }
}

/// The same for what ends calls that are nested in it, too.
unsafe fn why_nested_stop(state: &ThreadState, record: *const Record) -> Option<Cause> {
    // SAFETY: the caller's.
    unsafe {
        match state.stop.load(Ordering::Acquire) || is_outlived(state, record) {
            true => Some(Cause::Stopped),
            false => overdue_limit(state, record).map(Cause::TimeLimit),
        }
    }
}

/// True if a call that is made now, in the innermost one, must end as soon as it begins.
pub(super) fn no_call_may_begin(state: &ThreadState) -> bool {
    // SAFETY: our own block; its top record is always valid.
    unsafe { why_nested_stop(state, (*state.block).top).is_some() }
}

/// Whether a limit of the innermost call has passed, or of one that it is nested in: what waits then leaves it to the gate.
///
/// # Safety
/// `record` is a live record of the calling thread.
pub(super) unsafe fn is_overdue(state: &ThreadState, record: *const Record) -> bool {
    // SAFETY: the caller's.
    unsafe { overdue_limit(state, record).is_some() }
}

/// Whether the limit that has passed is that of the thread's innermost entry, `record`, alone, which stands at `control` in the domain, and the call
/// may go on without its caller: nothing on its stack is another's. So it is in its own frames, in no handler of its domain's, and in no call that
/// is nested in another one of the same domain. Async-signal-safe.
///
/// # Safety
/// `record` is an entry of the calling thread.
pub(super) unsafe fn may_detach(state: &ThreadState, record: *const EntryRecord, control: u64) -> bool {
    let overdue = state.overdue.load(Ordering::Acquire);
    // SAFETY: the thread's own records; live ones have live bindings.
    unsafe {
        let base = space::base_of((*record).control);
        let others = || {
            state.records().filter(|other| !ptr::addr_eq(*other, record)).any(|other| {
                (*other).is_entry() && space::base_of((*other.cast::<EntryRecord>()).control) == base
            })
        };
        (*record).kind == LIMITED_ENTRY
            && overdue == OVERDUE | u64::from((*record).sequence)
            && (*record).binding.as_ref().is_some_and(|binding| binding.flags & DETACHES != 0)
            && state.stays.get() != overdue
            && (*record).interruption == 0
            && is_on_own_frames(control, (*record).control)
            && !others()
    }
}

/// Whether `record` is nested in a call that was to end so long ago, with its domain or its binding, that what it has called must end, too.
///
/// # Safety
/// `record` is a live record of the calling thread.
unsafe fn is_outlived(state: &ThreadState, mut record: *const Record) -> bool {
    let outlived = state.outlived.load(Ordering::Acquire);
    if outlived == 0 {
        return false;
    }
    // SAFETY: records down to the first are valid, and live ones have live bindings.
    unsafe {
        while (*record).kind != IDLE {
            let entry = record.cast::<EntryRecord>();
            // (Another domain, or binding, may lie there by now.)
            let is_it = |binding: &BindingHeader| {
                space::base_of((*entry).control) == outlived && (*binding.domain).is_killed()
                    || ptr::from_ref(binding).addr() as u64 == outlived && (*binding.info).is_stopped()
            };
            if (*record).is_entry() && (*entry).binding.as_ref().is_some_and(is_it) && !state.is_left(record)
            {
                return true;
            }
            record = record.byte_sub(RECORD as usize);
        }
        false
    }
}

/// The limit, milliseconds, that has passed of `record` or an entry that it is nested in.
unsafe fn overdue_limit(state: &ThreadState, mut record: *const Record) -> Option<u32> {
    let overdue = state.overdue.load(Ordering::Acquire);
    if overdue & OVERDUE == 0 {
        return None;
    }
    // SAFETY: records down to the first are valid.
    unsafe {
        while (*record).kind != IDLE {
            let entry = record.cast::<EntryRecord>();
            if (*record).kind == LIMITED_ENTRY
                && (*entry).sequence == overdue as u32
                && !state.is_left(record)
            {
                return Some((*entry).limit);
            }
            record = record.byte_sub(RECORD as usize);
        }
        None
    }
}

/// True if `record` is a gate's, and the call that it is in must end.
///
/// # Safety
/// `record` is a live record of the calling thread.
pub(super) unsafe fn innermost_must_stop(state: &ThreadState, record: *const Record) -> bool {
    // SAFETY: below a gate's record is its entry's.
    unsafe { (*record).kind == GATE && why_stop(state, record.byte_sub(RECORD as usize).cast()).is_some() }
}

/// True if an entry that `record` is nested in must end, too.
///
/// # Safety
/// `record` is a live record of the calling thread.
pub(super) unsafe fn outer_must_stop(state: &ThreadState, mut record: *const Record) -> bool {
    // SAFETY: records down to the first are valid.
    unsafe {
        while (*record).kind != IDLE {
            record = record.byte_sub(RECORD as usize);
            if (*record).is_entry() && why_stop(state, record.cast()).is_some() {
                return true;
            }
        }
        false
    }
}
