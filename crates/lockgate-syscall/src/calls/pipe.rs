//! `pipe`, `pipe2`: within the domain.
use crate::SyscallContext;
use crate::descriptors::Description;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// `pipe(fds)`.
pub fn pipe(ctx: &SyscallContext<'_>, [at, ..]: [u64; 6]) -> Reply {
    pipe2(ctx, [at, 0, 0, 0, 0, 0])
}

/// `pipe2(fds, flags)`: `O_CLOEXEC` and `O_NONBLOCK`.
pub fn pipe2(ctx: &SyscallContext<'_>, [at, flags, ..]: [u64; 6]) -> Reply {
    let flags = OFlags::from_bits_retain(flags as u32);
    if !(OFlags::CLOEXEC | OFlags::NONBLOCK).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    let close_on_exec = flags.contains(OFlags::CLOEXEC);
    let ends = [ctx.process.reserve()?, ctx.process.reserve()?];
    let numbers = Record::new().u32(ends[0].number as u32).u32(ends[1].number as u32);
    // Non-blocking for the host in any case: waiting is done where a deadline can end it.
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let read = Description::of_made(read, OFlags::RDONLY | flags)?;
    let write = Description::of_made(write, OFlags::WRONLY | flags)?;
    ctx.memory.write(at, &numbers.0)?;
    let [first, second] = ends;
    first.fill(read, close_on_exec);
    second.fill(write, close_on_exec);
    Ok(0)
}
