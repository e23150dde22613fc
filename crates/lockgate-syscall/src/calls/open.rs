//! `open`, `openat`, `creat`, `close`.
use super::{lock, truncate};
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::descriptors::{Description, Kind};
use crate::outcome::{Halt, Reply};
use lockgate_kernel::locked;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Flags that are passed on; the others are ignored, as `open` always did.
const PASSED: OFlags = OFlags::RDWR
    .union(OFlags::WRONLY)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC)
    .union(OFlags::PATH);

/// `open(path, flags, mode)`.
pub fn open(ctx: &SyscallContext<'_>, [path, flags, mode, ..]: [u64; 6]) -> Reply {
    openat(ctx, [libc::AT_FDCWD as u64, path, flags, mode, 0, 0])
}

/// `creat(path, mode)`.
pub fn creat(ctx: &SyscallContext<'_>, [path, mode, ..]: [u64; 6]) -> Reply {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
    openat(ctx, [libc::AT_FDCWD as u64, path, flags.bits().into(), mode, 0, 0])
}

/// `openat(fd, path, flags, mode)`.
pub fn openat(ctx: &SyscallContext<'_>, [fd, path, flags, mode, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let asked = OFlags::from_bits_retain(flags as u32);
    if asked.contains(OFlags::CREATE | OFlags::DIRECTORY) && !asked.contains(OFlags::PATH) {
        return Err(Errno::INVAL.into());
    }
    if asked.contains(OFlags::TMPFILE) {
        return Err(Errno::OPNOTSUPP.into());
    }
    let mut flags = asked & PASSED;
    if flags.contains(OFlags::PATH) {
        // Linux ignores the rest then, and openat2 insists on their absence.
        flags &= OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    }
    let mode = if flags.contains(OFlags::CREATE) { file_mode(ctx, mode) } else { Mode::empty() };
    // In this order: a domain without files hears that there is no such file, not that it has too many.
    let place = ctx.locate(fd as i32, &path)?;
    let reserved = ctx.process.reserve()?;
    let waits = !flags.contains(OFlags::NONBLOCK);
    let description = loop {
        match place.open(&ctx.process.grants, flags, mode) {
            // A FIFO without a reader: the kernel has no wait for one which could be ended.
            Err(Errno::NXIO) if waits => ctx.sleep_until(Some(Instant::now() + PAUSE))?,
            description => break description?,
        }
    };
    if waits && description.is_fifo() && !description.writable {
        wait_for_writer(ctx, &description)?;
    }
    if flags.contains(OFlags::TRUNC) && description.kind == Kind::Regular {
        truncate::empty(ctx, &description)?;
    }
    Ok(reserved.fill(description, flags.contains(OFlags::CLOEXEC)) as u64)
}

/// Waits until a process has opened the FIFO for writing, as Linux does before it is open. What was written stays in it.
fn wait_for_writer(ctx: &SyscallContext<'_>, fifo: &Description) -> Result<(), Halt> {
    let _places = [ctx.process.place()?, ctx.process.place()?];
    let (_ours, copy) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    loop {
        let mut look = [PollFd::from_borrowed_fd(fifo.fd(), PollFlags::IN)];
        rustix::event::poll(&mut look, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        // (One that has come and gone has left its end. One that has written nothing keeps the end away.)
        let has_been = !look[0].revents().is_empty();
        if has_been || rustix::pipe::tee(fifo.fd(), &copy, 1, SpliceFlags::NONBLOCK) != Ok(0) {
            return Ok(());
        }
        ctx.sleep_until(Some(Instant::now() + PAUSE))?;
    }
}

/// `close(fd)`.
pub fn close(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    let closed = locked(&ctx.process.descriptors).remove(fd as i32)?;
    lock::release(ctx, &closed);
    Ok(0)
}

/// Rights of a new file: never set-user-ID, set-group-ID or sticky.
pub(super) fn file_mode(ctx: &SyscallContext<'_>, mode: u64) -> Mode {
    let umask = ctx.process.umask.load(Ordering::Relaxed);
    Mode::from_raw_mode(mode as u32 & 0o777 & !umask)
}
