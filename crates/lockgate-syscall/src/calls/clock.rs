//! `clock_gettime`, `clock_getres`, `gettimeofday`, `time`.
use crate::SyscallContext;
use crate::outcome::Reply;
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec};

/// The clocks that a module may read. CPU time is that of the calling thread: how busy the rest of
/// the host is, is not the module's business.
pub(super) fn clock(number: u64) -> Result<ClockId, Errno> {
    Ok(match number as libc::clockid_t {
        libc::CLOCK_REALTIME => ClockId::Realtime,
        libc::CLOCK_MONOTONIC => ClockId::Monotonic,
        libc::CLOCK_MONOTONIC_RAW => ClockId::MonotonicRaw,
        libc::CLOCK_REALTIME_COARSE => ClockId::RealtimeCoarse,
        libc::CLOCK_MONOTONIC_COARSE => ClockId::MonotonicCoarse,
        libc::CLOCK_BOOTTIME => ClockId::Boottime,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => ClockId::ThreadCPUTime,
        _ => return Err(Errno::INVAL),
    })
}

/// Two words as they lie in the domain. (What reads a clock allocates nothing: see [`is_plain`](crate::is_plain).)
fn pair(first: i64, second: i64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

fn record(time: Timespec) -> [u8; 16] {
    pair(time.tv_sec, time.tv_nsec)
}

/// `clock_gettime(clock, timespec)`.
pub fn clock_gettime(ctx: &SyscallContext<'_>, [number, at, ..]: [u64; 6]) -> Reply {
    let time = rustix::time::clock_gettime(clock(number)?);
    ctx.memory.write(at, &record(time))?;
    Ok(0)
}

/// `clock_getres(clock, timespec or null)`.
pub fn clock_getres(ctx: &SyscallContext<'_>, [number, at, ..]: [u64; 6]) -> Reply {
    ctx.give(at, &record(rustix::time::clock_getres(clock(number)?)))?;
    Ok(0)
}

/// `gettimeofday(timeval or null, timezone or null)`; the zone is always UTC.
pub fn gettimeofday(ctx: &SyscallContext<'_>, [at, zone, ..]: [u64; 6]) -> Reply {
    let time = rustix::time::clock_gettime(ClockId::Realtime);
    ctx.give(at, &pair(time.tv_sec, time.tv_nsec / 1000))?;
    ctx.give(zone, &[0; 8])?;
    Ok(0)
}

/// `time(time_t or null)`.
pub fn time(ctx: &SyscallContext<'_>, [at, ..]: [u64; 6]) -> Reply {
    let now = rustix::time::clock_gettime(ClockId::Realtime).tv_sec;
    ctx.give(at, &now.to_le_bytes())?;
    Ok(now as u64)
}
