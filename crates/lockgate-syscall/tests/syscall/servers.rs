//! What servers ask of the system besides files and sockets.
use crate::guest::Guest;
use lockgate_syscall::{Access, Grants, Outcome, Process};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two numbers that a call has written.
fn two(guest: &Guest, at: u64) -> (u64, u64) {
    let both = guest.word(at);
    (both & 0xffff_ffff, both >> 32)
}

fn pipe(guest: &Guest) -> (u64, u64) {
    let at = guest.room(8);
    guest.ok(libc::SYS_pipe2, &[at, 0]);
    two(guest, at)
}

fn pair(guest: &Guest) -> (u64, u64) {
    let at = guest.room(8);
    guest.ok(libc::SYS_socketpair, &[libc::AF_UNIX as u64, libc::SOCK_STREAM as u64, 0, at]);
    two(guest, at)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(20)
}

const NOFILE: u64 = libc::RLIMIT_NOFILE as u64;

#[test]
fn a_domain_lowers_its_own_limits() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let at = guest.room(16);
    let set =
        |soft: u64, hard: u64| guest.call(libc::SYS_prlimit64, &[0, NOFILE, guest.words(&[soft, hard]), 0]);
    let refused = |error: Errno| Outcome::Return(-i64::from(error.raw_os_error()));
    let open = |path| guest.open(path, libc::O_RDONLY);
    assert_eq!((open("/data/f"), open("/data/f"), open("/data/f")), (0, 1, 2));
    assert_eq!(set(2, 256), Outcome::Return(0));
    // What is open stays. (Linux's `EMFILE`, `EINVAL` and `EBADF` for numbers that are too large.)
    assert_eq!(guest.open_err("/data/f", libc::O_RDONLY), Errno::MFILE);
    assert_eq!(guest.err(libc::SYS_dup, &[0]), Errno::MFILE);
    assert_eq!(guest.err(libc::SYS_fcntl, &[0, libc::F_DUPFD as u64, 2]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_dup2, &[0, 2]), Errno::BADF);
    assert_eq!(guest.err(libc::SYS_poll, &[0, 3, 0]), Errno::INVAL);
    guest.ok(libc::SYS_fstat, &[2, guest.room(144)]);
    guest.ok(libc::SYS_close, &[2]);
    assert_eq!(guest.open_err("/data/f", libc::O_RDONLY), Errno::MFILE);
    // A soft limit rises to the hard one, and that does not.
    assert_eq!(set(9, 8), refused(Errno::INVAL));
    assert_eq!(set(2, 257), refused(Errno::PERM));
    assert_eq!(set(8, 8), Outcome::Return(0));
    assert_eq!(set(8, 256), refused(Errno::PERM));
    assert_eq!(open("/data/f"), 2);
    guest.ok(libc::SYS_getrlimit, &[NOFILE, at]);
    assert_eq!((guest.word(at), guest.word(at + 8)), (8, 8));
    // The others are remembered.
    guest.ok(libc::SYS_setrlimit, &[libc::RLIMIT_CPU as u64, guest.words(&[1, 2])]);
    guest.ok(libc::SYS_prlimit64, &[0, libc::RLIMIT_CPU as u64, guest.words(&[2, 2]), at]);
    assert_eq!((guest.word(at), guest.word(at + 8)), (1, 2));
    assert_eq!(
        guest.err(libc::SYS_setrlimit, &[libc::RLIMIT_CORE as u64, guest.words(&[1, 1])]),
        Errno::PERM
    );
    // In Linux's order: what is to be set is read first, then whose it is, then what.
    assert_eq!(guest.err(libc::SYS_prlimit64, &[1, 99, 8, 0]), Errno::FAULT);
    assert_eq!(guest.err(libc::SYS_prlimit64, &[1, 99, at, 0]), Errno::SRCH);
    assert_eq!(guest.err(libc::SYS_prlimit64, &[0, 99, at, 0]), Errno::INVAL);
}

/// What a start has lowered stays so in domains that begin where it ended.
#[test]
fn limits_are_part_of_a_start() {
    let host = tempfile::tempdir().unwrap();
    let grants = || Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let mut guest = Guest::new(grants());
    guest.ok(libc::SYS_setrlimit, &[NOFILE, guest.words(&[1, 4])]);
    let start = guest.process.started().expect("nothing is open");
    guest.process = Process::new(Arc::new(grants())).with_start(&start);
    guest.open("/data/f", libc::O_RDWR | libc::O_CREAT);
    assert_eq!(guest.open_err("/data/f", libc::O_RDONLY), Errno::MFILE);
    assert_eq!(guest.err(libc::SYS_setrlimit, &[NOFILE, guest.words(&[5, 5])]), Errno::PERM);
    guest.ok(libc::SYS_setrlimit, &[NOFILE, guest.words(&[4, 4])]);
    guest.open("/data/f", libc::O_RDONLY);
}

#[test]
fn a_thread_may_run_on_the_one_processor() {
    let guest = Guest::bare();
    let set =
        |thread: u64, mask: u64| guest.call(libc::SYS_sched_setaffinity, &[thread, 8, guest.words(&[mask])]);
    let own = guest.ok(libc::SYS_gettid, &[]);
    assert_eq!(set(0, 1), Outcome::Return(0));
    assert_eq!(set(own, u64::MAX), Outcome::Return(0));
    assert_eq!(set(0, 2), Outcome::Return(-i64::from(Errno::INVAL.raw_os_error())));
    assert_eq!(set(1, 1), Outcome::Return(-i64::from(Errno::SRCH.raw_os_error())));
    assert_eq!(guest.err(libc::SYS_sched_setaffinity, &[0, 0, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_sched_setaffinity, &[0, 8, 8]), Errno::FAULT);
}

/// All files belong to the domain: who gives them to itself changes nothing, and that succeeds where a change could.
#[test]
fn files_are_given_to_oneself_alone() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "").unwrap();
    std::os::unix::fs::symlink("none", host.path().join("l")).unwrap();
    let (own, keep, none) = (65534, u64::from(u32::MAX), libc::AT_FDCWD as u64);
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let guest = Guest::with_data(host.path(), access);
        let fd = guest.open("/data/f", libc::O_RDONLY);
        let (path, link, missing) = (guest.text("/data/f"), guest.text("/data/l"), guest.text("/data/none"));
        let empty = guest.text("");
        type Arguments<'a> = &'a dyn Fn(u64, u64) -> [u64; 5];
        let calls: [(i64, Arguments<'_>); 5] = [
            (libc::SYS_chown, &|user, group| [path, user, group, 0, 0]),
            (libc::SYS_lchown, &|user, group| [link, user, group, 0, 0]),
            (libc::SYS_fchown, &|user, group| [fd, user, group, 0, 0]),
            (libc::SYS_fchownat, &|user, group| [none, link, user, group, libc::AT_SYMLINK_NOFOLLOW as u64]),
            (libc::SYS_fchownat, &|user, group| [fd, empty, user, group, libc::AT_EMPTY_PATH as u64]),
        ];
        for (number, arguments) in calls {
            for (user, group) in [(own, own), (keep, keep), (keep, own)] {
                match access {
                    Access::ReadOnly => assert_eq!(guest.err(number, &arguments(user, group)), Errno::ROFS),
                    _ => assert_eq!(guest.ok(number, &arguments(user, group)), 0),
                }
            }
            if access == Access::ReadWrite {
                for (user, group) in [(0, keep), (own, 0), (1000, 1000)] {
                    assert_eq!(guest.err(number, &arguments(user, group)), Errno::PERM);
                }
            }
        }
        assert_eq!(guest.err(libc::SYS_chown, &[missing, 0, 0]), Errno::NOENT);
        assert_eq!(guest.err(libc::SYS_chown, &[link, own, own]), Errno::NOENT);
        assert_eq!(guest.err(libc::SYS_fchown, &[99, 0, 0]), Errno::BADF);
        assert_eq!(guest.err(libc::SYS_fchownat, &[none, path, own, own, 1]), Errno::INVAL);
    }
    use std::os::unix::fs::MetadataExt;
    assert_eq!(std::fs::metadata(host.path().join("f")).unwrap().uid(), rustix::process::getuid().as_raw());
}

/// `SO_RCVLOWAT`: who waits, waits for so much, or for the end; who does not takes what is there.
#[test]
fn a_read_waits_for_the_least() {
    let guest =
        Guest::new(Grants::default().listen("127.0.0.1:0").and_then(|it| it.connect("127.0.0.1:*")).unwrap());
    for (one, other) in [pair(&guest), connected(&guest)] {
        waits_for_the_least(&guest, one, other);
    }
}

/// Two ends over TCP.
fn connected(guest: &Guest) -> (u64, u64) {
    let mut address = vec![2, 0, 0, 0, 127, 0, 0, 1];
    address.resize(16, 0);
    let at = guest.put(&address);
    let tcp = || guest.ok(libc::SYS_socket, &[libc::AF_INET as u64, libc::SOCK_STREAM as u64, 0]);
    let (listener, client) = (tcp(), tcp());
    guest.ok(libc::SYS_bind, &[listener, at, 16]);
    guest.ok(libc::SYS_listen, &[listener, 1]);
    guest.ok(libc::SYS_getsockname, &[listener, at, guest.put(&16u32.to_le_bytes())]);
    guest.ok(libc::SYS_connect, &[client, at, 16]);
    (guest.ok(libc::SYS_accept, &[listener, 0, 0]), client)
}

fn waits_for_the_least(guest: &Guest, one: u64, other: u64) {
    let (level, name) = (libc::SOL_SOCKET as u64, libc::SO_RCVLOWAT as u64);
    guest.ok(libc::SYS_setsockopt, &[one, level, name, guest.put(&4u32.to_le_bytes()), 4]);
    let (buffer, text) = (guest.room(16), guest.put(b"abcdefgh"));
    let send = |bytes: u64| assert_eq!(guest.ok(libc::SYS_write, &[other, text, bytes]), bytes);
    let peek = libc::MSG_PEEK as u64;
    send(3);
    // Who waits has what was there when its time is over: as on Linux, not even that, since the call ends.
    for call in [libc::SYS_read, libc::SYS_recvfrom] {
        let ended = guest.call_until(call, &[one, buffer, 16], soon());
        assert_ne!(ended, Outcome::Return(3), "it has waited for no more than was there");
        send(3);
    }
    send(3);
    guest.ok(libc::SYS_recvfrom, &[one, buffer, 16, peek]);
    assert!(guest.ok(libc::SYS_read, &[one, buffer, 16]) >= 3);
    while guest.call(libc::SYS_recvfrom, &[one, buffer, 16, libc::MSG_DONTWAIT as u64]) != would_block() {}
    send(2);
    assert_eq!(guest.ok(libc::SYS_recvfrom, &[one, buffer, 16, libc::MSG_DONTWAIT as u64]), 2);
    // No more than was asked for.
    send(2);
    assert_eq!(guest.ok(libc::SYS_read, &[one, buffer, 2]), 2);
    // (Before there is a reader: the kernel wakes none that waits already for less than the least.)
    send(3);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| guest.ok(libc::SYS_read, &[one, buffer, 16]));
        // It has taken what was there, and waits for the rest alone.
        let left = guest.room(4);
        while guest.ok(libc::SYS_ioctl, &[one, libc::FIONREAD, left]) == 0 && guest.get(left, 1) != [0] {
            std::thread::yield_now();
        }
        send(1);
        assert_eq!(reader.join().unwrap(), 4);
    });
    send(1);
    guest.ok(libc::SYS_shutdown, &[other, libc::SHUT_WR as u64]);
    assert_eq!(guest.ok(libc::SYS_read, &[one, buffer, 16]), 1, "the end is not waited for beyond");
    assert_eq!(guest.ok(libc::SYS_read, &[one, buffer, 16]), 0);
}

fn would_block() -> Outcome {
    Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error()))
}

/// Lengths that no memory has: as on Linux, before anything is read or written.
#[test]
fn a_negative_length_is_nowhere() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "0123456789").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let (file, at) = (guest.open("/data/f", libc::O_RDWR), guest.put(b"abcd"));
    let (read, write) = pipe(&guest);
    guest.ok(libc::SYS_write, &[write, at, 4]);
    for length in [-8i64 as u64, 1 << 63, 1 << 47, u64::MAX - at] {
        for (number, fd) in [
            (libc::SYS_read, file),
            (libc::SYS_write, file),
            (libc::SYS_pread64, file),
            (libc::SYS_pwrite64, file),
            (libc::SYS_read, read),
            (libc::SYS_write, write),
        ] {
            assert_eq!(guest.err(number, &[fd, at, length, 0]), Errno::FAULT, "{number} of {length:#x}");
        }
        // What is no descriptor for that says so first.
        assert_eq!(guest.err(libc::SYS_read, &[write, at, length]), Errno::BADF);
        assert_eq!(guest.err(libc::SYS_write, &[read, at, length]), Errno::BADF);
        assert_eq!(guest.err(libc::SYS_pread64, &[read, at, length, 0]), Errno::SPIPE);
    }
    assert_eq!(guest.ok(libc::SYS_read, &[read, guest.room(16), 16]), 4);
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), b"0123456789");
}

fn read_all(guest: &Guest, fd: u64) -> Vec<u8> {
    let (at, mut all) = (guest.room(4096), Vec::new());
    loop {
        match guest.call(libc::SYS_read, &[fd, at, 4096]) {
            Outcome::Return(got) if got > 0 => all.extend(guest.get(at, got as usize)),
            _ => return all,
        }
    }
}

fn nonblocking(guest: &Guest, fd: u64) {
    guest.ok(libc::SYS_fcntl, &[fd, libc::F_SETFL as u64, libc::O_NONBLOCK as u64]);
}

/// From a file to a file, a pipe, a socket, and a stream of the host's, at an offset and where it is.
#[test]
fn files_are_sent_to_what_the_domain_may_write() {
    let host = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..100_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
    std::fs::write(host.path().join("f"), &text).unwrap();
    let hosts = tempfile::NamedTempFile::new().unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let guest = Guest::new(grants.stdout(hosts.reopen().unwrap().into()).unwrap());
    let file = guest.open("/data/f", libc::O_RDONLY);
    let new = guest.open("/data/new", libc::O_RDWR | libc::O_CREAT);
    let at = guest.words(&[10]);
    assert_eq!(guest.ok(libc::SYS_sendfile, &[new, file, at, 1 << 40]), 99_990);
    assert_eq!(guest.word(at), 100_000);
    assert_eq!(std::fs::read(host.path().join("new")).unwrap(), text[10..]);
    assert_eq!(guest.ok(libc::SYS_lseek, &[file, 0, libc::SEEK_CUR as u64]), 0, "its place is as it was");
    // The host's stream.
    assert_eq!(guest.ok(libc::SYS_sendfile, &[1, file, 0, 70_000]), 70_000);
    assert_eq!(std::fs::read(hosts.path()).unwrap(), text[..70_000]);
    assert_eq!(guest.ok(libc::SYS_lseek, &[file, 0, libc::SEEK_CUR as u64]), 70_000);
    assert_eq!(guest.ok(libc::SYS_sendfile, &[new, file, 0, 1 << 30]), 30_000);
    assert_eq!(guest.ok(libc::SYS_sendfile, &[new, file, 0, 1]), 0);
    // What waits for room waits until the deadline, and what does not takes what goes.
    for (read, write) in [pipe(&guest), pair(&guest)] {
        nonblocking(&guest, read);
        let at = guest.words(&[0]);
        // (A busy machine may let the time pass before anything is written.)
        let got = loop {
            let ended = guest.call_until(libc::SYS_sendfile, &[write, file, at, 50 << 20], soon());
            assert!(matches!(ended, Outcome::Fault(_) | Outcome::Return(100_000)), "{ended:?}");
            let got = read_all(&guest, read);
            if !got.is_empty() {
                break got;
            }
        };
        assert!(got == text[..got.len()]);
        nonblocking(&guest, write);
        let sent = guest.ok(libc::SYS_sendfile, &[write, file, at, 1]);
        assert_eq!(sent, if guest.word(at) > 99_999 && sent == 0 { 0 } else { 1 });
    }
    // A peer that is gone is an error, and signals no process outside.
    let (read, write) = pipe(&guest);
    guest.ok(libc::SYS_close, &[read]);
    let ignored = guest.words(&[1, 0, 0, 0]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGPIPE as u64, ignored, 0, 8]);
    assert_eq!(guest.err(libc::SYS_sendfile, &[write, file, guest.words(&[0]), 10]), Errno::PIPE);
}

/// A stream of the host's may wait without end, and the call does not.
#[test]
fn no_transfer_waits_for_a_stream_of_the_hosts() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), vec![1; 1 << 20]).unwrap();
    let (_reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadOnly).unwrap();
    let guest = Guest::new(grants.stdout(writer.into()).unwrap());
    let file = guest.open("/data/f", libc::O_RDONLY);
    let ended = guest.call_until(libc::SYS_sendfile, &[1, file, 0, 1 << 20], soon());
    assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
}

#[test]
fn errors_of_transfers_are_linuxs() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), [7; 100]).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let guest = Guest::new(grants.stdin(reader.into()).and_then(|it| it.stdout(writer.into())).unwrap());
    let file = guest.open("/data/f", libc::O_RDWR);
    let append = guest.open("/data/a", libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT);
    let folder = guest.open("/data", libc::O_DIRECTORY);
    let (read, write) = pipe(&guest);
    let (other, end) = pipe(&guest);
    let (none, negative, zero) = (99, guest.words(&[1 << 63]), guest.words(&[0]));
    for (number, arguments, error) in [
        (libc::SYS_sendfile, [none, none, 8, 1, 0, 0], Errno::FAULT),
        (libc::SYS_sendfile, [none, file, 0, 1, 0, 0], Errno::BADF),
        (libc::SYS_sendfile, [file, append, 0, 1, 0, 0], Errno::BADF),
        (libc::SYS_sendfile, [none, read, zero, 1, 0, 0], Errno::SPIPE),
        (libc::SYS_sendfile, [none, file, negative, 1, 0, 0], Errno::INVAL),
        (libc::SYS_sendfile, [read, file, 0, 1, 0, 0], Errno::BADF),
        (libc::SYS_sendfile, [append, file, 0, 1, 0, 0], Errno::INVAL),
        (libc::SYS_sendfile, [file, read, 0, 1, 0, 0], Errno::INVAL),
        (libc::SYS_copy_file_range, [none, 8, file, 0, 1, 1], Errno::BADF),
        (libc::SYS_copy_file_range, [file, 8, file, 0, 1, 1], Errno::FAULT),
        (libc::SYS_copy_file_range, [file, 0, folder, 0, 1, 1], Errno::INVAL),
        (libc::SYS_copy_file_range, [file, 0, folder, 0, 1, 0], Errno::ISDIR),
        (libc::SYS_copy_file_range, [file, 0, write, 0, 1, 0], Errno::INVAL),
        (libc::SYS_copy_file_range, [file, 0, append, 0, 1, 0], Errno::BADF),
        (libc::SYS_copy_file_range, [file, 0, file, 0, u64::MAX, 0], Errno::OVERFLOW),
        (libc::SYS_copy_file_range, [file, 0, file, 0, 1, 0], Errno::INVAL),
        (libc::SYS_splice, [none, 0, none, 0, 1, 16], Errno::INVAL),
        (libc::SYS_splice, [none, 0, write, 0, 1, 0], Errno::BADF),
        (libc::SYS_splice, [write, 0, write, 0, 1, 0], Errno::BADF),
        (libc::SYS_splice, [file, 0, file, 0, 1, 0], Errno::INVAL),
        (libc::SYS_splice, [read, zero, file, 0, 1, 0], Errno::SPIPE),
        (libc::SYS_splice, [file, 8, write, 0, 1, 0], Errno::FAULT),
        (libc::SYS_splice, [read, 0, append, 0, 1, 0], Errno::INVAL),
        (libc::SYS_tee, [file, end, 1, 0, 0, 0], Errno::INVAL),
        (libc::SYS_tee, [read, none, 1, 0, 0, 0], Errno::BADF),
        // A stream of the host's, for which the kernel would wait.
        (libc::SYS_splice, [0, 0, write, 0, 1, 0], Errno::INVAL),
        (libc::SYS_splice, [read, 0, 1, 0, 1, 0], Errno::INVAL),
        (libc::SYS_tee, [0, end, 1, 0, 0, 0], Errno::INVAL),
    ] {
        assert_eq!(guest.err(number, &arguments), error, "{number} {arguments:?}");
    }
    assert_eq!(guest.ok(libc::SYS_splice, &[none, 0, none, 0, 0, 0]), 0);
    guest.ok(libc::SYS_close, &[other]);
}

#[test]
fn pipes_are_spliced_and_teed() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "0123456789").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let file = guest.open("/data/f", libc::O_RDWR);
    let ((read, write), (other, end), (one, two)) = (pipe(&guest), pipe(&guest), pair(&guest));
    let (from, to) = (guest.words(&[2]), guest.words(&[20]));
    assert_eq!(guest.ok(libc::SYS_splice, &[file, from, write, 0, 5, 0]), 5);
    assert_eq!(guest.word(from), 7);
    assert_eq!(guest.ok(libc::SYS_tee, &[read, end, 100, 0]), 5);
    assert_eq!(guest.ok(libc::SYS_splice, &[read, 0, two, 0, 100, 0]), 5);
    assert_eq!(guest.ok(libc::SYS_splice, &[other, 0, file, to, 100, 0]), 5);
    assert_eq!(guest.word(to), 25);
    assert_eq!(std::fs::read(host.path().join("f")).unwrap()[20..], *b"23456");
    assert_eq!(guest.ok(libc::SYS_splice, &[one, 0, write, 0, 100, 0]), 5);
    let at = guest.room(16);
    assert_eq!(guest.ok(libc::SYS_read, &[read, at, 16]), 5);
    assert_eq!(guest.get(at, 5), b"23456");
    // Nothing is there: that waits until the deadline, and does not if it is told not to.
    let flag = u64::from(rustix::pipe::SpliceFlags::NONBLOCK.bits());
    for (number, arguments, plain) in [
        (libc::SYS_splice, [read, 0, end, 0, 9, 0], 5),
        (libc::SYS_splice, [one, 0, end, 0, 9, 0], 6),
        (libc::SYS_tee, [read, end, 9, 0, 0, 0], 3),
    ] {
        let ended = guest.call_until(number, &arguments, soon());
        assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
        if plain < 6 {
            let mut now = arguments;
            now[plain] = flag;
            assert_eq!(guest.call(number, &now), would_block());
        }
    }
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| guest.ok(libc::SYS_splice, &[read, 0, end, 0, 9, 0]));
        guest.ok(libc::SYS_write, &[write, at, 3]);
        assert_eq!(reader.join().unwrap(), 3);
    });
}

/// Their senders are looked at when they are received: strangers get through by no other way. Red where `splice` takes messages.
#[test]
fn messages_are_not_spliced() {
    let guest = Guest::new(Grants::default().connect("udp:127.0.0.1:9").unwrap());
    let udp = guest.ok(libc::SYS_socket, &[libc::AF_INET as u64, libc::SOCK_DGRAM as u64, 0]);
    let (read, write) = pipe(&guest);
    assert_eq!(guest.err(libc::SYS_splice, &[udp, 0, write, 0, 64, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_splice, &[read, 0, udp, 0, 64, 0]), Errno::INVAL);
    let at = guest.room(8);
    let kind = (libc::AF_UNIX as u64, libc::SOCK_SEQPACKET as u64);
    guest.ok(libc::SYS_socketpair, &[kind.0, kind.1, 0, at]);
    assert_eq!(
        guest.err(libc::SYS_splice, &[guest.word(at) & 0xffff_ffff, 0, write, 0, 64, 0]),
        Errno::INVAL
    );
    // And where there are no directories there is nothing to watch.
    assert_eq!(guest.err(libc::SYS_inotify_init1, &[0]), Errno::MFILE);
}

#[test]
fn ranges_are_copied_between_files() {
    let host = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..3_000_000u32).map(|i| (i / 3) as u8).collect();
    std::fs::write(host.path().join("f"), &text).unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let (file, new) =
        (guest.open("/data/f", libc::O_RDWR), guest.open("/data/n", libc::O_RDWR | libc::O_CREAT));
    assert_eq!(guest.ok(libc::SYS_copy_file_range, &[file, 0, new, 0, 1 << 40, 0]), 3_000_000);
    assert_eq!(std::fs::read(host.path().join("n")).unwrap(), text);
    assert_eq!(guest.ok(libc::SYS_copy_file_range, &[file, 0, new, 0, 1, 0]), 0, "it is at its end");
    let (from, to) = (guest.words(&[5]), guest.words(&[0]));
    assert_eq!(guest.ok(libc::SYS_copy_file_range, &[file, from, new, to, 3, 0]), 3);
    assert_eq!((guest.word(from), guest.word(to)), (8, 3));
    // Within one file, and in pieces: what overlaps is refused as a whole.
    let (from, to) = (guest.words(&[0]), guest.words(&[2_000_000]));
    assert_eq!(guest.err(libc::SYS_copy_file_range, &[file, from, file, to, 2_500_000, 0]), Errno::INVAL);
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), text, "nothing was copied");
    // A call that has no time left has not begun.
    let ended =
        guest.call_until(libc::SYS_copy_file_range, &[file, from, new, to, 1 << 20, 0], Instant::now());
    assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
}

fn memory_file(guest: &Guest, flags: u32) -> u64 {
    guest.ok(libc::SYS_memfd_create, &[guest.text("name"), flags.into()])
}

/// All memory files together have no more than the domain's memory limit, whichever way they grow.
#[test]
fn memory_files_are_counted() {
    const LIMIT: u64 = 64 << 20;
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), vec![1; 1 << 20]).unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let source = guest.open("/data/f", libc::O_RDONLY);
    pipe(&guest); // what is written to number 2 is no quick call
    let (first, second) = (memory_file(&guest, 0), memory_file(&guest, 0));
    let byte = guest.put(b"x");
    guest.ok(libc::SYS_ftruncate, &[first, LIMIT / 2]);
    guest.ok(libc::SYS_ftruncate, &[second, LIMIT / 2]);
    let vector = guest.words(&[byte, 1]);
    let at = guest.words(&[LIMIT / 2]);
    guest.ok(libc::SYS_lseek, &[second, 0, libc::SEEK_END as u64]);
    for (number, arguments) in [
        (libc::SYS_ftruncate, [second, LIMIT / 2 + 1, 0, 0, 0, 0]),
        (libc::SYS_fallocate, [second, 0, LIMIT / 2, 1, 0, 0]),
        (libc::SYS_fallocate, [second, 1, LIMIT / 2, 1, 0, 0]),
        (libc::SYS_write, [second, byte, 1, 0, 0, 0]),
        (libc::SYS_writev, [second, vector, 1, 0, 0, 0]),
        (libc::SYS_pwrite64, [second, byte, 1, LIMIT / 2, 0, 0]),
        (libc::SYS_pwritev, [second, vector, 1, LIMIT / 2, 0, 0]),
        (libc::SYS_sendfile, [second, source, 0, 1 << 20, 0, 0]),
        (libc::SYS_copy_file_range, [source, 0, second, 0, 1 << 20, 0]),
        (libc::SYS_copy_file_range, [source, 0, second, at, 1 << 20, 0]),
    ] {
        assert_eq!(guest.err(number, &arguments), Errno::NOSPC, "system call {number} {arguments:?}");
    }
    // (What is spliced would not be counted.)
    let (read, write) = pipe(&guest);
    guest.ok(libc::SYS_write, &[write, byte, 1]);
    assert_eq!(guest.err(libc::SYS_splice, &[read, 0, second, at, 1, 0]), Errno::INVAL);
    // At the end, wherever that is.
    guest.ok(libc::SYS_fcntl, &[second, libc::F_SETFL as u64, libc::O_APPEND as u64]);
    assert_eq!(guest.err(libc::SYS_pwrite64, &[second, byte, 1, 0]), Errno::NOSPC);
    assert_eq!(guest.err(libc::SYS_memfd_create, &[guest.text("third"), 0]), Errno::NOMEM);
    // What is closed counts no more, and what was mapped does.
    guest.ok(libc::SYS_close, &[second]);
    let second = memory_file(&guest, 0);
    guest.ok(libc::SYS_ftruncate, &[second, LIMIT / 2]);
    let shared = libc::MAP_SHARED as u64;
    let mapped = guest.ok(libc::SYS_mmap, &[0, 4096, 3, shared, second, 0]);
    guest.ok(libc::SYS_munmap, &[mapped, 4096]);
    guest.ok(libc::SYS_close, &[second]);
    assert_eq!(guest.err(libc::SYS_memfd_create, &[guest.text("third"), 0]), Errno::NOMEM);
    assert_eq!(guest.err(libc::SYS_mmap, &[0, 4096, 5, shared, first, 0]), Errno::PERM, "it is executed");
}

/// Where two threads use one place, what was counted is what is written.
#[test]
fn the_place_of_a_memory_file_is_no_way_around() {
    let guest = Guest::with_data(tempfile::tempdir().unwrap().path(), Access::ReadOnly);
    let file = memory_file(&guest, 0);
    let (byte, stat) = (guest.put(b"x"), guest.room(144));
    std::thread::scope(|scope| {
        let seeker = scope.spawn(|| {
            for _ in 0..150_000 {
                guest.ok(libc::SYS_lseek, &[file, 1 << 40, 0]);
                guest.ok(libc::SYS_lseek, &[file, 0, 0]);
            }
        });
        while !seeker.is_finished() {
            guest.call(libc::SYS_write, &[file, byte, 1]);
        }
    });
    guest.ok(libc::SYS_fstat, &[file, stat]);
    assert!(guest.word(stat + 48) <= 64 << 20, "{}", guest.word(stat + 48));
}

#[test]
fn memory_files_are_files_with_seals() {
    let guest = Guest::with_data(tempfile::tempdir().unwrap().path(), Access::ReadOnly);
    let (text, room) = (guest.put(b"0123456789"), guest.room(16));
    let plain = memory_file(&guest, libc::MFD_CLOEXEC);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[plain, libc::F_GETFD as u64]), 1);
    assert_eq!(guest.ok(libc::SYS_fcntl, &[plain, libc::F_GET_SEALS as u64]), libc::F_SEAL_SEAL as u64);
    let file = memory_file(&guest, libc::MFD_ALLOW_SEALING);
    assert_eq!(guest.ok(libc::SYS_write, &[file, text, 10]), 10);
    assert_eq!(guest.ok(libc::SYS_pread64, &[file, room, 16, 4]), 6);
    assert_eq!(guest.get(room, 6), b"456789");
    let mapped = guest.ok(libc::SYS_mmap, &[0, 4096, 1, libc::MAP_SHARED as u64, file, 0]);
    assert_eq!(guest.get(mapped, 3), b"012");
    let add = |seals: i32| guest.call(libc::SYS_fcntl, &[file, libc::F_ADD_SEALS as u64, seals as u64]);
    assert_eq!(add(libc::F_SEAL_GROW), Outcome::Return(0));
    assert_eq!(guest.err(libc::SYS_ftruncate, &[file, 11]), Errno::PERM);
    assert_eq!(guest.err(libc::SYS_write, &[file, text, 1]), Errno::PERM);
    assert_eq!(add(libc::F_SEAL_WRITE | libc::F_SEAL_SEAL), Outcome::Return(0));
    assert_eq!(guest.err(libc::SYS_pwrite64, &[file, text, 1, 0]), Errno::PERM);
    assert_eq!(add(libc::F_SEAL_SHRINK), Outcome::Return(-i64::from(Errno::PERM.raw_os_error())));
    for (name, flags, error) in
        [(0, 0, Errno::FAULT), (0, 64, Errno::INVAL), (guest.text(&"a".repeat(250)), 0, Errno::INVAL)]
    {
        assert_eq!(guest.err(libc::SYS_memfd_create, &[name, flags]), error);
    }
    guest.ok(libc::SYS_memfd_create, &[guest.text(&"a".repeat(249)), 0]);
    let (read, _) = pipe(&guest);
    assert_eq!(guest.err(libc::SYS_fcntl, &[read, libc::F_GET_SEALS as u64]), Errno::INVAL);
}

fn signal_file(guest: &Guest, signals: &[i32], flags: i32) -> u64 {
    let set = signals.iter().fold(0, |set, signal| set | 1u64 << (signal - 1));
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as u64, guest.words(&[set]), 0, 8]);
    guest.ok(libc::SYS_signalfd4, &[u64::MAX, guest.words(&[set]), 8, flags as u64])
}

fn is_readable(guest: &Guest, fd: u64) -> bool {
    let events = u64::from(libc::POLLIN as u16 | libc::POLLOUT as u16);
    let at = guest.words(&[fd | events << 32]);
    let ready = guest.ok(libc::SYS_poll, &[at, 1, 0]);
    let found = guest.word(at) >> 48;
    assert_eq!(ready, u64::from(found != 0));
    assert_eq!(found & !(libc::POLLIN as u64), 0, "nothing is written there");
    found != 0
}

#[test]
fn signals_are_read_from_a_descriptor() {
    let guest = Guest::with_data(tempfile::tempdir().unwrap().path(), Access::ReadOnly);
    let fd = signal_file(&guest, &[libc::SIGTERM, libc::SIGUSR1, 40], libc::SFD_NONBLOCK);
    let (own, at) = (guest.ok(libc::SYS_getpid, &[]), guest.room(4 * 128));
    let read = |bytes: u64| guest.call(libc::SYS_read, &[fd, at, bytes]);
    assert!(!is_readable(&guest, fd));
    assert_eq!(read(128), would_block());
    guest.ok(libc::SYS_kill, &[own, libc::SIGTERM as u64]);
    guest.ok(libc::SYS_tkill, &[own, libc::SIGUSR1 as u64]);
    assert!(is_readable(&guest, fd));
    assert_eq!(guest.err(libc::SYS_read, &[fd, at, 127]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_read, &[fd, 8, 128]), Errno::FAULT);
    // (What has no place waits on.)
    assert_eq!(read(128), Outcome::Return(128));
    assert_eq!(guest.word(at) as u32, libc::SIGUSR1 as u32);
    assert!(is_readable(&guest, fd));
    assert_eq!(read(4 * 128), Outcome::Return(128));
    assert_eq!(guest.word(at) as u32, libc::SIGTERM as u32);
    assert_eq!((guest.word(at + 8) >> 32, guest.word(at + 16) as u32), (own, 65534), "who has sent it");
    assert!(!is_readable(&guest, fd));
    // What queues comes in its order, with its value.
    for value in [5, 6] {
        let info = guest.words(&[40, -1i32 as u32 as u64, 0, value]);
        guest.ok(libc::SYS_rt_sigqueueinfo, &[own, 40, info]);
    }
    assert_eq!(read(4 * 128), Outcome::Return(256));
    assert_eq!([guest.word(at + 48), guest.word(at + 128 + 48)], [5, 6]);
    // Another set; what is no set of signals.
    guest.ok(libc::SYS_kill, &[own, libc::SIGTERM as u64]);
    assert_eq!(guest.ok(libc::SYS_signalfd4, &[fd, guest.words(&[1 << 9]), 8, 0]), fd);
    assert!(!is_readable(&guest, fd));
    guest.ok(libc::SYS_signalfd, &[fd, guest.words(&[1 << 14]), 8]);
    assert!(is_readable(&guest, fd));
    let set = guest.words(&[1]);
    for (arguments, error) in [
        ([99, 8, 7, 1], Errno::INVAL),
        ([99, 8, 8, 1], Errno::FAULT),
        ([99, set, 8, 1], Errno::INVAL),
        ([99, set, 8, 0], Errno::BADF),
    ] {
        assert_eq!(guest.err(libc::SYS_signalfd4, &arguments), error);
    }
    let (other, write) = pipe(&guest);
    assert_eq!(guest.err(libc::SYS_signalfd4, &[other, set, 8, 0]), Errno::INVAL);
    // Nothing else is read there, and nothing written: the kernel's pipe is not the domain's.
    assert_eq!(guest.err(libc::SYS_write, &[fd, at, 8]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_splice, &[fd, 0, write, 0, 1, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_tee, &[fd, write, 1, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_ioctl, &[fd, libc::FIONREAD, at]), Errno::NOTTY);
    assert!(is_readable(&guest, fd));
    // So many, and no more.
    let more =
        (0..100).find(|_| guest.call(libc::SYS_signalfd4, &[u64::MAX, set, 8, 0]) == Outcome::Return(-24));
    assert_eq!(more, Some(15));
}

/// A read waits for a signal until the deadline; each that comes is an edge.
#[test]
fn who_reads_signals_waits_for_them() {
    let guest = Guest::with_data(tempfile::tempdir().unwrap().path(), Access::ReadOnly);
    let fd = signal_file(&guest, &[libc::SIGTERM, 40], 0);
    let at = guest.room(128);
    let ended = guest.call_until(libc::SYS_read, &[fd, at, 128], soon());
    assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| guest.ok(libc::SYS_read, &[fd, at, 128]));
        assert!(guest.process.signal(libc::SIGTERM as u32), "a thread waits for it");
        assert_eq!(reader.join().unwrap(), 128);
    });
    let set = guest.ok(libc::SYS_epoll_create1, &[0]);
    let event =
        [&(libc::EPOLLIN as u32 | libc::EPOLLET as u32).to_le_bytes()[..], &7u64.to_le_bytes()].concat();
    guest.ok(libc::SYS_epoll_ctl, &[set, libc::EPOLL_CTL_ADD as u64, fd, guest.put(&event)]);
    let events = guest.room(12 * 4);
    for _ in 0..2 {
        guest.process.signal(40);
        assert_eq!(guest.ok(libc::SYS_epoll_wait, &[set, events, 4, 0]), 1);
        assert_eq!(guest.ok(libc::SYS_epoll_wait, &[set, events, 4, 0]), 0);
    }
}

/// Events of an instance: mask and name.
fn events(guest: &Guest, fd: u64) -> Vec<(u32, String)> {
    let at = guest.room(4096);
    let Outcome::Return(got @ 1..) = guest.call(libc::SYS_read, &[fd, at, 4096]) else { return vec![] };
    let (bytes, mut rest, mut found) = (guest.get(at, got as usize), 0, vec![]);
    while rest < bytes.len() {
        let word = |at: usize| u32::from_le_bytes(bytes[rest + at..rest + at + 4].try_into().unwrap());
        let (mask, length) = (word(4), word(12) as usize);
        let name =
            String::from_utf8_lossy(&bytes[rest + 16..rest + 16 + length]).trim_end_matches('\0').to_owned();
        found.push((mask, name));
        rest += 16 + length;
    }
    found
}

#[test]
fn files_beneath_grants_are_watched() {
    let host = tempfile::tempdir().unwrap();
    let data = host.path().join("data");
    std::fs::create_dir_all(data.join("sub")).unwrap();
    std::fs::create_dir(host.path().join("secret")).unwrap();
    std::os::unix::fs::symlink("../secret", data.join("out")).unwrap();
    std::os::unix::fs::symlink("sub", data.join("in")).unwrap();
    let guest = Guest::with_data(&data, Access::ReadWrite);
    let fd = guest.ok(libc::SYS_inotify_init1, &[libc::IN_NONBLOCK as u64]);
    let add =
        |path: &str, mask: u32| guest.call(libc::SYS_inotify_add_watch, &[fd, guest.text(path), mask.into()]);
    let refused = |error: Errno| Outcome::Return(-i64::from(error.raw_os_error()));
    assert_eq!(guest.call(libc::SYS_read, &[fd, guest.room(64), 64]), would_block());
    assert_eq!(guest.err(libc::SYS_read, &[fd, guest.room(64), 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_read, &[fd, 8, 64]), Errno::FAULT);
    assert_eq!(add("/data/sub", libc::IN_ALL_EVENTS), Outcome::Return(1));
    assert_eq!(add("/data/in", libc::IN_CREATE | libc::IN_DELETE), Outcome::Return(1), "it is the same");
    for (path, mask, error) in [
        ("/data/out", libc::IN_CREATE, Errno::ACCESS),
        ("/data/../secret", libc::IN_CREATE, Errno::NOENT),
        ("/data/none", libc::IN_CREATE, Errno::NOENT),
        ("/etc", libc::IN_CREATE, Errno::NOENT),
        ("/proc/self", libc::IN_CREATE, Errno::NOENT),
        ("/data/none", 0, Errno::INVAL),
    ] {
        assert_eq!(add(path, mask), refused(error), "{path}");
    }
    std::fs::write(data.join("sub/new"), "").unwrap();
    assert!(is_readable(&guest, fd));
    assert_eq!(events(&guest, fd), [(libc::IN_CREATE, "new".into())]);
    assert_eq!(events(&guest, fd), []);
    // A directory that the host takes away is none of the domain's business any more.
    let elsewhere = host.path().join("secret/sub");
    std::fs::rename(data.join("sub"), &elsewhere).unwrap();
    std::fs::write(elsewhere.join("private"), "").unwrap();
    assert_eq!(events(&guest, fd), [(libc::IN_IGNORED, String::new())]);
    std::fs::rename(&elsewhere, data.join("sub")).unwrap();
    std::fs::write(data.join("sub/again"), "").unwrap();
    assert_eq!(events(&guest, fd), []);
    // So is one that is renamed, but for what the kernel says of itself: it has to be found anew.
    assert_eq!(add("/data/sub", libc::IN_CREATE), Outcome::Return(2));
    std::fs::create_dir(data.join("deep")).unwrap();
    std::fs::rename(data.join("sub"), data.join("deep/er")).unwrap();
    std::fs::write(data.join("deep/er/more"), "").unwrap();
    assert_eq!(events(&guest, fd), [(libc::IN_IGNORED, String::new())]);
    assert_eq!(add("/data/deep/er", libc::IN_CREATE | libc::IN_DELETE_SELF), Outcome::Return(3));
    guest.ok(libc::SYS_inotify_rm_watch, &[fd, 3]);
    assert_eq!(events(&guest, fd), [(libc::IN_IGNORED, String::new())]);
    assert_eq!(guest.err(libc::SYS_inotify_rm_watch, &[fd, 3]), Errno::INVAL);
    std::fs::create_dir(data.join("short")).unwrap();
    assert_eq!(add("/data/short", libc::IN_DELETE_SELF), Outcome::Return(4));
    std::fs::remove_dir(data.join("short")).unwrap();
    let gone = [(libc::IN_DELETE_SELF, String::new()), (libc::IN_IGNORED, String::new())];
    assert_eq!(events(&guest, fd), gone);
    let file = guest.open("/data/deep/er/more", libc::O_RDONLY);
    assert_eq!(guest.err(libc::SYS_inotify_add_watch, &[file, guest.text("/data"), 1]), Errno::INVAL);
    // No other domain's events, and no more of the host's than is fair.
    let (_, write) = pipe(&guest);
    assert_eq!(guest.err(libc::SYS_splice, &[fd, 0, write, 0, 1, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_ioctl, &[fd, libc::FIONREAD, guest.room(8)]), Errno::NOTTY);
    for _ in 0..3 {
        guest.ok(libc::SYS_inotify_init, &[]);
    }
    assert_eq!(guest.err(libc::SYS_inotify_init, &[]), Errno::MFILE);
    guest.ok(libc::SYS_close, &[fd]);
    guest.ok(libc::SYS_inotify_init, &[]);
}

/// Each watch counts as a descriptor, since the host holds one for it.
#[test]
fn watches_are_counted() {
    let host = tempfile::tempdir().unwrap();
    let grants = Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let mut guest = Guest::new(grants.clone());
    guest.process = Process::new(Arc::new(grants)).with_descriptors(8);
    let fd = guest.ok(libc::SYS_inotify_init1, &[libc::IN_NONBLOCK as u64]);
    let mut added = 0;
    for number in 0..20 {
        let path = guest.text(&format!("/data/{number}"));
        guest.ok(libc::SYS_mkdir, &[path, 0o777]);
        added +=
            u64::from(guest.call(libc::SYS_inotify_add_watch, &[fd, path, 0xfff]) != Outcome::Return(-28));
    }
    assert_eq!(added, 7);
    guest.ok(libc::SYS_rmdir, &[guest.text("/data/0")]);
    while !events(&guest, fd).is_empty() {}
    guest.ok(libc::SYS_inotify_add_watch, &[fd, guest.text("/data/10"), 0xfff]);
    guest.ok(libc::SYS_close, &[fd]);
    guest.ok(libc::SYS_pipe, &[guest.room(8)]);
}

fn with_special(host: &std::path::Path) -> Guest {
    for folder in ["links", "plain", "links/inner", "links/sub"] {
        std::fs::create_dir_all(host.join(folder)).unwrap();
    }
    let grants = Grants::default()
        .directory("/links", host.join("links"), Access::Special)
        .and_then(|it| it.directory("/links/inner", host.join("links/inner"), Access::ReadWrite))
        .and_then(|it| it.directory("/plain", host.join("plain"), Access::ReadWrite));
    Guest::new(grants.unwrap())
}

/// A program that follows a link of a domain's comes to something beneath the link's own folder; and there are links only where they were granted.
#[test]
fn links_lead_nowhere_else() {
    let host = tempfile::tempdir().unwrap();
    let guest = with_special(host.path());
    let link =
        |target: &str, path: &str| guest.call(libc::SYS_symlink, &[guest.text(target), guest.text(path)]);
    let refused = |error: Errno| Outcome::Return(-i64::from(error.raw_os_error()));
    std::fs::write(host.path().join("links/sub/f"), "text").unwrap();
    assert_eq!(link("sub/./f", "/links/l"), Outcome::Return(0));
    assert_eq!(std::fs::read(host.path().join("links/l")).unwrap(), b"text");
    guest.open("/links/l", libc::O_RDONLY);
    let folder = guest.open("/links/sub", libc::O_DIRECTORY);
    assert_eq!(guest.ok(libc::SYS_symlinkat, &[guest.text("f"), folder, guest.text("m")]), 0);
    for (target, path, error) in [
        ("/etc/passwd", "/links/new", Errno::PERM),
        ("..", "/links/sub/new", Errno::PERM),
        ("../f", "/links/sub/new", Errno::PERM),
        ("a/../../f", "/links/new", Errno::PERM),
        ("a/..", "/links/new", Errno::PERM),
        ("f", "/plain/new", Errno::PERM),
        ("f", "/links/inner/new", Errno::PERM),
        ("f", "/links/l", Errno::EXIST),
        ("f", "/plain/none/new", Errno::NOENT),
        ("f", "/elsewhere", Errno::NOENT),
        ("", "/links/new", Errno::NOENT),
    ] {
        assert_eq!(link(target, path), refused(error), "{target} as {path}");
    }
    // They do not come where they could not be made, neither by themselves nor with their folder.
    let text = |path| guest.text(path);
    guest.ok(libc::SYS_mkdir, &[text("/plain/d"), 0o777]);
    for (number, arguments) in [
        (libc::SYS_rename, [text("/links/l"), text("/plain/l"), 0, 0, 0]),
        (libc::SYS_rename, [text("/links/sub"), text("/plain/sub"), 0, 0, 0]),
        (libc::SYS_rename, [text("/links/l"), text("/links/inner/l"), 0, 0, 0]),
        (libc::SYS_link, [text("/links/l"), text("/plain/l"), 0, 0, 0]),
        (libc::SYS_renameat2, [0, text("/plain/d"), 0, text("/links/sub"), 2]),
    ] {
        assert_eq!(guest.err(number, &arguments), Errno::XDEV, "system call {number}");
    }
    guest.ok(libc::SYS_rename, &[text("/links/l"), text("/links/moved")]);
    let plain: Vec<_> = walk(&host.path().join("plain"));
    assert!(plain.iter().all(|path| !path.is_symlink()), "{plain:?}");
    let read_only = Guest::with_data(host.path(), Access::ReadOnly);
    assert_eq!(
        read_only.err(libc::SYS_symlink, &[read_only.text("f"), read_only.text("/data/n")]),
        Errno::ROFS
    );
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// FIFOs are made, and opened, where that was granted; opening one blocks neither the host nor the domain beyond its time.
#[test]
fn fifos_are_waited_for_by_the_domain_alone() {
    let host = tempfile::tempdir().unwrap();
    let guest = with_special(host.path());
    let (at, rights) = (guest.put(b"text"), (libc::S_IFIFO | 0o666) as u64);
    let make = |path: &str, mode: u64| guest.call(libc::SYS_mknod, &[guest.text(path), mode, 0]);
    let refused = |error: Errno| Outcome::Return(-i64::from(error.raw_os_error()));
    assert_eq!(make("/links/p", rights), Outcome::Return(0));
    assert_eq!(make("/links/p", rights), refused(Errno::EXIST));
    assert_eq!(make("/plain/p", rights), refused(Errno::PERM));
    assert_eq!(make("/links/inner/p", rights), refused(Errno::PERM));
    assert_eq!(make("/links/c", (libc::S_IFCHR | 0o666) as u64), refused(Errno::PERM));
    assert_eq!(make("/links/c", 0o170_666), refused(Errno::INVAL));
    assert_eq!(make("/plain/f", 0o4666), Outcome::Return(0));
    assert_eq!(make("/plain/f", libc::S_IFREG as u64), refused(Errno::EXIST));
    assert_eq!(guest.err(libc::SYS_rename, &[guest.text("/links/p"), guest.text("/plain/p")]), Errno::XDEV);
    for flags in [libc::O_RDONLY, libc::O_WRONLY] {
        let ended = guest.call_until(libc::SYS_open, &[guest.text("/links/p"), flags as u64, 0], soon());
        assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
    }
    let now = (libc::O_WRONLY | libc::O_NONBLOCK) as u64;
    assert_eq!(guest.err(libc::SYS_open, &[guest.text("/links/p"), now, 0]), Errno::NXIO);
    // Both ends meet, whichever comes first, and what was written before the other looked stays there.
    for writer_first in [true, false] {
        std::thread::scope(|scope| {
            let reads = || guest.open("/links/p", libc::O_RDONLY);
            let writes = || {
                let fd = guest.open("/links/p", libc::O_WRONLY);
                assert_eq!(guest.ok(libc::SYS_write, &[fd, at, 4]), 4);
                guest.ok(libc::SYS_close, &[fd]);
            };
            let fd = if writer_first {
                let reader = scope.spawn(reads);
                writes();
                reader.join().unwrap()
            } else {
                let writer = scope.spawn(writes);
                let fd = reads();
                writer.join().unwrap();
                fd
            };
            let room = guest.room(16);
            assert_eq!(guest.ok(libc::SYS_read, &[fd, room, 16]), 4);
            assert_eq!(guest.get(room, 4), b"text");
            assert_eq!(guest.ok(libc::SYS_read, &[fd, room, 16]), 0);
            guest.ok(libc::SYS_close, &[fd]);
        });
    }
    // A writer that has written nothing, and one of the host's.
    let both = guest.open("/links/p", libc::O_RDWR);
    let reader = guest.open("/links/p", libc::O_RDONLY);
    std::fs::write(host.path().join("links/p"), "x").unwrap();
    assert_eq!(guest.ok(libc::SYS_read, &[reader, guest.room(16), 16]), 1);
    guest.ok(libc::SYS_close, &[both]);
    // Those of others are opened as little as before.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        host.path().join("plain/p"),
        rustix::fs::FileType::Fifo,
        0o666.into(),
        0,
    )
    .unwrap();
    assert_eq!(guest.open_err("/plain/p", libc::O_RDONLY | libc::O_NONBLOCK), Errno::ACCESS);
}

/// Names that were granted have their addresses in an `/etc/hosts`, unless the domain has one.
#[test]
fn granted_names_have_addresses() {
    let guest = Guest::new(
        Grants::default().connect("localhost:80").and_then(|it| it.listen("127.0.0.9:1")).unwrap(),
    );
    let fd = guest.open("/etc/hosts", libc::O_RDONLY | libc::O_CLOEXEC);
    let hosts = String::from_utf8(read_all(&guest, fd)).unwrap();
    assert!(hosts.lines().any(|line| line == "127.0.0.1\tlocalhost"), "{hosts}");
    assert!(!hosts.contains("127.0.0.9"), "it has no name");
    for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_TRUNC] {
        assert_eq!(guest.open_err("/etc/hosts", flags), Errno::ROFS);
    }
    assert_eq!(guest.open_err("/etc/passwd", libc::O_RDONLY), Errno::NOENT);
    let plain = Guest::new(Grants::default().connect("127.0.0.1:80").unwrap());
    assert_eq!(plain.open_err("/etc/hosts", libc::O_RDONLY), Errno::NOENT);
    let host = tempfile::tempdir().unwrap();
    let grants = Grants::default().connect("localhost:80").unwrap();
    let own = Guest::new(grants.directory("/etc", host.path(), Access::ReadOnly).unwrap());
    assert_eq!(own.open_err("/etc/hosts", libc::O_RDONLY), Errno::NOENT);
}

/// `poll` of one descriptor, `sendmsg` and `recvmsg` have their quick ways; what they answer is the same, and what ends a wait ends it.
#[test]
fn quick_waits_and_messages_end_as_others_do() {
    let guest = Guest::new(Grants::default().connect("unix:*").unwrap());
    let ((read, write), (one, other)) = (pipe(&guest), pair(&guest));
    let events = |fd: u64, events: i16| guest.words(&[fd | u64::from(events as u16) << 32 | 0xffff << 48]);
    let poll = |at: u64, milliseconds: i64| guest.call(libc::SYS_poll, &[at, 1, milliseconds as u64]);
    let found = |at: u64| guest.word(at) >> 48;
    let text = guest.put(b"0123456789");
    for _ in 0..2 {
        let at = events(read, libc::POLLIN);
        assert_eq!((poll(at, 0), found(at)), (Outcome::Return(0), 0));
        assert_eq!((poll(at, 20), found(at)), (Outcome::Return(0), 0));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| poll(at, -1));
            guest.ok(libc::SYS_write, &[write, text, 1]);
            assert_eq!(waits.join().unwrap(), Outcome::Return(1));
        });
        assert_eq!(found(at), libc::POLLIN as u64);
        guest.ok(libc::SYS_read, &[read, guest.room(16), 16]);
    }
    for (fd, asked, answer) in [(one, libc::POLLOUT, libc::POLLOUT), (99, libc::POLLIN, libc::POLLNVAL)] {
        let at = events(fd, asked);
        assert_eq!((poll(at, -1), found(at)), (Outcome::Return(1), answer as u64));
    }
    assert_eq!(guest.call(libc::SYS_ppoll, &[events(one, libc::POLLOUT), 1, 0, 0, 8]), Outcome::Return(1));
    let ended = guest.call_until(libc::SYS_poll, &[events(read, libc::POLLIN), 1, u64::MAX], soon());
    assert!(matches!(ended, Outcome::Fault(_)), "{ended:?}");
    // A header without address and control messages; its flags are told.
    let room = guest.room(16);
    let vector = guest.words(&[text, 2, text + 5, 3]);
    let to = guest.words(&[0, 0, vector, 2, 0, 0, 7]);
    let from = guest.words(&[0, 0, guest.words(&[room, 1, room + 1, 15]), 2, 0, 0, u64::MAX]);
    let now = libc::MSG_DONTWAIT as u64;
    assert_eq!(guest.ok(libc::SYS_sendmsg, &[other, to, libc::MSG_NOSIGNAL as u64]), 5);
    assert_eq!(guest.ok(libc::SYS_recvmsg, &[one, from, 0]), 5);
    assert_eq!((guest.get(room, 5), guest.word(from + 48) as u32), (b"01567".to_vec(), 0));
    assert_eq!(guest.call(libc::SYS_recvmsg, &[one, from, now]), would_block());
    assert_eq!(guest.err(libc::SYS_sendmsg, &[read, to, 0]), Errno::NOTSOCK);
    let control = guest.words(&[0, 0, vector, 1, text, 16, 0]);
    assert_eq!(guest.err(libc::SYS_sendmsg, &[other, control, 0]), Errno::INVAL);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| poll(events(read, libc::POLLIN), -1));
        guest.process.kill();
        assert_eq!(waits.join().unwrap(), Outcome::Fault(lockgate_syscall::Fault::Killed));
    });
}
