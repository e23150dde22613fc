//! Addresses that a domain's sockets may have, and reach: what the host grants by a line of text, and what the domain names.
use lockgate_kernel::kept;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketType};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;

/// How bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Transport {
    Tcp,
    Udp,
    Unix,
}

impl Transport {
    /// What a socket of this family and type speaks, if it may be made with this protocol.
    ///
    /// # Errors
    /// Linux's for sockets that it does not have.
    pub(super) fn of(family: AddressFamily, kind: SocketType, protocol: u64) -> Result<Transport, Errno> {
        let protocol = protocol as i32;
        match (family, kind) {
            (AddressFamily::UNIX, SocketType::STREAM | SocketType::DGRAM | SocketType::SEQPACKET) => {
                let is_known = [0, libc::PF_UNIX].contains(&protocol);
                is_known.then_some(Transport::Unix).ok_or(Errno::PROTONOSUPPORT)
            }
            (AddressFamily::INET | AddressFamily::INET6, SocketType::STREAM) => {
                let is_known = [0, libc::IPPROTO_TCP].contains(&protocol);
                is_known.then_some(Transport::Tcp).ok_or(Errno::PROTONOSUPPORT)
            }
            (AddressFamily::INET | AddressFamily::INET6, SocketType::DGRAM) => {
                let is_known = [0, libc::IPPROTO_UDP].contains(&protocol);
                is_known.then_some(Transport::Udp).ok_or(Errno::PROTONOSUPPORT)
            }
            (AddressFamily::UNIX | AddressFamily::INET | AddressFamily::INET6, _) => {
                Err(Errno::SOCKTNOSUPPORT)
            }
            _ => Err(Errno::AFNOSUPPORT),
        }
    }
}

/// An address as a domain names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Inet(SocketAddr),
    /// A path, without what is behind its end.
    Unix(Vec<u8>),
    /// None (`AF_UNSPEC`).
    Unspecified,
}

/// Bytes of the largest address that Linux has (`struct sockaddr_storage`), and of one that is a path (`struct sockaddr_un`).
pub(super) const LARGEST: usize = 128;
const LARGEST_UNIX: usize = 110;

impl Address {
    /// What `bytes`, a `struct sockaddr`, say.
    ///
    /// # Errors
    /// `EINVAL` if it is too short, `EAFNOSUPPORT` for other families.
    pub(super) fn parse(bytes: &[u8]) -> Result<Address, Errno> {
        let family = bytes.first_chunk().map(|family| u16::from_ne_bytes(*family)).ok_or(Errno::INVAL)?;
        let port = || bytes.get(2..4).map(|port| u16::from_be_bytes([port[0], port[1]]));
        match i32::from(family) {
            libc::AF_UNSPEC => Ok(Address::Unspecified),
            libc::AF_INET if bytes.len() >= 16 => {
                let ip: [u8; 4] = bytes[4..8].try_into().expect("four bytes");
                let address = SocketAddrV4::new(ip.into(), port().ok_or(Errno::INVAL)?);
                Ok(Address::Inet(address.into()))
            }
            libc::AF_INET6 if bytes.len() >= 24 => {
                let ip: [u8; 16] = bytes[8..24].try_into().expect("sixteen bytes");
                let scope = bytes.get(24..28).map_or(0, |scope| super::wire::half(scope, 0));
                let address = SocketAddrV6::new(ip.into(), port().ok_or(Errno::INVAL)?, 0, scope);
                Ok(Address::Inet(address.into()))
            }
            libc::AF_UNIX if bytes.len() <= LARGEST_UNIX => {
                let path = &bytes[2..];
                match path.first() {
                    // A name that the kernel picks, or one that lies in no directory, where any process could have it.
                    None | Some(0) => Err(Errno::ACCESS),
                    _ => Ok(Address::Unix(path.split(|&byte| byte == 0).next().unwrap_or_default().to_vec())),
                }
            }
            libc::AF_INET | libc::AF_INET6 | libc::AF_UNIX => Err(Errno::INVAL),
            _ => Err(Errno::AFNOSUPPORT),
        }
    }

    /// Linux's structure.
    pub(super) fn bytes(&self) -> Vec<u8> {
        use super::wire::Record;
        let family = |family: i32| Record::new().u16(family as u16);
        match self {
            Address::Inet(SocketAddr::V4(address)) => {
                let record = family(libc::AF_INET).bytes(&address.port().to_be_bytes());
                record.bytes(&address.ip().octets()).padded_to(16).0
            }
            Address::Inet(SocketAddr::V6(address)) => {
                let record = family(libc::AF_INET6).bytes(&address.port().to_be_bytes()).u32(0);
                record.bytes(&address.ip().octets()).u32(address.scope_id()).0
            }
            Address::Unix(path) if path.is_empty() => family(libc::AF_UNIX).0,
            Address::Unix(path) => family(libc::AF_UNIX).bytes(path).bytes(&[0]).0,
            Address::Unspecified => family(libc::AF_UNSPEC).0,
        }
    }

    /// What the kernel says, in which a path of the host's is no name.
    pub(super) fn of_kernel(address: Option<SocketAddrAny>) -> Address {
        match address.map(|address| (address.address_family(), SocketAddr::try_from(address))) {
            Some((_, Ok(address))) => Address::Inet(address),
            Some((AddressFamily::UNIX, _)) => Address::Unix(Vec::new()),
            _ => Address::Unspecified,
        }
    }
}

/// What a granted address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Listen,
    Connect,
}

/// A granted address.
#[derive(Debug, Clone)]
pub(super) enum Endpoint {
    /// `None` is any; the name is what the host has called it.
    Inet { transport: Transport, ip: Option<IpAddr>, port: Option<u16>, name: Option<Arc<str>> },
    /// A socket with this name, which the domain calls by the same path as the host.
    Unix(Arc<Socketfile>),
    /// Any in granted directories.
    Beneath,
}

/// The place of a socket in the file system: its directory is open.
#[derive(Debug)]
pub(super) struct Socketfile {
    pub(super) path: Vec<u8>,
    pub(super) directory: OwnedFd,
    pub(super) name: Vec<u8>,
}

impl Socketfile {
    /// An address of it that means this directory, whatever its name leads to now.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    pub(super) fn address(&self) -> Result<SocketAddrUnix, Errno> {
        address_in(&self.directory, &self.name)
    }

    /// What has this name now.
    ///
    /// # Errors
    /// `ENOENT`, or `ECONNREFUSED` if it is no socket.
    pub(super) fn open(&self) -> Result<Place, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Place::new(kept(rustix::fs::openat(&self.directory, self.name.as_slice(), flags, Mode::empty())?)?)
    }

    /// Removes it, if it is a socket.
    ///
    /// # Errors
    /// `ENOENT`, `EPERM` if it is something else, or the kernel's.
    pub(super) fn remove(&self) -> Result<(), Errno> {
        let stat = rustix::fs::statat(&self.directory, self.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(Errno::PERM);
        }
        rustix::fs::unlinkat(&self.directory, self.name.as_slice(), AtFlags::empty())
    }
}

/// A socket in the file system that was looked at, and is held.
pub(super) struct Place(OwnedFd);

/// An address that means `name` in this directory, whatever the directory's name leads to now.
///
/// # Errors
/// `ENAMETOOLONG`.
pub(super) fn address_in(directory: &OwnedFd, name: &[u8]) -> Result<SocketAddrUnix, Errno> {
    let place = format!("/proc/thread-self/fd/{}/", directory.as_raw_fd());
    SocketAddrUnix::new([place.as_bytes(), name].concat())
}

impl Place {
    /// What is held by `fd`.
    ///
    /// # Errors
    /// `ECONNREFUSED` if it is no socket.
    pub(super) fn new(fd: OwnedFd) -> Result<Place, Errno> {
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::Socket => Ok(Place(fd)),
            _ => Err(Errno::CONNREFUSED),
        }
    }

    /// An address that means this one.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn address(&self) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new(format!("/proc/thread-self/fd/{}", self.0.as_raw_fd()))
    }
}

impl Endpoint {
    /// What `text` stands for: `HOST:PORT`, `tcp:HOST:PORT`, `udp:HOST:PORT` or `unix:PATH`. A name of a host may be several addresses: those
    /// that it has now.
    ///
    /// # Errors
    /// Why it is no address.
    pub(super) fn parse(text: &str, purpose: Purpose) -> Result<Vec<Endpoint>, String> {
        if text == "unix:*" {
            return Ok(vec![Endpoint::Beneath]);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(vec![Endpoint::Unix(Arc::new(socketfile(path, purpose)?))]);
        }
        let (transport, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (Transport::Tcp, rest),
            Some(("udp", rest)) => (Transport::Udp, rest),
            _ => (Transport::Tcp, text),
        };
        let (host, port) = rest.rsplit_once(':').ok_or("there is no port behind it")?;
        let port = match port {
            "*" => None,
            // (Rust's own numbers may have a sign.)
            port if port.starts_with('+') => return Err(format!("{port:?} is neither a port nor *")),
            port => Some(port.parse().map_err(|_| format!("{port:?} is neither a port nor *"))?),
        };
        if port == Some(0) && purpose == Purpose::Connect {
            return Err("no socket has port 0: give the port to connect to".into());
        }
        let endpoint = |ip: Option<IpAddr>| match ip {
            // (As a peer's it would be taken for this machine's, and then it is not this.)
            Some(ip) if purpose == Purpose::Connect && ip.to_canonical().is_unspecified() => {
                Err(format!("no host has the address {ip}: * is any host, 127.0.0.1 this one"))
            }
            ip => Ok(Endpoint::Inet { transport, ip, port, name: None }),
        };
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if host == "*" {
            return Ok(vec![endpoint(None)?]);
        }
        if let Some(ip) = literal {
            let ip: Ipv6Addr = ip.parse().map_err(|_| format!("{ip:?} is not an address of version 6"))?;
            return Ok(vec![endpoint(Some(ip.into()))?]);
        }
        if host.contains(':') {
            return Err("an address of version 6 stands in brackets: [::1]:80".into());
        }
        if let Ok(ip) = host.parse::<Ipv4Addr>() {
            return Ok(vec![endpoint(Some(ip.into()))?]);
        }
        let found = (host, 0).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
        let mut ips: Vec<_> = found.map(|address| address.ip()).collect();
        ips.sort();
        ips.dedup();
        if ips.is_empty() {
            return Err(format!("{host} has no address"));
        }
        let name: Arc<str> = host.into();
        let named = |ip| match endpoint(Some(ip))? {
            Endpoint::Inet { transport, ip, port, .. } => {
                Ok(Endpoint::Inet { transport, ip, port, name: Some(Arc::clone(&name)) })
            }
            other => Ok(other),
        };
        ips.into_iter().map(named).collect()
    }

    /// Address and name, where the host has granted it by name.
    pub(super) fn named(&self) -> Option<(IpAddr, &str)> {
        match self {
            Endpoint::Inet { ip: Some(ip), name: Some(name), .. } => Some((*ip, name)),
            _ => None,
        }
    }

    pub(super) fn transport(&self) -> Transport {
        match self {
            Endpoint::Inet { transport, .. } => *transport,
            Endpoint::Unix(_) | Endpoint::Beneath => Transport::Unix,
        }
    }

    /// Whether it is `address`, of a socket that speaks `transport`.
    pub(super) fn is(&self, with: Transport, address: SocketAddr) -> bool {
        match self {
            Endpoint::Inet { transport, ip, port, .. } => {
                let address_ip = address.ip().to_canonical();
                *transport == with
                    && port.is_none_or(|port| port == address.port())
                    && match ip {
                        Some(ip) => ip.to_canonical() == address_ip,
                        // A group is not one peer.
                        None => !address_ip.is_multicast() && address_ip != IpAddr::from(Ipv4Addr::BROADCAST),
                    }
            }
            Endpoint::Unix(_) | Endpoint::Beneath => false,
        }
    }
}

/// The address that the kernel takes an unspecified one for, where it is a peer's: this machine.
pub(super) fn peer(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    let canonical = address.ip().to_canonical();
    if canonical.is_unspecified() {
        address.set_ip(match (address, canonical) {
            (SocketAddr::V4(_), _) => Ipv4Addr::LOCALHOST.into(),
            (SocketAddr::V6(_), IpAddr::V4(_)) => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
            (SocketAddr::V6(_), IpAddr::V6(_)) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn socketfile(path: &str, purpose: Purpose) -> Result<Socketfile, String> {
    // (The kernel would take what stands before a zero for another name.)
    if path.len() + 2 > LARGEST_UNIX || path.contains('\0') {
        return Err("the path of a socket has at most 108 bytes, none of them zero".into());
    }
    let place = Path::new(path);
    let name = place.file_name().filter(|_| place.is_absolute() && !path.ends_with('/'));
    let (Some(directory), Some(name)) = (place.parent(), name) else {
        return Err("the path of a socket starts with / and ends in its name".into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(CWD, directory, flags, Mode::empty()).and_then(kept);
    let directory = open.map_err(|error| format!("{}: {error}", directory.display()))?;
    // A link is refused: the domain could have made one in its own directory that leads elsewhere.
    let stat = rustix::fs::statat(&directory, name.as_encoded_bytes(), AtFlags::SYMLINK_NOFOLLOW);
    let is_link = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    if purpose == Purpose::Connect && stat.is_ok_and(is_link) {
        return Err("it is a symbolic link, which no domain follows: grant what it leads to".into());
    }
    Ok(Socketfile { path: path.as_bytes().to_vec(), directory, name: name.as_encoded_bytes().to_vec() })
}

/// As [`Endpoint::parse`] takes it.
pub(super) struct Shown<'a>(pub(super) Transport, pub(super) &'a Address);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Transport::Udp, Address::Inet(address)) => write!(f, "udp:{address}"),
            (_, Address::Inet(address)) => write!(f, "{address}"),
            (_, Address::Unix(path)) => write!(f, "unix:{}", lockgate_outside::printable_bytes(path)),
            (_, Address::Unspecified) => f.write_str("no address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Endpoint {
        Endpoint::parse(text, Purpose::Connect).unwrap().pop().unwrap()
    }

    #[test]
    fn an_address_is_what_the_kernel_takes_it_for() {
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        let grant = one("127.0.0.1:80");
        assert!(grant.is(tcp, "127.0.0.1:80".parse().unwrap()));
        assert!(grant.is(tcp, "[::ffff:127.0.0.1]:80".parse().unwrap()), "the same by another family");
        for other in ["127.0.0.2:80", "127.0.0.1:81", "[::1]:80", "[::127.0.0.1]:80"] {
            assert!(!grant.is(tcp, other.parse().unwrap()), "{other}");
        }
        assert!(!grant.is(udp, "127.0.0.1:80".parse().unwrap()));
        assert!(one("udp:*:53").is(udp, "[2001:db8::1]:53".parse().unwrap()));
        for all in ["255.255.255.255:53", "224.0.0.1:53", "[ff02::1]:53", "[::ffff:255.255.255.255]:53"] {
            assert!(!one("udp:*:*").is(udp, all.parse().unwrap()), "{all}");
        }
        for (said, meant) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("[::ffff:0.0.0.0]:1", "[::ffff:127.0.0.1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
        ] {
            assert_eq!(peer(said.parse().unwrap()), meant.parse().unwrap());
        }
    }

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["1.2.3.4:80", "[fe80::1%3]:8080", "[::]:0"] {
            let address = Address::Inet(text.parse().unwrap());
            assert_eq!(Address::parse(&address.bytes()), Ok(address));
        }
        let unix = Address::Unix(b"/run/x".to_vec());
        assert_eq!(Address::parse(&unix.bytes()), Ok(unix));
        assert_eq!(Address::parse(&[1, 0]), Err(Errno::ACCESS), "a name that the kernel picks");
        assert_eq!(Address::parse(b"\x01\0\0abstract"), Err(Errno::ACCESS));
        assert_eq!(Address::parse(&[2, 0, 0, 80, 127, 0, 0]), Err(Errno::INVAL));
        assert_eq!(Address::parse(&[10; 28]), Err(Errno::AFNOSUPPORT));
        assert_eq!(Address::parse(&[1]), Err(Errno::INVAL));
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_reason() {
        for (text, why) in [
            ("127.0.0.1", "no port"),
            ("127.0.0.1:http", "neither a port"),
            ("127.0.0.1:99999", "neither a port"),
            ("127.0.0.1:+80", "neither a port"),
            ("::1:80", "brackets"),
            ("[1.2.3.4]:80", "version 6"),
            ("127.0.0.1:0", "port 0"),
            ("unix:x.sock", "starts with /"),
            ("unix:/run/", "ends in its name"),
            ("unix:/no such directory/x", "No such file"),
            ("unix:/run/a\0b", "none of them zero"),
            (&format!("unix:/{}", "a".repeat(108)), "at most 108"),
            // Granted, they would let the domain reach nothing.
            ("0.0.0.0:80", "* is any host"),
            ("udp:[::]:80", "* is any host"),
            ("[::ffff:0.0.0.0]:80", "* is any host"),
            ("unix:/proc/self/exe", "symbolic link"),
        ] {
            let said = Endpoint::parse(text, Purpose::Connect).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
        for text in ["127.0.0.1:0", "0.0.0.0:80", "[::]:80", "unix:/proc/self/exe"] {
            assert!(Endpoint::parse(text, Purpose::Listen).is_ok(), "{text}");
        }
        assert!(Endpoint::parse(&format!("unix:/{}", "a".repeat(107)), Purpose::Connect).is_ok());
    }
}
