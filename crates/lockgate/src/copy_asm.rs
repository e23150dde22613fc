//! Copies that survive a fault: the other side may be unmapped at any moment.
//!
//! The signal handler ends a guarded instruction's work by resuming behind it ([`end_of`]), unless the host's side is to be repaired first
//! ([`hosts_side`]).
use std::ffi::c_void;

core::arch::global_asm!(
    r#"
    .text
    # Changes rax, rcx, rdi and rsi only.
    .macro lockgate_copy_bytes name
    xor %ecx,%ecx # bytes copied
    cmp $64,%rdx
    jbe \name\()_few
    # To 64 bytes or less ahead of where the source is in its page, Zen 3 copies two or three bytes in a cycle by `rep`.
    lea -1(%rdi),%eax
    sub %esi,%eax
    test $4032,%eax
    jnz \name\()_rest
    # Without what `rep` takes to start. A fault here leaves the rest to it.
    .globl \name\()_few
    .hidden \name\()_few
\name\()_few:
    jmp 2f
1:
    mov (%rsi,%rcx),%rax
    mov %rax,(%rdi,%rcx)
    add $8,%rcx
2:
    lea 8(%rcx),%rax
    cmp %rdx,%rax
    jbe 1b
    test $4,%dl
    jz 1f
    mov (%rsi,%rcx),%eax
    mov %eax,(%rdi,%rcx)
    add $4,%rcx
1:
    test $2,%dl
    jz 1f
    movzwl (%rsi,%rcx),%eax
    mov %ax,(%rdi,%rcx)
    add $2,%rcx
1:
    test $1,%dl
    jz 1f
    movzbl (%rsi,%rcx),%eax
    mov %al,(%rdi,%rcx)
1:
    xor %eax,%eax
    ret
    .globl \name\()_rest
    .hidden \name\()_rest
\name\()_rest:
    add %rcx,%rdi
    add %rcx,%rsi
    sub %rdx,%rcx
    neg %rcx # bytes not copied
    .globl \name\()_last
    .hidden \name\()_last
\name\()_last:
    rep movsb
    .globl \name\()_end
    .hidden \name\()_end
\name\()_end:
    mov %rcx,%rax
    ret
    .endm

    # Callers have arguments in other registers.
    .p2align 4
    .globl lockgate_copy
    .hidden lockgate_copy
    .type lockgate_copy,@function
lockgate_copy:
    .cfi_startproc
    lockgate_copy_bytes lockgate_copy
    .cfi_endproc
    .size lockgate_copy,.-lockgate_copy

    # Stack arguments: words, of which only the bits that rcx leads to are stored. Changes rax and rdx. (`copy_from_host` of emit.rs has the
    # same inline, where a fault is to end the call.)
    .p2align 4
    .globl lockgate_copy_arguments
    .hidden lockgate_copy_arguments
    .type lockgate_copy_arguments,@function
lockgate_copy_arguments:
    .cfi_startproc
    shr $3,%rdx
1:
    mov -8(%rsi,%rdx,8),%rax
    cmpq ${BOOL_MASK},-8(%rcx,%rdx,8)
    je 3f
    and -8(%rcx,%rdx,8),%rax
2:
    mov %rax,-8(%rdi,%rdx,8)
    dec %rdx
    jnz 1b
    xor %eax,%eax
    ret
3:
    test %al,%al
    setne %al
    movzbl %al,%eax
    jmp 2b
    .globl lockgate_copy_arguments_end
    .hidden lockgate_copy_arguments_end
lockgate_copy_arguments_end:
    mov $1,%eax
    ret
    .cfi_endproc
    .size lockgate_copy_arguments,.-lockgate_copy_arguments

    # The host's side, from r9 to r8, stays in registers for the handler of faults.
    .p2align 4
    .globl lockgate_copy_hosts
    .hidden lockgate_copy_hosts
    .type lockgate_copy_hosts,@function
lockgate_copy_hosts:
    .cfi_startproc
    mov %rcx,%r9
    lockgate_copy_bytes lockgate_copy_hosts
    .cfi_endproc
    .size lockgate_copy_hosts,.-lockgate_copy_hosts

    .p2align 4
    .globl lockgate_blank
    .hidden lockgate_blank
    .type lockgate_blank,@function
lockgate_blank:
    .cfi_startproc
    mov %rsi,%rcx # bytes left
    xor %eax,%eax
    rep stosb
    .globl lockgate_blank_end
    .hidden lockgate_blank_end
lockgate_blank_end:
    mov %rcx,%rax
    ret
    .cfi_endproc
    .size lockgate_blank,.-lockgate_blank

    .p2align 4
    .globl lockgate_load
    .hidden lockgate_load
    .type lockgate_load,@function
lockgate_load:
    .cfi_startproc
    mov $1,%edx
    mov (%rdi),%eax
    ret
    .globl lockgate_load_end
    .hidden lockgate_load_end
lockgate_load_end:
    xor %edx,%edx
    ret
    .cfi_endproc
    .size lockgate_load,.-lockgate_load

    # The same for eight bytes, aligned or not.
    .p2align 4
    .globl lockgate_peek
    .hidden lockgate_peek
    .type lockgate_peek,@function
lockgate_peek:
    .cfi_startproc
    mov $1,%edx
    mov (%rdi),%rax
    ret
    .globl lockgate_peek_end
    .hidden lockgate_peek_end
lockgate_peek_end:
    xor %edx,%edx
    ret
    .cfi_endproc
    .size lockgate_peek,.-lockgate_peek

    .p2align 4
    .globl lockgate_store
    .hidden lockgate_store
    .type lockgate_store,@function
lockgate_store:
    .cfi_startproc
    mov $1,%eax
    mov %esi,(%rdi)
    ret
    .globl lockgate_store_end
    .hidden lockgate_store_end
lockgate_store_end:
    xor %eax,%eax
    ret
    .cfi_endproc
    .size lockgate_store,.-lockgate_store

    # Can the byte be written? It stays what it is, whichever thread writes it meanwhile.
    .p2align 4
    .globl lockgate_touch
    .hidden lockgate_touch
    .type lockgate_touch,@function
lockgate_touch:
    .cfi_startproc
    mov $1,%eax
    .globl lockgate_touch_access
    .hidden lockgate_touch_access
lockgate_touch_access:
    lock orb $0,(%rdi)
    ret
    .globl lockgate_touch_end
    .hidden lockgate_touch_end
lockgate_touch_end:
    xor %eax,%eax
    ret
    .cfi_endproc
    .size lockgate_touch,.-lockgate_touch
    "#,
    BOOL_MASK = const BOOL_MASK,
    options(att_syntax)
);

/// Mask of a word of stack arguments with a `_Bool`: 0 or 1 is to come of its low byte. No other word has so few bits.
pub(crate) const BOOL_MASK: u64 = 1;

/// A word, and whether it could be loaded.
#[repr(C)]
pub(crate) struct Loaded {
    pub word: u64,
    pub ok: u64,
}

unsafe extern "C" {
    /// Copies `length` bytes upwards; returns how many it could not.
    pub(crate) fn lockgate_copy(to: *mut c_void, from: *const c_void, length: usize) -> usize;
    /// Copies words of stack arguments, `length` bytes, and of each the bits that belong to a value (`call_abi::stack_masks`); not 0 if it could
    /// not.
    pub(crate) fn lockgate_copy_arguments(
        to: *mut u64,
        from: *const u64,
        length: usize,
        masks: *const u64,
    ) -> usize;
    fn lockgate_copy_arguments_end();
    /// As [`lockgate_copy`], where the host's side is in the range from `low` to `end`: a fault there goes to the host's handler first, if it has one.
    fn lockgate_copy_hosts(to: *mut c_void, from: *const c_void, length: usize, low: u64, end: u64) -> usize;
    /// Fills `length` bytes with zeros, upwards; returns how many it could not.
    pub(crate) fn lockgate_blank(to: *mut c_void, length: usize) -> usize;
    /// Loads an aligned word in one access, before all later accesses.
    pub(crate) fn lockgate_load(from: *const u32) -> Loaded;
    /// Loads eight bytes.
    pub(crate) fn lockgate_peek(from: *const u64) -> Loaded;
    /// Stores an aligned word in one access, after all earlier accesses; returns 0 if it could not.
    pub(crate) fn lockgate_store(to: *mut u32, word: u32) -> u32;
    /// Writes a byte as it is; returns 0 if it cannot be written.
    pub(crate) fn lockgate_touch(at: *mut c_void) -> u32;
    fn lockgate_copy_few();
    fn lockgate_copy_rest();
    fn lockgate_copy_end();
    fn lockgate_copy_hosts_few();
    fn lockgate_copy_hosts_rest();
    fn lockgate_copy_hosts_last();
    fn lockgate_copy_hosts_end();
    fn lockgate_blank_end();
    fn lockgate_load_end();
    fn lockgate_peek_end();
    fn lockgate_store_end();
    fn lockgate_touch_access();
    fn lockgate_touch_end();
}

/// Copies as [`lockgate_copy`] does, from memory of the host's.
///
/// # Safety
/// `bytes` may be read, once the host's handler has made them accessible; `to` is such that a fault there may end the copy.
pub(crate) unsafe fn copy_from_host(to: *mut c_void, bytes: &[u8]) -> usize {
    let bytes = bytes.as_ptr_range();
    let length = bytes.end as usize - bytes.start as usize;
    // SAFETY: the caller's.
    unsafe { lockgate_copy_hosts(to, bytes.start.cast(), length, bytes.start as u64, bytes.end as u64) }
}

/// Copies as [`lockgate_copy`] does, to memory of the host's.
///
/// # Safety
/// As for [`copy_from_host`], the other way round.
pub(crate) unsafe fn copy_to_host(bytes: &mut [u8], from: *const c_void) -> usize {
    let length = bytes.len();
    let bytes = bytes.as_mut_ptr_range();
    // SAFETY: the caller's.
    unsafe { lockgate_copy_hosts(bytes.start.cast(), from, length, bytes.start as u64, bytes.end as u64) }
}

/// Copies as [`lockgate_copy`] does, where what does not lie in a domain's window is the host's.
///
/// # Safety
/// As for the two above.
#[inline]
pub(crate) unsafe fn copy_either_way(to: *mut c_void, from: *const c_void, length: usize) -> usize {
    // SAFETY: the caller's.
    unsafe { lockgate_copy_hosts(to, from, length, 0, u64::MAX) }
}

/// The registers that have the two ends of the host's side, if the instruction at `rip` is that of a copy which knows it.
pub(crate) fn hosts_side(rip: usize) -> Option<[libc::c_int; 2]> {
    (rip == lockgate_copy_hosts_last as *const () as usize).then_some([libc::REG_R9, libc::REG_R8])
}

/// Where a guarded instruction at `rip` resumes after a fault.
pub(crate) fn end_of(rip: usize) -> Option<usize> {
    let address = |function: *const ()| function as usize;
    [
        (address(lockgate_copy_few as *const ()), address(lockgate_copy_rest as *const ())),
        (address(lockgate_copy_rest as *const ()), address(lockgate_copy_end as *const ())),
        (address(lockgate_copy_arguments as *const ()), address(lockgate_copy_arguments_end as *const ())),
        (address(lockgate_copy_hosts_few as *const ()), address(lockgate_copy_hosts_rest as *const ())),
        (address(lockgate_copy_hosts_rest as *const ()), address(lockgate_copy_hosts_end as *const ())),
        (address(lockgate_blank as *const ()), address(lockgate_blank_end as *const ())),
        (address(lockgate_load as *const ()), address(lockgate_load_end as *const ())),
        (address(lockgate_peek as *const ()), address(lockgate_peek_end as *const ())),
        (address(lockgate_store as *const ()), address(lockgate_store_end as *const ())),
        (address(lockgate_touch_access as *const ()), address(lockgate_touch_end as *const ())),
    ]
    .into_iter()
    .find(|(start, end)| (*start..*end).contains(&rip))
    .map(|(_, end)| end)
}
