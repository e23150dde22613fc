//! A call from the host into a domain, in execution order: thunk, proxy, enter, exit, return.
//!
//! Every binding has a 16-byte *thunk* ([`super::thunks`]) that loads the binding's address into r11 and
//! jumps to the one proxy below. The proxy keeps what the callee may destroy on the host's stack, makes
//! a record, publishes it in the thread's block and enters; the callee returns to the one exit stub
//! (rule R8), which takes everything from that record. Faults, time-outs and kills resume at the exit
//! stub, too, with the thread's status set.
//!
//! Registers on the way in: r11 binding, rbx thread-block offset from fs, rbp control rsp of the entry,
//! r10 the record; rax, r12–r15 scratch. Argument registers are never touched but by `RESULT`.

use super::layout::*;
use std::mem::offset_of;

core::arch::global_asm!(
    r#"
    # The thread's block. It starts as "may not enter" (rule R12).
    .section .tdata.lockgate_thread,"awT",@progbits
    .p2align 6
    .globl lockgate_thread
    .hidden lockgate_thread
    .type lockgate_thread,@object
lockgate_thread:
    .fill {ALT_SIZE}/8,8,0
    .quad -1
    .fill ({BLOCK}-{ALT_SIZE}-8)/8,8,0
    .size lockgate_thread,.-lockgate_thread

    .text
    .p2align 6
    .globl lockgate_proxy
    .hidden lockgate_proxy
    .type lockgate_proxy,@function
lockgate_proxy:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp,-16
    push %rbx
    .cfi_def_cfa_offset 24
    .cfi_offset rbx,-24
    push %r12
    .cfi_def_cfa_offset 32
    .cfi_offset r12,-32
    push %r13
    .cfi_def_cfa_offset 40
    .cfi_offset r13,-40
    push %r14
    .cfi_def_cfa_offset 48
    .cfi_offset r14,-48
    push %r15
    .cfi_def_cfa_offset 56
    .cfi_offset r15,-56
    sub $8,%rsp
    .cfi_def_cfa_offset {FRAME}
    mov lockgate_thread@gottpoff(%rip),%rbx

.Ladmit: # only threads with a live block, and not on their alternate stack (R12, R13)
    mov %rsp,%rax
    sub %fs:{ALT_LOW}(%rbx),%rax
    cmp %fs:{ALT_SIZE}(%rbx),%rax
    jb .Lslow
    mov %fs:{TOP}(%rbx),%r10
    cmpl ${IDLE},{KIND}(%r10)
    jne .Lnested

.Lslot: # the thread's place on the domain's stacks
    mov {ID}(%r11),%eax
    mov %fs:{SLOTS}(%rbx),%rbp
    mov (%rbp,%rax,8),%rbp
    test %rbp,%rbp
    jz .Lslow

    # the record
    add ${RECORD},%r10
    lea .Lreturn(%rip),%rax
    movq ${ENTRY},{KIND}(%r10)
    mov %r11,{BINDING}(%r10)
    mov %rax,{CONTINUATION}(%r10)
    mov %rsp,{HOST}(%r10)
    mov %r10,%fs:{TOP}(%rbx) # from here on a fault is the domain's
    cmpl $0,{EXTRAS}(%r11)
    jne .Lenter_extras

.Lwindow: # gs is compared with the hardware (R19), and written only if another window's
    mov {WINDOW}(%r11),%rax
    rdgsbase %r12
    cmp %rax,%r12
    jne .Lset_gs

.Lenter:
    mov %rsp,%r12
    mov %rbp,%rsp
    mov %r12,%rbp # so that debuggers find the host's frame through the callee's saved rbp
    .cfi_def_cfa rbp,{FRAME}
    mov {TARGET}(%r11),%r11
    xor %eax,%eax
    xor %ebx,%ebx
    xor %r10d,%r10d
    xor %r12d,%r12d
    call *%r11

    # The one exit: any register may hold anything here.
    .globl lockgate_exit
    .hidden lockgate_exit
lockgate_exit:
    mov lockgate_thread@gottpoff(%rip),%rbx
    mov %fs:{TOP}(%rbx),%r10
    mov {HOST}(%r10),%rsp
    .cfi_def_cfa rsp,{FRAME}
    jmp *{CONTINUATION}(%r10)

.Lreturn:
    sub ${RECORD},%r10
    mov %r10,%fs:{TOP}(%rbx)
.Lleave:
    add $8,%rsp
    .cfi_def_cfa_offset 56
    pop %r15
    .cfi_def_cfa_offset 48
    pop %r14
    .cfi_def_cfa_offset 40
    pop %r13
    .cfi_def_cfa_offset 32
    pop %r12
    .cfi_def_cfa_offset 24
    pop %rbx
    .cfi_def_cfa_offset 16
    pop %rbp
    .cfi_def_cfa_offset 8
    ret

    # Out of line from here on, in the order in which the path above branches here.

.Lnested: # in a gate of a live entry (R13, R16), with room for more records and host frames
    .cfi_def_cfa_offset {FRAME}
    cmpl ${GATE},{KIND}(%r10)
    jne .Lslow
    cmp {HOST}-{RECORD}(%r10),%rsp
    jae .Lslow
    cmp %fs:{STACK_FLOOR}(%rbx),%rsp
    jb .Lslow
    lea 3*{RECORD}(%r10),%rax # the entry, its gate, and one more entry from there
    cmp %fs:{RECORDS_END}(%rbx),%rax
    jbe .Lslot

.Lslow: # attach the thread, repair after a host longjmp, or refuse
    .cfi_def_cfa_offset {FRAME}
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %r11
    .cfi_def_cfa_offset {FRAME}+56
    sub $136,%rsp
    .cfi_def_cfa_offset {FRAME}+56+136
    movups %xmm0,(%rsp)
    movups %xmm1,16(%rsp)
    movups %xmm2,32(%rsp)
    movups %xmm3,48(%rsp)
    movups %xmm4,64(%rsp)
    movups %xmm5,80(%rsp)
    movups %xmm6,96(%rsp)
    movups %xmm7,112(%rsp)
    mov %r11,%rdi
    lea 136+56(%rsp),%rsi
    call {admit}
    movups (%rsp),%xmm0
    movups 16(%rsp),%xmm1
    movups 32(%rsp),%xmm2
    movups 48(%rsp),%xmm3
    movups 64(%rsp),%xmm4
    movups 80(%rsp),%xmm5
    movups 96(%rsp),%xmm6
    movups 112(%rsp),%xmm7
    add $136,%rsp
    .cfi_def_cfa_offset {FRAME}+56
    pop %r11
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    .cfi_def_cfa_offset {FRAME}
    test %eax,%eax
    jz .Ladmit
    jmp .Lleave

.Lenter_extras:
    .cfi_def_cfa_offset {FRAME}
    mov {EXTRAS}(%r11),%r14d
    lea .Lreturn_extras(%rip),%rax
    mov %rax,{CONTINUATION}(%r10)
    movl $0,{LIMITED}(%r10)

    test ${RESULT},%r14d # result in memory: make room on the data stack
    jz 1f
    mov {RESULT_ROOM}(%r11),%eax
    sub %rax,%rbp
    mov %rdi,{RESULT_HOST}(%r10)
    lea -{OFF}(%rbp),%rdi
    mov %rdi,{RESULT_INSIDE}(%r10)
1:
    test ${STACK},%r14d # stack arguments: copy them to the data stack
    jz 3f
    mov {STACK_WORDS}(%r11),%r12d
    lea 1(%r12),%eax
    and $-2,%eax
    shl $3,%rax
    sub %rax,%rbp
2:
    mov {FRAME}-8(%rsp,%r12,8),%rax
    mov %rax,-{OFF}-8(%rbp,%r12,8)
    dec %r12
    jnz 2b
3:
    test ${X87},%r14d
    jz 4f
    fnstcw {X87_CONTROL}(%r10)
    test ${X87_ENVIRONMENT},%r14d # fninit forgets the host's last instruction's address (R18)
    jz 4f
    fninit
    fldcw {X87_CONTROL}(%r10)
4:
    test ${MXCSR_BIT},%r14d
    jz 5f
    stmxcsr {MXCSR}(%r10)
5:
    test ${LIMIT_BIT},%r14d
    jz .Lwindow
    cmpq $0,%fs:{BLOCK_LIMIT}(%rbx) # a nested call is within the limit in force
    jne .Lwindow
    movl $1,{LIMITED}(%r10)
    incq %fs:{SEQUENCE}(%rbx)
    mov {LIMIT}(%r11),%rax
    mov %rax,%fs:{BLOCK_LIMIT}(%rbx)
    jmp .Lwindow

.Lset_gs:
    wrgsbase %rax
    jmp .Lenter

.Lreset_x87:
    fninit
    fldcw {X87_CONTROL}(%r10)
    jmp .Lreturn_mxcsr

.Lreturn_extras:
    mov {BINDING}(%r10),%r12
    mov {EXTRAS}(%r12),%r14d
    test ${X87},%r14d
    jz 1f
    # With the host's control word and every exception masked, none can be pending, and emms, which empties
    # the register stack, is nearly free. Else start afresh, without a wait for what is pending (R17).
    fnstcw {X87_NOW}(%r10)
    movzwl {X87_NOW}(%r10),%ecx
    cmp {X87_CONTROL}(%r10),%cx
    jne .Lreset_x87
    not %ecx
    test ${X87_MASKS},%ecx
    jnz .Lreset_x87
    emms
.Lreturn_mxcsr:
1:
    test ${MXCSR_BIT},%r14d
    jz 2f
    ldmxcsr {MXCSR}(%r10)
2:
    test ${VECTORS},%r14d
    jz 3f
    vzeroupper
3:
    test ${LIMIT_BIT},%r14d
    jz 4f
    cmpl $0,{LIMITED}(%r10)
    je 4f
    movq $0,%fs:{BLOCK_LIMIT}(%rbx)
4:
    test ${RESULT},%r14d
    jz .Lreturn
    cmpq $0,%fs:{STATUS}(%rbx)
    jne .Lreturn
    mov {RESULT_HOST}(%r10),%rdi
    mov {RESULT_INSIDE}(%r10),%rsi
    mov {RESULT_BYTES}(%r12),%edx
    call {copy}
    mov {RESULT_HOST}(%r10),%rax
    jmp .Lreturn
    .cfi_endproc
    .size lockgate_proxy,.-lockgate_proxy

    # The thread's block, for Rust.
    .p2align 4
    .globl lockgate_thread_block
    .hidden lockgate_thread_block
    .type lockgate_thread_block,@function
lockgate_thread_block:
    .cfi_startproc
    mov %fs:0,%rax
    add lockgate_thread@gottpoff(%rip),%rax
    ret
    .cfi_endproc
    .size lockgate_thread_block,.-lockgate_thread_block

    # lockgate_invoke(thunk: rdi, registers: rsi, stack: rdx, words: rcx): calls a thunk with arguments
    # from memory. `registers` is 6 integer and 8 vector (low halves) arguments; rax, rdx, xmm0 and xmm1
    # (low halves) replace its first four words.
    .p2align 4
    .globl lockgate_invoke
    .hidden lockgate_invoke
    .type lockgate_invoke,@function
lockgate_invoke:
    .cfi_startproc
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
    TOP = const offset_of!(ThreadBlock, top),
    SLOTS = const offset_of!(ThreadBlock, slots),
    ALT_LOW = const offset_of!(ThreadBlock, alternate_low),
    ALT_SIZE = const offset_of!(ThreadBlock, alternate_size),
    STACK_FLOOR = const offset_of!(ThreadBlock, stack_floor),
    SEQUENCE = const offset_of!(ThreadBlock, sequence),
    BLOCK_LIMIT = const offset_of!(ThreadBlock, limit),
    STATUS = const offset_of!(ThreadBlock, status),
    RECORDS_END = const offset_of!(ThreadBlock, records_end),
    IDLE = const IDLE,
    ENTRY = const ENTRY,
    GATE = const GATE,
    RECORD = const RECORD,
    FRAME = const FRAME,
    KIND = const offset_of!(EntryRecord, kind),
    BINDING = const offset_of!(EntryRecord, binding),
    CONTINUATION = const offset_of!(EntryRecord, continuation),
    HOST = const offset_of!(EntryRecord, host),
    MXCSR = const offset_of!(EntryRecord, mxcsr),
    X87_CONTROL = const offset_of!(EntryRecord, x87_control),
    X87_NOW = const offset_of!(EntryRecord, x87_now),
    LIMITED = const offset_of!(EntryRecord, limited),
    X87_MASKS = const X87_MASKS,
    X87_ENVIRONMENT = const EXTRA_X87_ENVIRONMENT,
    RESULT_HOST = const offset_of!(EntryRecord, result),
    RESULT_INSIDE = const offset_of!(EntryRecord, result_inside),
    ID = const offset_of!(BindingHeader, id),
    EXTRAS = const offset_of!(BindingHeader, extras),
    WINDOW = const offset_of!(BindingHeader, window),
    TARGET = const offset_of!(BindingHeader, target),
    STACK_WORDS = const offset_of!(BindingHeader, stack_words),
    RESULT_ROOM = const offset_of!(BindingHeader, result_room),
    RESULT_BYTES = const offset_of!(BindingHeader, result_size),
    LIMIT = const offset_of!(BindingHeader, limit),
    STACK = const EXTRA_STACK,
    RESULT = const EXTRA_RESULT,
    X87 = const EXTRA_X87,
    MXCSR_BIT = const EXTRA_MXCSR,
    VECTORS = const EXTRA_VECTORS,
    LIMIT_BIT = const EXTRA_LIMIT,
    OFF = const lockgate_abi::code::OFF,
    copy = sym crate::copy_asm::lockgate_copy,
    admit = sym super::admit_sys::lockgate_admit,
    options(att_syntax)
);

const _: () = assert!(FRAME.is_multiple_of(16));

unsafe extern "C" {
    fn lockgate_proxy();
}

/// Address of the proxy.
pub(super) fn address() -> usize {
    lockgate_proxy as *const () as usize
}
