//! `lseek`.
use crate::SyscallContext;
use crate::descriptors::{Description, Kind};
use crate::outcome::Reply;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// `lseek(fd, offset, whence)`.
pub fn lseek(ctx: &SyscallContext<'_>, [fd, offset, whence, ..]: [u64; 6]) -> Reply {
    Ok(to(&*ctx.process.descriptor(fd as i32)?, offset, whence)?)
}

/// The place in `file` that it has from now on. It has nothing to drop.
pub(super) fn to(file: &Description, offset: u64, whence: u64) -> Result<u64, Errno> {
    if file.kind == Kind::Stream {
        return Err(Errno::SPIPE);
    }
    let signed = offset as i64;
    let absolute = |error| u64::try_from(signed).map_err(|_| error);
    let from = match whence as i32 {
        libc::SEEK_SET => SeekFrom::Start(absolute(Errno::INVAL)?),
        libc::SEEK_CUR => SeekFrom::Current(signed),
        libc::SEEK_END => SeekFrom::End(signed),
        libc::SEEK_DATA => SeekFrom::Data(absolute(Errno::NXIO)?),
        libc::SEEK_HOLE => SeekFrom::Hole(absolute(Errno::NXIO)?),
        _ => return Err(Errno::INVAL),
    };
    rustix::fs::seek(file.fd(), from)
}
