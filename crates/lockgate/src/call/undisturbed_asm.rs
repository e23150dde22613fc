//! Holding the host's handlers back, and letting them in again: see [`undisturbed_sys`](super::undisturbed_sys).
//!
//! A handler may end its thread (`pthread_exit`, a cancellation), which unwinds all frames below it, and no frame of Rust's can be unwound
//! by that. So the system calls by which handlers are held back and let in are made here: where one can come, there is no frame of Rust's
//! between it and the gate or slow path that has called. Where the library waits there are such frames, and what unwinds does not see
//! them: to it, the caller of [`lockgate_disturbed`](super::undisturbed_sys) is the gate.
//!
//! Registers: rbx the frame of the outermost [`lockgate_undisturbed`](super::undisturbed_sys), r15 the thread's block.
use super::layout::ThreadBlock;
use super::undisturbed_sys::ROOM;
use std::mem::offset_of;

core::arch::global_asm!(
    r#"
    .text
    .macro lockgate_block register
    mov %fs:0,\register
    add lockgate_thread@gottpoff(%rip),\register
    .endm
    # A handler may come between any two of these, and end its thread: what unwinds reads words of the module's if it looks in the wrong place.
    .macro lockgate_save_caller register,at
    push %\register
    .cfi_adjust_cfa_offset 8
    .cfi_offset \register,\at
    .endm
    .macro lockgate_save_callers
    lockgate_save_caller rbp,-16
    lockgate_save_caller rbx,-24
    lockgate_save_caller r12,-32
    lockgate_save_caller r13,-40
    lockgate_save_caller r14,-48
    lockgate_save_caller r15,-56
    .endm
    .macro lockgate_restore_callers
    .irp register,r15,r14,r13,r12,rbx,rbp
    pop %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endr
    .endm

    # Calls a function (rax) with up to three arguments, in place, while no handler of the host's comes.
    .p2align 4
    .globl lockgate_undisturbed_call
    .hidden lockgate_undisturbed_call
    .type lockgate_undisturbed_call,@function
lockgate_undisturbed_call: # the function is the first argument
    .cfi_startproc
    mov %rdi,%rax
    mov %rsi,%rdi
    mov %rdx,%rsi
    mov %rcx,%rdx
    .globl lockgate_undisturbed
    .hidden lockgate_undisturbed
lockgate_undisturbed:
    lockgate_block %r11
    cmpq $0,{HELD}(%r11)
    jne 2f
1:
    lockgate_save_callers
    sub ${ROOM},%rsp # what is postponed
    .cfi_adjust_cfa_offset {ROOM}
    mov %rax,%rbp
    mov %rdi,%r12
    mov %rsi,%r13
    mov %rdx,%r14
    mov %rsp,%rbx
    call lockgate_hold
    mov %r12,%rdi
    mov %r13,%rsi
    mov %r14,%rdx
    call *%rbp
    mov %rax,%rbp
    call lockgate_let_in
    mov %rbp,%rax
    add ${ROOM},%rsp
    .cfi_adjust_cfa_offset -{ROOM}
    lockgate_restore_callers
    ret
2: # they are held back already, unless a jump has left that
    sub $40,%rsp
    .cfi_adjust_cfa_offset 40
    cmp %rsp,{HELD_AT}(%r11)
    jb 4f
3:
    incq {HELD}(%r11)
    call *%rax
    lockgate_block %r11
    decq {HELD}(%r11)
    add $40,%rsp
    .cfi_adjust_cfa_offset -40
    ret
    .cfi_adjust_cfa_offset 40
4:
    mov %rax,(%rsp)
    mov %rdi,8(%rsp)
    mov %rsi,16(%rsp)
    mov %rdx,24(%rsp)
    mov %rsp,%rdi
    call {is_left}
    mov %eax,%ecx
    mov (%rsp),%rax
    mov 8(%rsp),%rdi
    mov 16(%rsp),%rsi
    mov 24(%rsp),%rdx
    lockgate_block %r11
    test %ecx,%ecx
    jz 3b
    add $40,%rsp
    .cfi_adjust_cfa_offset -40
    jmp 1b
    .cfi_endproc
    .size lockgate_undisturbed_call,.-lockgate_undisturbed_call

    # Calls a function with one argument, while handlers of the host's come as they did before; or as things are, if this is part of other
    # work. What unwinds goes on behind the outermost lockgate_undisturbed, where the caller's registers lie.
    .p2align 4
    .globl lockgate_disturbed
    .hidden lockgate_disturbed
    .type lockgate_disturbed,@function
lockgate_disturbed:
    .cfi_startproc
    mov %rdi,%rax
    mov %rsi,%rdi
    lockgate_block %r11
    cmpq $1,{HELD}(%r11)
    je 1f
    jmp *%rax
1:
    lockgate_save_callers
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    mov {HELD_AT}(%r11),%rbx
    .cfi_def_cfa rbx,{ROOM}+56
    mov %rax,%r12
    mov %rdi,%r13
    call lockgate_let_in
    mov %r13,%rdi
    call *%r12
    mov %rax,%r12
    call lockgate_hold
    mov %r12,%rax
    .cfi_def_cfa rsp,64
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    lockgate_restore_callers
    ret
    .cfi_endproc
    .size lockgate_disturbed,.-lockgate_disturbed

    # From here on no handler of the host's comes, nor does a cancellation.
    .p2align 4
    .type lockgate_hold,@function
lockgate_hold:
    .cfi_startproc
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    lockgate_block %r15
    movq $0,{POSTPONED}(%r15)
    mov ${SIGPROCMASK},%eax
    mov ${SIG_BLOCK},%edi
    lea {HOSTS}(%rip),%rsi
    lea {HELD_MASK}(%r15),%rdx
    mov $8,%r10d
    syscall
    .globl lockgate_held_from
    .hidden lockgate_held_from
lockgate_held_from: # signals of faults do. (A handler that came before may have been here, too, and left its own place.)
    mov %rbx,{HELD_AT}(%r15)
    movq $1,{HELD}(%r15)
    .globl lockgate_held_to
    .hidden lockgate_held_to
lockgate_held_to:
    mov ${NO_CANCEL},%edi
    lea {HELD_CANCEL}(%r15),%rsi
    call *pthread_setcancelstate@GOTPCREL(%rip)
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size lockgate_hold,.-lockgate_hold

    # They come again, in the system call at the end.
    .p2align 4
    .type lockgate_let_in,@function
lockgate_let_in:
    .cfi_startproc
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    lockgate_block %r15
    mov {HELD_CANCEL}(%r15),%edi
    mov %rsp,%rsi
    call *pthread_setcancelstate@GOTPCREL(%rip)
    call {settle}
    .globl lockgate_let_from
    .hidden lockgate_let_from
lockgate_let_from: # what is postponed from here on has the thread come back here
    movq $1,{HELD}(%r15)
    cmpq $0,{POSTPONED}(%r15)
    jne 1f
    mov ${SIGPROCMASK},%eax
    mov ${SIG_SETMASK},%edi
    lea {HELD_MASK}(%r15),%rsi
    xor %edx,%edx
    mov $8,%r10d
    movq $0,{HELD}(%r15)
    syscall
    .globl lockgate_let_to
    .hidden lockgate_let_to
lockgate_let_to:
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_adjust_cfa_offset 8
1:
    call {send_again}
    jmp lockgate_let_from
    .cfi_endproc
    .size lockgate_let_in,.-lockgate_let_in

    # A system call of the host's: its number and six arguments are where rdi points.
    .p2align 4
    .globl lockgate_kernel_call
    .hidden lockgate_kernel_call
    .type lockgate_kernel_call,@function
lockgate_kernel_call:
    .cfi_startproc
    mov (%rdi),%rax
    mov 16(%rdi),%rsi
    mov 24(%rdi),%rdx
    mov 32(%rdi),%r10
    mov 40(%rdi),%r8
    mov 48(%rdi),%r9
    mov 8(%rdi),%rdi
    syscall
    ret
    .cfi_endproc
    .size lockgate_kernel_call,.-lockgate_kernel_call
    "#,
    ROOM = const ROOM,
    HELD = const offset_of!(ThreadBlock, held),
    HELD_AT = const offset_of!(ThreadBlock, held_at),
    HELD_MASK = const offset_of!(ThreadBlock, held_mask),
    HELD_CANCEL = const offset_of!(ThreadBlock, held_cancel),
    POSTPONED = const offset_of!(ThreadBlock, postponed),
    SIGPROCMASK = const libc::SYS_rt_sigprocmask,
    SIG_BLOCK = const libc::SIG_BLOCK,
    SIG_SETMASK = const libc::SIG_SETMASK,
    NO_CANCEL = const crate::host::cancellation::DISABLE,
    HOSTS = sym super::mask_sys::HOSTS,
    is_left = sym super::undisturbed_sys::lockgate_is_left,
    settle = sym super::undisturbed_sys::lockgate_settle,
    send_again = sym super::undisturbed_sys::lockgate_send_again,
    options(att_syntax)
);

const _: () = assert!(ROOM % 16 == 8);
