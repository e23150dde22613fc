//! `nanosleep`, `clock_nanosleep`: they end with the call's deadline and with the domain.
use super::clock::clock;
use crate::SyscallContext;
use crate::outcome::Reply;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// `nanosleep(duration, remaining)`. No signal interrupts it, so `remaining` is never written.
pub fn nanosleep(ctx: &SyscallContext<'_>, [duration, ..]: [u64; 6]) -> Reply {
    sleep(ctx, ctx.timespec(duration)?)
}

/// `clock_nanosleep(clock, flags, time, remaining)`.
pub fn clock_nanosleep(ctx: &SyscallContext<'_>, [number, flags, time, ..]: [u64; 6]) -> Reply {
    let clock = clock(number)?;
    let time = ctx.timespec(time)?;
    match flags as i32 {
        0 => sleep(ctx, time),
        libc::TIMER_ABSTIME => {
            let now = rustix::time::clock_gettime(clock);
            sleep(ctx, time.saturating_sub(Duration::new(now.tv_sec as u64, now.tv_nsec as u32)))
        }
        _ => Err(Errno::INVAL.into()),
    }
}

fn sleep(ctx: &SyscallContext<'_>, duration: Duration) -> Reply {
    // A time too far to express is for ever.
    ctx.sleep_until(Instant::now().checked_add(duration))?;
    Ok(0)
}
