//! The instruction at which a [`crate::machine_sys::Machine`] leaves the ordinary program, and calls that watch registers.

use std::arch::{asm, global_asm};

global_asm!(
    ".globl lockgate_evidence_enter",
    ".globl lockgate_evidence_door",
    // Callee-saved registers come back with all others: the signal handler saves and restores them.
    "lockgate_evidence_enter:",
    "lockgate_evidence_door: ud2",
    "ret",
    // function, six arguments, result: rbx, rbp, r12-r15, flags, MXCSR, x87 control word, rax.
    ".globl lockgate_evidence_call",
    "lockgate_evidence_call:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "push rdx",
    "mov rax, rdi",
    "mov rdi, [rsi]",
    "mov rdx, [rsi + 16]",
    "mov rcx, [rsi + 24]",
    "mov r8, [rsi + 32]",
    "mov r9, [rsi + 40]",
    "mov rsi, [rsi + 8]",
    "mov rbx, 0x1b1b1b1b",
    "mov rbp, 0x1c1c1c1c",
    "mov r12, 0x1d1d1d1d",
    "mov r13, 0x1e1e1e1e",
    "mov r14, 0x1f1f1f1f",
    "mov r15, 0x20202020",
    "call rax",
    "mov rdx, [rsp]",
    "mov [rdx + 64], rax",
    "pushfq",
    "pop rax",
    "mov [rdx], rbx",
    "mov [rdx + 8], rbp",
    "mov [rdx + 16], r12",
    "mov [rdx + 24], r13",
    "mov [rdx + 32], r14",
    "mov [rdx + 40], r15",
    "mov [rdx + 48], rax",
    "stmxcsr [rdx + 56]",
    "fnstcw [rdx + 60]",
    "cld",
    "pop rdx",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    // A function that keeps to nothing.
    ".globl lockgate_evidence_rude",
    "lockgate_evidence_rude:",
    "xor ebx, ebx",
    "std",
    "ret",
);

unsafe extern "C" {
    /// Raises SIGILL at [`lockgate_evidence_door`] and returns when the handler has put everything back.
    pub fn lockgate_evidence_enter();
    /// The `ud2`.
    pub static lockgate_evidence_door: u8;
    /// Calls a function of six words with known values in the callee-saved registers, and says what it left.
    fn lockgate_evidence_call(function: *const (), arguments: *const u64, left: *mut Left);
    /// Changes rbx and the direction flag.
    fn lockgate_evidence_rude();
}

/// What a call left.
#[repr(C)]
#[derive(Default)]
struct Left {
    callee_saved: [u64; 6],
    flags: u64,
    mxcsr: u32,
    x87_control: u16,
    value: u64,
}

/// State of the caller that a call has changed; all-default: nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Callee-saved registers that differ, one bit each: rbx, rbp, r12–r15.
    pub registers: u8,
    /// Direction flag, alignment check and other flags beyond the arithmetic ones that are set.
    pub flags: u64,
    /// Control bits of MXCSR that differ.
    pub mxcsr: u32,
    /// Bits of the x87 control word that differ.
    pub x87_control: u16,
    /// Whether the base of fs differs.
    pub fs: bool,
}

/// Whether [`call_kept`] notices a function that changes what it must not.
#[must_use]
pub fn rudeness_is_noticed() -> bool {
    let (_, kept) = call(lockgate_evidence_rude as *const (), &[0; 6]);
    const DIRECTION: u64 = 0x400;
    kept == Kept { registers: 1, flags: DIRECTION, ..Kept::default() }
}

/// Calls a function of a domain with six words: its value (zero if the call failed), and what is left of the caller's registers.
pub fn call_kept(function: &lockgate::Dynamic, arguments: &[u64; 6]) -> (u64, Kept) {
    call(function.as_ptr(), arguments)
}

fn call(function: *const (), arguments: &[u64; 6]) -> (u64, Kept) {
    const CALLEE_SAVED: [u64; 6] =
        [0x1b1b_1b1b, 0x1c1c_1c1c, 0x1d1d_1d1d, 0x1e1e_1e1e, 0x1f1f_1f1f, 0x2020_2020];
    /// Arithmetic flags, interrupts enabled, and the bit that is always one.
    const ORDINARY: u64 = 0x8d5 | 0x202;
    const MXCSR: u32 = 0x1f80;
    const MXCSR_STATUS: u32 = 0x3f;
    const X87_CONTROL: u16 = 0x037f;
    let fs = bases().0;
    let mut left = Left::default();
    // SAFETY: a function of words: a proxy, which follows the calling convention whatever the domain does, or the rude one, which changes
    // nothing that the lines above do not put back for a Rust caller.
    unsafe { lockgate_evidence_call(function, arguments.as_ptr(), &mut left) };
    let differ = CALLEE_SAVED
        .iter()
        .zip(left.callee_saved)
        .enumerate()
        .filter(|(_, (wanted, found))| *wanted != found);
    let kept = Kept {
        registers: differ.fold(0, |set, (i, _)| set | 1 << i),
        flags: left.flags & !ORDINARY,
        mxcsr: (left.mxcsr ^ MXCSR) & !MXCSR_STATUS,
        x87_control: left.x87_control ^ X87_CONTROL,
        fs: bases().0 != fs,
    };
    (left.value, kept)
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
