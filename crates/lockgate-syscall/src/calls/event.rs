//! `eventfd` and `timerfd_create`: within the domain.
use super::timer::{record, setting};
use crate::SyscallContext;
use crate::descriptors::{Behind, Description};
use crate::outcome::Reply;
use rustix::event::{EventfdFlags, eventfd as host_eventfd};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::time::Duration;

/// `eventfd(count)`.
pub fn eventfd(ctx: &SyscallContext<'_>, [count, ..]: [u64; 6]) -> Reply {
    eventfd2(ctx, [count, 0, 0, 0, 0, 0])
}

/// `eventfd2(count, flags)`.
pub fn eventfd2(ctx: &SyscallContext<'_>, [count, flags, ..]: [u64; 6]) -> Reply {
    let known = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE;
    let asked = EventfdFlags::from_bits_retain(flags as u32);
    if !known.contains(asked) {
        return Err(Errno::INVAL.into());
    }
    let hosts = asked & EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    made(ctx, flags, || host_eventfd(count as u32, hosts))
}

/// `timerfd_create(clock, flags)`.
pub fn timerfd_create(ctx: &SyscallContext<'_>, [clock, flags, ..]: [u64; 6]) -> Reply {
    let clock = match clock as i32 {
        libc::CLOCK_REALTIME => TimerfdClockId::Realtime,
        libc::CLOCK_MONOTONIC => TimerfdClockId::Monotonic,
        libc::CLOCK_BOOTTIME => TimerfdClockId::Boottime,
        _ => return Err(Errno::INVAL.into()),
    };
    let known = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    if !known.contains(TimerfdFlags::from_bits_retain(flags as u32)) {
        return Err(Errno::INVAL.into());
    }
    made(ctx, flags, || rustix::time::timerfd_create(clock, known))
}

/// A descriptor that `make` makes, which waits for nothing; the domain has it with `flags`, which are those of `open`.
pub(super) fn made(
    ctx: &SyscallContext<'_>,
    flags: u64,
    make: impl FnOnce() -> Result<OwnedFd, Errno>,
) -> Reply {
    made_as(ctx, flags, Behind::Kernel, make)
}

/// The same with that behind it.
pub(super) fn made_as(
    ctx: &SyscallContext<'_>,
    flags: u64,
    behind: Behind,
    make: impl FnOnce() -> Result<OwnedFd, Errno>,
) -> Reply {
    let flags = OFlags::from_bits_retain(flags as u32) & (OFlags::CLOEXEC | OFlags::NONBLOCK);
    let reserved = ctx.process.reserve()?;
    let description = Description::of_made_as(make()?, OFlags::RDWR | flags, behind)?;
    Ok(reserved.fill(description, flags.contains(OFlags::CLOEXEC)) as u64)
}

/// `timerfd_settime(fd, flags, new, old or null)`.
pub fn timerfd_settime(ctx: &SyscallContext<'_>, [fd, flags, new, old, ..]: [u64; 6]) -> Reply {
    let known = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    let flags = TimerfdTimerFlags::from_bits_retain(flags as u32);
    let (left, interval) = setting(ctx, new, 1)?;
    let file = ctx.process.descriptor(fd as i32)?;
    // (A timer of the host's that was granted as a stream is the host's.)
    if !known.contains(flags) || file.granted {
        return Err(Errno::INVAL.into());
    }
    let new = Itimerspec { it_interval: timespec(interval), it_value: timespec(left) };
    let before = rustix::time::timerfd_settime(file.fd(), flags, &new)?;
    ctx.give(old, &record((duration(before.it_value), duration(before.it_interval)), 1).0)?;
    Ok(0)
}

/// `timerfd_gettime(fd, setting)`.
pub fn timerfd_gettime(ctx: &SyscallContext<'_>, [fd, at, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    if file.granted {
        return Err(Errno::INVAL.into());
    }
    let now = rustix::time::timerfd_gettime(file.fd())?;
    ctx.memory.write(at, &record((duration(now.it_value), duration(now.it_interval)), 1).0)?;
    Ok(0)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
