//! `nanosleep`, `clock_nanosleep`: they end with the call's deadline and with the domain.
use super::clock::clock;
use crate::SyscallContext;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// `nanosleep(duration, remaining)`.
pub fn nanosleep(ctx: &SyscallContext<'_>, [duration, remaining, ..]: [u64; 6]) -> Reply {
    sleep(ctx, ctx.timespec(duration)?, remaining)
}

/// `clock_nanosleep(clock, flags, time, remaining)`.
pub fn clock_nanosleep(ctx: &SyscallContext<'_>, [number, flags, time, remaining, ..]: [u64; 6]) -> Reply {
    let clock = clock(number)?;
    let time = ctx.timespec(time)?;
    match flags as i32 {
        0 => sleep(ctx, time, remaining),
        libc::TIMER_ABSTIME => {
            let now = rustix::time::clock_gettime(clock);
            sleep(ctx, time.saturating_sub(Duration::new(now.tv_sec as u64, now.tv_nsec as u32)), 0)
        }
        _ => Err(Errno::INVAL.into()),
    }
}

/// Where a signal ends it, what is left is told at `remaining`, if that is not null.
fn sleep(ctx: &SyscallContext<'_>, duration: Duration, remaining: u64) -> Reply {
    // A time too far to express is for ever.
    let until = Instant::now().checked_add(duration);
    // On a busy machine it may be over before the thread has come to sleep, and who waits for that sleep does not know.
    if !duration.is_zero() {
        ctx.sleep.rests();
    }
    let slept = ctx.sleep_until(until);
    if slept == Err(Errno::INTR.into()) {
        let left = until.map_or(duration, |until| until.saturating_duration_since(Instant::now()));
        ctx.give(remaining, &Record::new().u64(left.as_secs()).u64(left.subsec_nanos().into()).0)?;
    }
    slept.map(|()| 0)
}
