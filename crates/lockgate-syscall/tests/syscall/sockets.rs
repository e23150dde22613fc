//! Sockets: what is granted works as on Linux, and nothing else does.
use crate::guest::{Guest, PAGE};
use libc::*;
use lockgate_syscall::{Access, Grants, Outcome};
use rustix::io::Errno;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

const INET: u64 = AF_INET as u64;
const INET6: u64 = AF_INET6 as u64;
const UNIX: u64 = AF_UNIX as u64;
const STREAM: u64 = SOCK_STREAM as u64;
const DGRAM: u64 = SOCK_DGRAM as u64;

/// A `struct sockaddr` of an address, in the window: where, and how long.
fn address(guest: &Guest, text: &str) -> [u64; 2] {
    let mut bytes = Vec::new();
    match text.parse::<SocketAddr>() {
        Ok(SocketAddr::V4(address)) => {
            bytes.extend((AF_INET as u16).to_le_bytes());
            bytes.extend(address.port().to_be_bytes());
            bytes.extend(address.ip().octets());
            bytes.resize(16, 0);
        }
        Ok(SocketAddr::V6(address)) => {
            bytes.extend((AF_INET6 as u16).to_le_bytes());
            bytes.extend(address.port().to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(address.ip().octets());
            bytes.extend([0; 4]);
        }
        Err(_) => {
            bytes.extend((AF_UNIX as u16).to_le_bytes());
            bytes.extend(text.replace('@', "\0").bytes());
            bytes.push(0);
        }
    }
    [guest.put(&bytes), bytes.len() as u64]
}

fn named(guest: &Guest, number: i64, fd: u64, text: &str) -> Outcome {
    let [at, length] = address(guest, text);
    guest.call(number, &[fd, at, length])
}

const DENIED: Outcome = Outcome::Return(-(EACCES as i64));
const DONE: Outcome = Outcome::Return(0);

fn port_of(guest: &Guest, fd: u64) -> u16 {
    let (at, length) = (guest.room(128), guest.put(&128u32.to_le_bytes()));
    guest.ok(SYS_getsockname, &[fd, at, length]);
    u16::from_be_bytes(guest.get(at + 2, 2).try_into().unwrap())
}

fn send(guest: &Guest, fd: u64, bytes: &[u8]) -> u64 {
    guest.ok(SYS_write, &[fd, guest.put(bytes), bytes.len() as u64])
}

/// A listener of the host's, and a domain that may connect to it.
fn with_host() -> (TcpListener, Guest, String) {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = host.local_addr().unwrap().to_string();
    (host, Guest::new(Grants::default().connect(&at).unwrap()), at)
}

#[test]
fn nothing_is_reached_that_was_not_granted() {
    let bare = Guest::bare();
    for (family, kind) in [(INET, STREAM), (INET, DGRAM), (INET6, STREAM), (UNIX, STREAM), (UNIX, DGRAM)] {
        assert_eq!(bare.call(SYS_socket, &[family, kind, 0]), DENIED);
    }
    assert_eq!(bare.err(SYS_socketpair, &[UNIX, STREAM, 0, bare.room(8)]), Errno::MFILE);
    assert_eq!(
        bare.process.denied(),
        [("use TCP".to_owned(), 2), ("use UDP".to_owned(), 1), ("use UNIX sockets".to_owned(), 2)]
    );

    let (host, guest, granted) = with_host();
    // One kind of address gives no other.
    assert_eq!(guest.call(SYS_socket, &[INET, DGRAM, 0]), DENIED);
    assert_eq!(guest.call(SYS_socket, &[UNIX, STREAM, 0]), DENIED);
    for (family, kind, protocol, error) in [
        (AF_NETLINK as u64, STREAM, 0, Errno::AFNOSUPPORT),
        (AF_PACKET as u64, SOCK_RAW as u64, 0, Errno::AFNOSUPPORT),
        (AF_VSOCK as u64, STREAM, 0, Errno::AFNOSUPPORT),
        (AF_ALG as u64, SOCK_SEQPACKET as u64, 0, Errno::AFNOSUPPORT),
        (INET, SOCK_RAW as u64, IPPROTO_ICMP as u64, Errno::SOCKTNOSUPPORT),
        (INET, STREAM, IPPROTO_MPTCP as u64, Errno::PROTONOSUPPORT),
        (INET, DGRAM, IPPROTO_ICMP as u64, Errno::PROTONOSUPPORT),
        (INET, STREAM | 0x100, 0, Errno::INVAL),
        (1 << 20 | INET, STREAM, 0, Errno::AFNOSUPPORT),
    ] {
        assert_eq!(guest.err(SYS_socket, &[family, kind, protocol]), error);
    }
    let other = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let elsewhere = [other.to_string(), format!("127.0.0.2:{}", host.local_addr().unwrap().port())];
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    for address in &elsewhere {
        assert_eq!(named(&guest, SYS_connect, fd, address), DENIED, "{address}");
        assert_eq!(named(&guest, SYS_bind, fd, address), DENIED, "{address}");
    }
    // What connects listens nowhere: not at the address that it connects to, nor where the kernel would.
    assert_eq!(named(&guest, SYS_bind, fd, &granted), DENIED);
    assert_eq!(guest.call(SYS_listen, &[fd, 1]), DENIED);
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE, "one's own end of a connection");
    assert_eq!(guest.call(SYS_listen, &[fd, 1]), DENIED);
    let [unspecified, _] = [guest.put(&[0; 16]), 0];
    assert_eq!(guest.err(SYS_connect, &[fd, unspecified, 16]), Errno::AFNOSUPPORT, "it would be unbound");
    assert_eq!(named(&guest, SYS_connect, fd, &granted), DONE);
    let denied = guest.process.denied();
    assert!(denied.contains(&(format!("connect to {other}"), 1)), "{denied:?}");
    assert!(denied.contains(&(format!("listen on {granted}"), 1)), "{denied:?}");
}

/// The same place by another name: what is judged is what the kernel makes of it.
#[test]
fn an_address_has_no_second_reading() {
    let (host, guest, granted) = with_host();
    let port = host.local_addr().unwrap().port();
    // This machine, by an address that is none.
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    assert_eq!(named(&guest, SYS_connect, fd, &format!("0.0.0.0:{port}")), DONE);
    let six = guest.ok(SYS_socket, &[INET6, STREAM, 0]);
    assert_eq!(
        named(
            &guest,
            SYS_connect,
            six,
            &format!("[::ffff:{granted}")
                .replace(":{port}", "")
                .replace(&format!(":{port}"), &format!("]:{port}"))
        ),
        DONE
    );

    let narrow = Guest::new(Grants::default().connect("10.1.2.3:80").unwrap());
    let fd = narrow.ok(SYS_socket, &[INET, STREAM, 0]);
    let six = narrow.ok(SYS_socket, &[INET6, STREAM, 0]);
    assert_eq!(named(&narrow, SYS_connect, fd, &format!("0.0.0.0:{port}")), DENIED);
    for address in [format!("[::]:{port}"), format!("[::1]:{port}"), format!("[::ffff:127.0.0.1]:{port}")] {
        assert_eq!(named(&narrow, SYS_connect, six, &address), DENIED, "{address}");
    }
    // Too short, of another family, and no address at all.
    let [at, _] = address(&guest, &granted);
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    for length in [0, 1, 2, 15, u64::from(u32::MAX), 129] {
        let error = guest.err(SYS_connect, &[fd, at, length]);
        assert_eq!(error, Errno::INVAL, "{length}");
    }
    assert_eq!(
        guest.err(SYS_connect, &[guest.ok(SYS_socket, &[INET6, STREAM, 0]), at, 16]),
        Errno::AFNOSUPPORT
    );
    assert_eq!(guest.err(SYS_connect, &[fd, 8, 16]), Errno::FAULT);
    assert_eq!(guest.err(SYS_connect, &[99, at, 16]), Errno::BADF);
    let (read, _) = pipe(&guest);
    assert_eq!(guest.err(SYS_connect, &[read, at, 16]), Errno::NOTSOCK);
}

fn pipe(guest: &Guest) -> (u64, u64) {
    let at = guest.room(8);
    guest.ok(SYS_pipe, &[at]);
    let both = guest.word(at);
    (both & 0xffff_ffff, both >> 32)
}

fn pair(guest: &Guest, kind: u64) -> (u64, u64) {
    let at = guest.room(8);
    guest.ok(SYS_socketpair, &[UNIX, kind, 0, at]);
    let both = guest.word(at);
    (both & 0xffff_ffff, both >> 32)
}

#[test]
fn a_server_serves_at_its_address_and_at_no_other() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    for other in ["0.0.0.0:0", "127.0.0.2:0"] {
        let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
        // A port that the kernel picks may be bound, and no socket listens there.
        assert_eq!(named(&guest, SYS_bind, fd, other), DONE);
        assert_eq!(guest.call(SYS_listen, &[fd, 8]), DENIED, "{other}");
    }
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE);
    guest.ok(SYS_listen, &[fd, 8]);
    let at = SocketAddr::from(([127, 0, 0, 1], port_of(&guest, fd)));
    let client = std::thread::spawn(move || {
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"a question").unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        (answer, client.local_addr().unwrap())
    });
    let (peer, length) = (guest.room(128), guest.put(&128u32.to_le_bytes()));
    let accepted = guest.ok(SYS_accept4, &[fd, peer, length, SOCK_CLOEXEC as u64]);
    assert_eq!(guest.read(accepted, 100), b"a question");
    send(&guest, accepted, b"an answer");
    assert_eq!(guest.err(SYS_accept4, &[fd, 0, 0, 1]), Errno::INVAL);
    guest.ok(SYS_shutdown, &[accepted, SHUT_RDWR as u64]);
    let (answer, from) = client.join().unwrap();
    assert_eq!(answer, b"an answer");
    assert_eq!(u16::from_be_bytes(guest.get(peer + 2, 2).try_into().unwrap()), from.port());
    assert_eq!(guest.word(length) as u32, 16);
    // What comes of a connection connects, or listens, nowhere else.
    assert_eq!(guest.err(SYS_listen, &[accepted, 8]), Errno::INVAL);
    assert_eq!(named(&guest, SYS_connect, guest.ok(SYS_socket, &[INET, STREAM, 0]), &at.to_string()), DENIED);
}

/// `listen` binds what is bound to nothing, as on Linux, where that was granted.
#[test]
fn what_is_bound_to_nothing_listens_where_any_address_is_granted() {
    let guest = Guest::new(Grants::default().listen("*:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    guest.ok(SYS_listen, &[fd, 8]);
    let mut client = TcpStream::connect(("127.0.0.1", port_of(&guest, fd))).unwrap();
    client.write_all(b"hello").unwrap();
    assert_eq!(guest.read(guest.ok(SYS_accept, &[fd, 0, 0]), 16), b"hello");
    assert_eq!(guest.process.denied(), []);

    let guest = Guest::new(Grants::default().listen("0.0.0.0:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE, "one's own end of a connection");
    assert_eq!(guest.call(SYS_listen, &[fd, 8]), DENIED);
    let six = guest.ok(SYS_socket, &[INET6, STREAM, 0]);
    assert_eq!(guest.call(SYS_listen, &[six, 8]), DENIED);
    let denied = ["listen on 127.0.0.1:0", "listen on [::]:0"].map(|what| (what.to_owned(), 1));
    assert_eq!(guest.process.denied(), denied, "what to grant");

    let guest = Guest::new(Grants::default().listen("udp:*:*").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, DGRAM, 0]);
    assert_eq!(guest.err(SYS_listen, &[fd, 8]), Errno::OPNOTSUPP);
}

#[test]
fn of_many_addresses_the_first_are_told_apart() {
    let guest = Guest::new(Grants::default().connect("udp:127.0.0.1:9").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, DGRAM, 0]);
    for port in 1000..1100 {
        assert_eq!(named(&guest, SYS_connect, fd, &format!("127.0.0.1:{port}")), DENIED);
    }
    let denied = guest.process.denied();
    assert_eq!((denied.len(), denied[16].clone()), (17, ("use other addresses".to_owned(), 84)));
}

#[test]
fn nobody_waits_for_a_socket_beyond_a_deadline() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE);
    guest.ok(SYS_listen, &[fd, 8]);
    let (one, other) = pair(&guest, STREAM);
    let set = guest.ok(SYS_epoll_create1, &[0]);
    let event = guest.put(&[1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    guest.ok(SYS_epoll_ctl, &[set, EPOLL_CTL_ADD as u64, one, event]);
    let bits = guest.words(&[1 << one]);
    let full = guest.room(60 << 10);
    while guest.call(SYS_sendto, &[other, full, 60 << 10, MSG_DONTWAIT as u64, 0, 0]) != Outcome::Return(-11)
    {
    }
    let drained = pair(&guest, STREAM).0;
    for (number, arguments) in [
        (SYS_accept, vec![fd, 0, 0]),
        (SYS_read, vec![drained, guest.room(8), 8]),
        (SYS_recvfrom, vec![drained, guest.room(8), 8, 0, 0, 0]),
        (SYS_write, vec![other, full, 60 << 10]),
        (SYS_sendto, vec![other, full, 60 << 10, 0, 0, 0]),
        (SYS_epoll_wait, vec![guest.ok(SYS_epoll_create1, &[0]), guest.room(12), 1, u64::MAX]),
        (SYS_select, vec![drained + 1, 0, 0, 0, 0]),
    ] {
        let outcome = guest.call_until(number, &arguments, Instant::now() + Duration::from_millis(20));
        assert_eq!(outcome, Outcome::Fault(lockgate_syscall::Fault::TimeLimit), "{number}");
    }
    assert_eq!(guest.ok(SYS_epoll_wait, &[set, guest.room(12), 1, u64::MAX]), 1);
    assert_eq!(guest.ok(SYS_select, &[one + 1, bits, 0, 0, 0]), 1);
    // The domain's end ends a wait, too.
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| guest.call(SYS_accept, &[fd, 0, 0]));
        guest.process.kill();
        assert_eq!(waits.join().unwrap(), Outcome::Fault(lockgate_syscall::Fault::Killed));
    });
}

#[test]
fn a_socket_does_not_wait_if_it_is_told_not_to() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM | SOCK_NONBLOCK as u64, 0]);
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE);
    guest.ok(SYS_listen, &[fd, 8]);
    assert_eq!(guest.err(SYS_accept, &[fd, 0, 0]), Errno::AGAIN);
    let (one, _) = pair(&guest, STREAM);
    let room = guest.room(8);
    assert_eq!(guest.err(SYS_recvfrom, &[one, room, 8, MSG_DONTWAIT as u64, 0, 0]), Errno::AGAIN);
    // Or not so long.
    let soon = guest.words(&[0, 20_000]);
    guest.ok(SYS_setsockopt, &[one, SOL_SOCKET as u64, SO_RCVTIMEO as u64, soon, 16]);
    let before = Instant::now();
    assert_eq!(guest.err(SYS_read, &[one, room, 8]), Errno::AGAIN);
    assert!(before.elapsed() >= Duration::from_millis(20));
    let (value, length) = (guest.room(16), guest.put(&16u32.to_le_bytes()));
    guest.ok(SYS_getsockopt, &[one, SOL_SOCKET as u64, SO_RCVTIMEO as u64, value, length]);
    assert_eq!([guest.word(value), guest.word(value + 8)], [0, 20_000]);
    guest.ok(SYS_fcntl, &[one, F_SETFL as u64, O_NONBLOCK as u64]);
    assert_eq!(guest.err(SYS_read, &[one, room, 8]), Errno::AGAIN);
}

/// Datagrams come whole, and only from those to whom the domain may send.
#[test]
fn datagrams_come_from_granted_peers() {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let granted = peer.local_addr().unwrap().to_string();
    let guest = Guest::new(Grants::default().connect(&format!("udp:{granted}")).unwrap());
    let fd = guest.ok(SYS_socket, &[INET, DGRAM, 0]);
    let [to, to_length] = address(&guest, &granted);
    assert_eq!(guest.ok(SYS_sendto, &[fd, guest.put(b"asks"), 4, 0, to, to_length]), 4);
    let [elsewhere, length] = address(&guest, &stranger.local_addr().unwrap().to_string());
    let denied = guest.call(SYS_sendto, &[fd, guest.put(b"tells"), 5, 0, elsewhere, length]);
    assert_eq!(denied, DENIED);
    let mut buffer = [0; 64];
    let (got, from) = peer.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..got], b"asks");
    for peeks in [0, MSG_PEEK as u64] {
        stranger.send_to(b"false", from).unwrap();
        peer.send_to(b"a true answer", from).unwrap();
        let (at, name, length) = (guest.room(64), guest.room(128), guest.put(&128u32.to_le_bytes()));
        assert_eq!(guest.ok(SYS_recvfrom, &[fd, at, 6, peeks, name, length]), 6);
        assert_eq!(guest.get(at, 6), b"a true");
        assert_eq!(guest.get(name + 2, 2), peer.local_addr().unwrap().port().to_be_bytes());
        if peeks != 0 {
            assert_eq!(guest.ok(SYS_recvfrom, &[fd, at, 6, MSG_TRUNC as u64, 0, 0]), 13, "all of its length");
        }
    }
    // What is granted to be reached is reached by all.
    let guest = Guest::new(Grants::default().listen("udp:127.0.0.1:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, DGRAM, 0]);
    assert_eq!(named(&guest, SYS_bind, fd, "127.0.0.1:0"), DONE);
    stranger.send_to(b"", ("127.0.0.1", port_of(&guest, fd))).unwrap();
    stranger.send_to(b"hello", ("127.0.0.1", port_of(&guest, fd))).unwrap();
    assert_eq!(guest.read(fd, 64), b"", "an empty one is one");
    assert_eq!(guest.read(fd, 64), b"hello");
}

#[test]
fn messages_keep_their_bounds_and_their_parts() {
    let guest = Guest::new(Grants::default().listen("udp:127.0.0.1:0").unwrap());
    let (one, other) = pair(&guest, SOCK_SEQPACKET as u64);
    let message = |parts: &[(u64, u64)], name: u64| {
        let vector: Vec<u64> = parts.iter().flat_map(|(at, length)| [*at, *length]).collect();
        guest.words(&[name, 128, guest.words(&vector), parts.len() as u64, 0, 0, 0])
    };
    let sent = message(&[(guest.put(b"in t"), 4), (guest.put(b""), 0), (guest.put(b"wo parts"), 8)], 0);
    assert_eq!(guest.ok(SYS_sendmsg, &[one, sent, 0]), 12);
    assert_eq!(guest.ok(SYS_sendmsg, &[one, sent, 0]), 12);
    let (first, second) = (guest.room(16), guest.room(16));
    let got = message(&[(first, 3), (second, 6)], 0);
    assert_eq!(guest.ok(SYS_recvmsg, &[other, got, 0]), 9);
    assert_eq!((guest.get(first, 3), guest.get(second, 6)), (b"in ".to_vec(), b"two pa".to_vec()));
    assert_eq!(guest.get(got + 48, 4), (MSG_TRUNC as u32).to_le_bytes(), "there was more");
    assert_eq!(guest.read(other, 64), b"in two parts");
    // Neither descriptors nor credentials travel.
    let control = guest.words(&[20, (SCM_RIGHTS as u64) << 32 | SOL_SOCKET as u64, 0]);
    let with_control = guest.words(&[0, 0, guest.words(&[first, 1]), 1, control, 20, 0]);
    assert_eq!(guest.err(SYS_sendmsg, &[one, with_control, 0]), Errno::INVAL);
    // Several at once.
    let [a, b] = [guest.put(b"alpha"), guest.put(b"beta")];
    let headers = guest.words(&[
        0,
        0,
        guest.words(&[a, 5]),
        1,
        0,
        0,
        0,
        0, //
        0,
        0,
        guest.words(&[b, 4]),
        1,
        0,
        0,
        0,
        0,
    ]);
    assert_eq!(guest.ok(SYS_sendmmsg, &[one, headers, 2, 0]), 2);
    assert_eq!([guest.word(headers + 56) as u32, guest.word(headers + 120) as u32], [5, 4]);
    let into = guest.words(&[
        0,
        0,
        guest.words(&[first, 16]),
        1,
        0,
        0,
        0,
        0, //
        0,
        0,
        guest.words(&[second, 16]),
        1,
        0,
        0,
        0,
        0, //
        0,
        0,
        guest.words(&[second, 16]),
        1,
        0,
        0,
        0,
        0,
    ]);
    assert_eq!(guest.ok(SYS_recvmmsg, &[other, into, 3, 0x10000, 0]), 2, "it waits for one only");
    assert_eq!((guest.get(first, 5), guest.get(second, 4)), (b"alpha".to_vec(), b"beta".to_vec()));
}

/// What a program says with a message, as Linux takes it.
#[test]
fn flags_and_addresses_of_messages_are_linuxs() {
    let guest = Guest::new(Grants::default().listen("udp:127.0.0.1:0").unwrap());
    let (one, other) = pair(&guest, STREAM);
    let at = guest.room(16);
    // Many have the same flags for both ways.
    for flags in [MSG_NOSIGNAL, MSG_NOSIGNAL | MSG_CMSG_CLOEXEC | MSG_DONTWAIT] {
        send(&guest, one, b"x");
        assert_eq!(guest.ok(SYS_recvfrom, &[other, at, 16, flags as u64, 0, 0]), 1, "{flags:x}");
    }
    for flags in [MSG_ERRQUEUE, MSG_FASTOPEN, 0x80_0000] {
        let flags = flags as u32 as u64;
        assert_eq!(guest.err(SYS_recvfrom, &[other, at, 16, flags, 0, 0]), Errno::OPNOTSUPP, "{flags:x}");
    }
    // Nothing goes to the connected peer that was said to go elsewhere.
    let [elsewhere, length] = address(&guest, "/run/elsewhere");
    assert_eq!(guest.err(SYS_sendto, &[one, at, 1, 0, elsewhere, length]), Errno::ISCONN);
    let not_waiting = MSG_DONTWAIT as u64;
    assert_eq!(guest.err(SYS_recvfrom, &[other, at, 16, not_waiting, 0, 0]), Errno::AGAIN);
    let unconnected = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x").to_str().unwrap().to_owned();
        let guest = Guest::new(Grants::default().connect(&format!("unix:{path}")).unwrap());
        let fd = guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
        let [to, length] = address(&guest, &path);
        guest.err(SYS_sendto, &[fd, guest.room(1), 1, 0, to, length])
    };
    assert_eq!(unconnected, Errno::OPNOTSUPP);
    // Lengths that no address has.
    let message = guest.words(&[guest.room(128), u64::from(u32::MAX), guest.words(&[at, 16]), 1, 0, 0, 0]);
    send(&guest, one, b"x");
    assert_eq!(guest.err(SYS_recvmsg, &[other, message, 0]), Errno::INVAL);
    assert_eq!(guest.read(other, 16), b"x");
    let long = guest.put(&[&(AF_UNIX as u16).to_le_bytes()[..], &[b'a'; 126]].concat());
    let (datagrams, _) = pair(&guest, DGRAM);
    assert_eq!(guest.call(SYS_connect, &[datagrams, long, 110]), DENIED, "108 bytes are a path");
    assert_eq!(guest.err(SYS_connect, &[datagrams, long, 111]), Errno::INVAL);
}

#[test]
fn a_path_is_the_socket_that_was_granted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listen = path("server.sock");
    let grants = Grants::default().listen(&format!("unix:{listen}")).unwrap();
    let guest = Guest::new(grants.connect(&format!("unix:{}", path("peer.sock"))).unwrap());
    let fd = guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
    for other in [&path("other.sock"), "@abstract", "server.sock", &format!("{}/../x", listen)] {
        assert_eq!(named(&guest, SYS_bind, fd, other), DENIED, "{other}");
        assert_eq!(named(&guest, SYS_connect, fd, other), DENIED, "{other}");
    }
    assert_eq!(guest.call(SYS_bind, &[fd, guest.put(&[1, 0]), 2]), DENIED, "a name that the kernel picks");
    // What a server before has left there goes; what is no socket stays.
    drop(UnixListener::bind(&listen).unwrap());
    assert_eq!(named(&guest, SYS_bind, fd, &listen), Outcome::Return(-i64::from(EADDRINUSE)));
    guest.ok(SYS_unlink, &[guest.text(&listen)]);
    std::fs::write(&listen, "a file").unwrap();
    assert_eq!(guest.err(SYS_unlink, &[guest.text(&listen)]), Errno::PERM);
    std::fs::remove_file(&listen).unwrap();
    assert_eq!(named(&guest, SYS_bind, fd, &listen), DONE);
    guest.ok(SYS_listen, &[fd, 8]);
    let mut client = UnixStream::connect(&listen).unwrap();
    let accepted = guest.ok(SYS_accept, &[fd, 0, 0]);
    client.write_all(b"hello").unwrap();
    assert_eq!(guest.read(accepted, 16), b"hello");
    let (at, length) = (guest.room(128), guest.put(&128u32.to_le_bytes()));
    guest.ok(SYS_getsockname, &[accepted, at, length]);
    let named_so = guest.get(at + 2, listen.len());
    assert_eq!(named_so, listen.as_bytes(), "as the domain calls it, not as the library bound it");

    // A link that another process plants is not followed.
    let fd = guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
    let _secret = UnixListener::bind(path("secret.sock")).unwrap();
    std::os::unix::fs::symlink(path("secret.sock"), path("peer.sock")).unwrap();
    assert_eq!(named(&guest, SYS_connect, fd, &path("peer.sock")), Outcome::Return(-i64::from(ECONNREFUSED)));
    std::fs::remove_file(path("peer.sock")).unwrap();
    assert_eq!(named(&guest, SYS_connect, fd, &path("peer.sock")), Outcome::Return(-i64::from(ENOENT)));
    let peer = UnixListener::bind(path("peer.sock")).unwrap();
    assert_eq!(named(&guest, SYS_connect, fd, &path("peer.sock")), DONE);
    send(&guest, fd, b"to the peer");
    let mut got = [0; 11];
    peer.accept().unwrap().0.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"to the peer");
}

/// Whatever its name leads to by now.
#[test]
fn a_path_is_the_directory_that_was_granted() {
    let above = tempfile::tempdir().unwrap();
    let (folder, moved) = (above.path().join("run"), above.path().join("moved"));
    std::fs::create_dir(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let grants = Grants::default().listen(&format!("unix:{}", path("server.sock"))).unwrap();
    let guest = Guest::new(grants.connect(&format!("unix:{}", path("peer.sock"))).unwrap());
    let peer = UnixListener::bind(path("peer.sock")).unwrap();
    std::fs::rename(&folder, &moved).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let other = UnixListener::bind(path("peer.sock")).unwrap();
    let fd = guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
    assert_eq!(named(&guest, SYS_connect, fd, &path("peer.sock")), DONE);
    for listener in [&peer, &other] {
        listener.set_nonblocking(true).unwrap();
    }
    assert!(peer.accept().is_ok() && other.accept().is_err());
    let fd = guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
    assert_eq!(named(&guest, SYS_bind, fd, &path("server.sock")), DONE);
    assert!(moved.join("server.sock").exists() && !folder.join("server.sock").exists());
}

#[test]
fn sockets_lie_in_granted_directories() {
    let above = tempfile::tempdir().unwrap();
    let path = |name: &str| above.path().join(name);
    for folder in ["rw", "ro"] {
        std::fs::create_dir(path(folder)).unwrap();
    }
    let grants = Grants::default().directory("/rw", path("rw"), Access::ReadWrite).unwrap();
    let grants = grants.directory("/ro", path("ro"), Access::ReadOnly).unwrap();
    let guest = Guest::new(grants.listen("unix:*").unwrap().connect("unix:*").unwrap());
    let fresh = || guest.ok(SYS_socket, &[UNIX, STREAM, 0]);
    let outside = UnixListener::bind(path("outside")).unwrap();
    let _read_only = UnixListener::bind(path("ro/x")).unwrap();
    std::os::unix::fs::symlink("../outside", path("rw/link")).unwrap();
    for (at, bound, connected) in [
        ("/rw/../outside", ENOENT, ENOENT),
        ("/outside", ENOENT, ENOENT),
        ("/rw/link", EADDRINUSE, EACCES),
        ("/ro/x", EROFS, EACCES),
        ("/ro/y", EROFS, ENOENT),
        ("/rw/y", 0, ECONNREFUSED),
    ] {
        let errors = [SYS_bind, SYS_connect].map(|call| match named(&guest, call, fresh(), at) {
            Outcome::Return(error) => -error as i32,
            other => panic!("{other:?}"),
        });
        assert_eq!(errors, [bound, connected], "{at}");
    }
    let fd = fresh();
    guest.ok(SYS_chdir, &[guest.text("/rw")]);
    assert_eq!(named(&guest, SYS_bind, fd, "server"), DONE);
    guest.ok(SYS_listen, &[fd, 4]);
    assert!(path("rw/server").exists());
    let client = fresh();
    assert_eq!(named(&guest, SYS_connect, client, "/rw/server"), DONE);
    send(&guest, client, b"hello");
    assert_eq!(guest.read(guest.ok(SYS_accept, &[fd, 0, 0]), 16), b"hello");
    outside.set_nonblocking(true).unwrap();
    assert!(outside.accept().is_err());
}

/// A host's thread that closes one would wait for a peer that does not read, beyond every limit.
#[test]
fn no_close_lingers() {
    let (host, guest, at) = with_host();
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    assert_eq!(named(&guest, SYS_connect, fd, &at), DONE);
    let linger = guest.put(&[1u32.to_le_bytes(), 30u32.to_le_bytes()].concat());
    guest.ok(SYS_setsockopt, &[fd, SOL_SOCKET as u64, SO_LINGER as u64, linger, 8]);
    let (value, length) = (guest.room(8), guest.put(&8u32.to_le_bytes()));
    guest.ok(SYS_getsockopt, &[fd, SOL_SOCKET as u64, SO_LINGER as u64, value, length]);
    assert_eq!(guest.word(value), guest.word(linger), "as the domain has set it");
    let much = guest.room(60 << 10);
    while guest.call(SYS_sendto, &[fd, much, 60 << 10, MSG_DONTWAIT as u64, 0, 0]) != Outcome::Return(-11) {}
    let before = Instant::now();
    guest.ok(SYS_close, &[fd]);
    assert!(before.elapsed() < Duration::from_secs(20));
    drop(host);
}

/// A socket that has lost its port could be bound once more: to what was not granted.
#[test]
fn what_was_granted_holds_for_one_address() {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let grants = Grants::default().listen("127.0.0.1:0").unwrap().listen("udp:127.0.0.1:0").unwrap();
    let guest = Guest::new(grants.connect(&format!("udp:{peer}")).unwrap());
    let again = Outcome::Return(-i64::from(EINVAL));
    let tcp = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    assert_eq!(named(&guest, SYS_bind, tcp, "127.0.0.2:1"), DENIED);
    assert_eq!(named(&guest, SYS_bind, tcp, "127.0.0.1:0"), DONE, "what failed was no first time");
    guest.ok(SYS_listen, &[tcp, 1]);
    guest.ok(SYS_shutdown, &[tcp, SHUT_RDWR as u64]);
    assert_eq!(named(&guest, SYS_bind, tcp, "0.0.0.0:0"), again);
    guest.ok(SYS_listen, &[tcp, 1]);
    let (at, length) = (guest.room(128), guest.put(&128u32.to_le_bytes()));
    guest.ok(SYS_getsockname, &[tcp, at, length]);
    assert_eq!(guest.get(at + 4, 4), [127, 0, 0, 1]);
    let udp = guest.ok(SYS_socket, &[INET, DGRAM, 0]);
    assert_eq!(named(&guest, SYS_bind, udp, "127.0.0.1:0"), DONE);
    assert_eq!(named(&guest, SYS_connect, udp, &peer.to_string()), DONE);
    guest.ok(SYS_connect, &[udp, guest.put(&[0; 16]), 16]);
    assert_eq!(named(&guest, SYS_bind, udp, "0.0.0.0:0"), again);
}

#[test]
fn what_is_said_to_be_ready_and_is_not_ends_with_the_deadline() {
    let guest = Guest::new(Grants::default().listen("udp:127.0.0.1:0").unwrap());
    let counter = guest.ok(SYS_eventfd2, &[1, 0]);
    let much = guest.words(&[u64::MAX - 1]);
    let soon = Instant::now() + Duration::from_millis(20);
    let ended = guest.call_until(SYS_write, &[counter, much, 8], soon);
    assert_eq!(ended, Outcome::Fault(lockgate_syscall::Fault::TimeLimit));
    // Urgent data are there or not.
    let (one, _) = pair(&guest, STREAM);
    let room = guest.room(8);
    let late = Instant::now() + Duration::from_secs(60);
    let urgent = guest.call_until(SYS_recvfrom, &[one, room, 1, MSG_OOB as u64, 0, 0], late);
    assert!(matches!(urgent, Outcome::Return(error) if error < 0), "{urgent:?}");
}

#[test]
fn messages_that_nobody_takes_are_errors_alone() {
    let guest = Guest::new(Grants::default().listen("udp:127.0.0.1:0").unwrap());
    for kind in [SOCK_SEQPACKET as u64, DGRAM] {
        let (one, other) = pair(&guest, kind);
        guest.ok(SYS_shutdown, &[one, SHUT_WR as u64]);
        guest.ok(SYS_close, &[other]);
        assert_eq!(guest.err(SYS_sendto, &[one, guest.put(b"x"), 1, 0, 0, 0]), Errno::PIPE);
    }
    // To read nothing takes no message.
    let (one, other) = pair(&guest, DGRAM);
    send(&guest, other, b"kept");
    assert_eq!(guest.ok(SYS_read, &[one, guest.room(1), 0]), 0);
    assert_eq!(guest.read(one, 8), b"kept");
}

#[test]
fn who_was_refused_tries_again() {
    let refuses = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = refuses.local_addr().unwrap().to_string();
    drop(refuses);
    let guest = Guest::new(Grants::default().connect(&at).unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    let refused = Outcome::Return(-i64::from(ECONNREFUSED));
    assert_eq!(named(&guest, SYS_connect, fd, &at), refused);
    assert_eq!(named(&guest, SYS_connect, fd, &at), refused, "it tries again");
    let _host = TcpListener::bind(&at).unwrap();
    assert_eq!(named(&guest, SYS_connect, fd, &at), DONE);
    assert_eq!(named(&guest, SYS_connect, fd, &at), Outcome::Return(-i64::from(EISCONN)));
}

#[test]
fn what_has_no_place_stays_in_the_socket() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let (one, other) = pair(&guest, STREAM);
    send(&guest, other, b"a question");
    let null = 0;
    assert_eq!(guest.err(SYS_recvfrom, &[one, null, 10, 0, 0, 0]), Errno::FAULT);
    // As much as there is room for, and the rest later.
    let page = guest.ok(SYS_mmap, &[0, PAGE, 3, (MAP_PRIVATE | MAP_ANONYMOUS) as u64, u64::MAX, 0]);
    assert_eq!(guest.ok(SYS_read, &[one, page + PAGE - 2, 10]), 2);
    assert_eq!(guest.get(page + PAGE - 2, 2), b"a ");
    assert_eq!(guest.read(one, 64), b"question");
}

/// A reader that is gone is an error of the writer's and a signal of the domain's; the host's thread gets neither.
#[test]
fn a_peer_that_is_gone_signals_nobody_outside() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let (one, other) = pair(&guest, STREAM);
    guest.ok(SYS_close, &[other]);
    let byte = guest.put(b"x");
    assert_eq!(guest.err(SYS_sendto, &[one, byte, 1, MSG_NOSIGNAL as u64, 0, 0]), Errno::PIPE);
    let ends = Outcome::Fault(lockgate_syscall::Fault::Signal(SIGPIPE as u8));
    assert_eq!(guest.call(SYS_sendto, &[one, byte, 1, 0, 0, 0]), ends);
    assert_eq!(guest.call(SYS_write, &[one, byte, 1]), ends);
    // (It would wait for this thread to let it in.)
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let waiting = status.lines().find_map(|line| line.strip_prefix("SigPnd:\t")).unwrap();
    assert_eq!(u64::from_str_radix(waiting, 16).unwrap() >> (SIGPIPE - 1) & 1, 0);
}

#[test]
fn options_are_those_that_are_listed() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let fd = guest.ok(SYS_socket, &[INET, STREAM, 0]);
    let on = guest.put(&1u32.to_le_bytes());
    for (level, name) in [(SOL_SOCKET, SO_REUSEADDR), (IPPROTO_TCP, TCP_NODELAY), (SOL_SOCKET, SO_KEEPALIVE)]
    {
        guest.ok(SYS_setsockopt, &[fd, level as u64, name as u64, on, 4]);
        let (value, length) = (guest.room(8), guest.put(&8u32.to_le_bytes()));
        guest.ok(SYS_getsockopt, &[fd, level as u64, name as u64, value, length]);
        assert_eq!((guest.word(value) as u32, guest.word(length) as u32), (1, 4));
    }
    for (level, name) in [
        (SOL_SOCKET, SO_BINDTODEVICE),
        (SOL_SOCKET, SO_MARK),
        (SOL_SOCKET, SO_ATTACH_FILTER),
        (SOL_SOCKET, SO_PASSCRED),
        (SOL_SOCKET, SO_PEERCRED),
        (SOL_SOCKET, SO_RCVBUFFORCE),
        (SOL_SOCKET, SO_BROADCAST),
        (IPPROTO_IP, IP_TRANSPARENT),
        (IPPROTO_IP, IP_ADD_MEMBERSHIP),
        (IPPROTO_IP, IP_OPTIONS),
        (IPPROTO_TCP, TCP_FASTOPEN_CONNECT),
        (IPPROTO_TCP, TCP_REPAIR),
        (IPPROTO_TCP, TCP_ULP),
        (SOL_SOCKET, SO_TYPE),
    ] {
        assert_eq!(guest.err(SYS_setsockopt, &[fd, level as u64, name as u64, on, 4]), Errno::NOPROTOOPT);
    }
    // The host's memory is not asked for without end.
    let much = guest.put(&(1u32 << 30).to_le_bytes());
    guest.ok(SYS_setsockopt, &[fd, SOL_SOCKET as u64, SO_SNDBUF as u64, much, 4]);
    let (value, length) = (guest.room(8), guest.put(&4u32.to_le_bytes()));
    guest.ok(SYS_getsockopt, &[fd, SOL_SOCKET as u64, SO_SNDBUF as u64, value, length]);
    assert!(guest.word(value) as u32 <= 2 << 20);
    // Sending is no second way to connect.
    let [to, length] = address(&guest, "127.0.0.1:9");
    for flag in [MSG_FASTOPEN, MSG_ZEROCOPY, MSG_ERRQUEUE] {
        assert_eq!(guest.err(SYS_sendto, &[fd, on, 1, flag as u64, to, length]), Errno::OPNOTSUPP);
    }
    assert_eq!(guest.err(SYS_recvfrom, &[fd, value, 1, MSG_ERRQUEUE as u64, 0, 0]), Errno::OPNOTSUPP);
}

#[test]
fn epoll_tells_what_is_ready() {
    let (host, read_end) = rustix::pipe::pipe().map(|(read, write)| (write, read)).unwrap();
    let grants = Grants::default().stdin(read_end.try_clone().unwrap()).unwrap();
    let guest = Guest::new(grants.listen("127.0.0.1:0").unwrap());
    let set = guest.ok(SYS_epoll_create1, &[EPOLL_CLOEXEC as u64]);
    let (one, other) = pair(&guest, STREAM);
    let watch = |fd: u64, events: i32, data: u64, operation: i32| {
        let event = [&(events as u32).to_le_bytes()[..], &data.to_le_bytes()].concat();
        guest.call(SYS_epoll_ctl, &[set, operation as u64, fd, guest.put(&event)])
    };
    let ready = || {
        let at = guest.room(12 * 8);
        let count = guest.ok(SYS_epoll_wait, &[set, at, 8, 0]);
        let event = |number: u64| {
            let bytes = guest.get(at + number * 12, 12);
            let flags = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as i32;
            (flags, u64::from_le_bytes(bytes[4..].try_into().unwrap()))
        };
        (0..count).map(event).collect::<Vec<_>>()
    };
    assert_eq!(watch(one, EPOLLIN | EPOLLET, u64::MAX, EPOLL_CTL_ADD), DONE);
    assert_eq!(watch(one, EPOLLIN, 1, EPOLL_CTL_ADD), Outcome::Return(-i64::from(EEXIST)));
    assert_eq!(ready(), []);
    send(&guest, other, b"x");
    assert_eq!(ready(), [(EPOLLIN, u64::MAX)]);
    assert_eq!(ready(), [], "an edge comes once");
    assert_eq!(watch(one, EPOLLOUT, 5, EPOLL_CTL_MOD), DONE);
    assert_eq!(ready(), [(EPOLLOUT, 5)]);
    assert_eq!(watch(one, 0, 0, EPOLL_CTL_DEL), DONE);
    assert_eq!(ready(), []);
    // A stream of the host's is watched as long as the domain has it, and no longer.
    assert_eq!(watch(0, EPOLLIN, 9, EPOLL_CTL_ADD), DONE);
    rustix::io::write(&host, b"x").unwrap();
    assert_eq!(ready(), [(EPOLLIN, 9)]);
    guest.ok(SYS_close, &[0]);
    assert_eq!(ready(), []);
    let event = guest.put(&[0; 12]);
    assert_eq!(guest.err(SYS_epoll_ctl, &[one, EPOLL_CTL_ADD as u64, other, event]), Errno::INVAL);
    assert_eq!(guest.err(SYS_epoll_ctl, &[set, 77, one, event]), Errno::INVAL);
    assert_eq!(guest.err(SYS_epoll_wait, &[set, event, 0, 0]), Errno::INVAL);
    assert_eq!(guest.err(SYS_epoll_wait, &[one, event, 1, 0]), Errno::INVAL);
    // Events and times by descriptors of their own.
    let counter = guest.ok(SYS_eventfd2, &[3, EFD_SEMAPHORE as u64]);
    let timer = guest.ok(SYS_timerfd_create, &[CLOCK_MONOTONIC as u64, 0]);
    let soon = guest.words(&[0, 0, 0, 1_000_000]);
    guest.ok(SYS_timerfd_settime, &[timer, 0, soon, 0]);
    assert_eq!(guest.read(counter, 8), 1u64.to_le_bytes());
    assert_eq!(guest.read(timer, 8), 1u64.to_le_bytes());
    let left = guest.room(32);
    guest.ok(SYS_timerfd_gettime, &[timer, left]);
    assert_eq!(guest.word(left + 16), 0);
    assert_eq!(guest.err(SYS_timerfd_gettime, &[counter, left]), Errno::INVAL);
}

/// A set of `epoll` knows what it watches by number, also where several numbers are one description.
#[test]
fn a_duplicate_is_watched_by_itself() {
    let (_host, read_end) = rustix::pipe::pipe().map(|(read, write)| (write, read)).unwrap();
    let guest = Guest::new(Grants::default().stdin(read_end).unwrap());
    let [set, second] = [(); 2].map(|()| guest.ok(SYS_epoll_create1, &[0]));
    let counter = guest.ok(SYS_eventfd2, &[1, 0]);
    let control = |set: u64, operation: i32, fd: u64, events: i32| {
        let data = (set << 32 | fd).to_le_bytes();
        let event = guest.put(&[&(events as u32).to_le_bytes()[..], &data].concat());
        match guest.call(SYS_epoll_ctl, &[set, operation as u64, fd, event]) {
            Outcome::Return(result) => result,
            outcome => panic!("{outcome:?}"),
        }
    };
    let ready = |set: u64| {
        let at = guest.room(12 * 8);
        let count = guest.ok(SYS_epoll_wait, &[set, at, 8, 0]);
        let mut fds: Vec<u64> = (0..count).map(|number| guest.word(at + number * 12 + 4) & 0xffff).collect();
        fds.sort();
        fds
    };
    for file in [counter, 0] {
        let copy = guest.ok(SYS_dup, &[file]);
        assert_eq!(control(set, EPOLL_CTL_MOD, copy, EPOLLIN), -i64::from(ENOENT));
        assert_eq!(control(set, EPOLL_CTL_ADD, file, EPOLLIN), 0);
        for operation in [EPOLL_CTL_MOD, EPOLL_CTL_DEL] {
            assert_eq!(control(set, operation, copy, 0), -i64::from(ENOENT), "it is another's");
        }
        assert_eq!(control(set, EPOLL_CTL_ADD, copy, EPOLLIN), 0);
        assert_eq!(control(set, EPOLL_CTL_ADD, copy, EPOLLIN), -i64::from(EEXIST));
        assert_eq!(control(second, EPOLL_CTL_ADD, copy, EPOLLIN), 0, "another set");
        if file == counter {
            assert_eq!((ready(set), ready(second)), (vec![file, copy], vec![copy]));
            assert_eq!(control(set, EPOLL_CTL_MOD, file, 0), 0);
            assert_eq!(ready(set), [copy]);
            assert_eq!(control(set, EPOLL_CTL_DEL, file, 0), 0);
            assert_eq!(ready(set), [copy]);
            // The number is closed, and what it was is still open: it is watched, until that goes.
            guest.ok(SYS_close, &[copy]);
            assert_eq!((ready(set), ready(second)), (vec![copy], vec![copy]));
        } else {
            guest.ok(SYS_close, &[copy]);
        }
        guest.ok(SYS_close, &[file]);
        assert_eq!((ready(set), ready(second)), (vec![], vec![]));
    }
    // The host's descriptors for it count as the domain's own, of which it may have 256, and go with what they stand for.
    for _ in 0..2 {
        let counters: Vec<u64> = (0..8).map(|_| guest.ok(SYS_eventfd2, &[1, 0])).collect();
        let (mut watched, mut refused) = (0, 0);
        for (number, counter) in
            (50..100).flat_map(|number| counters.iter().map(move |&counter| (number, counter)))
        {
            guest.ok(SYS_dup2, &[counter, number]);
            match control(set, EPOLL_CTL_ADD, number, EPOLLIN) {
                0 => watched += 1,
                error => refused += i32::from(error == -i64::from(ENOSPC)),
            }
        }
        assert_eq!((watched + refused, watched), (400, 8 + 256 - 8 - 2));
        for number in counters.into_iter().chain(50..100) {
            guest.ok(SYS_close, &[number]);
        }
    }
}

#[test]
fn select_and_poll_agree() {
    let guest = Guest::new(Grants::default().listen("127.0.0.1:0").unwrap());
    let (one, other) = pair(&guest, STREAM);
    send(&guest, other, b"x");
    let both = guest.words(&[1 << one | 1 << other]);
    let writing = guest.words(&[1 << one | 1 << other]);
    assert_eq!(guest.ok(SYS_select, &[other + 1, both, writing, 0, guest.words(&[5, 0])]), 3);
    assert_eq!((guest.word(both), guest.word(writing)), (1 << one, 1 << one | 1 << other));
    let none = guest.words(&[1 << other]);
    let time = guest.words(&[0, 5_000]);
    assert_eq!(guest.ok(SYS_select, &[other + 1, none, 0, 0, time]), 0);
    assert_eq!((guest.word(none), guest.word(time + 8)), (0, 0));
    let closed = guest.words(&[1 << 40]);
    assert_eq!(guest.err(SYS_select, &[41, closed, 0, 0, 0]), Errno::BADF);
    assert_eq!(guest.err(SYS_select, &[u64::MAX, 0, 0, 0, 0]), Errno::INVAL);
    let again = guest.words(&[1 << one]);
    let mask = guest.words(&[guest.words(&[0]), 8]);
    assert_eq!(guest.ok(SYS_pselect6, &[one + 1, again, 0, 0, 0, mask]), 1);
}

/// Who waits for a socket waits until it has taken all, whichever call it is, and goes on with the file with which it began. Red if a part that was
/// sent is the call's answer.
#[test]
fn a_send_that_waits_sends_all() {
    const LENGTH: u64 = 600_000;
    // Each is the first of its domain, and then the second: before the first nothing is there to wait with.
    for number in [libc::SYS_write, libc::SYS_writev, libc::SYS_sendto] {
        let guest = Guest::new(Grants::default().connect("127.0.0.1:9").unwrap());
        let (ends, room, bytes) = (guest.room(8), guest.room(4096), guest.room(LENGTH as usize));
        let vector = guest.words(&[bytes, LENGTH]);
        let arguments =
            if number == libc::SYS_writev { [vector, 1, 0, 0, 0] } else { [bytes, LENGTH, 0, 0, 0] };
        for turn in ["first", "second"] {
            guest.ok(libc::SYS_socketpair, &[libc::AF_UNIX as u64, libc::SOCK_STREAM as u64, 0, ends]);
            let word = guest.word(ends);
            let (from, to) = (word & 0xffff_ffff, word >> 32);
            let (sent, got) = std::thread::scope(|scope| {
                let sender = scope.spawn(|| {
                    let sent = guest.ok(number, &[&[from][..], &arguments[..]].concat());
                    guest.ok(libc::SYS_close, &[from]);
                    sent
                });
                // (The sender has begun, and waits or is about to.)
                while guest.ok(libc::SYS_ioctl, &[to, libc::FIONREAD, room]) == 0
                    && guest.word(room) & 0xffff_ffff < 4096
                {
                    std::thread::yield_now();
                }
                let mut got = 0;
                loop {
                    match guest.ok(libc::SYS_read, &[to, room, 4096]) {
                        0 => return (sender.join().unwrap(), got),
                        more => got += more,
                    }
                }
            });
            assert_eq!((sent, got), (LENGTH, LENGTH), "the {turn} system call {number}");
            guest.ok(libc::SYS_close, &[to]);
        }
    }
}

/// Who waits for a message at a socket that is shut down gets nothing, as on Linux, whether it waited before or not. Red if the wait goes on: the
/// socket is ready, and a try says that there is nothing.
#[test]
fn a_socket_that_is_shut_down_ends_waits_for_messages() {
    let guest = Guest::new(Grants::default().connect("udp:127.0.0.1:9").unwrap());
    let (ends, room) = (guest.room(8), guest.room(16));
    for how in [SHUT_RD, SHUT_RDWR] {
        guest.ok(SYS_socketpair, &[AF_UNIX as u64, SOCK_DGRAM as u64, 0, ends]);
        let pair = guest.word(ends) & 0xffff_ffff;
        let inet = guest.ok(SYS_socket, &[AF_INET as u64, SOCK_DGRAM as u64, 0]);
        let peer = guest.put(&[2, 0, 0, 9, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        guest.ok(SYS_connect, &[inet, peer, 16]);
        for fd in [pair, inet] {
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| guest.ok(SYS_recvfrom, &[fd, room, 16]));
                guest.ok(SYS_shutdown, &[fd, how as u64]);
                assert_eq!(waiting.join().unwrap(), 0);
            });
            for number in [SYS_read, SYS_recvfrom] {
                assert_eq!(guest.ok(number, &[fd, room, 16]), 0);
            }
            let at_once = [fd, room, 16, MSG_DONTWAIT as u64];
            assert_eq!(guest.err(SYS_recvfrom, &at_once), Errno::AGAIN, "as Linux says");
        }
    }
}
