//! What libc asks of the kernel for each thread.
use super::signal;
use crate::outcome::Reply;
use crate::{SyscallContext, ThreadStart};
use lockgate_kernel::locked;
use rustix::io::Errno;

/// `set_tid_address(address)`: the thread's number. The word there becomes 0 when the thread calls `exit`, as a program's first one does
/// in `pthread_exit`: libc has a lock there. Host threads are ended by `_lg_thread_exit`, and others have said where with `clone`.
pub fn set_tid_address(ctx: &SyscallContext<'_>, [word, ..]: [u64; 6]) -> Reply {
    match word {
        0 => locked(&ctx.process.clear).remove(&ctx.thread.slot),
        _ => locked(&ctx.process.clear).insert(ctx.thread.slot, word),
    };
    Ok(ctx.process.thread_number(ctx.thread.slot))
}

/// `clone(flags, start, parent's word, child's word, thread pointer)`: a thread, as libc's `pthread_create` wants it. Processes
/// there are none. The second argument is not a stack, which the runtime provides, but for the start code of the module.
pub fn clone(ctx: &SyscallContext<'_>, [flags, start, parent, child, ..]: [u64; 6]) -> Reply {
    const SHARED: u64 =
        (libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD)
            as u64;
    const WORDS: u64 = (libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID) as u64;
    if flags & SHARED != SHARED || flags & WORDS != WORDS {
        ctx.process.count_refused(libc::SYS_clone as u64);
        return Err(Errno::NOSYS.into());
    }
    let mask = ctx.process.signals().mask(ctx.thread.slot);
    Ok(ctx.threads.start(ThreadStart { argument: start, number: parent, clear: child, mask })?)
}

/// `membarrier(command, flags)`: every processor that runs a thread of this process passes a memory barrier. A module may do as much
/// with `mprotect`. Libc of the module ends the bias of its locks with it. The process is registered when the barrier is first asked
/// for, which takes the kernel milliseconds in a process that has threads, and not when `pthread_create` thinks of it.
pub fn membarrier(_: &SyscallContext<'_>, [command, flags, ..]: [u64; 6]) -> Reply {
    use rustix::thread::MembarrierCommand::{PrivateExpedited, RegisterPrivateExpedited};
    const QUERY: u64 = 0;
    const BARRIER: u64 = PrivateExpedited as u64;
    const REGISTER: u64 = RegisterPrivateExpedited as u64;

    let known = rustix::thread::membarrier_query();
    if !known.contains_command(PrivateExpedited) || !known.contains_command(RegisterPrivateExpedited) {
        return Err(Errno::NOSYS.into());
    }
    match (command, flags) {
        (QUERY, 0) => Ok(BARRIER | REGISTER),
        (REGISTER, 0) => Ok(0),
        (BARRIER, 0) => {
            lockgate_kernel::barrier();
            Ok(0)
        }
        _ => Err(Errno::INVAL.into()),
    }
}

/// `sched_yield()`.
pub fn sched_yield(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    rustix::thread::sched_yield();
    Ok(0)
}

/// `sched_setaffinity(thread, length, mask)`: there is one processor, on which every thread runs already.
pub fn sched_setaffinity(ctx: &SyscallContext<'_>, [thread, length, at, ..]: [u64; 6]) -> Reply {
    let mut first = [0];
    if length > 0 {
        ctx.memory.read(at, &mut first)?;
    }
    if thread as i32 != 0 {
        signal::thread(ctx, thread)?;
    }
    if first[0] & 1 == 0 { Err(Errno::INVAL.into()) } else { Ok(0) }
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

/// `getcpu(processor or null, node or null, unused)`: the one processor, of the one node. Where the host runs the thread is not the
/// module's business. Allocators ask this often: it allocates nothing ([`is_plain`](crate::is_plain)).
pub fn getcpu(ctx: &SyscallContext<'_>, [processor, node, ..]: [u64; 6]) -> Reply {
    ctx.give(processor, &0u32.to_le_bytes())?;
    ctx.give(node, &0u32.to_le_bytes())?;
    Ok(0)
}

/// `arch_prctl`: refused. The segment bases belong to the host, and libc's thread pointer has its own
/// word (docs/code-model.md).
pub fn arch_prctl(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Errno::PERM.into())
}

/// Calls that a program does well without, and tries for that reason: it hears so at once, and the host is not told.
pub fn not_here(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Errno::NOSYS.into())
}

/// Namespaces are the host's.
pub fn not_permitted(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Errno::PERM.into())
}

/// `prctl(option, …)`: names are accepted and forgotten, the rest is unknown.
pub fn prctl(_: &SyscallContext<'_>, [option, ..]: [u64; 6]) -> Reply {
    match option as i32 {
        libc::PR_SET_NAME | libc::PR_SET_VMA => Ok(0),
        _ => Err(Errno::INVAL.into()),
    }
}
