//! Signals: dispositions and masks are remembered, none is ever delivered into a domain. A deadly signal
//! to itself (musl's `abort` is one) ends the call as a fault.
use super::identity;
use crate::syscall::SyscallContext;
use crate::syscall::context::{Fault, Halt, Reply};
use crate::syscall::signal_state::{ACTION, DEFAULT, IGNORE};
use crate::syscall::waits::locked;
use rustix::io::Errno;

/// Bytes of a signal set.
const SET: u64 = 8;
/// Signals are 1 to this.
const LAST: u32 = 64;

/// `rt_sigaction(signal, new or null, old or null, set size)`.
pub fn rt_sigaction(ctx: &SyscallContext<'_>, [signal, new, old, size, ..]: [u64; 6]) -> Reply {
    let signal = number(signal)?;
    let fixed = [libc::SIGKILL, libc::SIGSTOP].contains(&(signal as i32));
    if size != SET || (fixed && new != 0) {
        return Err(Errno::INVAL.into());
    }
    let action: Option<[u8; ACTION]> = if new == 0 { None } else { Some(ctx.array(new)?) };
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
    ctx.give(old, crate::syscall::wire::Record::new().u64(0).u64(SS_DISABLE).u64(0))?;
    Ok(0)
}

/// `kill(process, signal)`.
pub fn kill(ctx: &SyscallContext<'_>, [process, signal, ..]: [u64; 6]) -> Reply {
    // 0 and -1 mean its own group and everybody: itself, here.
    let own = [0, -1, identity::PROCESS as i32, -(identity::PROCESS as i32)];
    if own.contains(&(process as i32)) { send(ctx, signal) } else { Err(Errno::SRCH.into()) }
}

/// `tkill(thread, signal)`.
pub fn tkill(ctx: &SyscallContext<'_>, [thread, signal, ..]: [u64; 6]) -> Reply {
    if thread == identity::thread(ctx.thread.slot) { send(ctx, signal) } else { Err(Errno::SRCH.into()) }
}

/// `tgkill(process, thread, signal)`.
pub fn tgkill(ctx: &SyscallContext<'_>, [process, thread, signal, ..]: [u64; 6]) -> Reply {
    if process != u64::from(identity::PROCESS) {
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
        // A handler of the module's cannot be run.
        _ => Err(Errno::NOSYS.into()),
    }
}

fn number(signal: u64) -> Result<u32, Errno> {
    u32::try_from(signal).ok().filter(|signal| (1..=LAST).contains(signal)).ok_or(Errno::INVAL)
}
