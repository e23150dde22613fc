//! Who the module is: its process is the host's, all else is always the same.
use crate::SyscallContext;
use crate::outcome::Reply;

/// Number of its parent.
const PARENT: u64 = 1;
/// Its user and group, also the owner of every file that it sees. It stands for no user of the host.
pub(super) const USER: u32 = 65534;

/// `getpid()`: the host's, by which the process that started a program knows it.
pub fn getpid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(ctx.process.number().into())
}

/// `getppid()`.
pub fn getppid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(PARENT)
}

/// `gettid()`.
pub fn gettid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(ctx.process.thread_number(ctx.thread.slot))
}

/// `getuid()`, `geteuid()`, `getgid()`, `getegid()`.
pub fn getuid(_: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(USER.into())
}

/// `getresuid(real, effective, saved)`, `getresgid(real, effective, saved)`: each is what `getuid` says.
pub fn getresuid(ctx: &SyscallContext<'_>, [real, effective, saved, ..]: [u64; 6]) -> Reply {
    for at in [real, effective, saved] {
        ctx.memory.write(at, &USER.to_le_bytes())?;
    }
    Ok(0)
}

/// `getpgid`, `getpgrp`, `getsid`: a group and session of its own.
pub fn getpgid(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    Ok(ctx.process.number().into())
}
