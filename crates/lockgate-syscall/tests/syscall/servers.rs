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
        let calls: [(i64, &dyn Fn(u64, u64) -> [u64; 5]); 5] = [
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
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| guest.ok(libc::SYS_read, &[one, buffer, 16]));
        send(1);
        send(1);
        send(2);
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
