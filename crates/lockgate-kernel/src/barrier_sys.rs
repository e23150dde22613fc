//! `membarrier`.

/// Every thread of the process passes a full memory barrier before this returns.
///
/// # Panics
/// A filter of system calls refuses it, or the kernel is older than Linux 4.3 ([`try_barrier`]).
pub fn barrier() {
    assert!(try_barrier(), "this process may not call membarrier");
}

/// The same, if it can be had: whether it was.
pub fn try_barrier() -> bool {
    const REGISTER: i32 = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const EXPEDITED: i32 = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    const GLOBAL: i32 = libc::MEMBARRIER_CMD_GLOBAL;
    // SAFETY: commands without arguments. The last one exists wherever the call does, but is slow.
    unsafe {
        libc::syscall(libc::SYS_membarrier, REGISTER, 0, 0) == 0
            && libc::syscall(libc::SYS_membarrier, EXPEDITED, 0, 0) == 0
            || libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) == 0
    }
}
