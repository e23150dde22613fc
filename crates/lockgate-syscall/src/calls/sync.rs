//! `fsync`, `fdatasync`, `fadvise64`.
use crate::SyscallContext;
use crate::outcome::Reply;

/// `fsync(fd)`.
pub fn fsync(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    rustix::fs::fsync(ctx.process.descriptor(fd as i32)?.fd())?;
    Ok(0)
}

/// `fdatasync(fd)`.
pub fn fdatasync(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    rustix::fs::fdatasync(ctx.process.descriptor(fd as i32)?.fd())?;
    Ok(0)
}

/// `fadvise64(fd, offset, length, advice)`: a hint, not passed on.
pub fn fadvise(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    ctx.process.descriptor(fd as i32)?;
    Ok(0)
}
