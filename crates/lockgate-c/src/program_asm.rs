//! Functions of the program's that the library calls from frames of its own. They may end the thread, by `pthread_exit` or where it finds out that
//! it was cancelled: that unwinds the program's frames, and finds no caller behind them, since frames of Rust's cannot be unwound by it. The
//! thread ends there, and what the library has to do then it does among the destructors of the thread's keys.
use std::ffi::c_void;

core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_call_program
    .hidden lockgate_call_program
    .type lockgate_call_program,@function
lockgate_call_program: # (function, three arguments)
    .cfi_startproc
    .cfi_undefined rip
    mov %rdi,%rax
    mov %rsi,%rdi
    mov %rdx,%rsi
    mov %rcx,%rdx
1:
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    call *%rax
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    ret
    .globl lockgate_call_program_from
    .hidden lockgate_call_program_from
lockgate_call_program_from: # where these four words are
    mov (%rdi),%rax
    mov 24(%rdi),%rdx
    mov 16(%rdi),%rsi
    mov 8(%rdi),%rdi
    jmp 1b
    .cfi_endproc
    .size lockgate_call_program,.-lockgate_call_program
    "#,
    options(att_syntax)
);

unsafe extern "C" {
    /// Calls `function` with as many of the arguments as it takes; returns what it leaves in rax.
    ///
    /// # Safety
    /// As for that call. Nothing of the caller's frames is needed any more if it ends the thread.
    pub(crate) fn lockgate_call_program(
        function: *const (),
        first: *const c_void,
        second: *const c_void,
        third: *const c_void,
    ) -> u64;

    /// The same of a function and arguments that lie in memory.
    ///
    /// # Safety
    /// As there.
    pub(crate) fn lockgate_call_program_from(words: *const [usize; 4]) -> u64;
}
