//! What a call has to leave of its caller's processor state.

use std::arch::asm;
use std::ffi::c_void;

/// Control words, modes and the thread pointer: what no call may change, whatever its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Modes {
    /// Without the status flags.
    mxcsr: u32,
    x87_control: u16,
    /// TF, DF, NT and AC of the flags.
    flags: u64,
    /// Base of fs.
    thread_pointer: u64,
}

const MXCSR_STATUS: u32 = 0x3f;
const TF_DF_NT_AC: u64 = 1 << 8 | 1 << 10 | 1 << 14 | 1 << 18;

impl Modes {
    fn now() -> Modes {
        let (mut mxcsr, mut x87_control) = (0_u32, 0_u16);
        let (flags, thread_pointer): (u64, u64);
        // SAFETY: stores to locals, and reads flags and fs; Lockgate runs only where rdfsbase does.
        unsafe {
            asm!(
                "stmxcsr [{mxcsr}]",
                "fnstcw [{x87}]",
                "pushfq",
                "pop {flags}",
                "rdfsbase {thread}",
                mxcsr = in(reg) &mut mxcsr,
                x87 = in(reg) &mut x87_control,
                flags = out(reg) flags,
                thread = out(reg) thread_pointer,
            );
        }
        Modes { mxcsr: mxcsr & !MXCSR_STATUS, x87_control, flags: flags & TF_DF_NT_AC, thread_pointer }
    }
}

core::arch::global_asm!(
    r#"
    # survives(function: rdi, argument: rsi): calls the function with values made of rsp in the registers that calls keep; 0 if they and
    # rsp are the same afterwards.
    .text
    .p2align 4
    .globl lockgate_bench_survives
    .hidden lockgate_bench_survives
    .type lockgate_bench_survives,@function
lockgate_bench_survives:
    .cfi_startproc
    .irp register,rbp,rbx,r12,r13,r14,r15
    push %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register,0
    .endr
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    mov %rdi,%rax
    mov %rsi,%rdi
    mov %rsp,%r15
    lea 0x1111(%rsp),%rbx
    lea 0x2222(%rsp),%rbp
    lea 0x3333(%rsp),%r12
    lea 0x4444(%rsp),%r13
    lea 0x5555(%rsp),%r14
    call *%rax
    mov %r15,%rax
    xor %rsp,%rax
    sub $0x1111,%rbx
    sub $0x2222,%rbp
    sub $0x3333,%r12
    sub $0x4444,%r13
    sub $0x5555,%r14
    .irp register,rbx,rbp,r12,r13,r14
    xor %rsp,%\register
    or %\register,%rax
    .endr
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    .irp register,r15,r14,r13,r12,rbx,rbp
    pop %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endr
    ret
    .cfi_endproc
    .size lockgate_bench_survives,.-lockgate_bench_survives
    "#,
    options(att_syntax)
);

unsafe extern "C-unwind" {
    fn lockgate_bench_survives(function: extern "C-unwind" fn(*mut c_void), argument: *mut c_void) -> u64;
}

/// Runs `work` with known values in rbx, rbp and r12–r15. True if all of them, rsp, the modes and the thread pointer were the
/// same afterwards.
pub fn survives<F: FnOnce()>(work: F) -> bool {
    extern "C-unwind" fn run<F: FnOnce()>(work: *mut c_void) {
        // SAFETY: the option of the frame below.
        if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
            work();
        }
    }
    let before = Modes::now();
    let mut work = Some(work);
    // SAFETY: the function gets the argument that it is made for.
    let differences = unsafe { lockgate_bench_survives(run::<F>, (&raw mut work).cast()) };
    differences == 0 && Modes::now() == before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_survives() {
        let mut calls = 0;
        assert!(survives(|| calls += 1));
        assert_eq!(calls, 1);
    }

    #[test]
    fn what_changes_shows() {
        let set_mxcsr = |value: u32| {
            // SAFETY: the rounding mode, which is put back before anything is computed.
            unsafe { asm!("ldmxcsr [{}]", in(reg) &value) };
        };
        assert!(!survives(|| set_mxcsr(0x7f80)));
        set_mxcsr(0x1f80);
        // SAFETY: nothing in the closure's frame uses r12, and `survives` puts it back.
        assert!(!survives(|| unsafe { asm!("not r12") }));
    }
}
