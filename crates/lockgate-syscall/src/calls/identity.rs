//! Who the module is: always the same, whatever the host is.
use crate::SyscallContext;
use crate::caller::{PROCESS, thread_number};
use crate::outcome::Reply;

/// Number of its parent.
const PARENT: u64 = 1;
/// Its user and group, also the owner of every file that it sees: nobody's. No user of the host is meant.
pub(super) const USER: u32 = 65534;

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
    Ok(thread_number(ctx.thread.slot))
}

/// `getuid()`, `geteuid()`, `getgid()`, `getegid()`.
pub fn getuid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(USER.into())
}

/// `getpgid`, `getpgrp`, `getsid`: a group and session of its own.
pub fn getpgid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PROCESS.into())
}
