//! How the last call of the calling thread ended: its status, and why.
use super::block_sys::block;
use super::info::Info;
use super::layout::{
    BindingHeader, EntryRecord, FROM_DOMAIN, GATE, GateRecord, RECORD, STATUS_ENDED, STATUS_HANDLER,
    STATUS_RAW_HANDLER, STATUS_REFUSED, ThreadBlock, UNTAKEN,
};
use super::thread_sys::{ThreadState, current, is_inside, on_alternate_stack, registers_at};
use crate::error::{CallError, Panic};
use crate::report::{Cause, Entered, RawFault};
use crate::space;
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;

thread_local! {
    /// Why a call was refused before it began. (Handlers of `atexit` may ask, too: it is dropped by hand. In a box, since static
    /// thread-local storage is scarce.)
    static REFUSED: Cell<Option<ManuallyDrop<Box<CallError>>>> = const { Cell::new(None) };
}

/// Makes the call in progress, of `binding` by a caller whose frame is at `rsp`, fail with `error` before it begins.
pub(super) fn refuse(binding: &BindingHeader, rsp: u64, error: CallError) {
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    match error {
        // A signal handler may not allocate, which the first use of thread-local storage does; and the call that it interrupted may
        // just have failed, before any code has looked.
        CallError::SignalHandler if is_looked_at(binding) => block.status += STATUS_HANDLER,
        CallError::SignalHandler => block.status |= STATUS_RAW_HANDLER,
        error => {
            if binding.flags & FROM_DOMAIN != 0 {
                block.transit = rsp & !UNTAKEN;
            } else if is_looked_at(binding) {
                block.transit = rsp | UNTAKEN;
            }
            drop(REFUSED.replace(Some(ManuallyDrop::new(Box::new(error)))).map(ManuallyDrop::into_inner));
            block.status = STATUS_REFUSED;
        }
    }
}

/// A call begins through a pointer of the host's that leads to no domain: what was not asked of the one before is forgotten, as where a proxy begins. False if a
/// signal handler makes it, as far as can be told: it is refused then, and nothing was allocated.
pub(crate) fn begins_elsewhere() -> bool {
    let is_handler = on_alternate_stack() || current().is_some_and(is_inside);
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    match is_handler {
        true => block.status |= STATUS_RAW_HANDLER,
        false => block.status &= !STATUS_ENDED,
    }
    !is_handler
}

/// That call has failed. [`CallError::Panic`] carries what its caller makes an error of.
pub(crate) fn failed_elsewhere(payload: Box<dyn Any + Send>) {
    let error = CallError::Panic(Panic::new(payload));
    drop(REFUSED.replace(Some(ManuallyDrop::new(Box::new(error)))).map(ManuallyDrop::into_inner));
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    block.status = block.status & !STATUS_ENDED | STATUS_REFUSED;
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

/// Whose the status is, as its caller sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The caller is a handler whose call was refused.
    Handlers,
    /// The caller's own call has ended.
    Callers,
    /// The caller's call has returned: a handler's has not, which has not been asked about; or the caller is such a handler.
    Others,
}

/// Whose the status is, given that [`failed`]. A handler's is taken with that.
pub(crate) fn whose(raw: bool) -> Whose {
    if !raw && take_handlers_refusal() {
        return Whose::Handlers;
    }
    // SAFETY: our own block.
    let block = unsafe { &mut *block() };
    // Those who look at once are never let in while another's is untaken: it is their own, or they have been refused.
    let refused = block.status & STATUS_RAW_HANDLER != 0;
    // (No stack tells on a thread that the library has left, as it ends. Who has called there has been refused, as a handler.)
    let is_handler = raw && (on_alternate_stack() || current().map_or(refused, is_inside));
    block.status &= !STATUS_RAW_HANDLER;
    match is_handler {
        true if refused => Whose::Handlers,
        true => Whose::Others,
        false if block.status & STATUS_ENDED != 0 => Whose::Callers,
        false => Whose::Others,
    }
}

/// Why the call through the thunk of `binding` that has just come back failed, given that [`failed`]; `None` if it returned.
#[cold]
pub(crate) fn take_error(binding: &Info) -> Option<CallError> {
    // SAFETY: our own block.
    let (status, transit) = unsafe { ((*block()).status, (*block()).transit) };
    take(binding, binding.is_lent() && !was_looked_at(status, transit))
}

/// The same for those who ask when they like, if the binding has any.
pub(crate) fn take_raw_error(binding: &Info) -> Option<CallError> {
    take(binding, binding.is_lent())
}

/// Whether the last call's end was written down for a caller that looks at once. (A pointer to its function may have been given out since, by
/// another thread.)
fn was_looked_at(status: u64, transit: u64) -> bool {
    status & STATUS_RAW_HANDLER == 0 && (status >= STATUS_HANDLER || transit & UNTAKEN != 0)
}

fn take(binding: &Info, raw: bool) -> Option<CallError> {
    match whose(raw) {
        Whose::Handlers => Some(CallError::SignalHandler),
        Whose::Others => None,
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
        Whose::Others => None,
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
        return in_child(&raw, state);
    }
    let binding = binding.that_ran(raw.registers.rsp);
    if raw.cause == Cause::Revoked && !binding.is_unloaded() {
        return CallError::Revoked(binding.name.clone());
    }
    // (Its stack is another thread's by now: nothing of it is looked at.)
    if let Cause::Detached(limit) = raw.cause {
        let (domain, entry_point) = (binding.domain.name().to_owned(), binding.name.clone());
        return CallError::Detached { domain, entry_point, limit };
    }
    if raw.cause == Cause::Callee
        && let Some(error) = state.failure.take()
    {
        return error;
    }
    match state.panic.take().filter(|_| raw.cause == Cause::Panic) {
        Some(payload) => CallError::Panic(Panic::new(payload)),
        None => binding.fault(raw, outer_calls(state)).into(),
    }
}

/// True if a call ended that this process's parent had begun, by whatever: a function of the host's that has forked may end it, too.
fn is_parents(raw: &RawFault) -> bool {
    raw.cause == Cause::Forked || space::is_inherited(raw.entry)
}

/// Why such a call ended: a panic of the function that has forked is the child's, to whom it must come out.
fn in_child(raw: &RawFault, state: &ThreadState) -> CallError {
    let (_, panic) = (state.failure.take(), state.panic.take());
    match panic.filter(|_| raw.cause == Cause::Panic) {
        Some(payload) => CallError::Panic(Panic::new(payload)),
        None => CallError::Forked,
    }
}

/// The error, once, of the last call through a thunk, if it ended because this process is a child of the one that began it. (The binding is in
/// the parent's books.)
pub(crate) fn take_forked() -> Option<CallError> {
    // SAFETY: our own block and, while attached, our own state.
    let error = unsafe {
        let state = (*block()).state.as_ref()?;
        let raw = (*state.fault.get()).take_if(|raw| is_parents(raw))?;
        in_child(&raw, state)
    };
    taken();
    Some(error)
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

/// Why the last call was refused, if it was: that needs no binding.
pub(crate) fn take_refusal() -> Option<CallError> {
    // SAFETY: our own block.
    if unsafe { (*block()).status } & STATUS_ENDED != STATUS_REFUSED {
        return None;
    }
    let error = REFUSED.take().map_or(CallError::ThreadEnding, |error| *ManuallyDrop::into_inner(error));
    taken();
    Some(error)
}

/// The binding whose last call on this thread ended with a fault; it may be gone.
pub(crate) fn failed_binding() -> *const BindingHeader {
    current().map_or(ptr::null(), |state| state.failed.get())
}

/// Forgets the error of a call through a raw function pointer, if it was not taken.
pub(crate) fn forget_error() {
    taken();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread's block says between a call's end and the caller's look at it; in between another thread may ask for the function's pointer.
    /// Red if the caller then takes itself for one who has the pointer: a handler's refusal would be a return, with any result.
    #[test]
    fn a_pointer_that_is_given_out_meanwhile_changes_no_calls_end() {
        for (status, transit, expected) in [
            (STATUS_HANDLER, 0, true),
            (STATUS_HANDLER | STATUS_REFUSED, 0x7000 | UNTAKEN, true),
            (STATUS_REFUSED, 0x7000 | UNTAKEN, true),
            // Those were of callers with the pointer.
            (STATUS_RAW_HANDLER, 0, false),
            (STATUS_RAW_HANDLER | STATUS_REFUSED, 0, false),
            (STATUS_REFUSED, 0, false),
        ] {
            assert_eq!(was_looked_at(status, transit), expected, "{status:#x}, {transit:#x}");
        }
    }
}
