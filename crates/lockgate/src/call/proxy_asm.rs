//! The fixed parts of a call into a domain: the thread's block, the exit for calls that end anyhow else than by their own return (rule R8), and the slow
//! paths. What depends on signature and policy is made by [`super::emit`].
//!
//! The callee returns to its proxy, which goes on at the common exit here if the thread's innermost record names another proxy. The exit takes
//! everything from that record. Faults, timeouts and kills resume there, too, with the thread's status set.
//!
//! `lockgate_invoke` calls a thunk with arguments from memory, for `binding/invoke_sys.rs`.
//!
//! Registers: r11 binding, r10 record, rsp the frame that [`super::emit`] made on the host's stack.

use super::layout::*;
use std::mem::offset_of;

core::arch::global_asm!(
    r#"
    # The thread's block. It starts as "may not enter" (rule R12). It asks for no cache line of its own: what static thread-local storage a
    # library takes would depend on what else is linked before it, and glibc has little.
    .section .tdata.lockgate_thread,"awT",@progbits
    .p2align 4
    .globl lockgate_thread
    .hidden lockgate_thread
    .type lockgate_thread,@object
lockgate_thread:
    .fill {ALT_SIZE}/8,8,0
    .quad -1
    .fill ({CODE}-{ALT_SIZE}-8)/8,8,0
    .quad lockgate_gate_syscall,lockgate_gate_import,lockgate_gate_callback
    .quad lockgate_exit,lockgate_slow,lockgate_cross_slow,lockgate_cross_failed,lockgate_wake,{copy},lockgate_report
    .quad lockgate_gate_resume
    .fill ({BLOCK}-{CODE}-11*8)/8,8,0
    .size lockgate_thread,.-lockgate_thread

    # Its status, for programs in C (lockgate.h).
    .globl lg_call_failed
    .type lg_call_failed,@object
    .set lg_call_failed,lockgate_thread+{STATUS}
    .size lg_call_failed,8

    # What unwinds may be asked between any two instructions, by a handler that ends its thread: it reads words of the module's if it looks in
    # the wrong place.
    .macro lockgate_push registers:vararg
    .irp register,\registers
    push %\register
    .cfi_adjust_cfa_offset 8
    .endr
    .endm
    .macro lockgate_pop registers:vararg
    .irp register,\registers
    pop %\register
    .cfi_adjust_cfa_offset -8
    .endr
    .endm
    .macro lockgate_frame_is_at register
    .cfi_def_cfa \register,{FRAME}
    .cfi_offset rbp,-16
    .cfi_offset rbx,-24
    .cfi_offset r12,-32
    .cfi_offset r13,-40
    .cfi_offset r14,-48
    .cfi_offset r15,-56
    .endm

    .text
    # Any register may hold anything here.
    .p2align 4
    .globl lockgate_exit
    .hidden lockgate_exit
    .type lockgate_exit,@function
lockgate_exit:
    .cfi_startproc
    .cfi_undefined rip
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{TOP}(%r10),%r10
    mov {HOST}(%r10),%rsp
    .cfi_restore rip
    lockgate_frame_is_at rsp
    mov {BINDING}(%r10),%r11
    jmp *{LEAVE}(%r11)
    .cfi_endproc
    .size lockgate_exit,.-lockgate_exit

    # The caller's registers, from the frame that rsp points to.
    .macro lockgate_load_frame
    mov 8(%rsp),%r15
    mov 16(%rsp),%r14
    mov 24(%rsp),%r13
    mov 32(%rsp),%r12
    mov 40(%rsp),%rbx
    mov 48(%rsp),%rbp
    .endm

    # The same for an entry that ends in the middle: r10 its record. The caller's registers are those of the frame, and its
    # control words those of the record, whether or not the policy restores them after a return.
    .p2align 4
    .globl lockgate_unwind
    .hidden lockgate_unwind
    .type lockgate_unwind,@function
lockgate_unwind:
    .cfi_startproc
    .cfi_undefined rip
    mov {HOST}(%r10),%rsp
    .cfi_restore rip
    lockgate_frame_is_at rsp
    lockgate_load_frame
    mov {BINDING}(%r10),%r11
    testl ${KEEPS_X87},{FLAGS}(%r11)
    jz 1f
    fninit
    fldcw {X87_WORD}(%r10)
1:
    testl ${KEEPS_MXCSR},{FLAGS}(%r11)
    jz 1f
    ldmxcsr {MXCSR_WORD}(%r10)
1:
    jmp *{LEAVE}(%r11)
    .cfi_endproc
    .size lockgate_unwind,.-lockgate_unwind

    # A call ends to which the host has come back out of turn: rbx the gate's record, r12 the frame of its entry, which is on this stack.
    # Nothing is taken from the records, and they stay as they are.
    .p2align 4
    .globl lockgate_left
    .hidden lockgate_left
    .type lockgate_left,@function
lockgate_left:
    .cfi_startproc
    lockgate_frame_is_at r12
    mov %r12,%rsp
    .cfi_def_cfa rsp,{FRAME}
    sub $32,%rsp
    .cfi_adjust_cfa_offset 32
    mov %rbx,%rdi
    mov %r12,%rsi
    mov %rsp,%rdx
    lea {left}(%rip),%rax
    call lockgate_undisturbed
    fnstcw 32(%rsp) # the x87 stack as the convention wants it
    fninit
    fldcw 32(%rsp)
    lockgate_pop rax,rdx
    movsd (%rsp),%xmm0
    movsd 8(%rsp),%xmm1
    add $16,%rsp
    .cfi_adjust_cfa_offset -16
1: # crossings have no return address
    cmpq $0,{FRAME}-8(%rsp)
    jne 2f
    add ${FRAME},%rsp
    jmp 1b
2:
    lockgate_load_frame
    add ${FRAME}-8,%rsp
    .cfi_adjust_cfa_offset -({FRAME}-8)
    ret
    .cfi_endproc
    .size lockgate_left,.-lockgate_left

    .macro lockgate_save_arguments
    lockgate_push rdi,rsi,rdx,rcx,r8,r9,r10,r11
    sub $128,%rsp
    .cfi_adjust_cfa_offset 128
    .irp number,0,1,2,3,4,5,6,7
    movups %xmm\number,16*\number(%rsp)
    .endr
    .endm
    .macro lockgate_restore_arguments
    .irp number,0,1,2,3,4,5,6,7
    movups 16*\number(%rsp),%xmm\number
    .endr
    add $128,%rsp
    .cfi_adjust_cfa_offset -128
    lockgate_pop r11,r10,r9,r8,rcx,rdx,rsi,rdi
    .endm

    # From the host: attach the thread, repair after a host longjmp, wait, or refuse. Nothing is on the stack but the
    # return address.
    .p2align 4
    .globl lockgate_slow
    .hidden lockgate_slow
    .type lockgate_slow,@function
lockgate_slow:
    .cfi_startproc
    lockgate_save_arguments
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    mov %r11,%rdi
    lea 8+128+64(%rsp),%rsi
    lea {admit}(%rip),%rax
    call lockgate_undisturbed
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    lockgate_restore_arguments
    test %eax,%eax
    jnz 1f
    jmp *{PROXY}(%r11)
1:
    cmpq $0,{REPORTER}(%r11)
    jne lockgate_refused
    ret
    .cfi_endproc
    .size lockgate_slow,.-lockgate_slow

    # What a raw function pointer of a library that was closed leads to: r11 the binding.
    .p2align 4
    .globl lockgate_stale
    .hidden lockgate_stale
    .type lockgate_stale,@function
lockgate_stale:
    .cfi_startproc
    mov %rdi,%rax # where a result in memory would be
    xor %ecx,%ecx # the thread's error is not this call's
    jmp 1f
lockgate_refused: # a call through a raw function pointer that was refused
    mov %rdi,%rax
    .globl lockgate_report
    .hidden lockgate_report
lockgate_report: # the same for a call that did not return, at the proxy's end
    mov $1,%ecx
1:
    sub $40,%rsp
    .cfi_adjust_cfa_offset 40
    mov %rax,(%rsp)
    mov %rdx,8(%rsp)
    movsd %xmm0,16(%rsp)
    movsd %xmm1,24(%rsp)
    mov %r11,%rdi
    mov %rsp,%rsi
    mov %ecx,%edx
    lea {report}(%rip),%rax
    call lockgate_undisturbed
    mov (%rsp),%rax
    mov 8(%rsp),%rdx
    movsd 16(%rsp),%xmm0
    movsd 24(%rsp),%xmm1
    add $40,%rsp
    .cfi_adjust_cfa_offset -40
    ret
    .cfi_endproc
    .size lockgate_stale,.-lockgate_stale

    # What a binding that has a successor leads to: r11 the binding.
    .p2align 4
    .globl lockgate_forward
    .hidden lockgate_forward
    .type lockgate_forward,@function
lockgate_forward:
    .cfi_startproc
    mov {SUCCESSOR}(%r11),%r11
    jmp *{PROXY}(%r11)
    .cfi_endproc
    .size lockgate_forward,.-lockgate_forward

    # From a domain: r10 the caller's entry, with its gate's record after it; rbx where to try again, rbp where to resume
    # the caller. The frame is made.
    .p2align 4
    .globl lockgate_cross_slow
    .hidden lockgate_cross_slow
    .type lockgate_cross_slow,@function
lockgate_cross_slow:
    .cfi_startproc
    lockgate_frame_is_at rsp
    mov lockgate_thread@gottpoff(%rip),%rax
    add ${RECORD},%r10
    mov %r10,%fs:{TOP}(%rax) # what goes wrong here is the host's
    sub ${RECORD},%r10
    lockgate_save_arguments
    mov %r11,%rdi
    lea {RECORD}(%r10),%rsi
    lea 128+64(%rsp),%rdx
    lea {admit_crossing}(%rip),%rax
    call lockgate_undisturbed
    call lockgate_forget_vectors
    lockgate_restore_arguments
    cmp ${ENDS},%eax
    je 1f
    ja 2f
    mov lockgate_thread@gottpoff(%rip),%rax
    mov %r10,%fs:{TOP}(%rax)
    jmp *%rbx
1:
    add $2*{RECORD},%r10
    mov %rbp,%r11
    jmp lockgate_cross_failed
2:
    lea {RECORD}(%r10),%rbx
    mov %rsp,%r12
    jmp lockgate_left
    .cfi_endproc
    .size lockgate_cross_slow,.-lockgate_cross_slow

    # A crossing that ends otherwise than by a return: r10 the callee's record, made or about to be, r11 where to resume the
    # caller.
    .p2align 4
    .globl lockgate_cross_failed
    .hidden lockgate_cross_failed
    .type lockgate_cross_failed,@function
lockgate_cross_failed:
    .cfi_startproc
    lockgate_frame_is_at rsp
    lockgate_push r11,r10,rax,rdx
    sub $16,%rsp
    .cfi_adjust_cfa_offset 16
    movsd %xmm0,(%rsp)
    movsd %xmm1,8(%rsp)
    mov %r10,%rdi
    mov %rsp,%rsi
    lea 48(%rsp),%rdx
    lea {crossing_failed}(%rip),%rax
    call lockgate_undisturbed
    mov %eax,%ecx
    call lockgate_forget_vectors
    movsd (%rsp),%xmm0
    movsd 8(%rsp),%xmm1
    add $16,%rsp
    .cfi_adjust_cfa_offset -16
    lockgate_pop rdx,rax,r10,r11
    cmp ${ENDS},%ecx
    je 1f
    ja 3f
    lockgate_load_frame
    xor %r8d,%r8d # what the library's own code has left is nothing for the caller, whatever the policy (R24)
    xor %r9d,%r9d
    jmp *%r11
3:
    lea -{RECORD}(%r10),%rbx
    mov %rsp,%r12
    jmp lockgate_left
1: # the caller's call ends, too: its place on its stacks is what it was before its gate (R9)
    mov lockgate_thread@gottpoff(%rip),%rax
    mov {GATE_SLOT}-{RECORD}(%r10),%rdx
    sub $2*{RECORD},%r10
    mov %r10,%fs:{TOP}(%rax)
    testb ${UNTAKEN},%fs:{TRANSIT}(%rax)
    jnz 2f
    movq $0,%fs:{TRANSIT}(%rax)
2:
    mov {BINDING}(%r10),%rcx
    mov {SLOT}(%rcx),%ecx
    mov %fs:{SLOTS}(%rax),%r11
    mov %rdx,(%r11,%rcx)
    cmpq $0,-{WHOSE}(%r11)
    jne 1f
    movq $0,(%r11,%rcx) # in a child, as in gates
1:
    jmp lockgate_unwind
    .cfi_endproc
    .size lockgate_cross_failed,.-lockgate_cross_failed

    # Clears the vector and mask registers that there are, in which the library's own code may have left what is the host's.
    .p2align 4
    .globl lockgate_forget_vectors
    .hidden lockgate_forget_vectors
    .type lockgate_forget_vectors,@function
lockgate_forget_vectors:
    .cfi_startproc
    .irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vpxor %xmm\number,%xmm\number,%xmm\number
    .endr
    cmpb $0,{AVX512}(%rip)
    je 1f
    .irp number,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vpxord %zmm\number,%zmm\number,%zmm\number
    .endr
    .irp number,0,1,2,3,4,5,6,7
    kxorw %k\number,%k\number,%k\number
    .endr
1:
    ret
    .cfi_endproc
    .size lockgate_forget_vectors,.-lockgate_forget_vectors

    # Called by proxies of exclusive domains, whose owner word, in rdi, they have set free, with what it was, in ecx: keeps it for who has waited
    # for long, and wakes all that wait for it (a free word is taken without the bit that another thread waits, so the next owner would wake none
    # after it). As `set_free` in exclusive_sys. Keeps results and proxies' registers.
    .p2align 4
    .globl lockgate_wake
    .hidden lockgate_wake
    .type lockgate_wake,@function
lockgate_wake:
    .cfi_startproc
    lockgate_push rax,rdx,r10,r11
    test ${GOES_FIRST},%ecx
    jz 1f
    xor %eax,%eax
    mov ${GOES_FIRST},%edx
    lock cmpxchg %edx,(%rdi)
1:
    mov ${FUTEX},%eax
    mov ${WAKE},%esi
    mov ${ALL},%edx
    syscall
    lockgate_pop r11,r10,rdx,rax
    ret
    .cfi_endproc
    .size lockgate_wake,.-lockgate_wake

    # lockgate_invoke(thunk: rdi, registers: rsi, stack: rdx, words: rcx): calls a thunk with arguments
    # from memory. `registers` is 6 integer and 8 vector (low halves) arguments; rax, rdx, xmm0 and xmm1
    # (low halves) replace its first four words.
    # lockgate_invoke_from: the same four words are where rdi points.
    .p2align 4
    .globl lockgate_invoke_from
    .hidden lockgate_invoke_from
    .type lockgate_invoke_from,@function
lockgate_invoke_from:
    .cfi_startproc
    mov 24(%rdi),%rcx
    mov 16(%rdi),%rdx
    mov 8(%rdi),%rsi
    mov (%rdi),%rdi
    .globl lockgate_invoke
    .hidden lockgate_invoke
    .type lockgate_invoke,@function
lockgate_invoke:
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp,-16
    mov %rsp,%rbp
    .cfi_def_cfa_register rbp
    push %rbx
    .cfi_offset rbx,-24
    push %rbx
    mov %rsi,%rbx
    mov %rdi,%r11
    lea 1(%rcx),%rax
    and $-2,%rax
    shl $3,%rax
    sub %rax,%rsp
1:
    test %rcx,%rcx
    jz 2f
    mov -8(%rdx,%rcx,8),%rax
    mov %rax,-8(%rsp,%rcx,8)
    dec %rcx
    jmp 1b
2:
    movsd 48(%rbx),%xmm0
    movsd 56(%rbx),%xmm1
    movsd 64(%rbx),%xmm2
    movsd 72(%rbx),%xmm3
    movsd 80(%rbx),%xmm4
    movsd 88(%rbx),%xmm5
    movsd 96(%rbx),%xmm6
    movsd 104(%rbx),%xmm7
    mov (%rbx),%rdi
    mov 8(%rbx),%rsi
    mov 16(%rbx),%rdx
    mov 24(%rbx),%rcx
    mov 32(%rbx),%r8
    mov 40(%rbx),%r9
    call *%r11
    mov %rax,(%rbx)
    mov %rdx,8(%rbx)
    movsd %xmm0,16(%rbx)
    movsd %xmm1,24(%rbx)
    mov -8(%rbp),%rbx
    leave
    .cfi_def_cfa rsp,8
    ret
    .cfi_endproc
    .size lockgate_invoke,.-lockgate_invoke
    "#,
    BLOCK = const size_of::<ThreadBlock>(),
    ALT_SIZE = const offset_of!(ThreadBlock, alternate_size),
    CODE = const offset_of!(ThreadBlock, gate_syscall),
    TOP = const offset_of!(ThreadBlock, top),
    STATUS = const offset_of!(ThreadBlock, status),
    TRANSIT = const offset_of!(ThreadBlock, transit),
    UNTAKEN = const UNTAKEN,
    AVX512 = sym super::gate_sys::AVX512,
    ENDS = const super::gate_sys::Then::Ends as u32,
    RECORD = const RECORD,
    FRAME = const FRAME,
    BINDING = const offset_of!(EntryRecord, binding),
    X87_WORD = const offset_of!(EntryRecord, x87_control),
    MXCSR_WORD = const offset_of!(EntryRecord, mxcsr),
    FLAGS = const offset_of!(BindingHeader, flags),
    KEEPS_X87 = const KEEPS_X87,
    KEEPS_MXCSR = const KEEPS_MXCSR,
    GATE_SLOT = const offset_of!(GateRecord, slot),
    SLOT = const offset_of!(BindingHeader, slot),
    SLOTS = const offset_of!(ThreadBlock, slots),
    WHOSE = const WHOSE,
    HOST = const offset_of!(EntryRecord, host),
    PROXY = const offset_of!(BindingHeader, proxy),
    SUCCESSOR = const offset_of!(BindingHeader, successor),
    REPORTER = const offset_of!(BindingHeader, reporter),
    LEAVE = const offset_of!(BindingHeader, leave),
    copy = sym crate::copy_asm::lockgate_copy,
    admit = sym super::admit_sys::lockgate_admit,
    admit_crossing = sym super::admit_sys::lockgate_admit_crossing,
    crossing_failed = sym super::crossing_sys::lockgate_crossing_failed,
    left = sym super::out_of_turn_sys::lockgate_end_out_of_turn,
    FUTEX = const libc::SYS_futex,
    GOES_FIRST = const super::layout::GOES_FIRST,
    WAKE = const libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
    ALL = const i32::MAX,
    report = sym super::failure_sys::lockgate_report_failure,
    options(att_syntax)
);

unsafe extern "C" {
    fn lockgate_forward();
    fn lockgate_stale();
}

/// What a binding has for a proxy whose domain is gone for good.
pub(crate) fn stale() -> usize {
    lockgate_stale as *const () as usize
}

/// What a binding with a successor has for a proxy.
pub(crate) fn forward() -> usize {
    lockgate_forward as *const () as usize
}

const _: () = {
    assert!(FRAME.is_multiple_of(16));
    // The order of the code pointers in the block's first image.
    let first = offset_of!(ThreadBlock, gate_syscall);
    assert!(
        offset_of!(ThreadBlock, gate_import) == first + 8
            && offset_of!(ThreadBlock, gate_callback) == first + 16
    );
    assert!(offset_of!(ThreadBlock, exit) == first + 24 && offset_of!(ThreadBlock, slow) == first + 32);
    assert!(
        offset_of!(ThreadBlock, cross_slow) == first + 40
            && offset_of!(ThreadBlock, cross_failed) == first + 48
    );
    assert!(offset_of!(ThreadBlock, wake) == first + 56 && offset_of!(ThreadBlock, copy) == first + 64);
    assert!(
        offset_of!(ThreadBlock, report) == first + 72 && offset_of!(ThreadBlock, gate_resume) == first + 80
    );
};
