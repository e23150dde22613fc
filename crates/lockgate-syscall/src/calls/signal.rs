//! Signals: dispositions and masks are remembered, none is ever delivered into a domain. A signal to itself (musl's `abort` is one) ends
//! the call as a fault, unless it is ignored. What would have a program believe that a handler runs, or wait for one, fails or ends
//! the call.
use crate::SyscallContext;
use crate::caller::{PROCESS, thread_number};
use crate::locked::locked;
use crate::outcome::{Fault, Halt, Reply};
use crate::signal_state::{ACTION, DEFAULT, IGNORE};
use crate::wire::word;
use rustix::io::Errno;
use std::time::Instant;

/// Bytes of a signal set.
const SET: u64 = 8;
/// Signals are 1 to this.
const LAST: u32 = 64;

/// Signals that come of what a program does itself. Others never arrive, and a handler of theirs waits in vain as it would outside.
const OWN: [i32; 14] = [
    libc::SIGABRT,
    libc::SIGALRM,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGIO,
    libc::SIGPIPE,
    libc::SIGPROF,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
    libc::SIGVTALRM,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// `rt_sigaction(signal, new or null, old or null, set size)`. A handler that a program would count on is refused with `ENOSYS`.
pub fn rt_sigaction(ctx: &SyscallContext<'_>, [signal, new, old, size, ..]: [u64; 6]) -> Reply {
    let signal = number(signal)?;
    let fixed = [libc::SIGKILL, libc::SIGSTOP].contains(&(signal as i32));
    if size != SET || (fixed && new != 0) {
        return Err(Errno::INVAL.into());
    }
    let action: Option<[u8; ACTION]> = if new == 0 { None } else { Some(ctx.array(new)?) };
    let handler = action.map_or(DEFAULT, |action| word(&action, 0));
    if OWN.contains(&(signal as i32)) && ![DEFAULT, IGNORE].contains(&handler) {
        return Err(Errno::NOSYS.into());
    }
    let mut signals = locked(&ctx.process.signals);
    let before = signals.action(signal);
    if let Some(action) = action {
        signals.set_action(signal, action);
    }
    drop(signals);
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
    let mut signals = locked(&ctx.process.signals);
    let mask = signals.mask(ctx.thread.slot);
    let before = *mask;
    if let Some(set) = set {
        *mask = match how as i32 {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return Err(Errno::INVAL.into()),
        };
    }
    drop(signals);
    if old != 0 {
        ctx.memory.write(old, &before.to_le_bytes())?;
    }
    Ok(0)
}

/// `sigaltstack(new or null, old or null)`: accepted; the old one reads as disabled.
pub fn sigaltstack(ctx: &SyscallContext<'_>, [_, old, ..]: [u64; 6]) -> Reply {
    const SS_DISABLE: u64 = 2;
    ctx.give(old, &crate::wire::Record::new().u64(0).u64(SS_DISABLE).u64(0).0)?;
    Ok(0)
}

/// `kill(process, signal)`.
pub fn kill(ctx: &SyscallContext<'_>, [process, signal, ..]: [u64; 6]) -> Reply {
    // 0 and -1 mean its own group and everybody: itself, here.
    let own = [0, -1, PROCESS as i32, -(PROCESS as i32)];
    if own.contains(&(process as i32)) { send(ctx, signal) } else { Err(Errno::SRCH.into()) }
}

/// `tkill(thread, signal)`.
pub fn tkill(ctx: &SyscallContext<'_>, [thread, signal, ..]: [u64; 6]) -> Reply {
    if thread == thread_number(ctx.thread.slot) { send(ctx, signal) } else { Err(Errno::SRCH.into()) }
}

/// `tgkill(process, thread, signal)`.
pub fn tgkill(ctx: &SyscallContext<'_>, [process, thread, signal, ..]: [u64; 6]) -> Reply {
    if process != u64::from(PROCESS) {
        return Err(Errno::SRCH.into());
    }
    tkill(ctx, [thread, signal, 0, 0, 0, 0])
}

/// What the module's signal to itself comes to.
fn send(ctx: &SyscallContext<'_>, signal: u64) -> Reply {
    if signal == 0 {
        return Ok(0);
    }
    let signal = number(signal)?;
    let handler = match signal as i32 {
        libc::SIGKILL | libc::SIGSTOP => DEFAULT,
        _ => locked(&ctx.process.signals).handler(signal),
    };
    match (handler, signal as i32) {
        (DEFAULT, libc::SIGABRT) => Err(Halt::Fault(Fault::Abort)),
        (DEFAULT, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH) | (IGNORE, _) => Ok(0),
        (DEFAULT, _) => Err(Halt::Fault(Fault::Signal(signal as u8))),
        _ => Err(Halt::Fault(Fault::Handler(signal as u8))),
    }
}

/// `alarm(seconds)`: it has no way to fail. 0 takes back what was never asked for.
pub fn alarm(_: &SyscallContext<'_>, [seconds, ..]: [u64; 6]) -> Reply {
    if seconds as u32 == 0 { Ok(0) } else { Err(Halt::Fault(Fault::Undeliverable("alarm"))) }
}

/// `pause()`.
pub fn pause(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Halt::Fault(Fault::Undeliverable("pause")))
}

/// `rt_sigsuspend(mask, set size)`.
pub fn rt_sigsuspend(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Err(Halt::Fault(Fault::Undeliverable("sigsuspend")))
}

/// `rt_sigtimedwait(set, information, timeout or null, set size)`: the time passes.
pub fn rt_sigtimedwait(ctx: &SyscallContext<'_>, [_, _, timeout, size, ..]: [u64; 6]) -> Reply {
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    if timeout == 0 {
        return Err(Halt::Fault(Fault::Undeliverable("sigwait")));
    }
    ctx.sleep_until(Instant::now().checked_add(ctx.timespec(timeout)?))?;
    Err(Errno::AGAIN.into())
}

/// `rt_sigpending(set, set size)`: none is.
pub fn rt_sigpending(ctx: &SyscallContext<'_>, [set, size, ..]: [u64; 6]) -> Reply {
    if size > SET {
        return Err(Errno::INVAL.into());
    }
    ctx.memory.write(set, &[0; SET as usize][..size as usize])?;
    Ok(0)
}

fn number(signal: u64) -> Result<u32, Errno> {
    u32::try_from(signal).ok().filter(|signal| (1..=LAST).contains(signal)).ok_or(Errno::INVAL)
}
