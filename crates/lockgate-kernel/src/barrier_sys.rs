//! `membarrier`.

/// Every thread of the process passes a full memory barrier before this returns.
///
/// # Panics
/// The kernel has no such call: it is older than Linux 4.3.
pub fn barrier() {
    const REGISTER: i32 = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const EXPEDITED: i32 = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    const GLOBAL: i32 = libc::MEMBARRIER_CMD_GLOBAL;
    // SAFETY: commands without arguments. The last one exists wherever the call does, but is slow.
    let done = unsafe {
        libc::syscall(libc::SYS_membarrier, REGISTER, 0, 0) == 0
            && libc::syscall(libc::SYS_membarrier, EXPEDITED, 0, 0) == 0
            || libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) == 0
    };
    assert!(done, "the kernel has membarrier(2) since Linux 4.3");
}
