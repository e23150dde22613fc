//! Who the module is: always the same, whatever the host is.
use crate::SyscallContext;
use crate::context::Reply;

/// Number of the emulated process, and of its first thread.
pub(super) const PROCESS: u32 = 100;
/// Number of its parent.
const PARENT: u64 = 1;
/// Its user and group, also the owner of every file that it sees: nobody's. No user of the host is meant.
pub(super) const USER: u32 = 65534;

/// Number of the thread in stack slot `slot`.
pub(crate) fn thread(slot: u32) -> u64 {
    u64::from(PROCESS + slot)
}

/// `getpid()`.
pub fn getpid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PROCESS.into())
}

/// `getppid()`.
pub fn getppid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PARENT)
}

/// `gettid()`.
pub fn gettid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(thread(ctx.thread.slot))
}

/// `getuid()`, `geteuid()`, `getgid()`, `getegid()`.
pub fn getuid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(USER.into())
}

/// `getpgid`, `getpgrp`, `getsid`: a group and session of its own.
pub fn getpgid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PROCESS.into())
}
