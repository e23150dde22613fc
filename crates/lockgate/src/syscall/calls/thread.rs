//! What libc asks of the kernel for each thread.
use super::identity;
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;
use rustix::io::Errno;

/// `set_tid_address(address)`: the thread's number. Nothing is written at its exit: threads are the
/// host's, and `_lg_thread_exit` ends them.
pub fn set_tid_address(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(identity::thread(ctx.thread.slot))
}

/// `set_robust_list(head, length)`: accepted; a thread cannot die in a domain without its host.
pub fn set_robust_list(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(0)
}

/// `sched_yield()`.
pub fn sched_yield(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    rustix::thread::sched_yield();
    Ok(0)
}

/// `sched_getaffinity(thread, length, mask)`: one processor.
pub fn sched_getaffinity(ctx: &SyscallContext<'_>, [_, length, at, ..]: [u64; 6]) -> Reply {
    const MASK: u64 = 8;
    if length < MASK || length % MASK != 0 {
        return Err(Errno::INVAL.into());
    }
    ctx.memory.write(at, &1u64.to_le_bytes())?;
    Ok(MASK)
}

/// `arch_prctl`: refused. The segment bases belong to the host, and libc's thread pointer has its own
/// word (docs/code-model.md).
pub fn arch_prctl(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Errno::PERM.into())
}

/// `prctl(option, …)`: names are accepted and forgotten, the rest is unknown.
pub fn prctl(_: &SyscallContext<'_>, [option, ..]: [u64; 6]) -> Reply {
    match option as i32 {
        libc::PR_SET_NAME | libc::PR_SET_VMA => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}
