//! A call with chosen values in every register and on the stack, and what they hold afterwards.

use lockgate::Dynamic;
use std::arch::global_asm;
use std::mem::offset_of;
use std::sync::Mutex;

/// Registers before or after a call.
#[repr(C)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registers {
    /// rax rcx rdx rbx rbp rsi rdi r8–r15.
    pub general: [u64; 15],
    /// MXCSR.
    pub mxcsr: u64,
    /// ymm0–15.
    pub vectors: [[u64; 4]; 16],
}

/// Words of the stack that a call passes.
pub const WORDS: usize = 32;

/// What a call left.
#[derive(Debug, Clone, Default)]
pub struct After {
    /// Registers.
    pub registers: Registers,
    /// Bytes by which rsp was off.
    pub unbalanced: i64,
    /// The direction flag is set.
    pub backwards: bool,
}

global_asm!(
    "
    .local lockgate_fuzz_rsp
    .comm lockgate_fuzz_rsp,8,8
    .local lockgate_fuzz_after
    .comm lockgate_fuzz_after,8,8
    .local lockgate_fuzz_rax
    .comm lockgate_fuzz_rax,8,8
    .globl lockgate_fuzz_probe
lockgate_fuzz_probe: # rdi function, rsi before, rdx after, rcx words, r8 where rsp's error goes, r9 where the flags go
    ",
    support::push_kept_registers!(),
    "
    push %r8
    push %r9
    sub $8,%rsp
    stmxcsr (%rsp)
    sub ${STACK},%rsp
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    mov 8*\\n(%rcx),%rax
    mov %rax,8*\\n(%rsp)
    .endr
    mov %rdx,lockgate_fuzz_after(%rip)
    mov %rsp,lockgate_fuzz_rsp(%rip)
    sub $8,%rsp
    mov %rdi,(%rsp)
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups {VECTORS}+32*\\n(%rsi),%ymm\\n
    .endr
    ldmxcsr {MXCSR}(%rsi)
    ",
    support::load_general_registers!(),
    "
    # The word with the function's address becomes the return address's place: arguments lie right above it.
    push (%rsp)
    popq lockgate_fuzz_rax(%rip)
    add $8,%rsp
    call *lockgate_fuzz_rax(%rip)

    mov %rax,lockgate_fuzz_rax(%rip)
    mov %rsp,%rax
    mov lockgate_fuzz_rsp(%rip),%rsp
    push %rax
    pushfq
    cld
    mov lockgate_fuzz_after(%rip),%rax
    ",
    support::store_general_registers!(),
    "
    mov lockgate_fuzz_rax(%rip),%rcx
    mov %rcx,(%rax)
    movq $0,{MXCSR}(%rax)
    stmxcsr {MXCSR}(%rax)
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups %ymm\\n,{VECTORS}+32*\\n(%rax)
    .endr
    vzeroupper
    pop %rcx
    pop %rdx
    sub %rsp,%rdx
    add ${STACK},%rsp
    ldmxcsr (%rsp)
    add $8,%rsp
    pop %r9
    mov %rcx,(%r9)
    pop %r8
    mov %rdx,(%r8)
    ",
    support::pop_kept_registers!(),
    "
    ret
    ",
    STACK = const 8 * WORDS,
    VECTORS = const offset_of!(Registers, vectors),
    MXCSR = const offset_of!(Registers, mxcsr),
    options(att_syntax)
);

unsafe extern "C" {
    fn lockgate_fuzz_probe(
        function: *const (),
        before: *const Registers,
        after: *mut Registers,
        words: *const u64,
        unbalanced: *mut i64,
        flags: *mut u64,
    );
}

/// Calls `function`, with these registers and words on the stack.
pub fn probe(function: &Dynamic, before: &Registers, words: &[u64; WORDS]) -> After {
    const DIRECTION: u64 = 0x400;
    // The probe keeps rsp in a variable of its own.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let (mut after, mut flags) = (After::default(), 0);
    // SAFETY: a binding's code follows the calling convention; the probe keeps what the ABI says, whatever the call leaves.
    unsafe {
        lockgate_fuzz_probe(
            function.as_ptr(),
            before,
            &mut after.registers,
            words.as_ptr(),
            &mut after.unbalanced,
            &mut flags,
        );
    }
    after.backwards = flags & DIRECTION != 0;
    after
}
