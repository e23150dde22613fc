//! `chmod`, `fchmod`, `fchmodat`, `chown`, `utimensat`, `umask`.
use super::identity;
use crate::SyscallContext;
use crate::directories::{admit, is_descriptor_itself};
use crate::directory::link_of;
use crate::outcome::Reply;
use crate::process::MAX_UMASK;
use crate::wire::word;
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Mode, Timespec, Timestamps};
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// Rights that a module may give: never set-user-ID, set-group-ID or sticky.
fn mode(bits: u64) -> Mode {
    Mode::from_raw_mode(bits as u32 & 0o777)
}

/// `chmod(path, mode)`.
pub fn chmod(ctx: &SyscallContext<'_>, [path, bits, ..]: [u64; 6]) -> Reply {
    fchmodat(ctx, [libc::AT_FDCWD as u64, path, bits, 0, 0, 0])
}

/// `fchmodat(fd, path, mode)`.
pub fn fchmodat(ctx: &SyscallContext<'_>, [fd, path, bits, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let handle = ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, true)?;
    if handle.read_only {
        return Err(Errno::ROFS.into());
    }
    // As before an opening: but the file's owner may change its rights even if it cannot be opened.
    admit(&ctx.process.grants, &handle.stat)?;
    rustix::fs::chmod(link_of(&handle.fd), mode(bits))?;
    Ok(0)
}

/// `fchmod(fd, mode)`: files beneath a writable grant only.
pub fn fchmod(ctx: &SyscallContext<'_>, [fd, bits, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    own(&file)?;
    rustix::fs::fchmod(file.fd(), mode(bits))?;
    Ok(0)
}

/// `chown(path, user, group)`.
pub fn chown(ctx: &SyscallContext<'_>, [path, user, group, ..]: [u64; 6]) -> Reply {
    fchownat(ctx, [libc::AT_FDCWD as u64, path, user, group, 0, 0])
}

/// `lchown(path, user, group)`.
pub fn lchown(ctx: &SyscallContext<'_>, [path, user, group, ..]: [u64; 6]) -> Reply {
    let flags = libc::AT_SYMLINK_NOFOLLOW as u64;
    fchownat(ctx, [libc::AT_FDCWD as u64, path, user, group, flags, 0])
}

/// `fchownat(fd, path, user, group, flags)`.
pub fn fchownat(ctx: &SyscallContext<'_>, [fd, path, user, group, flags, _]: [u64; 6]) -> Reply {
    let flags = AtFlags::from_bits_retain(flags as u32);
    if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    let path = ctx.path(path)?;
    let read_only = if is_descriptor_itself(&path, flags) && fd as i32 != libc::AT_FDCWD {
        ctx.process.handle(fd as i32)?.read_only_grant
    } else {
        let follow = !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
        ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, follow)?.read_only
    };
    to_itself(read_only, user, group)
}

/// `fchown(fd, user, group)`.
pub fn fchown(ctx: &SyscallContext<'_>, [fd, user, group, ..]: [u64; 6]) -> Reply {
    to_itself(ctx.process.descriptor(fd as i32)?.read_only_grant, user, group)
}

/// There is one user, who has everything: what is given to that one changes nothing, and to others nothing can be given.
fn to_itself(read_only: bool, user: u64, group: u64) -> Reply {
    if read_only {
        return Err(Errno::ROFS.into());
    }
    let is_own = |id: u64| [identity::USER, u32::MAX].contains(&(id as u32));
    if is_own(user) && is_own(group) { Ok(0) } else { Err(Errno::PERM.into()) }
}

/// `utimensat(fd, path or null, times or null, flags)`.
pub fn utimensat(ctx: &SyscallContext<'_>, [fd, path, times, flags, ..]: [u64; 6]) -> Reply {
    let flags = AtFlags::from_bits_retain(flags as u32);
    if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    let times = timestamps(ctx, times)?;
    if path == 0 {
        // They say how a path is followed.
        if !flags.is_empty() {
            return Err(Errno::INVAL.into());
        }
        let file = ctx.process.descriptor(fd as i32)?;
        own(&file)?;
        rustix::fs::futimens(file.fd(), &times)?;
        return Ok(0);
    }
    let path = ctx.path(path)?;
    let follow = !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
    let handle = ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, follow)?;
    if handle.read_only {
        return Err(Errno::ROFS.into());
    }
    if ctx.process.grants.is_forbidden(&handle.stat) {
        return Err(Errno::ACCESS.into());
    }
    set_times(rustix::fd::AsFd::as_fd(&handle.fd), &times)?;
    Ok(0)
}

/// `umask(mask)`: the one before.
pub fn umask(ctx: &SyscallContext<'_>, [mask, ..]: [u64; 6]) -> Reply {
    Ok(ctx.process.umask.swap(mask as u32 & MAX_UMASK, Ordering::Relaxed).into())
}

/// Fails for granted streams, whose attributes are the host's, and beneath read-only grants.
fn own(file: &crate::descriptors::Description) -> Result<(), Errno> {
    match file.read_only_grant {
        true => Err(Errno::ROFS),
        false if file.granted => Err(Errno::PERM),
        false => Ok(()),
    }
}

fn set_times(handle: BorrowedFd<'_>, times: &Timestamps) -> Result<(), Errno> {
    rustix::fs::utimensat(handle, c"", times, AtFlags::EMPTY_PATH)
}

/// Two `struct timespec`, `UTIME_NOW` and `UTIME_OMIT` included; null is now.
fn timestamps(ctx: &SyscallContext<'_>, at: u64) -> Result<Timestamps, Errno> {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    if at == 0 {
        return Ok(Timestamps { last_access: NOW, last_modification: NOW });
    }
    let bytes: [u8; 32] = ctx.array(at)?;
    let time = |at| Timespec { tv_sec: word(&bytes, at) as i64, tv_nsec: word(&bytes, at + 8) as i64 };
    Ok(Timestamps { last_access: time(0), last_modification: time(16) })
}
