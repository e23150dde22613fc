//! `pipe`, `pipe2`: within the domain.
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;
use crate::syscall::descriptors::Description;
use crate::syscall::waits::locked;
use crate::syscall::wire::Record;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::sync::Arc;

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
    let places = [ctx.process.place()?, ctx.process.place()?].map(Some);
    // Non-blocking for the host in any case: waiting is done where a deadline can end it.
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let end = |fd, mode, place| -> Result<_, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Arc::new(Description::new(fd, &stat, mode | flags, false, Vec::new(), place)))
    };
    let [one, other] = places;
    let (read, write) = (end(read, OFlags::RDONLY, one)?, end(write, OFlags::WRONLY, other)?);
    let mut descriptors = locked(&ctx.process.descriptors);
    let first = descriptors.insert(read, 0, close_on_exec)?;
    let second = descriptors.insert(write, 0, close_on_exec).inspect_err(|_| drop(descriptors.remove(first)));
    let numbers = [first, second?];
    let given = ctx.memory.write(at, &Record::new().u32(numbers[0] as u32).u32(numbers[1] as u32).0);
    if given.is_err() {
        for number in numbers {
            descriptors.remove(number)?;
        }
    }
    given?;
    Ok(0)
}
