//! `fsync`, `fdatasync`, `sync_file_range`, `fadvise64`.
use crate::SyscallContext;
use crate::outcome::Reply;
use rustix::io::Errno;

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

/// `sync_file_range(fd, offset, length, flags)`.
pub fn sync_file_range(ctx: &SyscallContext<'_>, [fd, offset, length, flags, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    lockgate_kernel::sync_range(file.fd(), offset as i64, length as i64, flags as u32)?;
    Ok(0)
}

/// `fadvise64(fd, offset, length, advice)`: a hint, not passed on.
pub fn fadvise(ctx: &SyscallContext<'_>, [fd, _, length, advice, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(file.fd())?.st_mode).is_fifo() {
        return Err(Errno::SPIPE.into());
    }
    let known = libc::POSIX_FADV_NORMAL..=libc::POSIX_FADV_NOREUSE;
    if (length as i64) < 0 || !known.contains(&(advice as i32)) {
        return Err(Errno::INVAL.into());
    }
    Ok(0)
}
