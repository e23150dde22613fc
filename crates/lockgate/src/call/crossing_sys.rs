//! Calls from domain to domain that do not return normally: the error goes to the nearest living caller.
use super::gate_sys::{Then, lockgate_pending, record_fault};
use super::info::{Info, OnFailure};
use super::layout::{EntryRecord, GateRecord, RECORD, Record, STATUS_ENDED, STATUS_FAULT};
use super::{block_sys, outcome_sys, repair_sys};
use crate::error::CallError;
use crate::report::Cause;

/// What a calling domain finds in xmm0, xmm1, rdx, rax.
type Results = [u64; 4];

/// Called by a crossing with the callee's record, made or about to be, and its frame, when the callee did not return, or something ends
/// the caller's call. A caller's call that goes on does so with `results`.
///
/// # Safety
/// Only proxies call it.
pub(super) unsafe extern "C" fn lockgate_crossing_failed(
    record: *mut EntryRecord,
    results: *mut Results,
    own: *mut u64,
) -> Then {
    // SAFETY: the records are the thread's own; below a crossing's are its caller's gate and entry.
    unsafe {
        let state = (*block_sys::block()).state.as_ref().expect("threads in gates are attached");
        let block = state.block;
        let gate = record.byte_sub(RECORD as usize).cast::<GateRecord>();
        let entered = (*block).top == record.cast::<Record>();
        // As in transit, until nothing is left of the error that a handler's own call might take for its own.
        (*block).transit = outcome_sys::untaken(gate.byte_sub(RECORD as usize).cast());
        block_sys::set_top(block, gate.cast());
        repair_sys::mark(gate, own);
        if !entered && (*block).status & STATUS_FAULT != 0 {
            return Then::Ends; // the caller was told to end before it called
        }
        if (*block).status & STATUS_ENDED != 0 {
            state.repairs_at_next_call();
            let binding = (*(*gate).entry).context as *const super::layout::BindingHeader;
            let info = &*(*binding).info;
            let error = outcome_sys::take_refusal().unwrap_or_else(|| outcome_sys::take_fault(info));
            match info.on_failure {
                OnFailure::Return(value) => {
                    *results = [value; 4];
                    state.failure.replace(Some(error));
                }
                OnFailure::Propagate => {
                    record_fault(state, gate, Cause::Callee);
                    state.failure.replace(Some(callee_error(gate, error)));
                }
            }
        } else if !entered {
            // Stack arguments or a result in memory, which lie where the caller says. The callee was taken before the arguments were read.
            let binding = (*(*gate).entry).context as *const super::layout::BindingHeader;
            if let Some(word) = (*binding).owner.as_ref() {
                super::exclusive_sys::release(word, state.tid as u32);
            }
            record_fault(state, gate, Cause::Arguments);
        }
        let ends = lockgate_pending(gate, own);
        if ends == Then::GoesOn {
            // Until the caller's gate is off the records.
            (*block).transit = own as u64;
        }
        ends
    }
}

/// The error of a call that ends because one that it made failed.
unsafe fn callee_error(gate: *const GateRecord, source: CallError) -> CallError {
    // SAFETY: below the gate is the caller's entry, whose binding is alive.
    let caller = unsafe {
        let entry = gate.byte_sub(RECORD as usize).cast::<EntryRecord>();
        let info: &Info = &*(*(*entry).binding).info;
        info
    };
    CallError::of_callee(caller.domain.name().to_owned(), caller.name.clone(), source)
}
