//! For tests of calls: all general registers from an array and to one (rax rcx rdx rbx rbp rsi rdi r8–r15), and those that a caller keeps.

/// Instructions (AT&T syntax) that load all of them but rsp from the words that rsi leads to.
#[macro_export]
macro_rules! load_general_registers {
    () => {
        "
    .set support_at,0
    .irp register,rax,rcx,rdx,rbx,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
    .ifnc \\register,rsi
    mov support_at(%rsi),%\\register
    .endif
    .set support_at,support_at+8
    .endr
    mov 40(%rsi),%rsi
    "
    };
}

/// Instructions that store all of them but rsp and rax, which leads to the words.
#[macro_export]
macro_rules! store_general_registers {
    () => {
        "
    .set support_at,8
    .irp register,rcx,rdx,rbx,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
    mov %\\register,support_at(%rax)
    .set support_at,support_at+8
    .endr
    "
    };
}

/// Instructions that push the registers that the calling convention keeps.
#[macro_export]
macro_rules! push_kept_registers {
    () => {
        "
    .irp register,rbx,rbp,r12,r13,r14,r15
    push %\\register
    .endr
    "
    };
}

/// Instructions that pop them again.
#[macro_export]
macro_rules! pop_kept_registers {
    () => {
        "
    .irp register,r15,r14,r13,r12,rbp,rbx
    pop %\\register
    .endr
    "
    };
}
