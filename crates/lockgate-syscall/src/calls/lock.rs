//! File locks: `fcntl`'s record locks and `flock`.
//!
//! A record lock belongs to a process: here, to the domain. The host's own process locks would make all
//! domains one owner, so each domain has, for each file, one open description that holds its locks
//! (`F_OFD_SETLK`): they exclude other domains and other processes, and never the domain itself.
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::descriptors::{Description, Kind};
use crate::outcome::Reply;
use crate::wire::{Record, half, word};
use lockgate_kernel::{Command, locked, record_lock};
use rustix::fs::{FlockOperation, SeekFrom};
use rustix::io::Errno;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

/// `fcntl(number, F_SETLK or F_SETLKW, flock)`.
pub(super) fn set(
    ctx: &SyscallContext<'_>,
    number: i32,
    file: &Arc<Description>,
    at: u64,
    wait: bool,
) -> Reply {
    let wanted = copied(ctx, file, at)?;
    let bytes = bytes_of(&wanted)?;
    let kind = match i32::from(wanted.l_type) {
        libc::F_RDLCK if file.readable => Some(false),
        libc::F_WRLCK if file.writable => Some(true),
        libc::F_UNLCK => None,
        libc::F_RDLCK | libc::F_WRLCK => return Err(Errno::BADF.into()),
        _ => return Err(Errno::INVAL.into()),
    };
    retry(ctx, wait, || {
        let mut locks = locked(&ctx.process.locks);
        // A thread that closes the number from here on waits for these books, and finds the lock in them.
        if !locked(&ctx.process.descriptors).names(number, file) {
            return Err(Errno::BADF);
        }
        let holder = match locks.holder(file.identity) {
            Some(holder) => holder,
            None if kind.is_none() => return Ok(()),
            None => Arc::clone(file),
        };
        // A second owner for one file would exclude the first.
        if kind.is_some_and(|writing| if writing { !holder.writable } else { !holder.readable }) {
            return Err(Errno::NOLCK);
        }
        let pieces = locks.with(file.identity, &bytes, kind)?;
        record_lock(holder.fd(), Command::Set, &mut wanted.clone())?;
        locks.set(file.identity, holder, pieces);
        Ok(())
    })
}

/// The bytes that an absolute `struct flock` is about, as Linux reads it: a length of 0 is all that follows, a negative one what comes
/// before.
///
/// # Errors
/// `EINVAL`, `EOVERFLOW`.
fn bytes_of(lock: &libc::flock) -> Result<RangeInclusive<u64>, Errno> {
    let (start, length) = (lock.l_start, lock.l_len);
    let (first, last) = match length {
        0 => (start, i64::MAX),
        1.. => (start, start.checked_add(length - 1).ok_or(Errno::OVERFLOW)?),
        _ => (start.checked_add(length).filter(|first| *first >= 0).ok_or(Errno::INVAL)?, start - 1),
    };
    Ok(first as u64..=last as u64)
}

/// `fcntl(fd, F_GETLK, flock)`.
pub(super) fn get(ctx: &SyscallContext<'_>, file: &Arc<Description>, at: u64) -> Reply {
    let mut lock = copied(ctx, file, at)?;
    if !matches!(i32::from(lock.l_type), libc::F_RDLCK | libc::F_WRLCK) {
        return Err(Errno::INVAL.into());
    }
    let holder = locked(&ctx.process.locks).holder(file.identity).unwrap_or_else(|| file.clone());
    record_lock(holder.fd(), Command::Get, &mut lock)?;
    if i32::from(lock.l_type) == libc::F_UNLCK {
        // All else stays as the domain has it.
        ctx.memory.write(at, &lock.l_type.to_le_bytes())?;
        return Ok(0);
    }
    let record = Record::new()
        .u16(lock.l_type as u16)
        .u16(lock.l_whence as u16)
        .u32(0)
        .i64(lock.l_start)
        .i64(lock.l_len)
        .u32(ctx.process.number() + 1)
        .padded_to(FLOCK);
    ctx.memory.write(at, &record.0)?;
    Ok(0)
}

/// Drops the domain's record locks on a file when any of its descriptors is closed, as POSIX says.
pub(super) fn release(ctx: &SyscallContext<'_>, closed: &Description) {
    if let Some(holder) = locked(&ctx.process.locks).remove(closed.identity) {
        let mut all = absolute(libc::F_UNLCK as i16, 0, 0);
        // Unlocking fails only for a bad descriptor, and this one is open.
        let _ = record_lock(holder.fd(), Command::Set, &mut all);
    }
}

/// `flock(fd, operation)`.
pub fn flock(ctx: &SyscallContext<'_>, [fd, operation, ..]: [u64; 6]) -> Reply {
    let operation = operation as i32;
    let now = match operation & !libc::LOCK_NB {
        libc::LOCK_SH => FlockOperation::NonBlockingLockShared,
        libc::LOCK_EX => FlockOperation::NonBlockingLockExclusive,
        libc::LOCK_UN => FlockOperation::NonBlockingUnlock,
        _ => return Err(Errno::INVAL.into()),
    };
    let file = ctx.process.descriptor(fd as i32)?;
    own(&file)?;
    if now == FlockOperation::NonBlockingLockExclusive && file.read_only_grant {
        return Err(Errno::ROFS.into());
    }
    retry(ctx, operation & libc::LOCK_NB == 0, || rustix::fs::flock(file.fd(), now))
}

/// Fails for granted streams: a lock belongs to an open description, and theirs is the host's, which a lock of the domain's would outlive
/// the domain with, and an unlocking take a lock from.
fn own(file: &Description) -> Result<(), Errno> {
    if file.granted { Err(Errno::NOLCK) } else { Ok(()) }
}

/// Tries until it succeeds or fails for good; while another owner is in the way only if `wait`.
fn retry(ctx: &SyscallContext<'_>, wait: bool, mut attempt: impl FnMut() -> Result<(), Errno>) -> Reply {
    loop {
        match attempt() {
            Err(Errno::AGAIN | Errno::ACCESS) if wait => ctx.sleep_until(Some(Instant::now() + PAUSE))?,
            other => return Ok(other.map(|()| 0)?),
        }
    }
}

/// Bytes of the kernel's `struct flock`.
const FLOCK: usize = 32;

/// Copies a `struct flock` and makes it absolute.
fn copied(ctx: &SyscallContext<'_>, file: &Description, at: u64) -> Result<libc::flock, Errno> {
    if file.kind != Kind::Regular {
        return Err(Errno::BADF);
    }
    own(file)?;
    let raw: [u8; FLOCK] = ctx.array(at)?;
    let (kind, whence) = (half(&raw, 0) as i16, (half(&raw, 0) >> 16) as i32);
    let from = match whence {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => rustix::fs::seek(file.fd(), SeekFrom::Current(0))? as i64,
        libc::SEEK_END => rustix::fs::fstat(file.fd())?.st_size,
        _ => return Err(Errno::INVAL),
    };
    let start = from.checked_add(word(&raw, 8) as i64).filter(|start| *start >= 0).ok_or(Errno::INVAL)?;
    Ok(absolute(kind, start, word(&raw, 16) as i64))
}

fn absolute(kind: i16, start: i64, length: i64) -> libc::flock {
    libc::flock { l_type: kind, l_whence: libc::SEEK_SET as i16, l_start: start, l_len: length, l_pid: 0 }
}
