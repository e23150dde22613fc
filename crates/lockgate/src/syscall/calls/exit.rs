//! `exit`, `exit_group`: the call into the domain ends. In a thread that the domain started, `exit` ends that thread,
//! `exit_group` the domain.
use crate::syscall::SyscallContext;
use crate::syscall::context::{Halt, Reply};

/// `exit(status)`.
pub fn exit(_: &SyscallContext<'_>, [status, ..]: [u64; 6]) -> Reply {
    Err(Halt::Exit((status & 0xff) as i32))
}

/// `exit_group(status)`.
pub fn exit_group(ctx: &SyscallContext<'_>, arguments: [u64; 6]) -> Reply {
    ctx.process.note_group_exit(ctx.thread.slot);
    exit(ctx, arguments)
}
