//! What gates do in Rust: closures, and ending the call in progress. (System calls: [`super::service_sys`].)
use super::interruptions_sys::XSAVE_SIZE;
use super::layout::{
    BindingHeader, EntryRecord, GateEntry, GateRecord, RECORD, RESULT_RAX, STATUS_FAULT, first_header,
};
use super::must_end_sys::{may_detach, outer_must_stop, why_stop};
use super::repair_sys::Found;
use super::thread_sys::{self, AnyDomain, ThreadState};
use super::undisturbed_sys::KeptErrno;
use super::{block_sys, outcome_sys, repair_sys};
use crate::copy_asm::{Loaded, lockgate_peek};
use crate::error::CallError;
use crate::host::Processor;
use crate::report::{Cause, RawFault};
use crate::space;
use std::any::Any;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// 1 if the processor has XSAVEC, which writes less.
pub(super) static XSAVE_COMPACT: AtomicU8 = AtomicU8::new(0);

/// State components that the system lets programs use: as the processor, the same in children.
static COMPONENTS: AtomicU64 = AtomicU64::new(0);

/// 1 if there are zmm16–31 and masks, for code that clears them.
pub(super) static AVX512: AtomicU8 = AtomicU8::new(0);

/// Looks what gates have to save, and sizes their save area.
pub(super) fn prepare() {
    // SAFETY: host::prepare has checked for OSXSAVE.
    let (size, compact, enabled) =
        unsafe { (__cpuid_count(0xd, 0).ecx, __cpuid_count(0xd, 1).eax >> 1 & 1, _xgetbv(0)) };
    AVX512.store(Processor::here().avx512 as u8, Ordering::Release);
    XSAVE_COMPACT.store(compact as u8, Ordering::Release);
    XSAVE_SIZE.store((u64::from(size) + 63) & !63, Ordering::Release);
    COMPONENTS.store(enabled, Ordering::Release);
}

/// State components that XSAVE may keep: known since the first module was opened, be it by a parent.
pub(crate) fn components() -> u64 {
    COMPONENTS.load(Ordering::Acquire)
}

/// The gate that the calling thread is in.
pub(super) fn gate() -> *mut GateRecord {
    // SAFETY: our own block, attached: only gates call this.
    unsafe { (*block_sys::block()).top.cast() }
}

/// The entry below `gate`.
#[inline]
pub(super) unsafe fn entry(gate: *const GateRecord) -> *const EntryRecord {
    // SAFETY: below a gate's record is its entry's.
    unsafe { gate.byte_sub(RECORD as usize).cast() }
}

/// Address that the host gave with the function being called: [`super::layout::GateEntry::context`].
pub(crate) fn context() -> usize {
    // SAFETY: functions with a context are only called through gates, whose record names the entry.
    unsafe { (*(*gate()).entry).context }
}

/// The domain that calls the host, while the host's function runs.
///
/// # Safety
/// Only inside a function that a gate called; the reference ends with it.
pub(crate) unsafe fn caller<'a>() -> &'a dyn AnyDomain {
    // SAFETY: as below.
    unsafe { &**called_by(gate()) }
}

/// The domain whose call is below `gate`.
///
/// # Safety
/// A live gate's record; the reference ends with it.
#[inline]
pub(super) unsafe fn called_by<'a>(gate: *const GateRecord) -> &'a Arc<dyn AnyDomain> {
    // SAFETY: a live entry's binding keeps its domain.
    unsafe { &(*(*(*entry(gate)).binding).info).domain }
}

/// Whether it is known which domain that is: not if what it was called through was freed meanwhile.
pub(crate) fn has_caller() -> bool {
    // SAFETY: in a gate, the record below is an entry.
    thread_sys::in_gate() && unsafe { !(*entry(gate())).binding.is_null() }
}

/// The base of the domain in whose gate the calling thread is.
pub(crate) fn calling_base() -> Option<u64> {
    // SAFETY: in a gate, the record below is an entry. (Its binding may be gone, if a jump has left it.)
    thread_sys::in_gate().then(|| unsafe { space::base_of((*entry(gate())).control) })
}

/// Where the function of the domain's that has called the gate goes on, if the thread is in one.
pub(crate) fn calling_site() -> Option<u64> {
    // SAFETY: as above; the word that the gate's call has pushed, where no module writes.
    let site = |()| match unsafe { lockgate_peek((*gate()).control as *const u64) } {
        Loaded { word, ok: 1 } => Some(word),
        _ => None,
    };
    thread_sys::in_gate().then_some(()).and_then(site)
}

/// Ends the domain's call when the host's function returns.
pub(crate) fn end_call(cause: Cause) {
    let gate = gate();
    // SAFETY: the thread is in a gate: its record, its entry's and its state are live.
    unsafe {
        let state = (*block_sys::block()).state.as_ref().expect("threads in gates are attached");
        record_fault(state, gate, cause);
        (*state.block).pending = 1;
    }
}

/// As [`end_with_panic`], for a function that goes on: nothing is called any more before it returns, since an end that waits has no place
/// among the ends of other calls.
pub(crate) fn end_when_it_returns(payload: Box<dyn Any + Send>) {
    // In a forked child that is a message for a call of the parent's, and nothing that goes on from here, as a panic does.
    // SAFETY: in a gate: live records.
    match unsafe { space::is_inherited((*entry(gate())).control) } {
        true => end_call(Cause::Forked),
        false => end_with_panic(payload),
    }
    thread_sys::ask_before_calls();
}

/// The gate of a host function that fails, perhaps: on its way back the thread may have been on other stacks, where calls came and went.
pub(crate) struct OwnGate {
    gate: *const GateRecord,
    /// Where its mark is.
    own: *const u64,
}

impl OwnGate {
    /// # Safety
    /// At the beginning of a function that a gate has called.
    pub(crate) unsafe fn here() -> OwnGate {
        let gate = gate();
        // SAFETY: live records. The mark is the first word of the entry's frame.
        OwnGate { gate, own: unsafe { (*entry(gate)).host as *const u64 } }
    }

    /// The panic of the function becomes the error of its call, at the end of the function. A call that is not the innermost one any more
    /// is ended by its gate in any case: then the panic belongs to no call, and must not become another call's.
    pub(crate) fn end_with_panic(&self, payload: Box<dyn Any + Send>) {
        // SAFETY: the function runs, so the frame is there.
        let innermost = thread_sys::current()
            .is_some_and(|state| unsafe { repair_sys::find(state, self.gate, self.own) } == Found::Innermost);
        if innermost {
            end_with_panic(payload);
        }
    }
}

/// As [`end_call`]: the panic of a host function becomes the error of the call.
pub(super) fn end_with_panic(payload: Box<dyn Any + Send>) {
    end_call(Cause::Panic);
    if let Some(state) = thread_sys::current() {
        state.panic.set(Some(payload));
    }
}

/// As [`end_call`]: the call returns `error`.
pub(crate) fn end_with(error: CallError) {
    end_call(Cause::Callee);
    if let Some(state) = thread_sys::current() {
        state.failure.set(Some(error));
    }
}

pub(super) unsafe fn record_fault(state: &ThreadState, gate: *const GateRecord, cause: Cause) {
    // SAFETY: live records; the return address is on the control stack, where the module's call put it.
    unsafe {
        let (registers, entry) = (thread_sys::registers_at(gate), (*entry(gate)).control);
        state.ends(RawFault { cause, address: 0, entry, registers });
    }
}

/// What a gate or a proxy does when it has asked. The code is what assembly compares with that of [`Ends`](Then::Ends): below goes on, above
/// has been left.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// What has asked goes on.
    GoesOn = 0,
    /// The call ends; the thread's status says why.
    Ends = 1,
    /// The call ends by [`lockgate_left`](super::out_of_turn_sys), which leaves the records as they are.
    Left = 2,
}

impl Then {
    /// The answer of a function that was called through [`undisturbed`](super::undisturbed_sys::undisturbed), in its register.
    pub(super) fn in_register(result: usize) -> Then {
        match result as u32 {
            0 => Then::GoesOn,
            1 => Then::Ends,
            _ => Then::Left,
        }
    }
}

/// Called by gates on their way back when something is pending, or a proxy is in transit, or the record is not the gate's own, or not on top:
/// the host's function has jumped out of calls, or it, or a handler, has switched stacks.
///
/// # Safety
/// Only gates call it, with the frame of their entry, which has the gate's mark.
pub(super) unsafe extern "C-unwind" fn lockgate_comes_back(gate: *mut GateRecord, own: *const u64) -> Then {
    // A proxy that a handler has interrupted, and left for this stack, goes on when it is come back to, at the place that it has found: below
    // what this gate's domain had called then.
    // SAFETY: the caller's; the thread's own state.
    unsafe {
        match (*block_sys::block()).state.as_ref() {
            Some(state) if !repair_sys::is_in_transit(state, own as u64 - 1) => lockgate_pending(gate, own),
            _ => Then::Left,
        }
    }
}

/// Asks whether the call below a gate ends.
///
/// # Safety
/// For gates, with the frame of their entry, which has the gate's mark.
pub(super) unsafe extern "C" fn lockgate_pending(gate: *mut GateRecord, own: *const u64) -> Then {
    let _errno = KeptErrno::new();
    // SAFETY: live records, if the gate's is the innermost one, and the thread's own state.
    unsafe {
        let Some(state) = (*block_sys::block()).state.as_ref() else { return Then::Left };
        let block = state.block;
        if repair_sys::find(state, gate, own) != Found::Innermost {
            return Then::Left;
        }
        state.comes_back(gate);
        let cause = match state.out_of_turn.get() || state.lacks_turn(*own) {
            true => Some(Cause::OutOfTurn),
            false => why_stop(state, entry(gate)),
        };
        let outer = outer_must_stop(state, entry(gate).cast());
        // The host was asked, and may have done anything.
        if repair_sys::find(state, gate, own) != Found::Innermost {
            return Then::Left;
        }
        // What goes on without its caller is handed over where the gate can give all registers up: behind this question, or soon.
        let goes_on = || {
            matches!(cause, Some(Cause::TimeLimit(_)))
                && is_librarys(gate)
                && may_detach(state, entry(gate), (*gate).control)
        };
        if let Some(cause) = cause
            && state.ending_of((*entry(gate)).control).is_none()
            && !goes_on()
        {
            record_fault(state, gate, cause);
        }
        (*block).pending = u64::from(state.always_asks() || outer);
        if end_now(state, gate) { Then::Ends } else { Then::GoesOn }
    }
}

/// True if a gate has called the library itself, and no function of the host's.
unsafe fn is_librarys(gate: *const GateRecord) -> bool {
    // SAFETY: the caller's live record.
    let called = unsafe { (*gate).entry };
    called.is_null() || ptr::eq(called, &CONTEXT) || ptr::eq(called, &FUNCTIONS)
}

/// The recorded end of the call below `gate` becomes its result; false if nothing ends it.
unsafe fn end_now(state: &ThreadState, gate: *const GateRecord) -> bool {
    // SAFETY: live records and the thread's own state.
    unsafe {
        let entry = entry(gate);
        let ending = state.take_ending_of((*entry).control);
        if let Some(raw) = &ending {
            if !matches!(raw.cause, Cause::Forked | Cause::Detached(_)) {
                state.breaks_off(entry, &*(*(*entry).binding).domain);
            }
            // As in transit, until the gate is off the records: a handler's own call would find this error.
            (*state.block).transit = outcome_sys::untaken(entry);
            *state.fault.get() = Some(*raw);
            state.failed.set(first_header((*entry).binding));
            (*state.block).status = STATUS_FAULT;
        }
        ending.is_some()
    }
}

/// Called in place of a host function that is not there. (As all that handlers may interrupt: nothing is dropped here.)
pub(super) extern "C-unwind" fn lockgate_missing() {
    // What was taken away with its domain is not what ended the call.
    // SAFETY: in a gate: live records, and the thread's own state.
    let ended = unsafe { thread_sys::current().and_then(|state| why_stop(state, entry(gate()))) };
    end_call(ended.unwrap_or(Cause::NoFunction));
}

/// Called by the gate of an import that has not been bound yet: finds what it is. Returns the entry to go on with.
///
/// # Safety
/// Only that gate calls it, with its record on top.
pub(super) unsafe extern "C" fn lockgate_resolve(gate: *mut GateRecord) -> *const GateEntry {
    // SAFETY: live records.
    let (domain, slot) = unsafe { (called_by(gate).clone(), (*(*gate).entry).context as u16) };
    let find = || domain.resolve(slot);
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(find)) {
        Ok(Ok(entry)) => entry,
        Ok(Err(error)) => {
            if let Some(state) = thread_sys::current() {
                state.failure.set(Some(error));
            }
            &UNRESOLVED
        }
        Err(payload) => {
            end_with_panic(payload);
            &NO_FUNCTION
        }
    }
}

/// Called in place of an import that was not found. Why is with the thread already.
extern "C-unwind" fn lockgate_unresolved() {
    end_call(Cause::Callee);
}

/// What a call of an import that was not found leads to, this time.
static UNRESOLVED: GateEntry = GateEntry { function: lockgate_unresolved as *const (), ..MISSING };

unsafe extern "C" {
    fn lockgate_gate_context();
    fn lockgate_gate_functions();
    fn lockgate_gate_host();
    fn lockgate_gate_resolve();
}

/// What unknown slots and callback numbers lead to: calling it ends the domain's call.
pub(super) static NO_FUNCTION: GateEntry = MISSING;

/// What the gate of system calls calls where a context is asked for.
pub(super) static CONTEXT: GateEntry =
    GateEntry { function: lockgate_gate_context as *const (), results: RESULT_RAX, ..MISSING };

/// The same where functions in progress are asked for.
pub(super) static FUNCTIONS: GateEntry =
    GateEntry { function: lockgate_gate_functions as *const (), results: RESULT_RAX, ..MISSING };

const MISSING: GateEntry = GateEntry {
    code: lockgate_gate_host as *const (),
    function: lockgate_missing as *const (),
    context: 0,
    stack_words: 0,
    small: 0,
    stack_distance: 8,
    results: 0,
    stack_masks: ptr::null(),
};

// SAFETY: addresses of code.
unsafe impl Sync for GateEntry {}
// SAFETY: as above.
unsafe impl Send for GateEntry {}

impl GateEntry {
    /// A host function's.
    pub fn host(
        function: *const (),
        context: usize,
        stack_words: u32,
        stack_masks: Option<&'static [u64]>,
        small: u32,
        results: u64,
    ) -> GateEntry {
        let stack_masks = stack_masks.map_or(ptr::null(), <[u64]>::as_ptr);
        GateEntry { function, context, stack_words, stack_masks, small, results, ..NO_FUNCTION }
    }

    /// That of a binding made for the domain: the proxy's code, and its header.
    pub fn crossing(code: usize, header: *const BindingHeader) -> GateEntry {
        // SAFETY: the caller's header.
        let (stack_words, window) = unsafe { ((*header).stack_words, (*header).window) };
        let (code, function) = (code as *const (), window as *const ());
        GateEntry { code, function, context: header as usize, stack_words, ..NO_FUNCTION }
    }

    /// That of an import that is bound at its first call.
    pub fn lazy(slot: u16) -> GateEntry {
        let code = lockgate_gate_resolve as *const ();
        GateEntry { code, context: slot.into(), ..NO_FUNCTION }
    }

    /// No function.
    pub fn none() -> &'static GateEntry {
        &NO_FUNCTION
    }
}

/// Called when a host function's stack arguments could not be copied (rule R23).
///
/// # Safety
/// Only gates call it.
pub(super) unsafe extern "C" fn lockgate_argument_fault(gate: *mut GateRecord) {
    // SAFETY: the caller's.
    unsafe { refuse(gate, Cause::Arguments) }
}

/// Ends the call below `gate`, which goes no further.
///
/// # Safety
/// For gates, with their record on top.
pub(super) unsafe fn refuse(gate: *mut GateRecord, cause: Cause) {
    // SAFETY: live records and the thread's own state.
    unsafe {
        let state = (*block_sys::block()).state.as_ref().expect("threads in gates are attached");
        record_fault(state, gate, cause);
        end_now(state, gate);
    }
}
