//! `truncate`, `ftruncate`, `fallocate`, and the `O_TRUNC` of `open`.
//!
//! The kernel makes and frees the blocks of gigabytes in one go, and nothing interrupts that: it is asked for a piece at a time.
use crate::SyscallContext;
use crate::descriptors::{Behind, Description, Kind};
use crate::directory::reopen;
use crate::outcome::{Halt, Reply};
use lockgate_kernel::without_signals;
use rustix::fd::BorrowedFd;
use rustix::fs::{FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

/// Most bytes of blocks that the kernel makes or frees at a time: some milliseconds' work.
const PIECE: u64 = 8 << 20;
/// The same behind a piece that had none.
const SPARSE: u64 = 128 << 20;
/// The same of a file that has fewer blocks than a piece: pages of its holes that were read.
const HOLE: u64 = 1 << 30;

/// Bytes to be taken off beyond which the end of what a file has is looked for: the pieces of a hole as long as Linux allows are without number.
const LONG: u64 = 64 << 30;

/// `truncate(path, length)`.
pub fn truncate(ctx: &SyscallContext<'_>, [path, length, ..]: [u64; 6]) -> Reply {
    let length = size(length)?;
    let path = ctx.path(path)?;
    let location = ctx.locate(libc::AT_FDCWD, &path)?;
    let file = location.open(&ctx.process.grants, OFlags::WRONLY, Mode::empty())?;
    resize(ctx, file.fd(), length)
}

/// `ftruncate(fd, length)`.
pub fn ftruncate(ctx: &SyscallContext<'_>, [fd, length, ..]: [u64; 6]) -> Reply {
    let length = size(length)?;
    let file = ctx.process.descriptor(fd as i32)?;
    if file.kind != Kind::Regular || !file.writable {
        return Err(Errno::INVAL.into());
    }
    appendable(&file)?;
    grow(ctx, &file, length)?;
    resize(ctx, file.fd(), length)
}

/// Takes away what is in a file that was opened with `O_TRUNC`.
pub(super) fn empty(ctx: &SyscallContext<'_>, file: &Description) -> Result<(), Halt> {
    if file.writable {
        resize(ctx, file.fd(), 0)?;
    } else if rustix::fs::fstat(file.fd())?.st_size > 0 {
        // As on Linux, a right to write the file is enough to empty it, even where it is opened for reading.
        let writer = reopen(file.fd(), OFlags::WRONLY | OFlags::NONBLOCK)?;
        resize(ctx, rustix::fd::AsFd::as_fd(&writer), 0)?;
    }
    Ok(())
}

/// Makes a file `length` bytes long, from its end.
fn resize(ctx: &SyscallContext<'_>, file: BorrowedFd<'_>, length: u64) -> Reply {
    let (mut piece, mut before) = (PIECE, None);
    loop {
        ctx.check()?; // so many pieces take a while
        let stat = rustix::fs::fstat(file)?;
        let blocks = stat.st_blocks as u64 * 512;
        piece = match before {
            _ if blocks <= PIECE => HOLE,
            Some(before) if before == blocks => SPARSE.min(piece * 2),
            _ => PIECE,
        };
        before = Some(blocks);
        let size = stat.st_size as u64;
        let mut next = size.saturating_sub(piece).max(length);
        if next.saturating_sub(length) > LONG {
            next = next.min(end_of_data(file, length, next));
        }
        without_signals(|| rustix::fs::ftruncate(file, next))?;
        if next == length {
            return Ok(0);
        }
    }
}

/// Where what a file has between `from` and `to` ends, but for holes shorter than a piece; `to` if that cannot be told.
fn end_of_data(file: BorrowedFd<'_>, from: u64, mut to: u64) -> u64 {
    // A description of our own: the file's has a position that another thread may be using.
    let Ok(own) = reopen(file, OFlags::WRONLY | OFlags::NONBLOCK) else { return to };
    let mut from = from;
    while to - from > PIECE {
        let middle = from + (to - from) / 2;
        match rustix::fs::seek(&own, SeekFrom::Data(middle)) {
            Ok(data) => from = data.clamp(middle, to),
            Err(Errno::NXIO) => to = middle,
            Err(_) => return to,
        }
    }
    to
}

/// Makes room for so many bytes where they are counted.
fn grow(ctx: &SyscallContext<'_>, file: &Description, size: u64) -> Result<(), Errno> {
    match &file.behind {
        Behind::Memory(memory) => memory.grow(size, ctx.memory.usage().0),
        _ => Ok(()),
    }
}

/// Fails for a stream that the host opened for appending: its length is what was written there.
fn appendable(file: &Description) -> Result<(), Errno> {
    if file.hosts_append() { Err(Errno::PERM) } else { Ok(()) }
}

/// `fallocate(fd, mode, offset, length)`: mode 0 and `FALLOC_FL_KEEP_SIZE`.
pub fn fallocate(ctx: &SyscallContext<'_>, [fd, mode, offset, length, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    let (offset, length) = (size(offset)?, size(length)?);
    if length == 0 {
        return Err(Errno::INVAL.into());
    }
    let mode = FallocateFlags::from_bits_retain(mode as u32);
    if !FallocateFlags::KEEP_SIZE.contains(mode) {
        return Err(Errno::OPNOTSUPP.into());
    }
    let file = file.for_writing()?;
    appendable(&file)?;
    let end = size(offset + length).map_err(|_| Errno::FBIG)?;
    grow(ctx, &file, end)?;
    let allocate = |mode, from, length| {
        loop {
            ctx.check()?; // so do these
            match without_signals(|| rustix::fs::fallocate(file.fd(), mode, from, length)) {
                Err(Errno::INTR) => {}
                done => return done.map_err(Halt::from),
            }
        }
    };
    let last = length.min(PIECE);
    if length > last {
        // The end first: where no file reaches so far, nothing is allocated. The size comes last.
        let keep = FallocateFlags::KEEP_SIZE;
        allocate(keep, end - last, last)?;
        for from in (offset..end - last).step_by(PIECE as usize) {
            allocate(keep, from, PIECE.min(end - last - from))?;
        }
    }
    allocate(mode, end - last, last)?;
    Ok(0)
}

fn size(length: u64) -> Result<u64, Errno> {
    if i64::try_from(length).is_ok() { Ok(length) } else { Err(Errno::INVAL) }
}
