//! `getsockopt`, `setsockopt`: what is listed here. What a socket could reach, or what it could see of others, is no option of a domain's.
use super::socket::Open;
use crate::SyscallContext;
use crate::endpoints::Transport;
use crate::outcome::Reply;
use crate::sockets::{Socket, Way};
use crate::wire::{Record, half, word};
use lockgate_kernel::{set_socket_option, socket_option};
use rustix::io::Errno;
use std::time::Duration;

/// What a domain may do with an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum May {
    Read,
    Set,
}

/// Options that are the kernel's, of four bytes, or eight for `SO_LINGER`.
const OPTIONS: &[(i32, i32, May)] = &[
    (libc::SOL_SOCKET, libc::SO_TYPE, May::Read),
    (libc::SOL_SOCKET, libc::SO_ERROR, May::Read),
    (libc::SOL_SOCKET, libc::SO_DOMAIN, May::Read),
    (libc::SOL_SOCKET, libc::SO_PROTOCOL, May::Read),
    (libc::SOL_SOCKET, libc::SO_ACCEPTCONN, May::Read),
    (libc::SOL_SOCKET, libc::SO_REUSEADDR, May::Set),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT, May::Set),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, May::Set),
    (libc::SOL_SOCKET, libc::SO_SNDBUF, May::Set),
    (libc::SOL_SOCKET, libc::SO_RCVBUF, May::Set),
    (libc::SOL_SOCKET, libc::SO_LINGER, May::Set),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE, May::Set),
    (libc::SOL_SOCKET, libc::SO_RCVLOWAT, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_CORK, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_MAXSEG, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK, May::Set),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, May::Set),
    (libc::IPPROTO_IP, libc::IP_TOS, May::Set),
    (libc::IPPROTO_IP, libc::IP_TTL, May::Set),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, May::Set),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, May::Set),
    (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, May::Set),
];

/// Most bytes of the kernel's that a socket's buffers may be asked to have, each way.
const BUFFER: u32 = 1 << 20;

fn find(level: i32, name: i32) -> Result<May, Errno> {
    let option = OPTIONS.iter().find(|(l, n, _)| (*l, *n) == (level, name));
    option.map(|(.., may)| *may).ok_or(Errno::NOPROTOOPT)
}

/// The one option of eight bytes.
const LINGER: (i32, i32) = (libc::SOL_SOCKET, libc::SO_LINGER);

/// Bytes of an option.
fn size(level: i32, name: i32) -> usize {
    if (level, name) == LINGER { 8 } else { 4 }
}

/// The timeout that an option is.
fn way(level: i32, name: i32) -> Option<Way> {
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => Some(Way::In),
        (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => Some(Way::Out),
        _ => None,
    }
}

/// `getsockopt(fd, level, name, value, its length)`.
pub fn getsockopt(ctx: &SyscallContext<'_>, [fd, level, name, at, length_at, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let (level, name) = (level as i32, name as i32);
    let room = i32::from_le_bytes(ctx.array(length_at)?);
    let room = usize::try_from(room).map_err(|_| Errno::INVAL)?;
    let value = match way(level, name) {
        Some(way) => timeval(open.socket().timeout(way)),
        None if (level, name) == LINGER => {
            open.socket().linger().iter().flat_map(|word| word.to_le_bytes()).collect()
        }
        None => {
            find(level, name)?;
            let mut value = [0; 8];
            let value = &mut value[..size(level, name)];
            let got = socket_option(open.file().fd(), level, name, value)?;
            value[..got.min(value.len())].to_vec()
        }
    };
    let value = &value[..value.len().min(room)];
    ctx.memory.write(at, value)?;
    ctx.memory.write(length_at, &(value.len() as u32).to_le_bytes())?;
    Ok(0)
}

/// `setsockopt(fd, level, name, value, length)`.
pub fn setsockopt(ctx: &SyscallContext<'_>, [fd, level, name, at, length, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let (level, name) = (level as i32, name as i32);
    let length = usize::try_from(length as i32).map_err(|_| Errno::INVAL)?;
    if let Some(way) = way(level, name) {
        return set_timeout(ctx, open.socket(), way, at, length);
    }
    if find(level, name)? == May::Read {
        return Err(Errno::NOPROTOOPT.into());
    }
    let mut value = [0; 8];
    let value = &mut value[..size(level, name)];
    if length < value.len() {
        return Err(Errno::INVAL.into());
    }
    ctx.memory.read(at, value)?;
    if level == libc::SOL_SOCKET && [libc::SO_SNDBUF, libc::SO_RCVBUF].contains(&name) {
        let asked = u32::from_le_bytes(*value.first_chunk().expect("four bytes"));
        value.copy_from_slice(&asked.min(BUFFER).to_le_bytes());
    }
    if open.socket().transport == Transport::Unix && level != libc::SOL_SOCKET {
        return Err(Errno::OPNOTSUPP.into());
    }
    if (level, name) == LINGER {
        let asked = [half(value, 0), half(value, 4)].map(|word| word as i32);
        open.socket().set_linger(asked);
        // To close at once and drop what is not sent: that may be. But no close waits, beyond every limit, for what a peer does not read.
        let at_once = u32::from(asked[0] != 0 && asked[1] == 0);
        value.copy_from_slice(&Record::new().u32(at_once).u32(0).0);
    }
    set_socket_option(open.file().fd(), level, name, value)?;
    if (level, name) == (libc::SOL_SOCKET, libc::SO_RCVLOWAT) {
        open.socket().set_least(half(value, 0) as i32);
    }
    Ok(0)
}

fn set_timeout(ctx: &SyscallContext<'_>, socket: &Socket, way: Way, at: u64, length: usize) -> Reply {
    let bytes: [u8; 16] = if length < 16 { return Err(Errno::INVAL.into()) } else { ctx.array(at)? };
    let (seconds, microseconds) = (word(&bytes, 0) as i64, word(&bytes, 8) as i64);
    if !(0..1_000_000).contains(&microseconds) {
        return Err(Errno::DOM.into());
    }
    // (Linux, too, takes a time before now for "at once".)
    let timeout = match u64::try_from(seconds) {
        Ok(seconds) => Duration::new(seconds, microseconds as u32 * 1000),
        Err(_) => Duration::from_nanos(1),
    };
    socket.set_timeout(way, timeout);
    Ok(0)
}

fn timeval(time: Duration) -> Vec<u8> {
    Record::new().u64(time.as_secs()).u64(time.subsec_micros().into()).0
}
