//! Virtual signals (docs/decisions/0080): a domain sends them to itself and to its own threads. None comes from the host, or goes there.
use super::identity;
use crate::SyscallContext;
use crate::outcome::{Fault, Halt, Reply};
use crate::signal_state::{ACTION, AUTODISARM, Info, LAST};
use crate::wire::{Record, word};
use rustix::io::Errno;
use std::time::Instant;

/// Bytes of a signal set.
pub(super) const SET: u64 = 8;

/// `rt_sigaction(signal, new or null, old or null, set size)`.
pub fn rt_sigaction(ctx: &SyscallContext<'_>, [signal, new, old, size, ..]: [u64; 6]) -> Reply {
    let signal = number(signal)?;
    let fixed = [libc::SIGKILL, libc::SIGSTOP].contains(&(signal as i32));
    if size != SET || (fixed && new != 0) {
        return Err(Errno::INVAL.into());
    }
    let action: Option<[u8; ACTION]> = if new == 0 { None } else { Some(ctx.array(new)?) };
    let before = ctx.process.change_signals(|signals| {
        let before = signals.action(signal);
        if let Some(action) = action {
            signals.set_action(signal, action);
        }
        before
    });
    if old != 0 {
        ctx.memory.write(old, &before)?;
    }
    Ok(0)
}

/// `rt_sigprocmask(how, new or null, old or null, set size)`.
pub fn rt_sigprocmask(ctx: &SyscallContext<'_>, [how, new, old, size, ..]: [u64; 6]) -> Reply {
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    let set = if new == 0 { None } else { Some(u64::from_le_bytes(ctx.array(new)?)) };
    let mut signals = ctx.process.signals();
    let before = signals.mask(ctx.thread.slot);
    if let Some(set) = set {
        let mask = match how as i32 {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return Err(Errno::INVAL.into()),
        };
        ctx.stack.mask_changes(before);
        signals.set_mask(ctx.thread.slot, mask);
    }
    drop(signals);
    if old != 0 {
        ctx.memory.write(old, &before.to_le_bytes())?;
    }
    Ok(0)
}

/// `sigaltstack(new or null, old or null)`. Handlers run on the stack that they interrupt: frames use no memory that the program chooses. So
/// this only says how much of that stack is kept for handlers of its overflow. To a handler that asked for the alternate stack it says that this
/// is where it runs, and does not change it, as on Linux: the handler may be one of an overflow, in what is kept.
pub fn sigaltstack(ctx: &SyscallContext<'_>, [new, old, ..]: [u64; 6]) -> Reply {
    const KINDS: [i32; 3] = [0, libc::SS_ONSTACK, libc::SS_DISABLE];
    let has_one = ctx.process.signals().alternate(ctx.thread.slot, None).is_some();
    let is_on = has_one && ctx.stack.is_on_alternate();
    let new = match new {
        0 => None,
        new => {
            let [start, flags, size] = ctx.words(new)?;
            if is_on {
                return Err(Errno::PERM.into());
            }
            let flags = u64::from(flags as u32);
            let kind = (flags & !AUTODISARM) as i32;
            if !KINDS.contains(&kind) {
                return Err(Errno::INVAL.into());
            }
            if kind != libc::SS_DISABLE && size < libc::MINSIGSTKSZ as u64 {
                return Err(Errno::NOMEM.into());
            }
            Some((kind != libc::SS_DISABLE).then_some([start, flags & AUTODISARM, size]))
        }
    };
    if let Some(new) = new {
        ctx.stack.alternate_changes(new.map(|[_, _, size]| size))?;
    }
    let before = ctx.process.signals().alternate(ctx.thread.slot, new);
    let [start, flags, size] = before.unwrap_or([0, libc::SS_DISABLE as u64, 0]);
    let flags = if is_on { flags | libc::SS_ONSTACK as u64 } else { flags };
    ctx.give(old, &Record::new().u64(start).u64(flags).u64(size).0)?;
    Ok(0)
}

/// `kill(process, signal)`.
pub fn kill(ctx: &SyscallContext<'_>, [process, signal, ..]: [u64; 6]) -> Reply {
    // 0 and -1 mean its own group and all processes: itself, here.
    let number = ctx.process.number() as i32;
    let own = [0, -1, number, -number];
    if !own.contains(&(process as i32)) {
        return Err(Errno::SRCH.into());
    }
    send(ctx, None, signal, |signal| sent(ctx, signal, libc::SI_USER, 0))
}

/// `tkill(thread, signal)`.
pub fn tkill(ctx: &SyscallContext<'_>, [thread, signal, ..]: [u64; 6]) -> Reply {
    let to = self::thread(ctx, thread)?;
    send(ctx, Some(to), signal, |signal| sent(ctx, signal, libc::SI_TKILL, 0))
}

/// `tgkill(process, thread, signal)`.
pub fn tgkill(ctx: &SyscallContext<'_>, [process, thread, signal, ..]: [u64; 6]) -> Reply {
    if process != u64::from(ctx.process.number()) {
        return Err(Errno::SRCH.into());
    }
    tkill(ctx, [thread, signal, 0, 0, 0, 0])
}

/// `rt_sigqueueinfo(process, signal, information)`.
pub fn rt_sigqueueinfo(ctx: &SyscallContext<'_>, [process, signal, info, ..]: [u64; 6]) -> Reply {
    if process != u64::from(ctx.process.number()) {
        return Err(Errno::SRCH.into());
    }
    let info: [u8; 32] = ctx.array(info)?;
    let (code, value) = (word(&info, 8) as u32 as i32, word(&info, 24));
    // Only the kernel itself says of a signal that an instruction has raised it.
    if code >= 0 {
        return Err(Errno::PERM.into());
    }
    send(ctx, None, signal, |signal| sent(ctx, signal, code, value))
}

/// What a handler is told of a signal that the domain has sent itself.
fn sent(ctx: &SyscallContext<'_>, signal: u32, code: i32, value: u64) -> Info {
    Info {
        signal,
        code,
        first: u64::from(ctx.process.number()) | u64::from(identity::USER) << 32,
        second: value,
    }
}

/// The slot of the thread with this number, which is inside.
pub(super) fn thread(ctx: &SyscallContext<'_>, thread: u64) -> Result<u32, Errno> {
    let slot = ctx.process.slot_of(thread).ok_or(Errno::SRCH)?;
    if slot == ctx.thread.slot || ctx.threads.has(slot) { Ok(slot) } else { Err(Errno::SRCH) }
}

/// Sends a signal: what is to be done about it is done before the system call is over, if it comes to the calling thread and is not
/// blocked there.
fn send(ctx: &SyscallContext<'_>, to: Option<u32>, signal: u64, info: impl FnOnce(u32) -> Info) -> Reply {
    if signal == 0 {
        return Ok(0);
    }
    let signal = number(signal)?;
    if [libc::SIGKILL, libc::SIGSTOP].contains(&(signal as i32)) {
        return Err(Halt::Fault(Fault::Signal(signal as u8)));
    }
    let slot = ctx.thread.slot;
    if to.is_none_or(|to| to == slot) && ctx.process.signals().is_deadly(slot, signal) {
        return Err(Halt::Fault(deadly(signal)));
    }
    ctx.process.send(to, info(signal))?;
    Ok(0)
}

/// How a call ends by a signal.
fn deadly(signal: u32) -> Fault {
    if signal == libc::SIGABRT as u32 { Fault::Abort } else { Fault::Signal(signal as u8) }
}

/// A system call sends its own thread a signal, as SIGPIPE.
pub(super) fn raise(ctx: &SyscallContext<'_>, signal: i32) -> Result<(), Halt> {
    let to = ctx.process.thread_number(ctx.thread.slot);
    tkill(ctx, [to, signal as u64, 0, 0, 0, 0]).map(|_| ())
}

/// `pause()`.
pub fn pause(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    ctx.sleep_until(None)?;
    Err(Errno::INTR.into())
}

/// `rt_sigsuspend(mask, set size)`.
pub fn rt_sigsuspend(ctx: &SyscallContext<'_>, [mask, size, ..]: [u64; 6]) -> Reply {
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    let mask = u64::from_le_bytes(ctx.array(mask)?);
    with_mask(ctx, mask, || pause(ctx, [0; 6]))
}

/// Waits with another mask. A handler that ends the wait begins with that one, and gives the thread its own back when it returns; where another
/// thread takes the signal first, the code that asks for what comes next does ([`Process::is_suspended`](crate::Process::is_suspended)).
pub(super) fn with_mask(ctx: &SyscallContext<'_>, mask: u64, wait: impl FnOnce() -> Reply) -> Reply {
    let slot = ctx.thread.slot;
    ctx.process.change_signals(|signals| {
        ctx.stack.mask_changes(signals.mask(slot));
        signals.suspend(slot, mask);
    });
    let result = wait();
    if result != Err(Errno::INTR.into()) {
        ctx.process.change_signals(|signals| signals.resume(slot));
    }
    result
}

/// The same with the mask that the domain has at `mask`, or its own where that is null.
pub(super) fn with_mask_at(
    ctx: &SyscallContext<'_>,
    mask: u64,
    size: u64,
    wait: impl FnOnce() -> Reply,
) -> Reply {
    if mask == 0 {
        return wait();
    }
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    with_mask(ctx, u64::from_le_bytes(ctx.array(mask)?), wait)
}

/// libc's own signal, by which it wakes its threads that serve timers with `SIGEV_THREAD`, and for which only these wait.
const TIMER: u64 = 1 << (32 - 1);

/// `rt_sigtimedwait(set, information or null, timeout or null, set size)`.
pub fn rt_sigtimedwait(ctx: &SyscallContext<'_>, [set, information, timeout, size, ..]: [u64; 6]) -> Reply {
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    let set = u64::from_le_bytes(ctx.array(set)?);
    let until = match timeout {
        0 => None,
        timeout => Instant::now().checked_add(ctx.timespec(timeout)?),
    };
    let slot = ctx.thread.slot;
    ctx.process.change_signals(|signals| signals.want(slot, set));
    // (The thread of a timer: it holds no lock of libc's.)
    let slept = if set == TIMER && timeout == 0 { ctx.sleep_for_peers() } else { ctx.sleep_until(until) };
    let taken = ctx.process.change_signals(|signals| {
        signals.want(slot, 0);
        signals.take(slot, set)
    });
    match (taken, slept) {
        (Some(info), _) => {
            if information != 0 {
                ctx.memory.write(information, &info.bytes())?;
            }
            Ok(info.signal.into())
        }
        (None, Ok(())) => Err(Errno::AGAIN.into()),
        (None, Err(halt)) => Err(halt),
    }
}

/// `rt_sigpending(set, set size)`.
pub fn rt_sigpending(ctx: &SyscallContext<'_>, [set, size, ..]: [u64; 6]) -> Reply {
    if size > SET {
        return Err(Errno::INVAL.into());
    }
    let slot = ctx.thread.slot;
    let pending = {
        let signals = ctx.process.signals();
        signals.pending(slot) & signals.mask(slot)
    };
    ctx.memory.write(set, &pending.to_le_bytes()[..size as usize])?;
    Ok(0)
}

fn number(signal: u64) -> Result<u32, Errno> {
    u32::try_from(signal).ok().filter(|signal| (1..=LAST).contains(signal)).ok_or(Errno::INVAL)
}
