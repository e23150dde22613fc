//! Who the module is: its process is the host's, all else is always the same.
use crate::SyscallContext;
use crate::caller::{FIRST_THREAD, thread_number};
use crate::outcome::Reply;

/// Number of its parent.
const PARENT: u64 = 1;
/// Its user and group, also the owner of every file that it sees: nobody's. No user of the host is meant.
pub(super) const USER: u32 = 65534;

/// The stack slot of the thread with this number, if there can be one.
pub(super) fn slot(thread: u64) -> Option<u32> {
    let slot = u32::try_from(thread).ok()?.checked_sub(FIRST_THREAD)?;
    (u64::from(slot) < lockgate_abi::stack::SLOTS).then_some(slot)
}

/// `getpid()`: the host's, by which whoever started a program knows it.
pub fn getpid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(ctx.process.number().into())
}

/// `getppid()`.
pub fn getppid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PARENT)
}

/// `gettid()`.
pub fn gettid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(thread_number(ctx.thread.slot))
}

/// `getuid()`, `geteuid()`, `getgid()`, `getegid()`.
pub fn getuid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(USER.into())
}

/// `getpgid`, `getpgrp`, `getsid`: a group and session of its own.
pub fn getpgid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(ctx.process.number().into())
}
