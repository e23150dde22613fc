//! `socket` and what is done with one but for messages and options: `socketpair`, `bind`, `listen`, `accept`, `connect`, `shutdown`, and both
//! ends' names.
//!
//! The host's sockets never wait: the domain's waits are where a deadline ends them. An address is copied once, judged, and that copy goes to
//! the kernel.
use super::open::file_mode;
use crate::SyscallContext;
use crate::context::PAUSE;
use crate::descriptors::Description;
use crate::endpoints::{Address, LARGEST, Place, Purpose, Shown, Transport, address_in, peer};
use crate::outcome::{Halt, Reply};
use crate::sockets::{Socket, Way};
use crate::wire::Record;
use lockgate_kernel::{kept, set_socket_option};
use rustix::event::PollFlags;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What the host's sockets are made with.
const HOSTS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A descriptor that is a socket.
pub(super) struct Open(Arc<Description>);

impl Open {
    /// # Errors
    /// `EBADF`, or `ENOTSOCK`, also of a granted stream, whatever it is for the host.
    pub(super) fn new(ctx: &SyscallContext<'_>, fd: u64) -> Result<Open, Errno> {
        Open::of(ctx.process.descriptor(fd as i32)?).ok_or(Errno::NOTSOCK)
    }

    /// The same of what has been looked up, if it is a socket of the domain's.
    pub(super) fn of(file: Arc<Description>) -> Option<Open> {
        file.socket.is_some().then_some(Open(file))
    }

    pub(super) fn file(&self) -> &Description {
        &self.0
    }

    pub(super) fn socket(&self) -> &Socket {
        self.0.socket.as_ref().expect("looked at when it was opened")
    }

    /// The kernel is to call it readable at so many bytes. (It can refuse that only of what is shut down, which is readable.)
    pub(super) fn waits_for(&self, bytes: usize) {
        let bytes = (bytes as u32).to_le_bytes();
        let _ = set_socket_option(self.file().fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes);
    }

    /// Waits until something can go that way, and fails with `EAGAIN` at `until`.
    pub(super) fn wait(
        &self,
        ctx: &SyscallContext<'_>,
        way: Way,
        until: Option<Instant>,
    ) -> Result<(), Halt> {
        let events = if way == Way::In { PollFlags::IN } else { PollFlags::OUT };
        let ready = ctx.process.waits.poll(ctx.caller(), &mut [(self.file().fd(), events)], until)?;
        if ready { Ok(()) } else { Err(Errno::AGAIN.into()) }
    }
}

impl SyscallContext<'_> {
    /// Copies a `struct sockaddr` out of the domain.
    pub(super) fn address(&self, at: u64, length: u64) -> Result<Address, Halt> {
        let length = usize::try_from(length as i32).ok().filter(|&length| length <= LARGEST);
        let mut bytes = vec![0; length.ok_or(Errno::INVAL)?];
        self.memory.read(at, &mut bytes)?;
        match Address::parse(&bytes) {
            Err(Errno::ACCESS) => Err(self.deny("use a UNIX socket that has no path")),
            address => Ok(address?),
        }
    }

    /// Room for an address that is given back: of so many bytes, which the domain said before.
    pub(super) fn room_for_address(&self, at: u64, length_at: u64) -> Result<Option<usize>, Errno> {
        if at == 0 {
            return Ok(None);
        }
        let length = i32::from_le_bytes(self.array(length_at)?);
        usize::try_from(length).map(Some).map_err(|_| Errno::INVAL)
    }

    /// Gives an address back, as much as there is room for, and how long it is.
    pub(super) fn give_address(
        &self,
        at: u64,
        length_at: u64,
        room: Option<usize>,
        address: &Address,
    ) -> Result<(), Errno> {
        let Some(room) = room else { return Ok(()) };
        // (Of a peer without an address there is nothing to say.)
        let bytes = if *address == Address::Unspecified { Vec::new() } else { address.bytes() };
        self.memory.write(at, &bytes[..bytes.len().min(room)])?;
        self.memory.write(length_at, &(bytes.len() as u32).to_le_bytes())
    }

    /// Counts what was tried without a grant. The error for it.
    pub(super) fn deny(&self, what: impl Into<String>) -> Halt {
        self.process.count_denied(what.into());
        Errno::ACCESS.into()
    }
}

/// `socket(family, type, protocol)`.
pub fn socket(ctx: &SyscallContext<'_>, [family, kind, protocol, ..]: [u64; 6]) -> Reply {
    let (family, kind, flags) = (address_family(family)?, socket_type(kind), status_flags(kind)?);
    let transport = Transport::of(family, kind, protocol)?;
    if !ctx.process.grants.has_addresses(transport) {
        let what = match transport {
            Transport::Tcp => "use TCP",
            Transport::Udp => "use UDP",
            Transport::Unix => "use UNIX sockets",
        };
        return Err(ctx.deny(what));
    }
    let reserved = ctx.process.reserve()?;
    let fd = rustix::net::socket_with(family, kind, HOSTS, None)?;
    takes_no_descriptors(&fd, transport);
    let description = Description::of_socket(fd, Socket::new(family, kind, transport), flags)?;
    Ok(reserved.fill(description, flags.contains(OFlags::CLOEXEC)) as u64)
}

/// A descriptor that a peer sends would be closed by a thread of the host's, which may wait for what lingers behind it. (Before Linux 6.16 there
/// is no such option.)
fn takes_no_descriptors(fd: &OwnedFd, transport: Transport) {
    const SO_PASSRIGHTS: i32 = 83;
    if transport == Transport::Unix {
        let _ = lockgate_kernel::set_socket_option(fd.as_fd(), libc::SOL_SOCKET, SO_PASSRIGHTS, &[0; 4]);
    }
}

/// `socketpair(AF_UNIX, type, protocol, fds)`: within the domain, as a pipe.
pub fn socketpair(ctx: &SyscallContext<'_>, [family, kind, protocol, at, ..]: [u64; 6]) -> Reply {
    let (family, kind, flags) = (address_family(family)?, socket_type(kind), status_flags(kind)?);
    if Transport::of(family, kind, protocol)? != Transport::Unix {
        return Err(Errno::OPNOTSUPP.into());
    }
    let close_on_exec = flags.contains(OFlags::CLOEXEC);
    let [first, second] = [ctx.process.reserve()?, ctx.process.reserve()?];
    let numbers = Record::new().u32(first.number as u32).u32(second.number as u32);
    let (one, other) = rustix::net::socketpair(family, kind, HOSTS, None)?;
    let end = |fd| Description::of_socket(fd, Socket::new(family, kind, Transport::Unix), flags);
    let (one, other) = (end(one)?, end(other)?);
    ctx.memory.write(at, &numbers.0)?;
    first.fill(one, close_on_exec);
    second.fill(other, close_on_exec);
    Ok(0)
}

/// `bind(fd, address, length)`: to an address that is granted to listen on. For one's own end of a connection the kernel may pick a port.
pub fn bind(ctx: &SyscallContext<'_>, [fd, at, length, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let (socket, grants) = (open.socket(), &ctx.process.grants);
    let address = ctx.address(at, length)?;
    let denied = || ctx.deny(format!("listen on {}", Shown(socket.transport, &address)));
    match &address {
        Address::Inet(inet) if is_of(socket, *inet) => {
            let is_granted = grants.admits(Purpose::Listen, socket.transport, *inet);
            if !is_granted && inet.port() != 0 {
                return Err(denied());
            }
            bind_once(socket, || rustix::net::bind(open.file().fd(), inet))?;
            if is_granted {
                socket.has_granted_address(None);
            }
        }
        Address::Unix(path) if socket.transport == Transport::Unix => {
            match grants.socketfile(Purpose::Listen, path) {
                Some(place) => bind_to_path(ctx, &open, &place.address()?)?,
                None if grants.has_sockets_beneath(Purpose::Listen) => {
                    let (folder, name) = ctx.locate(libc::AT_FDCWD, path)?.parent(grants)?;
                    bind_to_path(ctx, &open, &address_in(&folder, &name)?)?;
                }
                None => return Err(denied()),
            }
            socket.has_granted_address(Some(path));
        }
        _ => return Err(Errno::AFNOSUPPORT.into()),
    }
    Ok(0)
}

fn bind_once(socket: &Socket, bind: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    if !socket.begins_to_be_bound() {
        return Err(Errno::INVAL);
    }
    bind().inspect_err(|_| socket.was_not_bound())
}

/// The file has the rights that the domain's mask leaves, and the host's.
fn bind_to_path(ctx: &SyscallContext<'_>, open: &Open, address: &SocketAddrUnix) -> Result<(), Errno> {
    bind_once(open.socket(), || {
        rustix::fs::fchmod(open.file().fd(), file_mode(ctx, 0o777))?;
        rustix::net::bind(open.file().fd(), address)
    })
}

/// `listen(fd, backlog)`.
pub fn listen(ctx: &SyscallContext<'_>, [fd, backlog, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    if open.socket().kind == SocketType::DGRAM {
        return Err(Errno::OPNOTSUPP.into());
    }
    if !open.socket().is_granted() {
        bind_to_any(ctx, &open)?;
    }
    rustix::net::listen(open.file().fd(), backlog as i32)?;
    Ok(0)
}

/// What is bound to nothing is bound by `listen`: to a port that the kernel picks, at every address. That must be granted.
fn bind_to_any(ctx: &SyscallContext<'_>, open: &Open) -> Result<(), Halt> {
    let socket = open.socket();
    let own = Address::of_kernel(Some(rustix::net::getsockname(open.file().fd())?));
    let Address::Inet(mut address) = own else { return Err(Errno::INVAL.into()) };
    address.set_port(0);
    // One's own end of a connection stays that.
    if socket.is_bound() || !ctx.process.grants.admits(Purpose::Listen, socket.transport, address) {
        return Err(ctx.deny(format!("listen on {}", Shown(socket.transport, &Address::Inet(address)))));
    }
    bind_once(socket, || rustix::net::bind(open.file().fd(), &address))?;
    socket.has_granted_address(None);
    Ok(())
}

/// `accept(fd, address or null, length)`.
pub fn accept(ctx: &SyscallContext<'_>, [fd, at, length_at, ..]: [u64; 6]) -> Reply {
    accept4(ctx, [fd, at, length_at, 0, 0, 0])
}

/// `accept4(fd, address or null, length, flags)`.
pub fn accept4(ctx: &SyscallContext<'_>, [fd, at, length_at, flags, ..]: [u64; 6]) -> Reply {
    if flags & !TYPE_FLAGS != 0 {
        return Err(Errno::INVAL.into());
    }
    let flags = status_flags(flags)?;
    let open = Open::new(ctx, fd)?;
    let room = ctx.room_for_address(at, length_at)?;
    let reserved = ctx.process.reserve()?;
    let until = open.socket().until(Way::In);
    let (accepted, from) = loop {
        match rustix::net::acceptfrom_with(open.file().fd(), HOSTS) {
            Err(Errno::AGAIN) if !open.file().nonblocking() => {
                ctx.check_signals()?;
                open.wait(ctx, Way::In, until)?;
            }
            Err(Errno::INTR) => ctx.check_signals()?,
            accepted => break accepted?,
        }
    };
    takes_no_descriptors(&accepted, open.socket().transport);
    let description = Description::of_socket(accepted, open.socket().accepted(), flags)?;
    ctx.give_address(at, length_at, room, &Address::of_kernel(from))?;
    Ok(reserved.fill(description, flags.contains(OFlags::CLOEXEC)) as u64)
}

/// `connect(fd, address, length)`.
pub fn connect(ctx: &SyscallContext<'_>, [fd, at, length, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let (socket, host) = (open.socket(), open.file().fd());
    let until = socket.until(Way::Out);
    let (first, address) = match ctx.address(at, length)? {
        // What a UDP socket was connected to, it is not any more.
        Address::Unspecified if socket.transport == Transport::Udp => {
            rustix::net::connect_unspec(host)?;
            return Ok(0);
        }
        Address::Inet(address) if is_of(socket, address) => {
            let address = granted_peer(ctx, socket, address)?;
            (rustix::net::connect(host, &address), address)
        }
        Address::Unix(path) if socket.transport == Transport::Unix => {
            let result = connect_to_path(ctx, &open, &path, until);
            if result.is_ok() {
                socket.connects_to(&path);
            }
            return result;
        }
        _ => return Err(Errno::AFNOSUPPORT.into()),
    };
    let mut result = first;
    while let Err(Errno::INPROGRESS | Errno::ALREADY) = result
        && !open.file().nonblocking()
    {
        open.wait(ctx, Way::Out, until).map_err(|halt| match halt {
            Halt::Errno(Errno::AGAIN) => Errno::INPROGRESS.into(),
            halt => halt,
        })?;
        ctx.check()?;
        // The kernel says what has come of it, and knows then that it was told.
        result = rustix::net::connect(host, &address);
    }
    result?;
    Ok(0)
}

/// Where a connection or message to `address` goes, if it may.
pub(super) fn granted_peer(
    ctx: &SyscallContext<'_>,
    socket: &Socket,
    address: SocketAddr,
) -> Result<SocketAddr, Halt> {
    let address = peer(address);
    if ctx.process.grants.admits(Purpose::Connect, socket.transport, address) {
        return Ok(address);
    }
    let shown = Address::Inet(address);
    Err(ctx.deny(format!("connect to {}", Shown(socket.transport, &shown))))
}

/// A UNIX socket has no wait for room in its peer's queue.
fn connect_to_path(
    ctx: &SyscallContext<'_>,
    open: &Open,
    path: &[u8],
    until: Option<Instant>,
) -> Result<u64, Halt> {
    let place = place_of(ctx, path)?;
    loop {
        match rustix::net::connect(open.file().fd(), &place.address()?) {
            Err(Errno::AGAIN) if !open.file().nonblocking() => {
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Err(Errno::AGAIN.into());
                }
                ctx.sleep_until(Some(Instant::now() + PAUSE))?;
            }
            result => return Ok(result.map(|()| 0)?),
        }
    }
}

/// The socket that the domain calls so: what is open is a socket, whatever may have its name by now.
pub(super) fn place_of(ctx: &SyscallContext<'_>, path: &[u8]) -> Result<Place, Halt> {
    let grants = &ctx.process.grants;
    if let Some(file) = grants.socketfile(Purpose::Connect, path) {
        return Ok(file.open()?);
    }
    if !grants.has_sockets_beneath(Purpose::Connect) {
        let shown = Address::Unix(path.to_vec());
        return Err(ctx.deny(format!("connect to {}", Shown(Transport::Unix, &shown))));
    }
    let handle = ctx.locate(libc::AT_FDCWD, path)?.handle(grants, true)?;
    // To send is to write.
    if handle.read_only {
        return Err(Errno::ACCESS.into());
    }
    Ok(Place::new(kept(handle.fd)?)?)
}

/// `shutdown(fd, how)`.
pub fn shutdown(ctx: &SyscallContext<'_>, [fd, how, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let how = match how as i32 {
        libc::SHUT_RD => Shutdown::Read,
        libc::SHUT_WR => Shutdown::Write,
        libc::SHUT_RDWR => Shutdown::Both,
        _ => return Err(Errno::INVAL.into()),
    };
    rustix::net::shutdown(open.file().fd(), how)?;
    if how != Shutdown::Write {
        open.socket().shut();
    }
    Ok(0)
}

/// `getsockname(fd, address, length)`.
pub fn getsockname(ctx: &SyscallContext<'_>, [fd, at, length_at, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let kernels = Address::of_kernel(Some(rustix::net::getsockname(open.file().fd())?));
    name(ctx, &open.socket().name(false, kernels), at, length_at)
}

/// `getpeername(fd, address, length)`.
pub fn getpeername(ctx: &SyscallContext<'_>, [fd, at, length_at, ..]: [u64; 6]) -> Reply {
    let open = Open::new(ctx, fd)?;
    let kernels = Address::of_kernel(rustix::net::getpeername(open.file().fd())?);
    name(ctx, &open.socket().name(true, kernels), at, length_at)
}

fn name(ctx: &SyscallContext<'_>, name: &Address, at: u64, length_at: u64) -> Reply {
    let length = i32::from_le_bytes(ctx.array(length_at)?);
    let room = usize::try_from(length).map_err(|_| Errno::INVAL)?;
    ctx.give_address(at, length_at, Some(room), name)?;
    Ok(0)
}

/// Flags that stand beside a socket's type.
const TYPE_FLAGS: u64 = (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as u64;
/// Bits of the type itself.
const TYPE: u64 = 0xf;

fn socket_type(kind: u64) -> SocketType {
    SocketType::from_raw((kind & TYPE) as u32)
}

fn status_flags(kind: u64) -> Result<OFlags, Errno> {
    let flags = kind & 0xffff_ffff & !TYPE;
    if flags & !TYPE_FLAGS != 0 {
        return Err(Errno::INVAL);
    }
    // (The same bits as of `open`.)
    Ok(OFlags::from_bits_retain(flags as u32))
}

fn address_family(family: u64) -> Result<AddressFamily, Errno> {
    let family = u16::try_from(family as u32).map_err(|_| Errno::AFNOSUPPORT)?;
    Ok(AddressFamily::from_raw(family))
}

/// Whether a socket can have an address of this family.
fn is_of(socket: &Socket, address: SocketAddr) -> bool {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    socket.family == family
}
