//! `sendfile`, `copy_file_range`, `splice`, `tee`: bytes from one descriptor of the domain to another, which never come to its memory.
//!
//! The kernel moves them, a piece at a time, between what never waits for the host: a wait is one of the domain's, and ends with it. What is the
//! host's own stream, or counted by its size, is written to through a buffer, as by `write`.
use super::pieces::MOST;
use super::read_write::{self, too_large};
use super::signal;
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::descriptors::{Behind, Description, Kind};
use crate::memory::CHUNK;
use crate::outcome::{Halt, Reply};
use crate::sockets::Way;
use lockgate_kernel::without_signals;
use rustix::event::PollFlags;
use rustix::fs::{FileType, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::pipe::SpliceFlags;
use std::sync::Arc;
use std::time::Instant;

/// Most bytes that the kernel moves without a look at the call's limits.
const PIECE: usize = 1 << 20;

/// An offset that the domain says, or where the description is.
#[derive(Clone, Copy)]
struct Offset {
    at: u64,
    said: Option<u64>,
}

impl Offset {
    /// Copies what a domain says, once.
    fn new(ctx: &SyscallContext<'_>, at: u64) -> Result<Offset, Errno> {
        let said = if at == 0 { None } else { Some(u64::from_le_bytes(ctx.array(at)?)) };
        Ok(Offset { at, said })
    }

    /// Where a file begins to be used.
    fn start(self, file: &Description) -> Result<u64, Errno> {
        match self.said {
            Some(said) if i64::try_from(said).is_err() => Err(Errno::INVAL),
            Some(said) => Ok(said),
            None => rustix::fs::tell(file.fd()),
        }
    }

    /// It is there from now on, as Linux has it.
    fn end(self, ctx: &SyscallContext<'_>, file: &Description, place: u64) -> Result<(), Errno> {
        match self.said {
            Some(_) => ctx.memory.write(self.at, &place.to_le_bytes()),
            None => rustix::fs::seek(file.fd(), SeekFrom::Start(place)).map(|_| ()),
        }
    }
}

/// What came of a transfer that took several pieces: an error counts if nothing was moved before it.
fn moved(done: usize, last: Result<(), Halt>) -> Reply {
    match last {
        Err(Halt::Errno(_)) if done > 0 => Ok(done as u64),
        Err(halt) => Err(halt),
        Ok(()) => Ok(done as u64),
    }
}

/// `sendfile(out, in, offset or null, count)`.
pub fn sendfile(ctx: &SyscallContext<'_>, [out, input, offset, count, ..]: [u64; 6]) -> Reply {
    let offset = Offset::new(ctx, offset)?;
    let input = ctx.process.descriptor(input as i32)?;
    if !input.readable {
        return Err(Errno::BADF.into());
    }
    if offset.said.is_some() && input.kind == Kind::Stream {
        return Err(Errno::SPIPE.into());
    }
    if offset.said.is_some_and(|said| i64::try_from(said).is_err()) {
        return Err(Errno::INVAL.into());
    }
    let output = ctx.process.descriptor(out as i32)?.for_writing()?;
    if input.kind != Kind::Regular || output.status().contains(OFlags::APPEND) || has_messages(&output) {
        return Err(Errno::INVAL.into());
    }
    let start = offset.start(&input)?;
    let (mut place, mut done) = (start, 0);
    let last = send(ctx, (&input, &mut place), &output, count.min(MOST) as usize, &mut done);
    offset.end(ctx, &input, place)?;
    moved(done, last)
}

/// Whether what is written together arrives together, or it can only be read.
fn has_messages(file: &Description) -> bool {
    let is_message = file.socket.as_ref().is_some_and(|socket| socket.has_messages());
    is_message || file.keeps_messages() || !matches!(file.behind, Behind::Kernel | Behind::Memory(_))
}

/// Moves `count` bytes, or what there is, to where the output is.
fn send(
    ctx: &SyscallContext<'_>,
    (input, place): (&Description, &mut u64),
    output: &Arc<Description>,
    count: usize,
    done: &mut usize,
) -> Result<(), Halt> {
    let by_the_kernel = !output.granted && matches!(output.behind, Behind::Kernel);
    let until = output.socket.as_ref().and_then(|socket| socket.until(Way::Out));
    let mut buffer = vec![0; if by_the_kernel { 0 } else { CHUNK.min(count) }];
    while *done < count {
        ctx.check()?;
        let want = count - *done;
        let sent = if by_the_kernel {
            let piece = want.min(PIECE);
            without_signals(|| rustix::fs::sendfile(output.fd(), input.fd(), Some(place), piece))
        } else {
            let want = want.min(buffer.len());
            match rustix::io::pread(input.fd(), &mut buffer[..want], *place) {
                Ok(0) => Ok(0),
                Ok(got) => {
                    let sent = read_write::write_some(ctx, output, &buffer[..got], None)?;
                    *place += sent as u64;
                    Ok(sent)
                }
                Err(error) => Err(error),
            }
        };
        match sent {
            Ok(0) => return Ok(()),
            Ok(sent) => *done += sent,
            Err(Errno::AGAIN) if !output.nonblocking() => {
                let ready =
                    ctx.process.waits.poll(ctx.caller(), &mut [(output.fd(), PollFlags::OUT)], until)?;
                if !ready {
                    return Err(Errno::AGAIN.into());
                }
            }
            Err(error) => failed(ctx, error)?,
        }
    }
    Ok(())
}

/// What is to be done about an error of the kernel's: `Ok` is to try again.
fn failed(ctx: &SyscallContext<'_>, error: Errno) -> Result<(), Halt> {
    match error {
        Errno::INTR => ctx.check_signals(),
        Errno::PIPE => {
            signal::raise(ctx, libc::SIGPIPE)?;
            Err(Errno::PIPE.into())
        }
        Errno::FBIG => Err(too_large(ctx)),
        error => Err(error.into()),
    }
}

/// `copy_file_range(in, offset or null, out, offset or null, length, flags)`: between files.
pub fn copy_file_range(
    ctx: &SyscallContext<'_>,
    [input, from, output, to, length, flags]: [u64; 6],
) -> Reply {
    let (input, output) = (ctx.process.descriptor(input as i32)?, ctx.process.descriptor(output as i32)?);
    let (from, to) = (Offset::new(ctx, from)?, Offset::new(ctx, to)?);
    if flags as u32 != 0 {
        return Err(Errno::INVAL.into());
    }
    for file in [&input, &output] {
        match file.kind {
            Kind::Directory => return Err(Errno::ISDIR.into()),
            Kind::Stream => return Err(Errno::INVAL.into()),
            Kind::Regular => {}
        }
    }
    if !input.readable || !output.writable || output.status().contains(OFlags::APPEND) {
        return Err(Errno::BADF.into());
    }
    let (mut source, mut target) = (from.start(&input)?, to.start(&output)?);
    let overflows = |start: u64| start.checked_add(length).is_none_or(|end| end > i64::MAX as u64);
    if overflows(source) || overflows(target) {
        return Err(Errno::OVERFLOW.into());
    }
    let size = rustix::fs::fstat(input.fd())?.st_size as u64;
    let count = length.min(size.saturating_sub(source)).min(MOST);
    // (Of the whole: the kernel sees pieces.)
    if input.identity == output.identity && source < target + count && target < source + count {
        return Err(Errno::INVAL.into());
    }
    let mut done = 0;
    let last = copy(ctx, (&input, &mut source), (&output, &mut target), count as usize, &mut done);
    from.end(ctx, &input, source)?;
    to.end(ctx, &output, target)?;
    moved(done, last)
}

fn copy(
    ctx: &SyscallContext<'_>,
    (input, source): (&Description, &mut u64),
    (output, target): (&Arc<Description>, &mut u64),
    count: usize,
    done: &mut usize,
) -> Result<(), Halt> {
    let counted = matches!(output.behind, Behind::Memory(_));
    let mut buffer = vec![0; if counted { CHUNK.min(count) } else { 0 }];
    while *done < count {
        ctx.check()?;
        let want = count - *done;
        let copied = if counted {
            let want = want.min(buffer.len());
            let got = rustix::io::pread(input.fd(), &mut buffer[..want], *source)?;
            let written = read_write::write_some(ctx, output, &buffer[..got], Some(*target))?;
            (*source, *target) = (*source + written as u64, *target + written as u64);
            Ok(written)
        } else {
            let (from, to, piece) = (&mut *source, &mut *target, want.min(PIECE));
            without_signals(|| {
                rustix::fs::copy_file_range(input.fd(), Some(from), output.fd(), Some(to), piece)
            })
        };
        match copied {
            Ok(0) => return Ok(()),
            Ok(copied) => *done += copied,
            Err(error) => failed(ctx, error)?,
        }
    }
    Ok(())
}

/// Flags of `splice` and `tee`: `SPLICE_F_MOVE`, `NONBLOCK`, `MORE` and `GIFT`.
const FLAGS: u64 = 15;

fn is_pipe(file: &Description) -> bool {
    let kind = rustix::fs::fstat(file.fd()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind == Ok(FileType::Fifo) && matches!(file.behind, Behind::Kernel)
}

/// Fails for what the kernel would wait for, or would ask instead of us: streams of the host's, what is not the kernel's alone, and messages, whose
/// senders are looked at when they are received.
fn may_be_spliced(file: &Description) -> Result<(), Errno> {
    let is_hosts = file.granted && file.kind == Kind::Stream;
    if is_hosts || has_messages(file) || !matches!(file.behind, Behind::Kernel) {
        return Err(Errno::INVAL);
    }
    Ok(())
}

/// Fails with `EBADF` unless bytes may go from one to the other.
fn ends(ctx: &SyscallContext<'_>, input: u64, output: u64) -> Result<[Arc<Description>; 2], Errno> {
    let (input, output) = (ctx.process.descriptor(input as i32)?, ctx.process.descriptor(output as i32)?);
    if input.readable && output.writable { Ok([input, output]) } else { Err(Errno::BADF) }
}

/// `splice(in, offset or null, out, offset or null, length, flags)`: one of them is a pipe.
pub fn splice(ctx: &SyscallContext<'_>, [input, from, output, to, length, flags]: [u64; 6]) -> Reply {
    if length == 0 {
        return Ok(0);
    }
    if flags & 0xffff_ffff & !FLAGS != 0 {
        return Err(Errno::INVAL.into());
    }
    let [input, output] = ends(ctx, input, output)?;
    let pipes = [is_pipe(&input), is_pipe(&output)];
    if pipes[0] && from != 0 || pipes[1] && to != 0 {
        return Err(Errno::SPIPE.into());
    }
    let (from, to) = (Offset::new(ctx, from)?, Offset::new(ctx, to)?);
    let has_pipe = pipes.contains(&true);
    if !has_pipe || output.kind == Kind::Regular && output.status().contains(OFlags::APPEND) {
        return Err(Errno::INVAL.into());
    }
    for (file, offset) in [(&input, from), (&output, to)] {
        may_be_spliced(file)?;
        if offset.said.is_some_and(|said| file.kind != Kind::Regular || i64::try_from(said).is_err()) {
            return Err(Errno::INVAL.into());
        }
    }
    let (mut source, mut target) = (from.said, to.said);
    let piece = (length.min(PIECE as u64)) as usize;
    let done = until_moved(ctx, [&input, &output], flags, |flags| {
        let (source, target) = (source.as_mut(), target.as_mut());
        rustix::pipe::splice(input.fd(), source, output.fd(), target, piece, flags)
    })?;
    for (offset, place) in [(from, source), (to, target)] {
        if let Some(place) = place {
            ctx.memory.write(offset.at, &place.to_le_bytes())?;
        }
    }
    Ok(done as u64)
}

/// `tee(in, out, length, flags)`: between two pipes.
pub fn tee(ctx: &SyscallContext<'_>, [input, output, length, flags, ..]: [u64; 6]) -> Reply {
    if flags & 0xffff_ffff & !FLAGS != 0 {
        return Err(Errno::INVAL.into());
    }
    if length == 0 {
        return Ok(0);
    }
    let [input, output] = ends(ctx, input, output)?;
    if !is_pipe(&input) || !is_pipe(&output) {
        return Err(Errno::INVAL.into());
    }
    may_be_spliced(&input)?;
    may_be_spliced(&output)?;
    let piece = length.min(PIECE as u64) as usize;
    let done = until_moved(ctx, [&input, &output], flags, |flags| {
        rustix::pipe::tee(input.fd(), output.fd(), piece, flags)
    })?;
    Ok(done as u64)
}

/// Tries until something has moved: the host never waits, and the domain does where Linux would.
fn until_moved(
    ctx: &SyscallContext<'_>,
    [input, output]: [&Description; 2],
    flags: u64,
    mut step: impl FnMut(SpliceFlags) -> Result<usize, Errno>,
) -> Result<usize, Halt> {
    let flags = SpliceFlags::from_bits_retain(flags as u32);
    let waits = !flags.contains(SpliceFlags::NONBLOCK) && !input.nonblocking() && !output.nonblocking();
    let mut was_ready = false;
    loop {
        ctx.check()?;
        match without_signals(|| step(flags | SpliceFlags::NONBLOCK)) {
            Err(Errno::AGAIN) if waits => {
                if was_ready {
                    // (Both are ready, and not for this, as a pipe with little room: the kernel has no wait for that.)
                    ctx.sleep_until(Some(Instant::now() + PAUSE))?;
                }
                for (file, events) in [(input, PollFlags::IN), (output, PollFlags::OUT)] {
                    if file.kind == Kind::Stream {
                        ctx.process.waits.poll(ctx.caller(), &mut [(file.fd(), events)], None)?;
                    }
                }
                was_ready = true;
            }
            Err(error) => failed(ctx, error)?,
            Ok(done) => return Ok(done),
        }
    }
}
