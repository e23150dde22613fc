//! `sendto`, `recvfrom`, `sendmsg`, `recvmsg`, `sendmmsg`, `recvmmsg`, and what `read` and `write` do with sockets: through a buffer of the
//! host's, without control messages.
use super::pieces::{MESSAGE, Pieces};
use super::signal;
use super::socket::{Open, granted_peer, place_of};
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::endpoints::{Address, Purpose, Transport};
use crate::memory::CHUNK;
use crate::outcome::{Halt, Reply};
use crate::sockets::Way;
use crate::wire::{half, word};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny, SocketType};
use std::net::SocketAddr;
use std::time::Instant;

/// Flags of `send` and its like that the kernel is told of; [`SendFlags::DONTWAIT`] and [`SendFlags::NOSIGNAL`] are acted upon here.
const SEND: SendFlags = SendFlags::OOB.union(SendFlags::MORE).union(SendFlags::EOR);
/// Flags that change nothing here.
const IGNORED: SendFlags = SendFlags::CONFIRM;
/// Flags of `recv` and its like that the kernel is told of.
const RECEIVE: RecvFlags = RecvFlags::OOB.union(RecvFlags::PEEK);
/// `MSG_WAITFORONE`: wait for the first message only.
const WAIT_FOR_ONE: RecvFlags = RecvFlags::from_bits_retain(0x10000);

/// `MSG_NOSIGNAL`, which says nothing here: programs have one set of flags for both ways.
const NO_SIGNAL: RecvFlags = RecvFlags::from_bits_retain(libc::MSG_NOSIGNAL as u32);

/// Most messages of one call, as in Linux (`UIO_MAXIOV`).
const MESSAGES: u64 = 1024;

/// `sendto(fd, buffer, length, flags, address or null, its length)`.
pub fn sendto(ctx: &SyscallContext<'_>, [fd, at, length, flags, to, to_length]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let to = if to == 0 || to_length as u32 == 0 { None } else { Some(ctx.address(to, to_length)?) };
    send(ctx, &open, Pieces::one(at, length), send_flags(flags)?, to)
}

/// `recvfrom(fd, buffer, length, flags, address or null, its length)`.
pub fn recvfrom(ctx: &SyscallContext<'_>, [fd, at, length, flags, from, from_length]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let flags = receive_flags(flags)?;
    let room = ctx.room_for_address(from, from_length)?;
    let received = receive(ctx, &open, Pieces::one(at, length), flags)?;
    ctx.give_address(from, from_length, room, &received.from)?;
    Ok(received.length as u64)
}

/// A `struct msghdr`.
struct Header {
    name: u64,
    name_length: u32,
    vector: u64,
    count: u64,
    control_length: u64,
}

/// Bytes of it, and where its parts are.
pub(super) const HEADER: usize = 56;
const NAME_LENGTH: u64 = 8;
pub(super) const CONTROL_LENGTH: u64 = 40;
pub(super) const FLAGS: u64 = 48;
/// A `struct mmsghdr` has its header, and how long its message was.
const NUMBERED: u64 = 64;
const LENGTH: u64 = 56;

impl Header {
    fn new(ctx: &SyscallContext<'_>, at: u64) -> Result<Header, Errno> {
        let bytes: [u8; HEADER] = ctx.array(at)?;
        let (name, name_length) = (word(&bytes, 0), half(&bytes, NAME_LENGTH as usize));
        if name != 0 && (name_length as i32) < 0 {
            return Err(Errno::INVAL);
        }
        Ok(Header {
            name,
            name_length,
            vector: word(&bytes, 16),
            count: word(&bytes, 24),
            control_length: word(&bytes, CONTROL_LENGTH as usize),
        })
    }
}

/// `sendmsg(fd, message, flags)`.
pub fn sendmsg(ctx: &SyscallContext<'_>, [fd, at, flags, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    send_message(ctx, &open, at, send_flags(flags)?)
}

fn send_message(ctx: &SyscallContext<'_>, open: &Open, at: u64, flags: SendFlags) -> Reply {
    let header = Header::new(ctx, at)?;
    // Neither descriptors nor credentials leave a domain so.
    if header.control_length != 0 {
        return Err(Errno::INVAL.into());
    }
    let to = match header.name {
        0 => None,
        _ if header.name_length == 0 => None,
        name => Some(ctx.address(name, header.name_length.into())?),
    };
    send(ctx, open, Pieces::copied(ctx, header.vector, header.count)?, flags, to)
}

/// `recvmsg(fd, message, flags)`.
pub fn recvmsg(ctx: &SyscallContext<'_>, [fd, at, flags, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    receive_message(ctx, &open, at, receive_flags(flags)?)
}

fn receive_message(ctx: &SyscallContext<'_>, open: &Open, at: u64, flags: RecvFlags) -> Reply {
    let header = Header::new(ctx, at)?;
    let received = receive(ctx, open, Pieces::copied(ctx, header.vector, header.count)?, flags)?;
    let room = (header.name != 0).then_some(header.name_length as usize);
    let part = |offset: u64| at.checked_add(offset).ok_or(Errno::FAULT);
    ctx.give_address(header.name, part(NAME_LENGTH)?, room, &received.from)?;
    ctx.memory.write(part(CONTROL_LENGTH)?, &0u64.to_le_bytes())?;
    let flags = if received.is_cut { libc::MSG_TRUNC } else { 0 };
    ctx.memory.write(part(FLAGS)?, &flags.to_le_bytes())?;
    Ok(received.length as u64)
}

/// `sendmmsg(fd, messages, count, flags)`: how many were sent.
pub fn sendmmsg(ctx: &SyscallContext<'_>, [fd, at, count, flags, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let flags = send_flags(flags)?;
    each_message(ctx, at, count, |at, _| send_message(ctx, &open, at, flags))
}

/// `recvmmsg(fd, messages, count, flags, timeout or null)`: how many came. The time is looked at between messages, as Linux does.
pub fn recvmmsg(ctx: &SyscallContext<'_>, [fd, at, count, flags, timeout, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let flags = receive_flags(flags)?;
    let timeout = if timeout == 0 { None } else { Some(ctx.timespec(timeout)?) };
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    each_message(ctx, at, count, |at, number| {
        if number > 0 && until.is_some_and(|until| Instant::now() >= until) {
            return Err(Errno::AGAIN.into());
        }
        let waits = number == 0 || !flags.contains(WAIT_FOR_ONE);
        receive_message(ctx, &open, at, if waits { flags } else { flags | RecvFlags::DONTWAIT })
    })
}

/// Does one message after another until one fails: that counts if it is the first.
fn each_message(
    ctx: &SyscallContext<'_>,
    at: u64,
    count: u64,
    mut one: impl FnMut(u64, u64) -> Reply,
) -> Reply {
    let count = (count & 0xffff_ffff).min(MESSAGES);
    for number in 0..count {
        let header = at.checked_add(number * NUMBERED).ok_or(Errno::FAULT)?;
        let length = match one(header, number) {
            Ok(length) => length as u32,
            Err(Halt::Errno(_)) if number > 0 => return Ok(number),
            Err(halt) => return Err(halt),
        };
        ctx.memory.write(header.checked_add(LENGTH).ok_or(Errno::FAULT)?, &length.to_le_bytes())?;
    }
    Ok(count)
}

fn send_flags(flags: u64) -> Result<SendFlags, Errno> {
    let flags = SendFlags::from_bits_retain(flags as u32);
    let known = SEND | IGNORED | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if known.contains(flags) { Ok(flags) } else { Err(Errno::OPNOTSUPP) }
}

fn receive_flags(flags: u64) -> Result<RecvFlags, Errno> {
    let flags = RecvFlags::from_bits_retain(flags as u32);
    let acted_upon = RecvFlags::DONTWAIT | RecvFlags::TRUNC | RecvFlags::WAITALL | WAIT_FOR_ONE;
    let known = RECEIVE | acted_upon | RecvFlags::CMSG_CLOEXEC | NO_SIGNAL;
    if known.contains(flags) { Ok(flags) } else { Err(Errno::OPNOTSUPP) }
}

/// Sends all of `pieces`, or as much as goes.
pub(super) fn send(
    ctx: &SyscallContext<'_>,
    open: &Open,
    mut pieces: Pieces,
    flags: SendFlags,
    to: Option<Address>,
) -> Reply {
    let is_message = open.socket().has_messages();
    let mut left = pieces.left();
    if is_message && left > MESSAGE {
        return Err(Errno::MSGSIZE.into());
    }
    let to = match (to, open.socket().kind, open.socket().transport) {
        (Some(to), SocketType::DGRAM, _) => Some(receiver(ctx, open, to)?),
        (Some(_), SocketType::STREAM, Transport::Unix) => {
            let is_connected = rustix::net::getpeername(open.file().fd()).is_ok();
            return Err(if is_connected { Errno::ISCONN } else { Errno::OPNOTSUPP }.into());
        }
        // (Others that are connected do not care for an address.)
        _ => None,
    };
    // What quick sends wait with, from the next one on; they are not without it.
    let _ = ctx.process.waits.event();
    let mut buffer = vec![0; if is_message { left } else { CHUNK.min(left) }];
    let mut done = 0;
    loop {
        ctx.check()?;
        let want = buffer.len().min(left);
        match pieces.take(want, |at, place| ctx.memory.read(at, &mut buffer[place])) {
            Ok(()) => {}
            Err(_) if done > 0 => return Ok(done as u64),
            Err(error) => return Err(error.into()),
        }
        let mut rest = &buffer[..want];
        loop {
            let sent = match send_some(ctx, open, rest, flags, to.as_ref()) {
                Ok(sent) => sent,
                Err(Halt::Errno(_)) if done > 0 => return Ok(done as u64),
                Err(halt) => return Err(halt),
            };
            rest = &rest[sent..];
            done += sent;
            left -= sent;
            if rest.is_empty() || is_message {
                break;
            }
        }
        if left == 0 || is_message {
            return Ok(done as u64);
        }
    }
}

/// Where a message goes.
fn receiver(ctx: &SyscallContext<'_>, open: &Open, to: Address) -> Result<Receiver, Halt> {
    let socket = open.socket();
    match to {
        Address::Inet(to) if socket.transport != Transport::Unix => {
            Ok(Receiver::Inet(granted_peer(ctx, socket, to)?))
        }
        Address::Unix(path) if socket.transport == Transport::Unix => {
            Ok(Receiver::Unix(place_of(ctx, &path)?))
        }
        _ => Err(Errno::AFNOSUPPORT.into()),
    }
}

enum Receiver {
    Inet(SocketAddr),
    Unix(crate::endpoints::Place),
}

fn send_some(
    ctx: &SyscallContext<'_>,
    open: &Open,
    bytes: &[u8],
    flags: SendFlags,
    to: Option<&Receiver>,
) -> Result<usize, Halt> {
    let to = match to {
        None => None,
        Some(Receiver::Inet(to)) => Some(SocketAddrAny::from(*to)),
        Some(Receiver::Unix(place)) => Some(SocketAddrAny::from(place.address()?)),
    };
    let (host, until) = (open.file().fd(), open.socket().until(Way::Out));
    let waits = !open.file().nonblocking() && !flags.contains(SendFlags::DONTWAIT);
    let hosts = flags & SEND | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let mut was_ready = false;
    loop {
        let sent = match &to {
            Some(to) => rustix::net::sendto(host, bytes, hosts, to),
            None => rustix::net::send(host, bytes, hosts),
        };
        match sent {
            Err(Errno::AGAIN) if waits => {
                // There is always room for what goes to a UNIX socket that is not connected, says the kernel.
                if was_ready {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        return Err(Errno::AGAIN.into());
                    }
                    ctx.sleep_until(Some(Instant::now() + PAUSE))?;
                }
                open.wait(ctx, Way::Out, until)?;
                was_ready = true;
            }
            Err(Errno::INTR) => ctx.check_signals()?,
            Err(Errno::PIPE) => {
                // (Linux sends no signal for messages that no peer receives.)
                if !flags.contains(SendFlags::NOSIGNAL) && !open.socket().has_messages() {
                    signal::raise(ctx, libc::SIGPIPE)?;
                }
                return Err(Errno::PIPE.into());
            }
            sent => return Ok(sent?),
        }
    }
}

/// What came.
pub(super) struct Received {
    /// What the call says: how much there was, if that was asked for.
    pub(super) length: usize,
    from: Address,
    /// There was more of the message than room.
    is_cut: bool,
}

/// Receives into `pieces`.
pub(super) fn receive(
    ctx: &SyscallContext<'_>,
    open: &Open,
    mut pieces: Pieces,
    flags: RecvFlags,
) -> Result<Received, Halt> {
    if open.socket().has_messages() {
        return receive_one(ctx, open, pieces, flags);
    }
    let until = open.socket().until(Way::In);
    let mut left = pieces.left();
    let mut buffer = vec![0; CHUNK.min(left)];
    let mut done = 0;
    let least = match flags.contains(RecvFlags::WAITALL) {
        _ if flags.intersects(RECEIVE) => 1, // a second peek would see the same again
        true => left,
        false => open.socket().least().min(left),
    };
    let received = |length| Ok(Received { length, from: Address::Unspecified, is_cut: false });
    loop {
        ctx.check()?;
        // What has no place in the domain stays in the socket.
        let want = pieces.writable(ctx, buffer.len().min(left));
        if want == 0 && left > 0 {
            return if done > 0 { received(done) } else { Err(Errno::FAULT.into()) };
        }
        // (What is there already counts: the kernel knows of the rest alone.)
        let has_least = done > 0 && open.socket().least() > 1;
        if has_least {
            open.waits_for(least - done);
        }
        let some = receive_some(ctx, open, &mut buffer[..want], flags, until);
        if has_least {
            open.waits_for(open.socket().least());
        }
        let got = match some {
            Ok((got, ..)) => got,
            Err(Halt::Errno(_)) if done > 0 => return received(done),
            Err(halt) => return Err(halt),
        };
        match pieces.take(got, |at, place| ctx.memory.write(at, &buffer[place])) {
            Ok(()) => {}
            Err(_) if done > 0 => return received(done),
            Err(error) => return Err(error.into()),
        }
        done += got;
        left -= got;
        if got == 0 || done >= least {
            return received(done);
        }
    }
}

fn receive_one(
    ctx: &SyscallContext<'_>,
    open: &Open,
    mut pieces: Pieces,
    flags: RecvFlags,
) -> Result<Received, Halt> {
    let until = open.socket().until(Way::In);
    let mut buffer = vec![0; MESSAGE.min(pieces.left())];
    let (got, from, whole) = receive_some(ctx, open, &mut buffer, flags, until)?;
    pieces.take(got, |at, place| ctx.memory.write(at, &buffer[place]))?;
    let length = if flags.contains(RecvFlags::TRUNC) { whole } else { got };
    Ok(Received { length, from, is_cut: whole > got })
}

/// Bytes that came, from whom, and how many there were. An unconnected socket that has no granted address of its own drops what
/// others than granted peers have sent.
fn receive_some(
    ctx: &SyscallContext<'_>,
    open: &Open,
    into: &mut [u8],
    flags: RecvFlags,
    until: Option<Instant>,
) -> Result<(usize, Address, usize), Halt> {
    let socket = open.socket();
    let host = open.file().fd();
    // (No call waits for urgent data.)
    let waits = !open.file().nonblocking() && !flags.intersects(RecvFlags::DONTWAIT | RecvFlags::OOB);
    let mut hosts = flags & RECEIVE | RecvFlags::DONTWAIT;
    if socket.has_messages() {
        hosts |= RecvFlags::TRUNC;
    }
    loop {
        match rustix::net::recvfrom(host, &mut *into, hosts) {
            Err(Errno::AGAIN) if waits && socket.is_shut() => return Ok((0, Address::Unspecified, 0)),
            Err(Errno::AGAIN) if waits => {
                ctx.check_signals()?;
                open.wait(ctx, Way::In, until)?;
            }
            Err(Errno::INTR) => ctx.check_signals()?,
            Err(error) => return Err(error.into()),
            Ok((got, whole, from)) => {
                let from = Address::of_kernel(from);
                if is_welcome(ctx, open, &from) {
                    return Ok((got, from, whole));
                }
                if flags.contains(RecvFlags::PEEK) {
                    let _ = rustix::net::recv(host, &mut [0; 1], RecvFlags::DONTWAIT);
                }
                ctx.check_signals()?;
            }
        }
    }
}

/// Whether a message from there is for the domain.
fn is_welcome(ctx: &SyscallContext<'_>, open: &Open, from: &Address) -> bool {
    let socket = open.socket();
    match from {
        Address::Inet(from) if socket.transport == Transport::Udp && !socket.is_granted() => {
            ctx.process.grants.admits(Purpose::Connect, Transport::Udp, *from)
        }
        _ => true,
    }
}
