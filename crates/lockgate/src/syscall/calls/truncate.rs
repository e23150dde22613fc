//! `truncate`, `ftruncate`, `fallocate`.
use super::deadly_sys::without_signals;
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;
use crate::syscall::descriptors::{Description, Kind};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

/// `truncate(path, length)`.
pub fn truncate(ctx: &SyscallContext<'_>, [path, length, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let location = ctx.locate(libc::AT_FDCWD, &path)?;
    let file = location.open(&ctx.process.grants, OFlags::WRONLY, Mode::empty())?;
    let length = size(length)?;
    without_signals(|| rustix::fs::ftruncate(file.fd(), length))?;
    Ok(0)
}

/// `ftruncate(fd, length)`.
pub fn ftruncate(ctx: &SyscallContext<'_>, [fd, length, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    if file.kind != Kind::Regular || !file.writable {
        return Err(Errno::INVAL.into());
    }
    appendable(&file)?;
    let length = size(length)?;
    without_signals(|| rustix::fs::ftruncate(file.fd(), length))?;
    Ok(0)
}

/// Fails for a stream that the host opened for appending: its length is what was written there.
fn appendable(file: &Description) -> Result<(), Errno> {
    if file.hosts_append() { Err(Errno::PERM) } else { Ok(()) }
}

/// `fallocate(fd, mode, offset, length)`: mode 0 and `FALLOC_FL_KEEP_SIZE`.
pub fn fallocate(ctx: &SyscallContext<'_>, [fd, mode, offset, length, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?.for_writing()?;
    appendable(&file)?;
    let mode = FallocateFlags::from_bits_retain(mode as u32);
    if !FallocateFlags::KEEP_SIZE.contains(mode) {
        return Err(Errno::OPNOTSUPP.into());
    }
    let (offset, length) = (size(offset)?, size(length)?);
    without_signals(|| rustix::fs::fallocate(file.fd(), mode, offset, length))?;
    Ok(0)
}

fn size(length: u64) -> Result<u64, Errno> {
    if i64::try_from(length).is_ok() { Ok(length) } else { Err(Errno::INVAL) }
}
