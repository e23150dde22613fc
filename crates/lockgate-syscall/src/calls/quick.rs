//! Reads, writes and waits for events in which nothing but the kernel has to be asked. They take no lock, allocate nothing, and have nothing to drop, so that
//! handlers of the host's may interrupt them and leave them by a jump: they cost no more system calls than on Linux.
//!
//! The kernel moves the bytes between the file and the domain's memory itself: nobody judges them. Whatever needs more than that (a long wait, a
//! signal, a stream of the host's, many parts) is not done here: the call begins anew, and has its lock and its checks.
use super::epoll::{EVENT, EVENTS};
use super::read_write::{MOST_AT, PIPE, STANDARD_ERROR};
use super::seek;
use crate::SyscallContext;
use crate::descriptors::{Description, Kind};
use crate::memory::{Exchange, PARTS};
use crate::sockets;
use crate::wire::word;
use lockgate_kernel::{Left, Looked};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::time::Instant;

/// Most bytes that are moved without a look at the call's limits.
const MOST: u64 = 1 << 20;

/// Most milliseconds that a thread waits before it looks at the call's limits: it is told of each, but perhaps just before it waits.
const PATIENCE: u32 = 1000;

/// So often a thread waits for a stream of which another takes what comes.
const TRIES: usize = 2;

/// What a quick call has come to.
#[derive(Debug, Clone, Copy)]
pub struct Quick {
    /// Its answer.
    pub answer: Answer,
    /// What has to be dropped ([`Process::reap`](crate::Process::reap)), once that may be.
    pub left: Option<Left>,
}

/// The answer of a quick call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// None: nothing has happened.
    None,
    /// The value for rax.
    Value(i64),
    /// So many bytes were sent; what is left to be done is the same call with these arguments.
    Rest(u64, [u64; 6]),
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
struct Wish {
    way: Way,
    offset: Option<u64>,
    /// It does not wait, whatever its description says.
    at_once: bool,
    /// Only a socket will do.
    of_socket: bool,
}

/// True of the calls that [`quick`] knows.
pub fn is_quick(number: u64) -> bool {
    matches!(
        number as i64,
        libc::SYS_read
            | libc::SYS_write
            | libc::SYS_lseek
            | libc::SYS_pread64
            | libc::SYS_pwrite64
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_preadv
            | libc::SYS_pwritev
            | libc::SYS_recvfrom
            | libc::SYS_sendto
            | libc::SYS_epoll_wait
    )
}

/// Does system call `number` if its answer is there. Like [`plain`](crate::plain) it takes no notice of the end of its call, which its gate does.
#[inline(never)]
pub fn quick(ctx: &SyscallContext<'_>, number: u64, arguments: [u64; 6]) -> Quick {
    let [fd, first, second, third, address, _] = arguments;
    let wish = |way, offset| Some(Wish { way, offset, at_once: false, of_socket: false });
    let message = |way, at_once| Some(Wish { way, offset: None, at_once, of_socket: true });
    let is_vector =
        matches!(number as i64, libc::SYS_readv | libc::SYS_writev | libc::SYS_preadv | libc::SYS_pwritev);
    let wish = match number as i64 {
        libc::SYS_read | libc::SYS_readv => wish(Way::In, None),
        libc::SYS_write | libc::SYS_writev => wish(Way::Out, None),
        libc::SYS_pread64 | libc::SYS_preadv if third <= MOST_AT => wish(Way::In, Some(third)),
        libc::SYS_pwrite64 | libc::SYS_pwritev if third <= MOST_AT => wish(Way::Out, Some(third)),
        libc::SYS_recvfrom => {
            let flags = RecvFlags::from_bits_retain(third as u32);
            let is_known = address == 0 && RecvFlags::DONTWAIT.contains(flags);
            if is_known { message(Way::In, !flags.is_empty()) } else { None }
        }
        libc::SYS_sendto => {
            let flags = SendFlags::from_bits_retain(third as u32);
            let is_known = address == 0 && (SendFlags::DONTWAIT | SendFlags::NOSIGNAL).contains(flags);
            if is_known { message(Way::Out, flags.contains(SendFlags::DONTWAIT)) } else { None }
        }
        libc::SYS_lseek => {
            return looked_up(ctx, fd, |file| match seek::to(file, first, second) {
                Ok(place) => Answer::Value(place as i64),
                Err(_) => Answer::None,
            });
        }
        libc::SYS_epoll_wait => {
            return looked_up(ctx, fd, |file| events(ctx, file, arguments));
        }
        _ => None,
    };
    match wish {
        // (What is said on standard error is heard.)
        Some(Wish { way: Way::Out, .. }) if fd as i32 == STANDARD_ERROR => Quick::NONE,
        Some(wish) if is_vector => looked_up(ctx, fd, |file| many(ctx, file, wish, first, second)),
        Some(wish) => looked_up(ctx, fd, |file| match one(ctx, file, wish, &[(first, second)]) {
            Answer::Rest(sent, _) => {
                let [_, at, length, flags, to, size] = arguments;
                Answer::Rest(sent, [fd, at.wrapping_add(sent), length - sent, flags, to, size])
            }
            answer => answer,
        }),
        None => Quick::NONE,
    }
}

impl Quick {
    /// Nothing.
    const NONE: Quick = Quick { answer: Answer::None, left: None };
}

fn looked_up(ctx: &SyscallContext<'_>, fd: u64, used: impl FnOnce(&Description) -> Answer) -> Quick {
    let Looked { result, left } = ctx.process.lookup.with(fd as i32, |file| used(file));
    Quick { answer: result.unwrap_or(Answer::None), left }
}

/// Of a `struct iovec[count]`, which is copied once.
fn many(ctx: &SyscallContext<'_>, file: &Description, wish: Wish, vector: u64, count: u64) -> Answer {
    let count = count as usize;
    if count > PARTS {
        return Answer::None;
    }
    let mut bytes = [0; 16 * PARTS];
    let bytes = &mut bytes[..16 * count];
    if ctx.memory.read(vector, bytes).is_err() {
        return Answer::None;
    }
    let mut parts = [(0, 0); PARTS];
    for (index, part) in parts[..count].iter_mut().enumerate() {
        *part = (word(bytes, 16 * index), word(bytes, 16 * index + 8));
    }
    one(ctx, file, wish, &parts[..count])
}

/// Moves bytes between a file and parts of the domain's memory.
fn one(ctx: &SyscallContext<'_>, file: &Description, wish: Wish, parts: &[(u64, u64)]) -> Answer {
    let Some(total) = total(parts) else { return Answer::None };
    let is_message = match &file.socket {
        Some(socket) => socket.has_messages(),
        None => false,
    };
    let is_allowed = match wish.way {
        Way::In => file.readable,
        Way::Out => file.writable,
    };
    if !is_allowed || is_message || wish.of_socket && file.socket.is_none() {
        return Answer::None;
    }
    let waits = !wish.at_once && !file.nonblocking();
    let (is_socket, is_one) = (file.socket.is_some(), parts.len() == 1);
    let how = match (wish.way, wish.offset, file.kind) {
        (Way::In, None, Kind::Regular) => Exchange::Read,
        (Way::In, Some(offset), Kind::Regular) => Exchange::ReadAt(offset),
        (Way::Out, None, Kind::Regular) => Exchange::Write,
        (Way::Out, Some(offset), Kind::Regular) => Exchange::WriteAt(offset),
        (Way::In, None, _) if is_socket && is_one => Exchange::Receive,
        (Way::In, None, _) => Exchange::ReadNow,
        (Way::Out, None, _) if is_socket && is_one => Exchange::Send,
        (Way::Out, None, _) if is_socket && !waits => Exchange::WriteNow,
        // (A pipe takes all of so much, or nothing.)
        (Way::Out, None, _) if !is_socket && total <= PIPE as u64 => Exchange::WriteNow,
        _ => return Answer::None,
    };
    let mut done = ctx.memory.exchange(how, file.fd(), parts);
    for _ in 0..TRIES {
        if done == Err(Errno::AGAIN) && waits && wish.way == Way::In && comes(ctx, file) {
            done = ctx.memory.exchange(how, file.fd(), parts);
        }
    }
    match done {
        // Who waits for a socket waits until it has taken all.
        Ok(done) if how == Exchange::Send && waits && done < total => Answer::Rest(done, [0; 6]),
        Ok(done) => Answer::Value(done as i64),
        Err(Errno::AGAIN) if !waits && file.kind == Kind::Stream => Answer::Value(-i64::from(libc::EAGAIN)),
        // What is to be done about it, or whether it is so, is looked at anew. (A socket tells of each other error just once.)
        Err(
            Errno::AGAIN
            | Errno::FAULT
            | Errno::INTR
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::PIPE,
        ) => Answer::None,
        Err(error) => Answer::Value(-i64::from(error.raw_os_error())),
    }
}

/// Bytes of all `parts`, if there are some, and not too many.
fn total(parts: &[(u64, u64)]) -> Option<u64> {
    let mut total = 0;
    for (_, length) in parts {
        if *length > MOST {
            return None;
        }
        total += *length;
    }
    if 0 < total && total <= MOST { Some(total) } else { None }
}

/// Waits until a stream has something to read; false where that is not so soon, or the call has to look around.
fn comes(ctx: &SyscallContext<'_>, file: &Description) -> bool {
    let has_timeout = match &file.socket {
        Some(socket) => !socket.timeout(sockets::Way::In).is_zero(),
        None => false,
    };
    let Some(killed) = ctx.process.waits.event_if_made() else { return false };
    if has_timeout || ctx.process.has_signals() {
        return false;
    }
    let mut both =
        [PollFd::from_borrowed_fd(killed, PollFlags::IN), PollFd::from_borrowed_fd(file.fd(), PollFlags::IN)];
    let patience = Timespec { tv_sec: i64::from(PATIENCE / 1000), tv_nsec: 0 };
    match rustix::event::poll(&mut both, Some(&patience)) {
        Ok(_) => both[0].revents().is_empty() && !both[1].revents().is_empty(),
        Err(_) => false,
    }
}

/// The events of a set. (The end of the domain is one of them.)
fn events(ctx: &SyscallContext<'_>, set: &Description, arguments: [u64; 6]) -> Answer {
    let [fd, at, most, timeout, ..] = arguments;
    let (most, timeout) = (most as i32, timeout as i32);
    if most <= 0 || set.kind != Kind::Stream || set.socket.is_some() || ctx.process.has_signals() {
        return Answer::None;
    }
    let room = (most as u64).min(EVENTS as u64) * EVENT as u64;
    let patience = if timeout < 0 { PATIENCE } else { PATIENCE.min(timeout as u32) };
    let began = if timeout > 0 { Some(Instant::now()) } else { None };
    let left = || match began {
        Some(began) => {
            let passed = began.elapsed().as_millis();
            if passed < timeout as u128 { timeout - passed as i32 } else { 0 }
        }
        None => timeout,
    };
    match ctx.memory.exchange(Exchange::Events(patience), set.fd(), &[(at, room)]) {
        Ok(0) if timeout == 0 => Answer::Value(0),
        // It may be that the call has to end.
        Ok(0) | Err(Errno::INTR) => Answer::Rest(0, [fd, at, most as u64, left() as u64, 0, 0]),
        Ok(events) => Answer::Value(events as i64),
        Err(_) => Answer::None,
    }
}
