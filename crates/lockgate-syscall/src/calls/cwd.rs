//! `getcwd`, `chdir`, `fchdir`: a directory of the domain's own.
use crate::SyscallContext;
use crate::current::Current;
use crate::descriptors::{Description, Kind};
use crate::directory::{HANDLE, resolve};
use crate::outcome::Reply;
use lockgate_kernel::locked;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::sync::Arc;

/// `getcwd(buffer, length)`: bytes written, the zero included.
pub fn getcwd(ctx: &SyscallContext<'_>, [at, length, ..]: [u64; 6]) -> Reply {
    let mut path = ctx.current()?;
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
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let directory =
        Description::new(handle.fd, &handle.stat, flags, handle.read_only, location.guest.clone());
    enter(ctx, Arc::new(directory), location.guest)
}

/// `fchdir(fd)`.
pub fn fchdir(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    let directory = ctx.process.handle(fd as i32)?;
    if directory.kind != Kind::Directory {
        return Err(Errno::NOTDIR.into());
    }
    let path = directory.path.clone();
    enter(ctx, directory, path)
}

fn enter(ctx: &SyscallContext<'_>, directory: Arc<Description>, path: Vec<u8>) -> Reply {
    // Without the right to look names up in a directory a program may not go there either: the kernel is to say so.
    resolve(directory.fd(), b".", HANDLE, Mode::empty())?;
    let current = Current::new(&ctx.process.grants, directory, path);
    *locked(&ctx.process.current) = Arc::new(current);
    Ok(0)
}
