//! `getcwd`, `chdir`, `fchdir`: a directory of the domain's own.
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;
use crate::syscall::descriptors::Kind;
use crate::syscall::waits::locked;
use rustix::fs::FileType;
use rustix::io::Errno;

/// `getcwd(buffer, length)`: bytes written, the zero included.
pub fn getcwd(ctx: &SyscallContext<'_>, [at, length, ..]: [u64; 6]) -> Reply {
    let mut path = locked(&ctx.process.current).clone();
    path.push(0);
    if (path.len() as u64) > length {
        return Err(Errno::RANGE.into());
    }
    ctx.memory.write(at, &path)?;
    Ok(path.len() as u64)
}

/// `chdir(path)`.
pub fn chdir(ctx: &SyscallContext<'_>, [path, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let location = ctx.locate(libc::AT_FDCWD, &path)?;
    let handle = location.handle(&ctx.process.grants, true)?;
    if FileType::from_raw_mode(handle.stat.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    *locked(&ctx.process.current) = location.guest;
    Ok(0)
}

/// `fchdir(fd)`.
pub fn fchdir(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    let directory = ctx.process.descriptor(fd as i32)?;
    if directory.kind != Kind::Directory {
        return Err(Errno::NOTDIR.into());
    }
    *locked(&ctx.process.current) = directory.path.clone();
    Ok(0)
}
