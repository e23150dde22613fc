//! Calls that change names: `unlink`, `rmdir`, `mkdir`, `rename`, `link`, `symlink` and their `at` forms.
//!
//! Each resolves the folder beneath its grant first and then works on one name in that folder.
use super::open::file_mode;
use crate::SyscallContext;
use crate::directories::{is_special, may_move};
use crate::directory::components;
use crate::endpoints::Purpose;
use crate::outcome::Reply;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, RenameFlags};
use rustix::io::Errno;

const CURRENT: u64 = libc::AT_FDCWD as u64;

/// `.` and `..` are no names of a folder's: a path that ends so fails with what `no_name` says of it.
fn parent_of(
    ctx: &SyscallContext<'_>,
    fd: u64,
    path: &[u8],
    no_name: impl FnOnce(&[u8]) -> Errno,
) -> Result<(OwnedFd, Vec<u8>), Errno> {
    match path.split(|&byte| byte == b'/').rfind(|part| !part.is_empty()) {
        Some(last @ (b"." | b"..")) => {
            // What it leads to is a directory, or the path is wrong before that.
            ctx.locate(fd as i32, path)?.handle(&ctx.process.grants, true)?;
            Err(no_name(last))
        }
        _ => ctx.locate(fd as i32, path)?.parent(&ctx.process.grants),
    }
}

/// The same, of a name that is to be taken away.
fn leaving(
    ctx: &SyscallContext<'_>,
    fd: u64,
    path: &[u8],
    no_name: impl FnOnce(&[u8]) -> Errno,
) -> Result<(OwnedFd, Vec<u8>), Errno> {
    let (folder, name) = parent_of(ctx, fd, path, no_name)?;
    may_move(&ctx.process.grants, folder.as_fd(), &name)?;
    Ok((folder, name))
}

/// `unlink(path)`.
pub fn unlink(ctx: &SyscallContext<'_>, [path, ..]: [u64; 6]) -> Reply {
    unlinkat(ctx, [CURRENT, path, 0, 0, 0, 0])
}

/// `rmdir(path)`.
pub fn rmdir(ctx: &SyscallContext<'_>, [path, ..]: [u64; 6]) -> Reply {
    unlinkat(ctx, [CURRENT, path, libc::AT_REMOVEDIR as u64, 0, 0, 0])
}

/// `unlinkat(fd, path, flags)`.
pub fn unlinkat(ctx: &SyscallContext<'_>, [fd, path, flags, ..]: [u64; 6]) -> Reply {
    let flags = match flags as i32 {
        0 => AtFlags::empty(),
        libc::AT_REMOVEDIR => AtFlags::REMOVEDIR,
        _ => return Err(Errno::INVAL.into()),
    };
    let path = ctx.path(path)?;
    // A server removes what another has left of its socket.
    if let Some(socket) = ctx.process.grants.socketfile(Purpose::Listen, &path).filter(|_| flags.is_empty()) {
        socket.remove()?;
        return Ok(0);
    }
    let (folder, name) = leaving(ctx, fd, &path, |last| match (flags.is_empty(), last) {
        (true, _) => Errno::ISDIR,
        (false, b".") => Errno::INVAL,
        (false, _) => Errno::NOTEMPTY,
    })?;
    rustix::fs::unlinkat(folder, name, flags)?;
    Ok(0)
}

/// `mkdir(path, mode)`.
pub fn mkdir(ctx: &SyscallContext<'_>, [path, mode, ..]: [u64; 6]) -> Reply {
    mkdirat(ctx, [CURRENT, path, mode, 0, 0, 0])
}

/// `mkdirat(fd, path, mode)`.
pub fn mkdirat(ctx: &SyscallContext<'_>, [fd, path, mode, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let parent = || parent_of(ctx, fd, &path, |_| Errno::BUSY);
    // `mkdir -p` makes what leads to a grant, and the grant itself: they are there.
    let (folder, name) = match parent() {
        _ if ctx.leads_to_a_grant(fd as i32, &path).is_some() => return Err(Errno::EXIST.into()),
        Err(Errno::BUSY) => return Err(Errno::EXIST.into()),
        other => other?,
    };
    rustix::fs::mkdirat(folder, name, file_mode(ctx, mode))?;
    Ok(0)
}

/// `rename(old, new)`.
pub fn rename(ctx: &SyscallContext<'_>, [old, new, ..]: [u64; 6]) -> Reply {
    renameat2(ctx, [CURRENT, old, CURRENT, new, 0, 0])
}

/// `renameat(old fd, old, new fd, new)`.
pub fn renameat(ctx: &SyscallContext<'_>, [old_fd, old, new_fd, new, ..]: [u64; 6]) -> Reply {
    renameat2(ctx, [old_fd, old, new_fd, new, 0, 0])
}

/// `renameat2(old fd, old, new fd, new, flags)`.
pub fn renameat2(ctx: &SyscallContext<'_>, [old_fd, old, new_fd, new, flags, _]: [u64; 6]) -> Reply {
    let known = RenameFlags::NOREPLACE | RenameFlags::EXCHANGE;
    let flags = RenameFlags::from_bits_retain(flags as u32);
    if !known.contains(flags) || flags == known {
        return Err(Errno::INVAL.into());
    }
    let (old_folder, old) = leaving(ctx, old_fd, &ctx.path(old)?, |_| Errno::BUSY)?;
    let (new_folder, new) = leaving(ctx, new_fd, &ctx.path(new)?, |_| Errno::BUSY)?;
    of_one_kind(ctx, &old_folder, &new_folder)?;
    rustix::fs::renameat_with(old_folder, old, new_folder, new, flags)?;
    Ok(0)
}

/// `link(old, new)`.
pub fn link(ctx: &SyscallContext<'_>, [old, new, ..]: [u64; 6]) -> Reply {
    linkat(ctx, [CURRENT, old, CURRENT, new, 0, 0])
}

/// `linkat(old fd, old, new fd, new, flags)`: symbolic links are not followed. Both ends need write access:
/// a link out of a read-only grant would make its file writable.
pub fn linkat(ctx: &SyscallContext<'_>, [old_fd, old, new_fd, new, flags, _]: [u64; 6]) -> Reply {
    if flags != 0 {
        return Err(Errno::INVAL.into());
    }
    let (old, new) = (ctx.path(old)?, ctx.path(new)?);
    // In the kernel's order: what is linked must be there, then the new name must be free.
    if ctx.locate(old_fd as i32, &old)?.handle(&ctx.process.grants, false)?.read_only {
        return Err(Errno::ROFS.into());
    }
    let (new_folder, new) = parent_of(ctx, new_fd, &new, |_| Errno::EXIST)?;
    if rustix::fs::statat(&new_folder, new.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Errno::EXIST.into());
    }
    let (old_folder, old) = parent_of(ctx, old_fd, &old, |_| Errno::PERM)?;
    of_one_kind(ctx, &old_folder, &new_folder)?;
    rustix::fs::linkat(old_folder, old, new_folder, new, AtFlags::empty())?;
    Ok(0)
}

/// Links and FIFOs, and directories that hold some, do not come where none may be made: as if there were two file systems.
fn of_one_kind(ctx: &SyscallContext<'_>, old: &OwnedFd, new: &OwnedFd) -> Result<(), Errno> {
    let is_special = |folder: &OwnedFd| is_special(&ctx.process.grants, folder.as_fd());
    if is_special(old)? == is_special(new)? { Ok(()) } else { Err(Errno::XDEV) }
}

/// The folder and name of something that is to be made where links and FIFOs may be.
fn special(ctx: &SyscallContext<'_>, fd: u64, path: &[u8]) -> Result<(OwnedFd, Vec<u8>), Errno> {
    let (folder, name) = parent_of(ctx, fd, path, |_| Errno::EXIST)?;
    if rustix::fs::statat(&folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Errno::EXIST);
    }
    if is_special(&ctx.process.grants, folder.as_fd())? { Ok((folder, name)) } else { Err(Errno::PERM) }
}

/// `symlink(target, new)`.
pub fn symlink(ctx: &SyscallContext<'_>, [target, new, ..]: [u64; 6]) -> Reply {
    symlinkat(ctx, [target, CURRENT, new, 0, 0, 0])
}

/// `symlinkat(target, fd, new)`: where that was granted. A program that follows the link, on the host too, comes to something beneath the link's
/// own folder, wherever that is moved: the target is relative, and does not climb.
pub fn symlinkat(ctx: &SyscallContext<'_>, [target, fd, new, ..]: [u64; 6]) -> Reply {
    let (target, new) = (ctx.path(target)?, ctx.path(new)?);
    if target.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let (folder, name) = special(ctx, fd, &new)?;
    if target.starts_with(b"/") || components(&target).any(|part| part == b"..") {
        return Err(Errno::PERM.into());
    }
    rustix::fs::symlinkat(target, folder, name)?;
    Ok(0)
}

/// `mknod(path, mode, device)`.
pub fn mknod(ctx: &SyscallContext<'_>, [path, mode, ..]: [u64; 6]) -> Reply {
    mknodat(ctx, [CURRENT, path, mode, 0, 0, 0])
}

/// `mknodat(fd, path, mode, device)`: a regular file, or a FIFO where that was granted.
pub fn mknodat(ctx: &SyscallContext<'_>, [fd, path, mode, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let rights = file_mode(ctx, mode);
    match mode as u32 & libc::S_IFMT {
        0 | libc::S_IFREG => {
            let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
            let _place = ctx.process.place()?;
            ctx.locate(fd as i32, &path)?.open(&ctx.process.grants, new, rights)?;
        }
        libc::S_IFIFO => {
            let (folder, name) = special(ctx, fd, &path)?;
            rustix::fs::mknodat(folder, name, FileType::Fifo, rights, 0)?;
        }
        libc::S_IFCHR | libc::S_IFBLK | libc::S_IFSOCK => return Err(Errno::PERM.into()),
        _ => return Err(Errno::INVAL.into()),
    }
    Ok(0)
}
