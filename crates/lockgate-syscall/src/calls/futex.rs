//! `futex`: private to the domain, kept in the runtime. At words in memory that others share with the domain, and without
//! `FUTEX_PRIVATE_FLAG`, it is the kernel's: the host's threads and other domains' wait and wake there as well. Priority-inheriting ones are
//! unknown.
use crate::SyscallContext;
use crate::outcome::Reply;
use crate::waits::{Waits, Wake};
use lockgate_abi::window;
use lockgate_kernel::locked;
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
    if operation & libc::FUTEX_PRIVATE_FLAG == 0 && ctx.sharing.shared_word(key)?.is_some() {
        return shared(ctx, key, operation, [value, fourth, value3]);
    }
    let bits = value3 as u32;
    let wake = |bits| Ok(waits.wake(key, bits, count(value), None, || Ok(()))?.0 as u64);
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT if fourth == 0 && value3 == lockgate_abi::FUTEX_LOCK => {
            waits.sleep_for_lock(ctx.caller(), key, equals(value)).map(|_| 0)
        }
        libc::FUTEX_WAIT if fourth == 0 && value3 == lockgate_abi::FUTEX_PEERS => {
            waits.sleep_for_peers(ctx.caller(), key, equals(value)).map(|_| 0)
        }
        libc::FUTEX_WAIT => wait(ctx, key, Waits::ANY, fourth, None, equals(value)),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET if bits == 0 => Err(Errno::INVAL.into()),
        libc::FUTEX_WAIT_BITSET => wait(ctx, key, bits, fourth, Some(clock(operation)), equals(value)),
        libc::FUTEX_WAKE => wake(Waits::ANY),
        libc::FUTEX_WAKE_BITSET => wake(bits),
        requeue @ (libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE) => {
            if to == 0 || to % 4 != 0 || (value as i32) < 0 || (fourth as i32) < 0 {
                return Err(Errno::INVAL.into());
            }
            let target = Some((to, count(fourth)));
            let compares = requeue == libc::FUTEX_CMP_REQUEUE;
            let ready = || if compares { equals(value3)() } else { Ok(()) };
            let (woken, moved) = waits.wake(key, Waits::ANY, count(value), target, ready)?;
            Ok((if compares { woken + moved } else { woken }) as u64)
        }
        _ => Err(Errno::NOSYS.into()),
    }
}

/// At a word that others share, which lies at offset `key` of the window.
fn shared(ctx: &SyscallContext<'_>, key: u64, operation: i32, [value, fourth, bits]: [u64; 3]) -> Reply {
    let any = bits as u32 == Waits::ANY;
    let clock = match operation & !libc::FUTEX_CLOCK_REALTIME {
        libc::FUTEX_WAIT => None,
        libc::FUTEX_WAIT_BITSET if any => Some(clock(operation)),
        libc::FUTEX_WAKE => return Ok(ctx.sharing.wake_shared(key, count(value))? as u64),
        libc::FUTEX_WAKE_BITSET if any => return Ok(ctx.sharing.wake_shared(key, count(value))? as u64),
        _ => return Err(Errno::NOSYS.into()),
    };
    let until = until(ctx, fourth, clock)?;
    // The domain may have lost the word by now, or the right to it.
    let address = || ctx.sharing.shared_word(key)?.ok_or(Errno::FAULT);
    let wait = |left: Option<&_>| {
        ctx.sleep.wait_shared(address()?, value as u32, left)?;
        address().map(drop)
    };
    answer(ctx.process.waits.sleep_shared(ctx.caller(), until, wait)?)
}

/// The clock of an absolute time.
fn clock(operation: i32) -> ClockId {
    if operation & libc::FUTEX_CLOCK_REALTIME != 0 { ClockId::Realtime } else { ClockId::Monotonic }
}

/// When a timeout is over that is relative, or absolute on `clock`; never, if there is none.
fn until(ctx: &SyscallContext<'_>, timeout: u64, clock: Option<ClockId>) -> Result<Option<Instant>, Errno> {
    if timeout == 0 {
        return Ok(None);
    }
    let time = ctx.timespec(timeout)?;
    let left = match clock {
        None => time,
        Some(clock) => {
            let now = rustix::time::clock_gettime(clock);
            time.saturating_sub(Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
        }
    };
    // A time too far to express is no limit.
    Ok(Instant::now().checked_add(left))
}

fn answer(wake: Wake) -> Reply {
    match wake {
        Wake::Woken => Ok(0),
        Wake::TimedOut => Err(Errno::TIMEDOUT.into()),
    }
}

/// A wait with a timeout that is relative, or absolute on `clock`.
fn wait(
    ctx: &SyscallContext<'_>,
    key: u64,
    bits: u32,
    timeout: u64,
    clock: Option<ClockId>,
    ready: impl Fn() -> Result<(), Errno>,
) -> Reply {
    let until = until(ctx, timeout, clock)?;
    answer(ctx.process.waits.sleep(ctx.caller(), key, bits, until, ready)?)
}

/// Numbers of sleepers are signed in the kernel; negative means none.
fn count(value: u64) -> usize {
    (value as i32).max(0) as usize
}

/// Bytes of `struct robust_list_head`: the first entry, the futex's distance from its entry, the entry that is being changed.
const HEAD: usize = 24;

/// `set_robust_list(head, length)`.
pub fn set_robust_list(ctx: &SyscallContext<'_>, [head, length, ..]: [u64; 6]) -> Reply {
    if length != HEAD as u64 {
        return Err(Errno::INVAL.into());
    }
    let mut robust = locked(&ctx.process.robust);
    match head {
        0 => robust.remove(&ctx.thread.slot),
        head => robust.insert(ctx.thread.slot, head),
    };
    Ok(0)
}

/// `get_robust_list(thread, head, length)`: the calling thread's own list. libc asks with it whether it may make robust mutexes.
pub fn get_robust_list(ctx: &SyscallContext<'_>, [thread, head, length, ..]: [u64; 6]) -> Reply {
    let own = ctx.process.thread_number(ctx.thread.slot);
    if thread as u32 != 0 && u64::from(thread as u32) != own {
        return Err(Errno::PERM.into());
    }
    let list = locked(&ctx.process.robust).get(&ctx.thread.slot).copied().unwrap_or(0);
    ctx.memory.write(length, &(HEAD as u64).to_le_bytes())?;
    ctx.memory.write(head, &list.to_le_bytes())?;
    Ok(0)
}
