//! What protocols between threads are made of that do without a lock, or mix atomics with one. `tests/models` compiles the files that
//! use this module over loom's versions of the same things, which try every order of threads that the memory model permits.
pub(crate) use rustix::thread::futex;
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock, atomic};

/// Every thread of the process passes a full memory barrier before this returns.
pub(crate) fn barrier() {
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
