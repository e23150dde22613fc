//! `brk`: the heap's end.
use crate::SyscallContext;
use crate::outcome::Reply;

/// `brk(end)`: the new end, or the old one if it cannot move there.
pub fn brk(ctx: &SyscallContext<'_>, [end, ..]: [u64; 6]) -> Reply {
    Ok(ctx.memory.brk(end))
}
