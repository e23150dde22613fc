//! The end of a call to which the host has come back out of turn: on another stack, its own, than the thread's innermost call (rule R16).
//!
//! What the records say is not this call's, or calls that are alive lie above it. So nothing of them changes: the call ends by what lies on
//! its own stack alone, up to the host's frame that made it, and the thread enters no domain any more.
use super::failure_sys::lockgate_report_failure;
use super::gate_sys::{Then, entry};
use super::layout::{
    EntryRecord, FROM_DOMAIN, GATE, GateRecord, KEEPS_MXCSR, KEEPS_X87, RECORD, STATUS_FAULT, first_header,
};
use super::repair_sys::{self, Found};
use super::thread_sys::{self, ThreadState};
use super::{block_sys, exclusive_sys, outcome_sys};
use crate::report::{Cause, RawFault, Registers};
use std::ptr;

/// What a caller finds in rax, rdx, xmm0, xmm1.
type Results = [u64; 4];

/// Ends the call at whose gate a function of the host's has come back, when that gate's record is not innermost, or not its own.
///
/// # Safety
/// Only [`lockgate_left`](super::proxy_asm) calls it, with the frame of the gate's entry.
pub(super) unsafe extern "C" fn lockgate_end_out_of_turn(
    gate: *mut GateRecord,
    own: *const u64,
    results: *mut Results,
) {
    // SAFETY: our own block; a record that has the frame's mark is the gate's, as are those below; the results are on our stack.
    unsafe {
        let block = block_sys::block();
        // A caller that is not told finds no number, and a pointer to nothing.
        *results = [u64::MAX; 4];
        thread_sys::ask_before_calls();
        (*block).pending = 1;
        (*block).status = STATUS_FAULT;
        let Some(state) = (*block).state.as_ref() else { return };
        state.out_of_turn.set(true);
        let fault =
            RawFault { cause: Cause::OutOfTurn, address: 0, entry: 0, registers: Registers::default() };
        *state.fault.get() = Some(fault);
        state.failed.set(ptr::null());
        if repair_sys::find(state, gate, own) == Found::Lost {
            return;
        }
        let (registers, innermost) = (thread_sys::registers_at(gate), entry(gate));
        *state.fault.get() = Some(RawFault { registers, entry: (*innermost).control, ..fault });
        let outermost = free_domains(state, innermost);
        let binding = (*outermost).binding;
        state.failed.set(first_header(binding));
        (*block).transit = outcome_sys::untaken(outermost);
        restore_words(&*outermost);
        // No thread comes back to it a second time.
        (*gate).mark = GATE.into();
        if !(*binding).reporter.is_null() {
            lockgate_report_failure(binding, results, 1);
        }
    }
}

/// Sets the exclusive domains free that a call is in, from its innermost entry out to that which the host made, which is returned.
unsafe fn free_domains(state: &ThreadState, mut record: *const EntryRecord) -> *const EntryRecord {
    // SAFETY: live entries have live bindings; below one that a domain made are the gate's and the entry's of that.
    unsafe {
        loop {
            let binding = (*record).binding;
            if let Some(word) = (*binding).owner.as_ref() {
                exclusive_sys::release(word, state.tid as u32);
            }
            if (*binding).flags & FROM_DOMAIN == 0 {
                return record;
            }
            record = record.byte_sub(2 * RECORD as usize);
        }
    }
}

/// The caller's control words, where the module may have changed them.
unsafe fn restore_words(record: &EntryRecord) {
    // SAFETY: a live entry has a live binding. The caller goes on with its own words; until then nothing is computed with them.
    unsafe {
        let flags = (*record.binding).flags;
        if flags & KEEPS_X87 != 0 {
            std::arch::asm!("fninit", "fldcw word ptr [{}]", in(reg) &raw const record.x87_control, options(nostack));
        }
        if flags & KEEPS_MXCSR != 0 {
            std::arch::asm!("ldmxcsr dword ptr [{}]", in(reg) &raw const record.mxcsr, options(nostack));
        }
    }
}

/// Does `work` under a gate's record that is on top, and has no mark yet: a crossing's. Returns what it returns, or [`Then::Left`] if the
/// record is not innermost, or not the crossing's own, afterwards; or if a proxy is in transit, on another stack. If the crossing goes on,
/// it is in transit itself: no call begins before it has used what was found.
///
/// # Safety
/// The frame of the crossing is at `own`.
pub(super) unsafe fn under(gate: *mut GateRecord, own: *mut u64, work: impl FnOnce() -> Then) -> Then {
    // SAFETY: the caller's.
    unsafe {
        repair_sys::mark(gate, own);
        let done = work();
        let block = block_sys::block();
        let Some(state) = (*block).state.as_ref() else { return Then::Left };
        if done == Then::GoesOn {
            if repair_sys::is_in_transit(state, own as u64 - 1) {
                return Then::Left;
            }
            (*block).transit = own as u64;
        }
        if repair_sys::find(state, gate, own) == Found::Innermost {
            if done == Then::GoesOn {
                (*gate).mark = GATE.into(); // its frame has none from here on
            }
            return done;
        }
        if done == Then::GoesOn {
            (*block).transit = 0;
        }
        Then::Left
    }
}
