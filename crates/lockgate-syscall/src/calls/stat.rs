//! `stat`, `lstat`, `fstat`, `newfstatat`, `statx`, `access`, `faccessat`, `faccessat2`, `statfs`, `fstatfs`.
use super::identity;
use crate::SyscallContext;
use crate::directories::is_descriptor_itself;
use crate::directory::Directory;
use crate::outcome::Reply;
use crate::wire::Record;
use lockgate_kernel::access_of_handle;
use rustix::fd::AsFd;
use rustix::fs::{Access, AtFlags, Stat, StatFs, StatVfs, StatVfsMountFlags, major, minor};
use rustix::io::Errno;

const CURRENT: u64 = libc::AT_FDCWD as u64;
const NOFOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;
/// Flags of `stat` and its like. (Nothing is mounted automatically.)
const KNOWN: u64 = NOFOLLOW | (libc::AT_EMPTY_PATH | libc::AT_NO_AUTOMOUNT | libc::AT_STATX_SYNC_TYPE) as u64;

/// A bit of `statx`'s mask that Linux refuses.
const STATX_RESERVED: u32 = 0x8000_0000;

/// `stat(path, buffer)`.
pub fn stat(ctx: &SyscallContext<'_>, [path, at, ..]: [u64; 6]) -> Reply {
    newfstatat(ctx, [CURRENT, path, at, 0, 0, 0])
}

/// `lstat(path, buffer)`.
pub fn lstat(ctx: &SyscallContext<'_>, [path, at, ..]: [u64; 6]) -> Reply {
    newfstatat(ctx, [CURRENT, path, at, NOFOLLOW, 0, 0])
}

/// `fstat(fd, buffer)`.
pub fn fstat(ctx: &SyscallContext<'_>, [fd, at, ..]: [u64; 6]) -> Reply {
    let stat = rustix::fs::fstat(ctx.process.handle(fd as i32)?.fd())?;
    ctx.memory.write(at, &kernel_stat(&stat).0)?;
    Ok(0)
}

/// `newfstatat(fd, path, buffer, flags)`.
pub fn newfstatat(ctx: &SyscallContext<'_>, [fd, path, at, flags, ..]: [u64; 6]) -> Reply {
    let stat = look_up(ctx, fd, path, flags)?;
    ctx.memory.write(at, &kernel_stat(&stat).0)?;
    Ok(0)
}

/// `statx(fd, path, flags, mask, buffer)`: the basic fields.
pub fn statx(ctx: &SyscallContext<'_>, [fd, path, flags, mask, at, _]: [u64; 6]) -> Reply {
    const SYNC_TYPE: u64 = libc::AT_STATX_SYNC_TYPE as u64;
    if mask as u32 & STATX_RESERVED != 0 || flags & SYNC_TYPE == SYNC_TYPE {
        return Err(Errno::INVAL.into());
    }
    let stat = look_up(ctx, fd, path, flags)?;
    ctx.memory.write(at, &kernel_statx(&stat).0)?;
    Ok(0)
}

/// `access(path, mode)`.
pub fn access(ctx: &SyscallContext<'_>, [path, mode, ..]: [u64; 6]) -> Reply {
    faccessat2(ctx, [CURRENT, path, mode, 0, 0, 0])
}

/// `faccessat(fd, path, mode)`.
pub fn faccessat(ctx: &SyscallContext<'_>, [fd, path, mode, ..]: [u64; 6]) -> Reply {
    faccessat2(ctx, [fd, path, mode, 0, 0, 0])
}

/// `faccessat2(fd, path, mode, flags)`.
pub fn faccessat2(ctx: &SyscallContext<'_>, [fd, path, mode, flags, ..]: [u64; 6]) -> Reply {
    let known = NOFOLLOW as u32 | (libc::AT_EACCESS | libc::AT_EMPTY_PATH) as u32;
    if flags as u32 & !known != 0 {
        return Err(Errno::INVAL.into());
    }
    let access = Access::from_bits_retain(mode as u32);
    if !(Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).contains(access) {
        return Err(Errno::INVAL.into());
    };
    let path = ctx.path(path)?;
    let itself = is_descriptor_itself(&path, AtFlags::from_bits_retain(flags as u32));
    if itself && fd as i32 != libc::AT_FDCWD {
        let file = ctx.process.handle(fd as i32)?;
        if access.contains(Access::WRITE_OK) && file.read_only_grant {
            return Err(Errno::ROFS.into());
        }
        access_of_handle(file.fd(), access.bits())?;
        return Ok(0);
    }
    let path = if itself { b".".to_vec() } else { path };
    if ctx.leads_to_a_grant(fd as i32, &path).is_some() {
        return if access.contains(Access::WRITE_OK) { Err(Errno::ROFS.into()) } else { Ok(0) };
    }
    let handle = ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, flags & NOFOLLOW == 0)?;
    if access.contains(Access::WRITE_OK) && handle.read_only {
        return Err(Errno::ROFS.into());
    }
    access_of_handle(handle.fd.as_fd(), access.bits())?;
    Ok(0)
}

/// `statfs(path, buffer)`.
pub fn statfs(ctx: &SyscallContext<'_>, [path, at, ..]: [u64; 6]) -> Reply {
    let path = ctx.path(path)?;
    let (file_system, read_only) = match ctx.leads_to_a_grant(libc::AT_FDCWD, &path) {
        Some(grant) => (fstatfs_of(grant.description.fd())?, true),
        None => {
            let handle = ctx.locate(libc::AT_FDCWD, &path)?.handle(&ctx.process.grants, true)?;
            (fstatfs_of(handle.fd.as_fd())?, handle.read_only)
        }
    };
    ctx.memory.write(at, &kernel_statfs(&file_system, read_only).0)?;
    Ok(0)
}

/// `fstatfs(fd, buffer)`.
pub fn fstatfs(ctx: &SyscallContext<'_>, [fd, at, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.handle(fd as i32)?;
    let record = kernel_statfs(&fstatfs_of(file.fd())?, file.read_only_grant);
    ctx.memory.write(at, &record.0)?;
    Ok(0)
}

fn fstatfs_of(file: impl AsFd) -> Result<(StatFs, StatVfs), Errno> {
    let file = file.as_fd();
    Ok((rustix::fs::fstatfs(file)?, rustix::fs::fstatvfs(file)?))
}

/// The kernel's `struct statfs`, 120 bytes. The identity of the file system and how it is mounted are the host's affair: a domain opens no devices
/// and starts no programs, wherever they lie.
fn kernel_statfs((file_system, mounted): &(StatFs, StatVfs), read_only: bool) -> Record {
    /// That the kernel says which flags there are.
    const VALID: u64 = 0x20;
    let read_only = read_only || mounted.f_flag.contains(StatVfsMountFlags::RDONLY);
    let flags =
        if read_only { libc::ST_RDONLY } else { 0 } | libc::ST_NOSUID | libc::ST_NODEV | libc::ST_NOEXEC;
    Record::new()
        .i64(file_system.f_type)
        .i64(file_system.f_bsize)
        .u64(mounted.f_blocks)
        .u64(mounted.f_bfree)
        .u64(mounted.f_bavail)
        .u64(mounted.f_files)
        .u64(mounted.f_ffree)
        .u64(0)
        .u64(mounted.f_namemax)
        .u64(mounted.f_frsize)
        .u64(VALID | flags)
        .padded_to(120)
}

fn look_up(ctx: &SyscallContext<'_>, fd: u64, path: u64, flags: u64) -> Result<Stat, Errno> {
    // (An `int`.)
    let flags = u64::from(flags as u32);
    if flags & !KNOWN != 0 {
        return Err(Errno::INVAL);
    }
    let flags = AtFlags::from_bits_retain(flags as u32);
    let path = ctx.path(path)?;
    if is_descriptor_itself(&path, flags) && fd as i32 != libc::AT_FDCWD {
        return rustix::fs::fstat(ctx.process.handle(fd as i32)?.fd());
    }
    let path = if is_descriptor_itself(&path, flags) { b".".to_vec() } else { path };
    if let Some(grant) = ctx.leads_to_a_grant(fd as i32, &path) {
        return bare_folder(grant);
    }
    let follow = !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
    Ok(ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, follow)?.stat)
}

/// A folder that only leads to a grant: no domain writes there, and no other folder is the same.
fn bare_folder(grant: &Directory) -> Result<Stat, Errno> {
    let mut stat = rustix::fs::fstat(grant.description.fd())?;
    stat.st_mode = libc::S_IFDIR | 0o555;
    stat.st_ino = !stat.st_ino;
    Ok(stat)
}

/// The kernel's `struct stat`, 144 bytes. Everything belongs to the emulated user.
fn kernel_stat(stat: &Stat) -> Record {
    Record::new()
        .u64(stat.st_dev)
        .u64(stat.st_ino)
        .u64(stat.st_nlink)
        .u32(stat.st_mode)
        .u32(identity::USER)
        .u32(identity::USER)
        .u32(0)
        .u64(stat.st_rdev)
        .i64(stat.st_size)
        .i64(stat.st_blksize)
        .i64(stat.st_blocks)
        .i64(stat.st_atime)
        .i64(stat.st_atime_nsec as i64)
        .i64(stat.st_mtime)
        .i64(stat.st_mtime_nsec as i64)
        .i64(stat.st_ctime)
        .i64(stat.st_ctime_nsec as i64)
        .padded_to(144)
}

/// The kernel's `struct statx`, 256 bytes.
fn kernel_statx(stat: &Stat) -> Record {
    let time =
        |record: Record, seconds: i64, nanoseconds: u64| record.i64(seconds).u32(nanoseconds as u32).u32(0);
    let head = Record::new()
        .u32(libc::STATX_BASIC_STATS)
        .u32(stat.st_blksize as u32)
        .u64(0)
        .u32(stat.st_nlink as u32)
        .u32(identity::USER)
        .u32(identity::USER)
        .u16(stat.st_mode as u16)
        .u16(0)
        .u64(stat.st_ino)
        .i64(stat.st_size)
        .i64(stat.st_blocks)
        .u64(0);
    let accessed = time(head, stat.st_atime, stat.st_atime_nsec);
    let created = time(accessed, 0, 0);
    let changed = time(created, stat.st_ctime, stat.st_ctime_nsec);
    time(changed, stat.st_mtime, stat.st_mtime_nsec)
        .u32(major(stat.st_rdev))
        .u32(minor(stat.st_rdev))
        .u32(major(stat.st_dev))
        .u32(minor(stat.st_dev))
        .padded_to(256)
}
