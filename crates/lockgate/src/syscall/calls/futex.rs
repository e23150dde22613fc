//! `futex`: private to the domain, kept in the runtime, so that a deadline or the domain's end can always
//! interrupt a wait. Shared and priority-inheriting ones are unknown.
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;
use crate::syscall::waits::Wake;
use lockgate_abi::window;
use rustix::io::Errno;
use rustix::time::ClockId;
use std::time::{Duration, Instant};

/// `futex(word, operation, value, timeout or count, word2, value3)`.
pub fn futex(ctx: &SyscallContext<'_>, [at, operation, value, fourth, to, value3]: [u64; 6]) -> Reply {
    let operation = operation as i32;
    // The word's place in the window, whichever pointer names it: a queue has one name.
    let [key, to] = [at, to].map(|address| address & (window::SIZE - 1));
    let waits = &ctx.process.waits;
    let equals = |expected: u64| {
        move || match ctx.memory.load_u32(at)? {
            found if found == expected as u32 => Ok(()),
            _ => Err(Errno::AGAIN),
        }
    };
    // Address 0 is where sleepers without a futex wait.
    if key == 0 || key % 4 != 0 {
        return Err(if key == 0 { Errno::FAULT } else { Errno::INVAL }.into());
    }
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT => wait(ctx, key, fourth, None, equals(value)),
        libc::FUTEX_WAIT_BITSET => {
            any_bit(value3)?;
            let real = operation & libc::FUTEX_CLOCK_REALTIME != 0;
            wait(
                ctx,
                at,
                fourth,
                Some(if real { ClockId::Realtime } else { ClockId::Monotonic }),
                equals(value),
            )
        }
        libc::FUTEX_WAKE => Ok(waits.wake(key, count(value), None, || Ok(()))?.0 as u64),
        libc::FUTEX_WAKE_BITSET => {
            any_bit(value3)?;
            Ok(waits.wake(key, count(value), None, || Ok(()))?.0 as u64)
        }
        libc::FUTEX_REQUEUE => {
            Ok(waits.wake(key, count(value), Some((to, count(fourth))), || Ok(()))?.0 as u64)
        }
        libc::FUTEX_CMP_REQUEUE => {
            let (woken, moved) = waits.wake(key, count(value), Some((to, count(fourth))), equals(value3))?;
            Ok((woken + moved) as u64)
        }
        _ => Err(Errno::NOSYS.into()),
    }
}

/// A wait with a timeout that is relative, or absolute on `clock`.
fn wait(
    ctx: &SyscallContext<'_>,
    key: u64,
    timeout: u64,
    clock: Option<ClockId>,
    ready: impl FnOnce() -> Result<(), Errno>,
) -> Reply {
    let until = if timeout == 0 {
        None
    } else {
        let time = ctx.timespec(timeout)?;
        let left = match clock {
            None => time,
            Some(clock) => {
                let now = rustix::time::clock_gettime(clock);
                time.saturating_sub(Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
            }
        };
        // A time too far to express is no limit.
        Instant::now().checked_add(left)
    };
    match ctx.process.waits.sleep(ctx.thread, key, until, ready)? {
        Wake::Woken => Ok(0),
        Wake::TimedOut => Err(Errno::TIMEDOUT.into()),
    }
}

/// Only the mask that matches everything is supported: no libc uses another.
fn any_bit(mask: u64) -> Result<(), Errno> {
    if mask as u32 == u32::MAX { Ok(()) } else { Err(Errno::INVAL) }
}

/// Numbers of sleepers are signed in the kernel; negative means none.
fn count(value: u64) -> usize {
    (value as i32).max(0) as usize
}
