//! `exit`, `exit_group`: the call into the domain ends. In a thread that the domain started, `exit` ends that thread,
//! `exit_group` the domain.
use crate::SyscallContext;
use crate::outcome::{Halt, Reply};

/// `exit(status)`.
pub fn exit(ctx: &SyscallContext<'_>, [status, ..]: [u64; 6]) -> Reply {
    ctx.process.thread_exits(ctx.memory, ctx.thread.slot);
    Err(ended(status))
}

fn ended(status: u64) -> Halt {
    Halt::Exit((status & 0xff) as i32)
}

/// `exit_group(status)`.
pub fn exit_group(ctx: &SyscallContext<'_>, [status, ..]: [u64; 6]) -> Reply {
    ctx.process.note_group_exit(ctx.thread.slot);
    Err(ended(status))
}
