//! The instruction at which a [`crate::machine_sys::Machine`] leaves the ordinary program.

use std::arch::{asm, global_asm};

global_asm!(
    ".globl lockgate_evidence_enter",
    ".globl lockgate_evidence_door",
    // Callee-saved registers come back with all others: the signal handler saves and restores them.
    "lockgate_evidence_enter:",
    "lockgate_evidence_door: ud2",
    "ret",
);

unsafe extern "C" {
    /// Raises SIGILL at [`lockgate_evidence_door`] and returns when the handler has put everything back.
    pub fn lockgate_evidence_enter();
    /// The `ud2`.
    pub static lockgate_evidence_door: u8;
}

/// Sets gs's base.
pub fn set_gs(base: u64) {
    // SAFETY: the host does not use gs; FSGSBASE is enabled on every kernel that Lockgate supports.
    unsafe { asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) }
}

/// The bases of fs and gs.
pub fn bases() -> (u64, u64) {
    let (fs, gs);
    // SAFETY: reads two registers.
    unsafe { asm!("rdfsbase {}", "rdgsbase {}", out(reg) fs, out(reg) gs, options(nostack, preserves_flags)) }
    (fs, gs)
}
