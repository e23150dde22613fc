//! Reads, writes and waits for events in which nothing but the kernel has to be asked. They take no lock, allocate nothing, and have nothing to
//! drop, so that handlers of the host's may interrupt them and leave them by a jump, and no signal has to be held back.
//!
//! The kernel moves the bytes between the file and the domain's memory itself: no code of ours looks at them. Whatever needs more than that (a time
//! limit of a socket's own, a signal, a stream of the host's, many parts) is not done here: the call begins anew, and has its lock and its checks.
use super::epoll::EVENTS;
use super::message::{CONTROL_LENGTH, FLAGS, HEADER};
use super::read_write::{MOST_AT, PIPE, STANDARD_ERROR};
use super::seek;
use crate::SyscallContext;
use crate::descriptors::{self, Behind, Description};
use crate::memory::{EVENT, Exchange, PARTS};
use crate::sockets;
use crate::wire::{half, word};
use lockgate_kernel::{Left, Looked};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

/// Most bytes that are moved without a look at the call's limits.
const MOST: u64 = 1 << 20;

/// Most milliseconds that a thread waits before it looks at the call's limits: it is told of each, but perhaps just before it waits.
const LONGEST_WAIT: u32 = 1000;

/// Nanoseconds.
const MILLISECOND: i64 = 1_000_000;

/// Bytes of a `struct pollfd`.
const POLLED: usize = 8;

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
    /// None yet: what is left to be done is the same call with these arguments.
    Again([u64; 6]),
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
            | libc::SYS_recvmsg
            | libc::SYS_sendmsg
            | libc::SYS_epoll_wait
            | libc::SYS_poll
            | libc::SYS_ppoll
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
        // (A child that a handler forks in its midst would move the parent's place once more.)
        libc::SYS_lseek if second as i32 != libc::SEEK_CUR || first == 0 => {
            return looked_up(ctx, fd, |file| match file.quick {
                descriptors::Quick::File => match seek::to(file, first, second) {
                    Ok(place) => Answer::Value(place as i64),
                    Err(_) => Answer::None,
                },
                _ => Answer::None,
            });
        }
        libc::SYS_epoll_wait => {
            return looked_up(ctx, fd, |file| events(ctx, file, arguments));
        }
        libc::SYS_poll => return polled(ctx, fd, first, second as i32),
        libc::SYS_ppoll => {
            // (With a mask, or for a time, there is more to do.)
            let (timeout, mask) = (second, third);
            return if timeout == 0 && mask == 0 { polled(ctx, fd, first, -1) } else { Quick::NONE };
        }
        libc::SYS_recvmsg => {
            let flags = RecvFlags::from_bits_retain(second as u32);
            let wish = message(Way::In, !flags.is_empty());
            return if RecvFlags::DONTWAIT.contains(flags) {
                headed(ctx, fd, first, wish)
            } else {
                Quick::NONE
            };
        }
        libc::SYS_sendmsg => {
            let flags = SendFlags::from_bits_retain(second as u32);
            let is_known = (SendFlags::DONTWAIT | SendFlags::NOSIGNAL).contains(flags);
            let wish = message(Way::Out, flags.contains(SendFlags::DONTWAIT));
            return if is_known { headed(ctx, fd, first, wish) } else { Quick::NONE };
        }
        _ => None,
    };
    match wish {
        // (What is said on standard error is heard.)
        Some(Wish { way: Way::Out, .. }) if fd as i32 == STANDARD_ERROR => Quick::NONE,
        Some(wish) if is_vector => looked_up(ctx, fd, |file| many(ctx, file, wish, first, second)),
        Some(wish) => looked_up(ctx, fd, |file| one(ctx, file, wish, &[(first, second)])),
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

/// Of a `struct msghdr`, which is copied once, with neither address nor control messages.
fn headed(ctx: &SyscallContext<'_>, fd: u64, header: u64, wish: Option<Wish>) -> Quick {
    let Some(wish) = wish else { return Quick::NONE };
    let mut bytes = [0; HEADER];
    if ctx.memory.read(header, &mut bytes).is_err() {
        return Quick::NONE;
    }
    let [name, vector, count, control_length] =
        [0, 16, 24, CONTROL_LENGTH as usize].map(|at| word(&bytes, at));
    if name != 0 || control_length != 0 {
        return Quick::NONE;
    }
    looked_up(ctx, fd, |file| match many(ctx, file, wish, vector, count) {
        // (Of a message that came there are no flags to tell, and no length of control messages.)
        Answer::Value(0..) if wish.way == Way::In && ctx.memory.write(header + FLAGS, &[0; 4]).is_err() => {
            Answer::Value(-i64::from(libc::EFAULT))
        }
        answer => answer,
    })
}

/// `poll` of one descriptor, for so many milliseconds; for ever where that is negative.
fn polled(ctx: &SyscallContext<'_>, at: u64, count: u64, timeout: i32) -> Quick {
    let mut bytes = [0; POLLED];
    if count != 1 || ctx.memory.read(at, &mut bytes).is_err() {
        return Quick::NONE;
    }
    let (fd, asked) = (half(&bytes, 0), PollFlags::from_bits_retain(half(&bytes, 4) as u16));
    looked_up(ctx, fd.into(), |file| {
        let began = if timeout > 0 { now() } else { 0 };
        let mut left = timeout;
        loop {
            let again = Answer::Again([at, count, left as u64, 0, 0, 0]);
            let found = match look(ctx, file, asked, left) {
                Look::Found(found) => found,
                Look::Nothing if left == 0 => PollFlags::empty(),
                Look::Nothing => {
                    if timeout > 0 {
                        left = left_of(began, timeout);
                    }
                    continue;
                }
                // (A wait that has not begun begins anew with all of its time.)
                Look::Else if left == timeout => return Answer::None,
                Look::Else => return again,
            };
            return match ctx.memory.write(at + 6, &found.bits().to_le_bytes()) {
                Ok(()) => Answer::Value(i64::from(!found.is_empty())),
                Err(_) => Answer::None,
            };
        }
    })
}

/// What a look at a descriptor has come to.
enum Look {
    Found(PollFlags),
    /// Not yet.
    Nothing,
    /// There is more to be looked at than can be here.
    Else,
}

/// Waits for `events` of a description, so many milliseconds at most, and no longer than who waits has time.
fn look(ctx: &SyscallContext<'_>, file: &Description, events: PollFlags, left: i32) -> Look {
    let is_known = matches!(
        file.quick,
        descriptors::Quick::Pipe | descriptors::Quick::Socket | descriptors::Quick::Events
    );
    if !is_known || left != 0 && !may_wait(ctx) {
        return Look::Else;
    }
    let wait = if left < 0 { LONGEST_WAIT } else { LONGEST_WAIT.min(left as u32) };
    let wait = Timespec { tv_sec: i64::from(wait / 1000), tv_nsec: i64::from(wait % 1000) * MILLISECOND };
    let Some(end) = ctx.process.waits.event_if_made() else { return Look::Else };
    let mut both =
        [PollFd::from_borrowed_fd(end, PollFlags::IN), PollFd::from_borrowed_fd(file.fd(), events)];
    if left != 0 {
        ctx.sleep.rests();
    }
    match rustix::event::poll(&mut both, Some(&wait)) {
        Ok(_) if !both[0].revents().is_empty() || ctx.process.waits.is_killed() => Look::Else,
        Ok(1..) => Look::Found(both[1].revents()),
        Ok(_) | Err(Errno::INTR) if (ctx.thread.stopped)() => Look::Else,
        Ok(_) | Err(Errno::INTR) => Look::Nothing,
        Err(_) => Look::Else,
    }
}

/// Milliseconds that are left of `timeout`, which began then.
fn left_of(began: i64, timeout: i32) -> i32 {
    let nanoseconds = (began + i64::from(timeout) * MILLISECOND).saturating_sub(now()).max(0);
    (nanoseconds as u64).div_ceil(MILLISECOND as u64) as i32
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
    let is_allowed = match wish.way {
        Way::In => file.readable,
        Way::Out => file.writable,
    };
    // (What is written to a memory file is counted first.)
    let is_counted = wish.way == Way::Out && matches!(file.behind, Behind::Memory(_));
    if !is_allowed || is_counted || wish.of_socket && file.quick != descriptors::Quick::Socket {
        return Answer::None;
    }
    let waits = !wish.at_once && !file.nonblocking();
    // (Who waits for more than what is there gets more than one part of it.)
    if let (Way::In, true, Some(socket)) = (wish.way, waits, &file.socket)
        && socket.least() > 1
    {
        return Answer::None;
    }
    let is_one = parts.len() == 1;
    let how = match (wish.way, wish.offset, file.quick) {
        (Way::In, None, descriptors::Quick::File) => Exchange::Read,
        (Way::In, Some(offset), descriptors::Quick::File) => Exchange::ReadAt(offset),
        (Way::Out, None, descriptors::Quick::File) => Exchange::Write,
        (Way::Out, Some(offset), descriptors::Quick::File) => Exchange::WriteAt(offset),
        (Way::In, None, descriptors::Quick::Socket) if is_one => Exchange::Receive,
        (Way::In, None, descriptors::Quick::Pipe | descriptors::Quick::Socket) => Exchange::ReadNow,
        (Way::Out, None, descriptors::Quick::Socket) if is_one => Exchange::Send,
        (Way::Out, None, descriptors::Quick::Socket) if !waits => Exchange::WriteNow,
        // (A pipe takes all of so much, or nothing.)
        (Way::Out, None, descriptors::Quick::Pipe) if total <= PIPE as u64 => Exchange::WriteNow,
        _ => return Answer::None,
    };
    // Who waits for a socket waits until it has taken all: it is no beginning that could not go on here.
    if how == Exchange::Send && waits && !can_wait(ctx, file, wish.way) {
        return Answer::None;
    }
    let mut done = 0;
    loop {
        let rest;
        let parts = if done == 0 {
            parts
        } else {
            let (at, length) = parts[0];
            rest = [(at.wrapping_add(done), length - done)];
            &rest
        };
        let error = match ctx.memory.exchange(how, file.fd(), parts) {
            Ok(more) if how == Exchange::Send && waits && more < total - done => {
                done += more;
                Errno::AGAIN
            }
            Ok(more) => return Answer::Value((done + more) as i64),
            Err(error) => error,
        };
        let answer = match error {
            Errno::AGAIN if waits && how != Exchange::WriteNow && is_ready(ctx, file, wish.way) => continue,
            Errno::AGAIN if !waits => Answer::Value(-i64::from(libc::EAGAIN)),
            // What is to be done about it, or whether it is so, is looked at anew. (A socket tells of each other error just once.)
            Errno::AGAIN
            | Errno::FAULT
            | Errno::INTR
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::PIPE => Answer::None,
            error => Answer::Value(-i64::from(error.raw_os_error())),
        };
        // What was sent was sent.
        return if done > 0 { Answer::Value(done as i64) } else { answer };
    }
}

/// Whether nothing ends a wait but what it waits for, a kick, and the end of the domain.
fn may_wait(ctx: &SyscallContext<'_>) -> bool {
    ctx.thread.deadline.is_none() && !ctx.process.has_signals()
}

/// Whether `is_ready` can wait for a stream at all.
fn can_wait(ctx: &SyscallContext<'_>, file: &Description, way: Way) -> bool {
    let way = match way {
        Way::In => sockets::Way::In,
        Way::Out => sockets::Way::Out,
    };
    let has_timeout = file.socket.as_ref().is_some_and(|socket| !socket.timeout(way).is_zero());
    !has_timeout && may_wait(ctx) && ctx.process.waits.event_if_made().is_some()
}

/// Waits until a stream has something to read, or room; false where there is more to be looked at than can be here.
fn is_ready(ctx: &SyscallContext<'_>, file: &Description, way: Way) -> bool {
    let events = match way {
        Way::In => PollFlags::IN,
        Way::Out => PollFlags::OUT,
    };
    let Some(end) = ctx.process.waits.event_if_made() else { return false };
    let wait = Timespec { tv_sec: i64::from(LONGEST_WAIT / 1000), tv_nsec: 0 };
    while can_wait(ctx, file, way) {
        let mut both =
            [PollFd::from_borrowed_fd(end, PollFlags::IN), PollFd::from_borrowed_fd(file.fd(), events)];
        ctx.sleep.rests();
        match rustix::event::poll(&mut both, Some(&wait)) {
            Ok(_) if !both[0].revents().is_empty() => return false,
            Ok(1..) => return true,
            Ok(_) | Err(Errno::INTR) if (ctx.thread.stopped)() => return false,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    false
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

/// The events of a set. (The end of the domain is one of them.)
fn events(ctx: &SyscallContext<'_>, set: &Description, arguments: [u64; 6]) -> Answer {
    let [fd, at, most, timeout, ..] = arguments;
    let (most, timeout) = (most as i32, timeout as i32);
    if most <= 0 || set.quick != descriptors::Quick::Events {
        return Answer::None;
    }
    let room = (most as u64).min(EVENTS as u64) * EVENT as u64;
    let began = if timeout > 0 { now() } else { 0 };
    let mut left = timeout;
    loop {
        let again = Answer::Again([fd, at, most as u64, left as u64, 0, 0]);
        if left != 0 && !may_wait(ctx) {
            return again;
        }
        let wait = if left < 0 { LONGEST_WAIT } else { LONGEST_WAIT.min(left as u32) };
        if wait > 0 {
            ctx.sleep.rests();
        }
        let events = ctx.memory.exchange(Exchange::Events(wait), set.fd(), &[(at, room)]);
        // A domain that ends does not see that it ends.
        if ctx.process.waits.is_killed() {
            return again;
        }
        match events {
            Ok(0) if left == 0 => return Answer::Value(0),
            Ok(0) | Err(Errno::INTR) if (ctx.thread.stopped)() => return again,
            Ok(0) | Err(Errno::INTR) => {}
            Ok(events) => return Answer::Value(events as i64),
            Err(_) => return again,
        }
        if timeout > 0 {
            left = left_of(began, timeout);
        }
    }
}

/// Nanoseconds of a clock. (std's functions have tables of what to drop.)
fn now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.wrapping_mul(1000 * MILLISECOND).wrapping_add(now.tv_nsec)
}
