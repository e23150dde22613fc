//! `alarm`, `setitimer`, `timer_create` and their like: they send the domain signals of its own (docs/decisions/0080).
use super::clock::clock;
use crate::SyscallContext;
use crate::outcome::Reply;
use crate::signal_state::LAST;
use crate::timers::{Clock, Sends, Setting};
use crate::wire::{Record, half, word};
use rustix::io::Errno;
use rustix::time::ClockId;
use std::time::Duration;

const ITIMER_REAL: usize = 0;
const ITIMER_PROF: u64 = 2;

/// `alarm(seconds)`: seconds that were left, rounded up.
pub fn alarm(ctx: &SyscallContext<'_>, [seconds, ..]: [u64; 6]) -> Reply {
    let new = (Duration::from_secs((seconds as u32).into()), Duration::ZERO);
    let (left, _) = ctx.process.change_signals(|signals| signals.interval_timer(ITIMER_REAL, Some(new)));
    Ok(left.as_secs() + u64::from(left.subsec_nanos() > 0))
}

/// The number of a timer of `setitimer`.
fn interval(which: u64) -> Result<usize, Errno> {
    if which <= ITIMER_PROF { Ok(which as usize) } else { Err(Errno::INVAL) }
}

/// `setitimer(which, new, old or null)`.
pub fn setitimer(ctx: &SyscallContext<'_>, [which, new, old, ..]: [u64; 6]) -> Reply {
    let which = interval(which)?;
    let new = if new == 0 { (Duration::ZERO, Duration::ZERO) } else { setting(ctx, new, 1000)? };
    let before = ctx.process.change_signals(|signals| signals.interval_timer(which, Some(new)));
    ctx.give(old, &record(before, 1000).0)?;
    Ok(0)
}

/// `getitimer(which, setting)`.
pub fn getitimer(ctx: &SyscallContext<'_>, [which, at, ..]: [u64; 6]) -> Reply {
    let which = interval(which)?;
    let now = ctx.process.change_signals(|signals| signals.interval_timer(which, None));
    ctx.memory.write(at, &record(now, 1000).0)?;
    Ok(0)
}

/// An interval, then a time: two structures of seconds and parts, each of so many nanoseconds.
pub(super) fn setting(ctx: &SyscallContext<'_>, at: u64, unit: u64) -> Result<Setting, Errno> {
    let [interval, interval_part, left, left_part] = ctx.words(at)?;
    let time = |seconds: u64, part: u64| match (seconds as i64) < 0 || part >= 1_000_000_000 / unit {
        true => Err(Errno::INVAL),
        false => Ok(Duration::new(seconds, (part * unit) as u32)),
    };
    Ok((time(left, left_part)?, time(interval, interval_part)?))
}

pub(super) fn record((left, interval): Setting, unit: u64) -> Record {
    // (Nothing left is for a timer that is not set.)
    let left = if left.is_zero() { left } else { left.max(Duration::from_nanos(unit)) };
    let part = |time: Duration| u64::from(time.subsec_nanos()) / unit;
    Record::new().u64(interval.as_secs()).u64(part(interval)).u64(left.as_secs()).u64(part(left))
}

/// `timer_create(clock, struct sigevent or null, where its number goes)`.
pub fn timer_create(ctx: &SyscallContext<'_>, [number, event, id, ..]: [u64; 6]) -> Reply {
    const SIGNAL: u32 = 0;
    const NONE: u32 = 1;
    const THREAD: u32 = 4;
    let clock = match (clock(number)?, number as libc::clockid_t) {
        (ClockId::ThreadCPUTime, libc::CLOCK_PROCESS_CPUTIME_ID) => Clock::Cpu(None),
        (ClockId::ThreadCPUTime, _) => Clock::Cpu(Some(ctx.thread.slot)),
        (clock, _) => Clock::Wall(clock),
    };
    let event: Option<[u8; 24]> = if event == 0 { None } else { Some(ctx.array(event)?) };
    let sends = match event {
        None => None,
        Some(event) => {
            let [signal, how, thread] = [8, 12, 16].map(|at| half(&event, at));
            let to = match how {
                SIGNAL | NONE => None,
                THREAD => Some(super::signal::thread(ctx, thread.into()).map_err(|_| Errno::INVAL)?),
                _ => return Err(Errno::INVAL.into()),
            };
            if how != NONE && !(1..=LAST).contains(&signal) {
                return Err(Errno::INVAL.into());
            }
            Some((how != NONE).then_some(Sends { signal, to, value: word(&event, 0) }))
        }
    };
    let by_itself = |number: u32| Sends { signal: libc::SIGALRM as u32, to: None, value: number.into() };
    let made = ctx.process.change_timers(|timers| {
        timers.make(clock, |number| sends.unwrap_or_else(|| Some(by_itself(number))))
    })?;
    ctx.memory.write(id, &made.to_le_bytes())?;
    Ok(0)
}

/// `timer_settime(number, flags, new, old or null)`.
pub fn timer_settime(ctx: &SyscallContext<'_>, [number, flags, new, old, ..]: [u64; 6]) -> Reply {
    let (mut left, interval) = setting(ctx, new, 1)?;
    if flags as i32 & libc::TIMER_ABSTIME != 0 && !left.is_zero() {
        let clock = match ctx.process.change_timers(|timers| timers.clock(number))? {
            Clock::Wall(clock) => clock,
            // (As the module reads it.)
            Clock::Cpu(_) => ClockId::ThreadCPUTime,
        };
        let now = rustix::time::clock_gettime(clock);
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        left = left.saturating_sub(now).max(Duration::from_nanos(1));
    }
    let before = ctx.process.change_signals(|signals| {
        let before = signals.timers_mut().set(number, Some((left, interval)))?;
        signals.drop_sent(number);
        Ok::<_, Errno>(before)
    })?;
    ctx.give(old, &record(before, 1).0)?;
    Ok(0)
}

/// `timer_gettime(number, setting)`.
pub fn timer_gettime(ctx: &SyscallContext<'_>, [number, at, ..]: [u64; 6]) -> Reply {
    let now = ctx.process.change_timers(|timers| timers.set(number, None))?;
    ctx.memory.write(at, &record(now, 1).0)?;
    Ok(0)
}

/// `timer_getoverrun(number)`.
pub fn timer_getoverrun(ctx: &SyscallContext<'_>, [number, ..]: [u64; 6]) -> Reply {
    Ok(ctx.process.change_timers(|timers| timers.overrun(number))?.into())
}

/// `timer_delete(number)`.
pub fn timer_delete(ctx: &SyscallContext<'_>, [number, ..]: [u64; 6]) -> Reply {
    ctx.process.change_signals(|signals| {
        signals.timers_mut().delete(number)?;
        signals.drop_sent(number);
        Ok::<_, Errno>(())
    })?;
    Ok(0)
}
