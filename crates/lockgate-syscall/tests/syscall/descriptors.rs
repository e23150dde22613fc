//! The domain's descriptor table, and confusion between its numbers and the host's.
use crate::guest::{Guest, PAGE};
use lockgate_syscall::{Access, Fault, Grants, Outcome, Process};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const RW: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const ANON: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;

fn pipes() -> (std::io::PipeReader, Guest) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader, Guest::new(Grants::default().stdout(writer.into()).unwrap()))
}

/// Every number that the host has open, and more, means nothing in a domain without grants.
#[test]
fn host_numbers_mean_nothing() {
    let file = tempfile::tempfile().unwrap();
    assert!(file.as_raw_fd() < 512);
    let guest = Guest::bare();
    let at = guest.put(b"x");
    for fd in (0..512).chain([-1i64 as u64, 1 << 32, (1 << 32) | 1, i32::MAX as u64]) {
        for number in [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_fstat,
            libc::SYS_close,
            libc::SYS_dup,
            libc::SYS_fsync,
        ] {
            // (That goes nowhere: `what_goes_to_no_standard_error_counts_as_written`.)
            if (number, fd) != (libc::SYS_write, 2) {
                assert_eq!(guest.err(number, &[fd, at, 1]), Errno::BADF, "system call {number} on {fd}");
            }
        }
    }
    assert_eq!(file.metadata().unwrap().len(), 0);
}

/// "Too many open files" would send its author to look for descriptors that leak.
#[test]
fn without_grants_there_is_no_such_file() {
    let guest = Guest::bare();
    for path in [&b"/etc/shadow\0"[..], b"shadow\0", b"/\0"] {
        assert_eq!(guest.err(libc::SYS_open, &[guest.put(path), 0]), Errno::NOENT, "{path:?}");
    }
}

/// So the reason of an `abort` has all pieces of a message: Rust's library stops at the first that fails. Red if that is an error.
#[test]
fn what_goes_to_no_standard_error_counts_as_written() {
    let (_reader, guest) = pipes();
    let text = guest.put(b"memory allocation of ");
    assert_eq!(guest.ok(libc::SYS_write, &[2, text, 21]), 21);
    let vector = guest.words(&[guest.put(b"8 bytes"), 7, guest.put(b" failed"), 7]);
    assert_eq!(guest.ok(libc::SYS_writev, &[2, vector, 2]), 14);
    // Of another thread's nothing.
    assert_eq!(guest.process.take_last_words(1), None);
    let said = "; its last message: memory allocation of 8 bytes failed";
    assert_eq!(guest.process.take_last_words(0).as_deref(), Some(said));
    // No more than that: it is not there, and what lies nowhere cannot be written.
    assert_eq!(guest.err(libc::SYS_write, &[2, 0, 1]), Errno::FAULT);
    assert_eq!(guest.err(libc::SYS_fstat, &[2, guest.room(144)]), Errno::BADF);
    let (theirs, ours) = std::io::pipe().unwrap();
    let guest = Guest::new(Grants::default().stderr(OwnedFd::from(ours)).unwrap());
    guest.ok(libc::SYS_close, &[2]);
    assert_eq!(guest.err(libc::SYS_write, &[2, guest.room(1), 1]), Errno::BADF, "it was closed");
    drop(theirs);
}

#[test]
fn granted_streams_have_one_direction() {
    let (mut reader, guest) = pipes();
    assert_eq!(guest.ok(libc::SYS_write, &[1, guest.put(b"out"), 3]), 3);
    let mut got = [0; 3];
    reader.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"out");
    assert_eq!(guest.err(libc::SYS_read, &[1, guest.room(1), 1]), Errno::BADF);
    // A terminal's or socket's descriptor can do both, but only one was granted.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let guest = Guest::new(Grants::default().stdin(OwnedFd::from(theirs)).unwrap());
    assert_eq!(guest.err(libc::SYS_write, &[0, guest.put(b"x"), 1]), Errno::BADF);
    drop(ours);
    assert_eq!(guest.read(0, 1), b"");
}

/// What the host's shell has opened the other way (`0>file`, `1<file`) is no stream of that direction: a wait for it would never end.
#[test]
fn streams_that_are_open_the_other_way_are_closed() {
    let (reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default().stdin(writer.into()).and_then(|grants| grants.stdout(reader.into()));
    let guest = Guest::new(grants.unwrap());
    let (at, until) = (guest.room(1), Instant::now() + Duration::from_secs(5));
    let closed = Outcome::Return(-i64::from(libc::EBADF));
    for (number, fd, length) in [
        (libc::SYS_read, 0, 1),
        (libc::SYS_read, 0, 0),
        (libc::SYS_write, 1, 1),
        (libc::SYS_write, 1, 0),
        (libc::SYS_write, 0, 1),
    ] {
        assert_eq!(guest.call_until(number, &[fd, at, length], until), closed, "{number} {fd} {length}");
    }
}

#[test]
fn closing_a_granted_stream_leaves_the_hosts_open() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let guest = Guest::new(Grants::default().stdout(writer.try_clone().unwrap().into()).unwrap());
    guest.ok(libc::SYS_close, &[1]);
    assert_eq!(guest.err(libc::SYS_write, &[1, guest.put(b"x"), 1]), Errno::BADF);
    drop(guest);
    writer.write_all(b"alive").unwrap();
    let mut got = [0; 5];
    reader.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"alive");
}

#[test]
fn lowest_number_first_and_a_limit() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let path = guest.text("/data/f");
    let numbers: Vec<u64> = (0..256).map(|_| guest.ok(libc::SYS_open, &[path, 0])).collect();
    assert_eq!(numbers, (0..256).collect::<Vec<_>>());
    assert_eq!(guest.err(libc::SYS_open, &[path, 0]), Errno::MFILE);
    assert_eq!(guest.err(libc::SYS_dup, &[0]), Errno::MFILE);
    guest.ok(libc::SYS_close, &[17]);
    assert_eq!(guest.ok(libc::SYS_dup, &[3]), 17);
    assert_eq!(guest.err(libc::SYS_dup2, &[3, 256]), Errno::BADF);
    assert_eq!(guest.err(libc::SYS_fcntl, &[3, libc::F_DUPFD as u64, 256]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_dup2, &[3, -1i64 as u64]), Errno::BADF);
}

#[test]
fn duplicates_share_their_position() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "abcdef").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let fd = guest.open("/data/f", 0);
    let copy = guest.ok(libc::SYS_dup, &[fd]);
    assert_eq!((guest.read(fd, 2), guest.read(copy, 2)), (b"ab".to_vec(), b"cd".to_vec()));
    assert_eq!(guest.ok(libc::SYS_dup2, &[fd, 9]), 9);
    assert_eq!(guest.read(9, 2), b"ef");
    assert_eq!(guest.ok(libc::SYS_dup2, &[9, 9]), 9);
    assert_eq!(guest.err(libc::SYS_dup3, &[9, 9, 0]), Errno::INVAL);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[fd, libc::F_DUPFD_CLOEXEC as u64, 20]), 20);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[20, libc::F_GETFD as u64]), 1);
    guest.ok(libc::SYS_fcntl, &[20, libc::F_SETFD as u64, 0]);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[20, libc::F_GETFD as u64]), 0);
}

#[test]
fn status_flags_stay_in_the_domain() {
    let (_reader, writer) = std::io::pipe().unwrap();
    // The host's own descriptor of the same description, as its standard output is.
    let hosts = writer.try_clone().unwrap();
    let guest = Guest::new(Grants::default().stdout(writer.into()).unwrap());
    let nonblock = libc::O_NONBLOCK as u64;
    guest.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, nonblock]);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[1, libc::F_GETFL as u64]), nonblock | libc::O_WRONLY as u64);
    let flags = rustix::fs::fcntl_getfl(&hosts).unwrap();
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "the host's writes still wait");
    let at = guest.room(65536);
    let mut total = 0;
    while let Outcome::Return(sent @ 1..) = guest.call(libc::SYS_write, &[1, at, 65536]) {
        total += sent;
    }
    assert_eq!(guest.err(libc::SYS_write, &[1, at, 1]), Errno::AGAIN);
    assert!(total >= 65536);
}

#[test]
fn a_broken_pipe_does_not_kill_the_host() {
    let (reader, guest) = pipes();
    drop(reader);
    let at = guest.put(b"x");
    // As a shell would see a program that wrote to a closed pipe.
    let killed = Outcome::Return(0) != guest.call(libc::SYS_write, &[1, at, 1]);
    assert!(killed);
    assert_eq!(
        guest.call(libc::SYS_write, &[1, at, 1]),
        Outcome::Fault(Fault::Signal(libc::SIGPIPE as u8)),
        "the default action ends the module"
    );
    let ignore = guest.words(&[libc::SIG_IGN as u64, 0, 0, 0]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGPIPE as u64, ignore, 0, 8]);
    assert_eq!(guest.err(libc::SYS_write, &[1, at, 1]), Errno::PIPE);
}

/// A domain with one end of a pair of sockets as its streams, and the other end.
fn sockets(kind: SocketType) -> (OwnedFd, Guest) {
    let (host, domain) = socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None).unwrap();
    let grants = Grants::default().stdin(domain.try_clone().unwrap()).unwrap().stdout(domain).unwrap();
    (host, Guest::new(grants))
}

/// What is written at once arrives as one message, however long, and a read takes one.
#[test]
fn messages_stay_whole() {
    for kind in [SocketType::DGRAM, SocketType::SEQPACKET] {
        let (host, guest) = sockets(kind);
        let mut got = vec![0; 1 << 20];
        let mut next = || recv(&host, &mut got[..], RecvFlags::DONTWAIT).map(|(length, _)| length);
        let at = guest.room(150_000);
        for length in [1, 4096, 4097, 65536, 65537, 150_000] {
            assert_eq!(guest.ok(libc::SYS_write, &[1, at, length]), length, "{kind:?}");
            assert_eq!(next(), Ok(length as usize), "{kind:?}");
            let halves = guest.words(&[at, length / 2, at, length - length / 2]);
            assert_eq!(guest.ok(libc::SYS_writev, &[1, halves, 2]), length);
            assert_eq!(next(), Ok(length as usize), "{kind:?}");
            assert_eq!(next(), Err(Errno::AGAIN), "{kind:?}: {length} bytes were one message");
            rustix::io::write(&host, &vec![1; length as usize]).unwrap();
            rustix::io::write(&host, b"the next").unwrap();
            assert_eq!(guest.ok(libc::SYS_read, &[0, at, 150_000]), length, "{kind:?}");
            assert_eq!(guest.ok(libc::SYS_read, &[0, at, 3]), 3);
        }
        assert_eq!(guest.ok(libc::SYS_write, &[1, at, 0]), 0);
        assert_eq!(next(), Ok(0), "{kind:?}: an empty message");
        assert_eq!(guest.ok(libc::SYS_writev, &[1, guest.words(&[at, 0]), 1]), 0);
        assert_eq!(next(), Err(Errno::AGAIN), "{kind:?}: a vector of nothing is none");
        assert_eq!(guest.err(libc::SYS_write, &[1, PAGE, 2 << 20]), Errno::MSGSIZE);
        guest.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, libc::O_NONBLOCK as u64]);
        while let Outcome::Return(1..) = guest.call(libc::SYS_write, &[1, at, 4096]) {}
        assert_eq!(guest.err(libc::SYS_write, &[1, at, 4096]), Errno::AGAIN);
        assert_eq!(guest.err(libc::SYS_write, &[1, at, 0]), Errno::AGAIN, "{kind:?}: no room for one");
    }
}

/// As on Linux: only a stream says so by a signal, and a write of nothing asks, too.
#[test]
fn a_socket_tells_whether_the_other_side_is_there() {
    for (kind, error) in [(SocketType::DGRAM, Errno::CONNREFUSED), (SocketType::SEQPACKET, Errno::PIPE)] {
        for length in [1, 0] {
            let (host, guest) = sockets(kind);
            drop(host);
            assert_eq!(guest.err(libc::SYS_write, &[1, guest.put(b"x"), length]), error);
            guest.ok(libc::SYS_getpid, &[]);
        }
    }
    let (host, guest) = sockets(SocketType::STREAM);
    assert_eq!(guest.ok(libc::SYS_write, &[1, PAGE, 0]), 0);
    drop(host);
    let ignore = guest.words(&[libc::SIG_IGN as u64, 0, 0, 0]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGPIPE as u64, ignore, 0, 8]);
    assert_eq!(guest.err(libc::SYS_write, &[1, PAGE, 0]), Errno::PIPE);
    assert_eq!(guest.ok(libc::SYS_writev, &[1, ignore, 0]), 0);
}

/// Times that the host has set for a socket, and a terminal whose reads do not wait for a byte.
#[test]
fn a_streams_own_time_ends_a_wait() {
    const TIME: Duration = Duration::from_millis(100);
    let late = || Instant::now() + Duration::from_secs(60);
    let (host, domain) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None).unwrap();
    for which in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&domain, which, Some(TIME)).unwrap();
    }
    let grants = Grants::default().stdin(domain.try_clone().unwrap()).unwrap().stdout(domain).unwrap();
    let guest = Guest::new(grants);
    let at = guest.room(1 << 19);
    let again = Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error()));
    let start = Instant::now();
    assert_eq!(guest.call_until(libc::SYS_read, &[0, at, 1], late()), again);
    assert!(start.elapsed() >= TIME);
    let Outcome::Return(part @ 1..) = guest.call_until(libc::SYS_write, &[1, at, 1 << 19], late()) else {
        panic!("there was room for some")
    };
    assert!(part < 1 << 19);
    assert_eq!(guest.call_until(libc::SYS_write, &[1, at, 1], late()), again);
    drop(host);

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let both = OFlags::RDWR | OFlags::NOCTTY;
    let side = rustix::fs::open(name, both, Mode::empty()).unwrap();
    let guest = Guest::new(Grants::default().stdin(side.try_clone().unwrap()).unwrap());
    for (least, tenths) in [(0, 0), (0, 1)] {
        let mut settings = tcgetattr(&side).unwrap();
        settings.make_raw();
        settings.special_codes[SpecialCodeIndex::VMIN] = least;
        settings.special_codes[SpecialCodeIndex::VTIME] = tenths;
        tcsetattr(&side, OptionalActions::Now, &settings).unwrap();
        let start = Instant::now();
        assert_eq!(guest.call_until(libc::SYS_read, &[0, at, 10], late()), Outcome::Return(0));
        assert!(start.elapsed() >= TIME * tenths.into());
        rustix::io::write(&terminal, b"two").unwrap();
        assert_eq!(guest.call_until(libc::SYS_read, &[0, at, 10], late()), Outcome::Return(3));
    }
}

#[test]
fn pipes_and_poll() {
    let host = tempfile::tempdir().unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let at = guest.room(8);
    guest.ok(libc::SYS_pipe2, &[at, libc::O_CLOEXEC as u64]);
    assert_eq!(guest.word(at), 1 << 32, "descriptors 0 and 1");
    let entry = |fd: i32, events: i16| (fd as u32 as u64) | (events as u64) << 32;
    let polled = guest.words(&[entry(0, libc::POLLIN), entry(1, libc::POLLOUT), entry(-1, 1), entry(9, 1)]);
    assert_eq!(guest.ok(libc::SYS_poll, &[polled, 2, 0]), 1, "only the writing end is ready");
    assert_eq!(guest.word(polled + 8) >> 48, libc::POLLOUT as u64);
    guest.ok(libc::SYS_write, &[1, guest.put(b"hi"), 2]);
    assert_eq!(guest.ok(libc::SYS_poll, &[polled, 4, -1i64 as u64]), 3);
    assert_eq!(guest.word(polled + 24) >> 48, libc::POLLNVAL as u64);
    assert_eq!(guest.read(0, 9), b"hi");
    guest.ok(libc::SYS_close, &[1]);
    assert_eq!(guest.read(0, 9), b"", "the end");
    assert_eq!(guest.err(libc::SYS_lseek, &[0, 0, 0]), Errno::SPIPE);
    assert_eq!(guest.err(libc::SYS_pread64, &[0, at, 1, 0]), Errno::SPIPE);
    assert_eq!(guest.err(libc::SYS_poll, &[polled, 257, 0]), Errno::INVAL);
}

/// Every pipe takes two of the host's descriptors: a domain that was granted nothing makes none.
#[test]
fn without_grants_there_are_no_descriptors() {
    let guest = Guest::bare();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, at) = (open(), guest.room(8));
    for _ in 0..300 {
        assert_eq!(guest.err(libc::SYS_pipe2, &[at, 0]), Errno::MFILE);
        assert_eq!(guest.ok(libc::SYS_poll, &[at, 0, 0]), 0);
    }
    // Other tests open and close descriptors at the same time, but not hundreds.
    assert!(open() < before + 200);
}

#[test]
fn no_device_is_driven() {
    let (_reader, guest) = pipes();
    let at = guest.room(64);
    for request in [libc::TIOCGWINSZ, libc::TCGETS, libc::TIOCSTI, libc::FIONREAD, libc::TIOCSCTTY] {
        assert_eq!(guest.err(libc::SYS_ioctl, &[1, request, at]), Errno::NOTTY, "{request:#x}");
    }
    guest.ok(libc::SYS_ioctl, &[1, libc::FIOCLEX, 0]);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[1, libc::F_GETFD as u64]), 1);
    assert_eq!(guest.err(libc::SYS_ioctl, &[5, libc::TCGETS, at]), Errno::BADF);
    // This is a flag of the domain's own, of a stream that was granted, too.
    guest.ok(libc::SYS_ioctl, &[1, libc::FIONBIO, guest.put(&[1, 0, 0, 0])]);
    let nonblocking = libc::O_NONBLOCK as u64;
    assert_eq!(guest.ok(libc::SYS_fcntl, &[1, libc::F_GETFL as u64]) & nonblocking, nonblocking);
}

#[test]
fn attributes_of_granted_streams_are_the_hosts() {
    let file = tempfile::tempfile().unwrap();
    let guest = Guest::new(Grants::default().stdout(file.try_clone().unwrap().into()).unwrap());
    assert_eq!(guest.err(libc::SYS_fchmod, &[1, 0o777]), Errno::PERM);
    assert_eq!(guest.err(libc::SYS_utimensat, &[1, 0, 0, 0]), Errno::PERM);
    guest.ok(libc::SYS_write, &[1, guest.put(b"log"), 3]);
    assert_eq!(file.metadata().unwrap().len(), 3);
}

/// What the host opened stays as it is, whatever its domains ask for.
#[test]
fn flags_of_a_stream_are_one_domains_own() {
    let (_reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default().stdout(writer.into()).unwrap();
    let (one, two) = (Guest::new(grants.clone()), Guest::new(grants.clone()));
    let get = |guest: &Guest| guest.ok(libc::SYS_fcntl, &[1, libc::F_GETFL as u64]);
    let before = get(&two);
    one.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, (libc::O_NONBLOCK | libc::O_APPEND) as u64]);
    assert_ne!(get(&one), before);
    assert_eq!((get(&two), get(&Guest::new(grants))), (before, before));
}

/// A log that the host appends to is only ever appended to.
#[test]
fn a_granted_log_is_not_overwritten() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let append = || std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
    let mut log = append();
    log.write_all(b"what happened\n").unwrap();
    let guest = Guest::new(Grants::default().stdout(log.try_clone().unwrap().into()).unwrap());
    let flags = guest.ok(libc::SYS_fcntl, &[1, libc::F_GETFL as u64]);
    assert_eq!(flags, (libc::O_WRONLY | libc::O_APPEND) as u64, "as it is");
    for flags in [0, libc::O_NONBLOCK] {
        assert_eq!(guest.err(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, flags as u64]), Errno::PERM);
    }
    guest.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, flags | libc::O_NONBLOCK as u64]);
    assert_eq!(guest.err(libc::SYS_ftruncate, &[1, 0]), Errno::PERM);
    assert_eq!(guest.err(libc::SYS_fallocate, &[1, 0, 0, 4096]), Errno::PERM);
    guest.ok(libc::SYS_lseek, &[1, 0, 0]);
    guest.ok(libc::SYS_write, &[1, guest.put(b"forged\n"), 7]);
    guest.ok(libc::SYS_pwrite64, &[1, guest.put(b"again\n"), 6, 0]);
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "what happened\nforged\nagain\n");
}

/// A domain that wants to append to a stream does, and the host's description does not.
#[test]
fn appending_to_a_stream_is_one_domains_own() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"0123456789").unwrap();
    let hosts = file.reopen().unwrap();
    let open = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    let guest = Guest::new(Grants::default().stdout(open.try_clone().unwrap().into()).unwrap());
    guest.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, libc::O_APPEND as u64]);
    guest.ok(libc::SYS_write, &[1, guest.put(b"end"), 3]);
    assert!(!rustix::fs::fcntl_getfl(&open).unwrap().contains(rustix::fs::OFlags::APPEND));
    guest.ok(libc::SYS_fcntl, &[1, libc::F_SETFL as u64, 0]);
    guest.ok(libc::SYS_lseek, &[1, 0, 0]);
    guest.ok(libc::SYS_write, &[1, guest.put(b"AB"), 2]);
    assert_eq!(std::io::read_to_string(hosts).unwrap(), "AB23456789end");
}

/// There are names beneath granted directories only.
#[test]
fn a_directory_is_no_stream() {
    let host = tempfile::tempdir().unwrap();
    let folder = || OwnedFd::from(std::fs::File::open(host.path()).unwrap());
    let grants = Grants::default().stdin(folder());
    assert!(matches!(grants, Err(lockgate_syscall::GrantError::Stream(Errno::ISDIR))), "{grants:?}");
}

/// The host's descriptors are counted for as long as they are open: one that a call uses while its number is given away counts on.
#[test]
fn descriptors_without_a_number_count() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let (path, ends) = (guest.text("/data/f"), guest.room(8));
    guest.ok(libc::SYS_pipe2, &[ends, 0]);
    for number in 2..256 {
        assert_eq!(guest.ok(libc::SYS_open, &[path, 0]), number);
    }
    let polled = guest.words(&[(libc::POLLIN as u64) << 32]);
    let refused = Outcome::Return(-i64::from(Errno::MFILE.raw_os_error()));
    // Until the thread waits with the reading end, whose number then goes.
    for timeout in 0.. {
        let opened = std::thread::scope(|scope| {
            scope.spawn(|| guest.call(libc::SYS_poll, &[polled, 1, -1i64 as u64]));
            (0..timeout).for_each(|_| std::thread::yield_now());
            guest.ok(libc::SYS_close, &[0]);
            let opened = guest.call(libc::SYS_open, &[path, 0]);
            guest.ok(libc::SYS_close, &[1]);
            opened
        });
        let waited = guest.word(polled) >> 48 & libc::POLLHUP as u64 != 0;
        assert_eq!(
            opened,
            if waited { refused } else { Outcome::Return(0) },
            "the wait held a descriptor: {waited}"
        );
        if waited {
            break;
        }
        guest.ok(libc::SYS_close, &[0]);
        guest.ok(libc::SYS_pipe2, &[ends, 0]);
    }
}

/// What is refused for want of a number has made, emptied and opened nothing: the number and the room come first.
#[test]
fn what_has_no_descriptor_changes_nothing() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "text").unwrap();
    let (_reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default()
        .directory("/data", host.path(), Access::ReadWrite)
        .and_then(|grants| grants.stdout(writer.into()))
        .unwrap();
    let mut guest = Guest::new(grants.clone());
    guest.process = Process::new(Arc::new(grants)).with_descriptors(3);
    // The stream has a number, but does not count as what the host opened: there is room without a number.
    for number in [0, 2] {
        assert_eq!(guest.open("/data/f", libc::O_RDONLY), number);
    }
    assert_eq!(guest.open_err("/data/new", libc::O_RDWR | libc::O_CREAT), Errno::MFILE);
    assert!(!host.path().join("new").exists());
    assert_eq!(guest.open_err("/data/f", libc::O_RDWR | libc::O_TRUNC), Errno::MFILE);
    assert_eq!(guest.err(libc::SYS_creat, &[guest.text("/data/f"), 0o666]), Errno::MFILE);
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), b"text");
    // Nor does what is refused for another reason keep a number.
    guest.ok(libc::SYS_close, &[2]);
    assert_eq!(guest.err(libc::SYS_pipe, &[guest.room(8)]), Errno::MFILE);
    assert_eq!(guest.open_err("/data/none", libc::O_RDONLY), Errno::NOENT);
    guest.ok(libc::SYS_close, &[1]);
    assert_eq!(guest.err(libc::SYS_pipe, &[0]), Errno::FAULT);
    assert_eq!(guest.process.descriptors_used(), 1);
    guest.ok(libc::SYS_pipe, &[guest.room(8)]);
}

/// What has no place in the domain is not taken: a pipe keeps it, and a stream's position, which is the host's, stays.
#[test]
fn bytes_without_a_place_are_not_read() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"0123456789").unwrap();
    file.rewind().unwrap();
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "").unwrap();
    let grants = Grants::default()
        .directory("/data", host.path(), Access::ReadOnly)
        .and_then(|grants| grants.stdin(file.try_clone().unwrap().into()))
        .unwrap();
    let guest = Guest::new(grants);
    let ends = guest.room(8);
    // (What is gone is no wait.)
    guest.ok(libc::SYS_pipe2, &[ends, libc::O_NONBLOCK as u64]);
    let [reader, writer] = [0, 4].map(|at| u64::from(guest.get(ends + at, 1)[0]));
    guest.ok(libc::SYS_write, &[writer, guest.put(b"abcdefgh"), 8]);
    let (page, ours) = (guest.ok(libc::SYS_mmap, &[0, PAGE, RW, ANON, u64::MAX, 0]), guest.room(8));
    for bad in [0, page + PAGE] {
        assert_eq!(guest.err(libc::SYS_read, &[reader, bad, 4]), Errno::FAULT);
        assert_eq!(guest.err(libc::SYS_read, &[0, bad, 4]), Errno::FAULT);
        assert_eq!(guest.err(libc::SYS_pread64, &[0, bad, 4, 0]), Errno::FAULT);
        assert_eq!(guest.err(libc::SYS_readv, &[reader, guest.words(&[bad, 4, ours, 4]), 2]), Errno::FAULT);
    }
    // What fits is read.
    assert_eq!(guest.ok(libc::SYS_readv, &[reader, guest.words(&[ours, 3, 0, 4]), 2]), 3);
    assert_eq!(guest.get(ours, 3), b"abc");
    assert_eq!(guest.ok(libc::SYS_read, &[reader, page + PAGE - 2, 4]), 2);
    assert_eq!(guest.get(page + PAGE - 2, 2), b"de");
    assert_eq!(guest.read(reader, 8), b"fgh");
    assert_eq!(guest.ok(libc::SYS_read, &[0, page + PAGE - 2, 4]), 2);
    assert_eq!(file.stream_position().unwrap(), 2);
    // Names of a folder are not passed over.
    let folder = guest.open("/data", libc::O_DIRECTORY);
    let list = |at, length| guest.call(libc::SYS_getdents64, &[folder, at, length]);
    let fault = Outcome::Return(-i64::from(Errno::FAULT.raw_os_error()));
    assert_eq!([list(0, 1024), list(page + PAGE - 8, 1024)], [fault; 2]);
    assert_eq!(list(guest.room(1024), 1024), Outcome::Return(3 * 24));
}

/// What was opened with `O_PATH` says which file it is, and begins paths; it is not open for anything else.
#[test]
fn handles_are_not_open() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "text").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_PATH);
    let at = guest.put(&[0; 256]);
    let [get, lock] = [libc::F_GETLK, libc::F_SETLK].map(|command| command as u64);
    let refused: [(i64, &[u64]); 9] = [
        (libc::SYS_read, &[fd, at, 4]),
        (libc::SYS_write, &[fd, at, 4]),
        (libc::SYS_fcntl, &[fd, get, at]),
        (libc::SYS_fcntl, &[fd, lock, at]),
        (libc::SYS_fcntl, &[fd, libc::F_SETFL as u64, 0]),
        (libc::SYS_flock, &[fd, libc::LOCK_SH as u64]),
        (libc::SYS_ftruncate, &[fd, 0]),
        (libc::SYS_mmap, &[0, PAGE, RW, libc::MAP_PRIVATE as u64, fd, 0]),
        (libc::SYS_fchmod, &[fd, 0o777]),
    ];
    for (number, arguments) in refused {
        assert_eq!(guest.err(number, arguments), Errno::BADF, "system call {number}");
    }
    let polled = guest.words(&[(libc::POLLIN as u64) << 32 | fd]);
    assert_eq!(guest.ok(libc::SYS_poll, &[polled, 1, 0]), 1);
    assert_eq!(guest.word(polled) >> 48, libc::POLLNVAL as u64);
    guest.ok(libc::SYS_fstat, &[fd, at]);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[fd, libc::F_GETFL as u64]), libc::O_PATH as u64);
    let copy = guest.ok(libc::SYS_dup, &[fd]);
    assert_eq!(guest.err(libc::SYS_read, &[copy, at, 4]), Errno::BADF);
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), b"text");
}

/// What threads read by its number is what has this number, however fast numbers change hands. Red if a number is not looked at again once its
/// place is the call's own.
#[test]
fn a_number_never_names_what_another_has() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "a").unwrap();
    std::fs::write(folder.path().join("b"), "b").unwrap();
    let guest = Guest::with_data(folder.path(), Access::ReadOnly);
    let files = ["/data/a", "/data/b"].map(|path| guest.open(path, libc::O_RDONLY));
    let rooms = [guest.room(16), guest.room(16)];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (number, room, letter) in [(50, rooms[0], b'a'), (51, rooms[1], b'b')] {
            let (guest, is_over) = (&guest, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    match guest.call(libc::SYS_pread64, &[number, room, 1, 0]) {
                        Outcome::Return(1) => assert_eq!(guest.get(room, 1), [letter], "{number}"),
                        other => assert_eq!(other, Outcome::Return(-i64::from(libc::EBADF))),
                    }
                }
            });
        }
        for _ in 0..20_000 {
            for (file, number) in files.into_iter().zip([50, 51]) {
                guest.ok(libc::SYS_dup2, &[file, number]);
                guest.ok(libc::SYS_close, &[number]);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// A pipe that is closed under a read stays open for that read, and no longer. Red if what a call has used is not dropped: the limit is
/// reached.
#[test]
fn a_pipe_closed_under_a_read_is_gone_behind_it() {
    let guest = Guest::new(Grants::default().connect("127.0.0.1:9").unwrap());
    let (ends, room, byte) = (guest.room(8), guest.room(16), guest.put(b"x"));
    for _ in 0..1000 {
        guest.ok(libc::SYS_pipe2, &[ends, 0]);
        let word = guest.word(ends);
        let (input, output) = (word & 0xffff_ffff, word >> 32);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| guest.call(libc::SYS_read, &[input, room, 1]));
            guest.ok(libc::SYS_close, &[input]);
            // (If it had not begun, there is no reader left.)
            let written = guest.call(libc::SYS_write, &[output, byte, 1]);
            guest.ok(libc::SYS_close, &[output]);
            match reader.join().unwrap() {
                Outcome::Return(1) => assert_eq!(written, Outcome::Return(1)),
                other => assert_eq!(other, Outcome::Return(-i64::from(libc::EBADF))),
            }
        });
    }
    assert_eq!(guest.process.descriptors_used(), 0);
}
