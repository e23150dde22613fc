//! `read`, `write`, `pread64`, `pwrite64`, `readv`, `writev`, `preadv`, `pwritev`, through a buffer of the
//! host's: the bytes that are judged and moved are the same.
use super::pieces::{MESSAGE, MOST, Pieces};
use super::socket::Open;
use super::{inotify, message, signal, signal_file};
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::descriptors::{Behind, Description, Form, Kind};
use crate::memory::CHUNK;
use crate::outcome::{Halt, Reply};
use lockgate_kernel::{DEADLY, NO_SIGNAL, without_signals};
use rustix::event::PollFlags;
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use rustix::termios::{LocalModes, SpecialCodeIndex};
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest offset: no file reaches so far, and nothing that is added to it can overflow.
pub(super) const MOST_AT: u64 = i64::MAX as u64 - MOST;
/// `preadv2` and `pwritev2`: where the description is.
const CURRENT: u64 = u64::MAX;
/// Bytes that a ready pipe takes without blocking (Linux's `PIPE_BUF`).
pub(super) const PIPE: usize = 4096;

/// The unit of a terminal's `VTIME`.
const TENTH: Duration = Duration::from_millis(100);

/// The descriptor of what a report may quote.
pub(super) const STANDARD_ERROR: i32 = 2;
/// Bytes of it that are read for that where nothing was granted.
const WORDS: usize = 1024;

/// `read(fd, buffer, length)`.
pub fn read(ctx: &SyscallContext<'_>, [fd, at, length, ..]: [u64; 6]) -> Reply {
    ctx.process.descriptor(fd as i32).and_then(may_be_read)?;
    is_somewhere(at, length)?;
    read_into(ctx, fd, Pieces::one(at, length), None)
}

/// `write(fd, buffer, length)`.
pub fn write(ctx: &SyscallContext<'_>, [fd, at, length, ..]: [u64; 6]) -> Reply {
    match ctx.process.descriptor(fd as i32).and_then(Description::for_writing) {
        Ok(_) => is_somewhere(at, length)?,
        // (It is heard all the same.)
        Err(_) if fd as i32 == STANDARD_ERROR => {}
        Err(error) => return Err(error.into()),
    }
    write_from(ctx, fd, Pieces::one(at, length), None)
}

/// `pread64(fd, buffer, length, offset)`.
pub fn pread(ctx: &SyscallContext<'_>, [fd, at, length, offset, ..]: [u64; 6]) -> Reply {
    may_be_read(seekable(ctx, fd, offset)?)?;
    is_somewhere(at, length)?;
    read_into(ctx, fd, Pieces::one(at, length), Some(offset))
}

/// `pwrite64(fd, buffer, length, offset)`.
pub fn pwrite(ctx: &SyscallContext<'_>, [fd, at, length, offset, ..]: [u64; 6]) -> Reply {
    seekable(ctx, fd, offset)?.for_writing()?;
    is_somewhere(at, length)?;
    write_from(ctx, fd, Pieces::one(at, length), Some(offset))
}

/// `readv(fd, vector, count)`.
pub fn readv(ctx: &SyscallContext<'_>, [fd, vector, count, ..]: [u64; 6]) -> Reply {
    ctx.process.descriptor(fd as i32)?.for_reading()?;
    read_into(ctx, fd, Pieces::copied(ctx, vector, count)?, None)
}

/// `writev(fd, vector, count)`.
pub fn writev(ctx: &SyscallContext<'_>, [fd, vector, count, ..]: [u64; 6]) -> Reply {
    // (What is written to a standard error that is not there is heard all the same.)
    if fd as i32 != STANDARD_ERROR {
        ctx.process.descriptor(fd as i32)?.for_writing()?;
    }
    let pieces = Pieces::copied(ctx, vector, count)?;
    // As Linux: a vector of nothing is no message, unlike a `write` of nothing.
    if pieces.left() == 0 {
        ctx.process.descriptor(fd as i32)?.for_writing()?;
        return Ok(0);
    }
    write_from(ctx, fd, pieces, None)
}

/// `preadv(fd, vector, count, offset)`.
pub fn preadv(ctx: &SyscallContext<'_>, [fd, vector, count, offset, ..]: [u64; 6]) -> Reply {
    seekable(ctx, fd, offset)?.for_reading()?;
    read_into(ctx, fd, Pieces::copied(ctx, vector, count)?, Some(offset))
}

/// `pwritev(fd, vector, count, offset)`.
pub fn pwritev(ctx: &SyscallContext<'_>, [fd, vector, count, offset, ..]: [u64; 6]) -> Reply {
    seekable(ctx, fd, offset)?.for_writing()?;
    write_from(ctx, fd, Pieces::copied(ctx, vector, count)?, Some(offset))
}

/// Fails if a description may not be read, but for a directory, which says so when it is.
fn may_be_read(file: Arc<Description>) -> Result<(), Errno> {
    if file.readable || file.kind == Kind::Directory { Ok(()) } else { Err(Errno::BADF) }
}

/// Fails where no memory of a process's can lie, wherever it begins (Linux's `access_ok`): a length that was negative, for one. What is not there is
/// found when it is used.
fn is_somewhere(at: u64, length: u64) -> Result<(), Errno> {
    const END: u64 = 1 << 47;
    if at.checked_add(length).is_some_and(|end| end <= END) { Ok(()) } else { Err(Errno::FAULT) }
}

fn read_into(ctx: &SyscallContext<'_>, fd: u64, mut pieces: Pieces, offset: Option<u64>) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?.for_reading()?;
    if offset.is_none()
        && let Some(open) = Open::of(file.clone())
    {
        // To read nothing is to take nothing, not even a message.
        if pieces.left() == 0 {
            return Ok(0);
        }
        return Ok(message::receive(ctx, &open, pieces, RecvFlags::empty())?.length as u64);
    }
    match &file.behind {
        Behind::Signals { file: signals, .. } if offset.is_none() => {
            return signal_file::read(ctx, &file, signals, pieces);
        }
        Behind::Notifications(notifications) if offset.is_none() => {
            return inotify::read(ctx, notifications, pieces, &file, |into| {
                read_some(ctx, &file, into, None)
            });
        }
        _ => {}
    }
    let mut position = position(&file, offset)?;
    let mut left = pieces.left();
    // (What a message has beyond the buffer is lost.)
    let most = if file.keeps_messages() { MESSAGE } else { CHUNK };
    let mut buffer = vec![0; most.min(left)];
    let mut done = 0;
    while left > 0 {
        ctx.check()?; // two gigabytes take a while
        // What has no place in the domain is not taken from the pipe.
        let want = pieces.writable(ctx, buffer.len().min(left));
        if want == 0 {
            if done > 0 {
                break;
            }
            return Err(Errno::FAULT.into());
        }
        let got = match read_some(ctx, &file, &mut buffer[..want], position) {
            Ok(got) => got,
            Err(Halt::Errno(_)) if done > 0 => break,
            Err(halt) => return Err(halt),
        };
        match pieces.take(got, |at, place| ctx.memory.write(at, &buffer[place])) {
            Ok(()) => {}
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
        done += got;
        left -= got;
        position = position.map(|position| position + got as u64);
        if got < want || file.kind == Kind::Stream {
            break;
        }
    }
    Ok(done as u64)
}

fn write_from(ctx: &SyscallContext<'_>, fd: u64, mut pieces: Pieces, offset: Option<u64>) -> Reply {
    let is_error = fd as i32 == STANDARD_ERROR;
    let file = match ctx.process.descriptor(fd as i32).and_then(|file| file.for_writing()) {
        Err(error) if is_error => {
            let length = pieces.left();
            let mut words = vec![0; WORDS.min(length)];
            let read = pieces.take(words.len(), |at, place| ctx.memory.read(at, &mut words[place]));
            if read.is_ok() {
                ctx.process.hear(ctx.thread.slot, &words);
            }
            // Where none was granted it counts as written: who writes a message in pieces would stop at the first one that fails.
            if ctx.process.grants.streams[STANDARD_ERROR as usize].is_some() {
                return Err(error.into());
            }
            return Ok(read.map(|()| length as u64)?);
        }
        file => file?,
    };
    if offset.is_none()
        && let Some(open) = Open::of(file.clone())
    {
        return message::send(ctx, &open, pieces, SendFlags::empty(), None);
    }
    // (To a socket nothing is something: an empty message, and the question whether the other side is still there.)
    if file.keeps_messages() || pieces.left() == 0 && matches!(file.form, Form::Socket { .. }) {
        return write_message(ctx, &file, is_error, pieces);
    }
    let mut position = position(&file, offset)?;
    let mut left = pieces.left();
    let mut buffer = vec![0; CHUNK.min(left)];
    let mut done = 0;
    'all: while left > 0 {
        ctx.check()?;
        let want = buffer.len().min(left);
        match pieces.take(want, |at, place| ctx.memory.read(at, &mut buffer[place])) {
            Ok(()) => {}
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        }
        if is_error {
            ctx.process.hear(ctx.thread.slot, &buffer[..want]);
        }
        let mut rest = &buffer[..want];
        while !rest.is_empty() {
            let sent = match write_some(ctx, &file, rest, position) {
                Ok(sent) => sent,
                Err(Halt::Errno(_)) if done > 0 => break 'all,
                Err(halt) => return Err(halt),
            };
            rest = &rest[sent..];
            done += sent;
            left -= sent;
            position = position.map(|position| position + sent as u64);
        }
    }
    Ok(done as u64)
}

/// Writes all of `pieces` at once: what they are cut into arrives apart.
fn write_message(ctx: &SyscallContext<'_>, file: &Description, is_error: bool, mut pieces: Pieces) -> Reply {
    let length = pieces.left();
    if length > MESSAGE {
        return Err(Errno::MSGSIZE.into());
    }
    let mut message = vec![0; length];
    pieces.take(length, |at, place| ctx.memory.read(at, &mut message[place]))?;
    if is_error {
        ctx.process.hear(ctx.thread.slot, &message);
    }
    Ok(write_some(ctx, file, &message, None)? as u64)
}

/// What `fd` stands for, if it has places and `offset` can be one: Linux says so before it looks at rights and at memory.
fn seekable(ctx: &SyscallContext<'_>, fd: u64, offset: u64) -> Result<Arc<Description>, Errno> {
    if i64::try_from(offset).is_err() {
        return Err(Errno::INVAL);
    }
    let file = ctx.process.descriptor(fd as i32)?;
    if file.kind == Kind::Stream { Err(Errno::SPIPE) } else { Ok(file) }
}

/// Checks an explicit offset.
fn position(file: &Description, offset: Option<u64>) -> Result<Option<u64>, Errno> {
    match offset {
        Some(_) if file.kind == Kind::Stream => Err(Errno::SPIPE),
        Some(offset) if offset > MOST_AT => Err(Errno::INVAL),
        offset => Ok(offset),
    }
}

pub(super) fn read_some(
    ctx: &SyscallContext<'_>,
    file: &Description,
    into: &mut [u8],
    position: Option<u64>,
) -> Result<usize, Halt> {
    loop {
        let result = match (position, file.kind) {
            (Some(position), _) => rustix::io::pread(file.fd(), &mut *into, position),
            (None, Kind::Stream) => match read_at_once(file, into) {
                Some(result) => result,
                None => match wait(ctx, file, PollFlags::IN)? {
                    Some(nothing) => return Ok(nothing),
                    None => ctx.sleep.read(file.fd(), into),
                },
            },
            (None, _) => rustix::io::read(file.fd(), &mut *into),
        };
        match result {
            Err(Errno::INTR) => ctx.check_signals()?,
            Err(Errno::AGAIN) if !file.nonblocking() => ctx.check_signals()?,
            other => return Ok(other?),
        }
    }
}

pub(super) fn write_some(
    ctx: &SyscallContext<'_>,
    file: &Description,
    bytes: &[u8],
    position: Option<u64>,
) -> Result<usize, Halt> {
    match &file.behind {
        Behind::Memory(memory) => {
            let appends = file.status().contains(OFlags::APPEND);
            return Ok(memory.write(file.fd(), bytes, position, appends, ctx.memory.usage().0)?);
        }
        // (These can only be read.)
        Behind::Signals { .. } | Behind::Notifications(_) => return Err(Errno::INVAL.into()),
        Behind::Kernel => {}
    }
    loop {
        let result = match (position, file.kind) {
            (Some(position), _) => without_signals(|| rustix::io::pwrite(file.fd(), bytes, position)),
            (None, Kind::Stream) => {
                let most = if file.keeps_messages() { bytes.len() } else { PIPE };
                let bytes = &bytes[..bytes.len().min(most)];
                match write_at_once(file, bytes) {
                    Some(result) => result,
                    None => {
                        wait(ctx, file, PollFlags::OUT)?;
                        without_signals(|| ctx.sleep.write(file.fd(), bytes, &DEADLY))
                    }
                }
            }
            (None, _) if file.appends_by_itself() => without_signals(|| append(file, bytes)),
            (None, _) => without_signals(|| rustix::io::write(file.fd(), bytes)),
        };
        match result {
            Err(Errno::INTR) => ctx.check_signals()?,
            // (An eventfd that has room for something has none for so much: the kernel does not say when it has.)
            Err(Errno::AGAIN) if !file.nonblocking() => ctx.sleep_until(Some(Instant::now() + PAUSE))?,
            Err(Errno::PIPE) if !file.keeps_messages() => {
                signal::raise(ctx, libc::SIGPIPE)?;
                return Err(Errno::PIPE.into());
            }
            Err(Errno::FBIG) => return Err(too_large(ctx)),
            other => return Ok(other?),
        }
    }
}

/// A file would become too large. Who has a handler for that is told, as on Linux; who has none goes on: the limit is the host's, and ends no domain.
pub(super) fn too_large(ctx: &SyscallContext<'_>) -> Halt {
    let is_limited = lockgate_kernel::limit(rustix::process::Resource::Fsize).is_some();
    let told = match is_limited && ctx.process.handles(libc::SIGXFSZ as u32) {
        true => signal::raise(ctx, libc::SIGXFSZ),
        false => Ok(()),
    };
    told.err().unwrap_or(Errno::FBIG.into())
}

/// Reads what is there. Nothing where the thread has to wait for it, or where the file or the kernel cannot try.
/// (A domain that made the stream non-blocking has its answer: the kernel would wait if another reader took what is there meanwhile.)
fn read_at_once(file: &Description, into: &mut [u8]) -> Option<Result<usize, Errno>> {
    let read = rustix::io::preadv2(file.fd(), &mut [IoSliceMut::new(into)], CURRENT, ReadWriteFlags::NOWAIT);
    Some(read).filter(|read| has_tried(file, read))
}

/// Writes what there is room for, and sends no signal if it has no reader, likewise. (A kernel before 6.18 does not know [`NO_SIGNAL`].)
fn write_at_once(file: &Description, bytes: &[u8]) -> Option<Result<usize, Errno>> {
    let flags = ReadWriteFlags::NOWAIT | NO_SIGNAL;
    let written = if bytes.is_empty() {
        // The kernel takes a vector of nothing for no write at all.
        rustix::net::send(file.fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
    } else {
        rustix::io::pwritev2(file.fd(), &[IoSlice::new(bytes)], CURRENT, flags)
    };
    Some(written).filter(|written| has_tried(file, written))
}

/// Whether a try is the call's answer.
fn has_tried(file: &Description, result: &Result<usize, Errno>) -> bool {
    match result {
        Err(Errno::AGAIN) => file.nonblocking(),
        Err(Errno::OPNOTSUPP) => false,
        _ => true,
    }
}

/// Writes at the end, as if the description had `O_APPEND`.
fn append(file: &Description, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::io::pwritev2(file.fd(), &[IoSlice::new(bytes)], CURRENT, ReadWriteFlags::APPEND)
}

/// Waits until a stream is ready; fails at once if the domain made it non-blocking. If the stream's own time is over before, the call gives
/// as many bytes as this says.
fn wait(ctx: &SyscallContext<'_>, file: &Description, events: PollFlags) -> Result<Option<usize>, Halt> {
    let time_left = time_left(file, events);
    let now = Instant::now();
    let until = match time_left {
        _ if file.nonblocking() => Some(now),
        // (A time too far to express is no limit.)
        Some((time, _)) => now.checked_add(time),
        None => None,
    };
    let ready = ctx.process.waits.poll(ctx.caller(), &mut [(file.fd(), events)], until)?;
    match time_left {
        _ if ready => Ok(None),
        Some((time, ended)) if time.is_zero() || !file.nonblocking() => Ok(Some(ended?)),
        _ => Err(Errno::AGAIN.into()),
    }
}

/// How long the kernel would wait in this stream's `read` or `write`, if not for ever, and what it would say then: `poll` waits on.
fn time_left(file: &Description, events: PollFlags) -> Option<(Duration, Result<usize, Errno>)> {
    match file.form {
        Form::Bytes => None,
        Form::Socket { .. } => {
            let which = if events == PollFlags::IN { Timeout::Recv } else { Timeout::Send };
            let time = rustix::net::sockopt::socket_timeout(file.fd(), which).ok()??;
            Some((time, Err(Errno::AGAIN)))
        }
        Form::Device => {
            let settings = rustix::termios::tcgetattr(file.fd()).ok().filter(|_| events == PollFlags::IN)?;
            let code = |index| settings.special_codes[index];
            // (With a least number of bytes the time counts from the first one on, for which `poll` waits.)
            let by_time =
                !settings.local_modes.contains(LocalModes::ICANON) && code(SpecialCodeIndex::VMIN) == 0;
            by_time.then(|| (TENTH * u32::from(code(SpecialCodeIndex::VTIME)), Ok(0)))
        }
    }
}
