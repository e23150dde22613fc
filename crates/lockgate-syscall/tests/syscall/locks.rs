//! File locks: between domains, not within one.
use crate::guest::Guest;
use lockgate_syscall::{Access, Fault, Outcome, Thread};
use rustix::io::Errno;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A `struct flock` in the window.
fn flock(guest: &Guest, kind: i32, start: u64, length: u64) -> u64 {
    guest.words(&[kind as u16 as u64, start, length, 0])
}

fn pair() -> (tempfile::TempDir, Guest, Guest) {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("db"), "0123456789").unwrap();
    let (one, two) =
        (Guest::with_data(host.path(), Access::ReadWrite), Guest::with_data(host.path(), Access::ReadWrite));
    (host, one, two)
}

const SET: u64 = libc::F_SETLK as u64;
const GET: u64 = libc::F_GETLK as u64;

#[test]
fn locks_exclude_other_domains() {
    let (_host, one, two) = pair();
    let (a, b) = (one.open("/data/db", libc::O_RDWR), two.open("/data/db", libc::O_RDWR));
    one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_WRLCK, 0, 5)]);
    assert_eq!(two.err(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_RDLCK, 4, 1)]), Errno::AGAIN);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_RDLCK, 5, 1)]);
    let found = flock(&two, libc::F_WRLCK, 0, 0);
    two.ok(libc::SYS_fcntl, &[b, GET, found]);
    assert_eq!(two.word(found) as u16 as i32, libc::F_WRLCK);
    assert_eq!((two.word(found + 8), two.word(found + 16)), (0, 5));
    one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_UNLCK, 0, 0)]);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_WRLCK, 0, 0)]);
}

/// Within a process record locks never exclude, whatever descriptor they were made through: SQLite's two
/// connections to one file rely on it.
#[test]
fn locks_do_not_exclude_the_domain_itself() {
    let (_host, one, two) = pair();
    let (first, second) = (one.open("/data/db", libc::O_RDWR), one.open("/data/db", libc::O_RDWR));
    one.ok(libc::SYS_fcntl, &[first, SET, flock(&one, libc::F_RDLCK, 0, 5)]);
    one.ok(libc::SYS_fcntl, &[second, SET, flock(&one, libc::F_WRLCK, 0, 5)]);
    let found = flock(&one, libc::F_WRLCK, 0, 0);
    one.ok(libc::SYS_fcntl, &[first, GET, found]);
    assert_eq!(one.word(found) as u16 as i32, libc::F_UNLCK, "nothing is in its own way");
    // Closing any descriptor of the file drops them all, as POSIX says.
    one.ok(libc::SYS_close, &[second]);
    let b = two.open("/data/db", libc::O_RDWR);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_WRLCK, 0, 0)]);
}

/// As in Linux: who asks what is in the way of no lock asks nothing, and where nothing is in the way all but the type stays as it was.
#[test]
fn questions_about_locks_are_left_as_they_are() {
    let (_host, one, _) = pair();
    let file = one.open("/data/db", libc::O_RDWR);
    assert_eq!(one.err(libc::SYS_fcntl, &[file, GET, flock(&one, libc::F_UNLCK, 0, 0)]), Errno::INVAL);
    one.ok(libc::SYS_lseek, &[file, 7, libc::SEEK_SET as u64]);
    let head = |kind: i32| kind as u64 | (libc::SEEK_CUR as u64) << 16 | 0x1234_5678 << 32;
    let asked = one.words(&[head(libc::F_WRLCK), 3, 2, 0x55]);
    one.ok(libc::SYS_fcntl, &[file, GET, asked]);
    let words = [0, 8, 16, 24].map(|at| one.word(asked + at));
    assert_eq!(words, [head(libc::F_UNLCK), 3, 2, 0x55]);
}

#[test]
fn locks_end_with_the_domain() {
    let (_host, one, two) = pair();
    let (a, b) = (one.open("/data/db", libc::O_RDWR), two.open("/data/db", libc::O_RDWR));
    one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_WRLCK, 0, 0)]);
    one.ok(libc::SYS_flock, &[a, libc::LOCK_EX as u64]);
    assert_eq!(two.err(libc::SYS_flock, &[b, (libc::LOCK_SH | libc::LOCK_NB) as u64]), Errno::AGAIN);
    drop(one);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_WRLCK, 0, 0)]);
    two.ok(libc::SYS_flock, &[b, (libc::LOCK_EX | libc::LOCK_NB) as u64]);
}

#[test]
fn waiting_for_a_lock_ends_with_the_deadline() {
    let (_host, one, two) = pair();
    let (a, b) = (one.open("/data/db", libc::O_RDWR), two.open("/data/db", libc::O_RDWR));
    one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_WRLCK, 0, 0)]);
    one.ok(libc::SYS_flock, &[a, libc::LOCK_EX as u64]);
    let wait = [b, libc::F_SETLKW as u64, flock(&two, libc::F_WRLCK, 0, 0)];
    for (number, arguments) in [(libc::SYS_fcntl, &wait[..]), (libc::SYS_flock, &[b, libc::LOCK_EX as u64])] {
        let outcome = two.call_until(number, arguments, Instant::now() + Duration::from_millis(20));
        assert_eq!(outcome, Outcome::Fault(Fault::TimeLimit));
    }
    one.ok(libc::SYS_close, &[a]);
    two.ok(libc::SYS_fcntl, &wait);
    two.ok(libc::SYS_flock, &[b, libc::LOCK_EX as u64]);
}

#[test]
fn bad_locks_are_refused() {
    let (_host, one, _) = pair();
    let read_only = one.open("/data/db", libc::O_RDONLY);
    let write_only = one.open("/data/db", libc::O_WRONLY);
    assert_eq!(one.err(libc::SYS_fcntl, &[read_only, SET, flock(&one, libc::F_WRLCK, 0, 0)]), Errno::BADF);
    assert_eq!(one.err(libc::SYS_fcntl, &[write_only, SET, flock(&one, libc::F_RDLCK, 0, 0)]), Errno::BADF);
    for (kind, start, length) in
        [(9, 0, 0), (libc::F_RDLCK, u64::MAX, 0), (libc::F_RDLCK, i64::MAX as u64, 5)]
    {
        let error = one.err(libc::SYS_fcntl, &[read_only, SET, flock(&one, kind, start, length)]);
        assert!(matches!(error, Errno::INVAL | Errno::OVERFLOW), "{error}");
    }
    let folder = one.open("/data", libc::O_DIRECTORY);
    assert_eq!(one.err(libc::SYS_fcntl, &[folder, SET, flock(&one, libc::F_RDLCK, 0, 0)]), Errno::BADF);
    assert_eq!(one.err(libc::SYS_fcntl, &[read_only, 1024, 0]), Errno::INVAL, "leases and the like");
}

/// What was locked by one descriptor, and is no more, does not decide what another one can lock. While it is locked, it does: the table says so.
#[test]
fn who_held_the_last_lock_decides_nothing() {
    let (_host, one, _) = pair();
    let read_only = one.open("/data/db", libc::O_RDONLY);
    let both = one.open("/data/db", libc::O_RDWR);
    one.ok(libc::SYS_fcntl, &[read_only, SET, flock(&one, libc::F_RDLCK, 0, 8)]);
    assert_eq!(one.err(libc::SYS_fcntl, &[both, SET, flock(&one, libc::F_WRLCK, 8, 8)]), Errno::NOLCK);
    one.ok(libc::SYS_fcntl, &[both, SET, flock(&one, libc::F_UNLCK, 0, 0)]);
    one.ok(libc::SYS_fcntl, &[both, SET, flock(&one, libc::F_WRLCK, 0, 8)]);
}

/// A lock belongs to the open description, which for a granted stream is the host's: a domain neither takes locks with it, which would
/// outlive the domain, nor drops the host's.
#[test]
fn granted_streams_are_not_locked() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ours = file.reopen().unwrap();
    rustix::fs::flock(&ours, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let grants = lockgate_syscall::Grants::default().stdout(ours.try_clone().unwrap().into()).unwrap();
    let guest = Guest::new(grants);
    for operation in [libc::LOCK_UN, libc::LOCK_SH, libc::LOCK_EX | libc::LOCK_NB] {
        assert_eq!(guest.err(libc::SYS_flock, &[1, operation as u64]), Errno::NOLCK);
    }
    let theirs = file.reopen().unwrap();
    let other = rustix::fs::flock(&theirs, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert_eq!(other, Err(Errno::AGAIN), "the host's lock is still there");
    assert_eq!(guest.err(libc::SYS_fcntl, &[1, SET, flock(&guest, libc::F_WRLCK, 0, 0)]), Errno::NOLCK);
    assert_eq!(guest.err(libc::SYS_fcntl, &[1, GET, flock(&guest, libc::F_WRLCK, 0, 0)]), Errno::NOLCK);
}

/// Who may only read a directory may not shut its writers out.
#[test]
fn read_only_grants_give_no_exclusive_lock() {
    let (host, one, _) = pair();
    let reader = Guest::with_data(host.path(), Access::ReadOnly);
    let fd = reader.open("/data/db", libc::O_RDONLY);
    assert_eq!(reader.err(libc::SYS_flock, &[fd, (libc::LOCK_EX | libc::LOCK_NB) as u64]), Errno::ROFS);
    assert_eq!(reader.err(libc::SYS_fcntl, &[fd, SET, flock(&reader, libc::F_WRLCK, 0, 0)]), Errno::BADF);
    reader.ok(libc::SYS_flock, &[fd, (libc::LOCK_SH | libc::LOCK_NB) as u64]);
    reader.ok(libc::SYS_fcntl, &[fd, SET, flock(&reader, libc::F_RDLCK, 0, 0)]);
    // With a right to write, a descriptor for reading is enough, as programs with lock files expect.
    reader.ok(libc::SYS_close, &[fd]);
    let fd = one.open("/data/db", libc::O_RDONLY);
    one.ok(libc::SYS_flock, &[fd, (libc::LOCK_EX | libc::LOCK_NB) as u64]);
}

/// A descriptor that is closed while a thread waits for a lock with it takes none afterwards, and counts against the limit until the
/// thread has let go of it.
#[test]
fn a_lock_that_comes_after_the_close_is_not_taken() {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    fn looks() -> bool {
        LOOKS.fetch_add(1, Ordering::SeqCst);
        false
    }
    let (host, one, two) = pair();
    let (one, two) = (&one, &two);
    let (a, b) = (one.open("/data/db", libc::O_RDWR), two.open("/data/db", libc::O_RDWR));
    one.ok(libc::SYS_fcntl, &[a, SET, flock(one, libc::F_WRLCK, 0, 0)]);
    let (wait, lock) = (libc::F_SETLKW as u64, flock(two, libc::F_WRLCK, 0, 0));
    std::thread::scope(|scope| {
        let timeout = Instant::now() + Duration::from_secs(60);
        let thread = Thread { slot: 0, deadline: Some(timeout), stopped: looks, detaches: false };
        let waiting = scope.spawn(move || two.call_as(libc::SYS_fcntl, &[b, wait, lock], thread));
        // Once at its beginning, then each time that the lock is still another's.
        while LOOKS.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        two.ok(libc::SYS_close, &[b]);
        let bad = Outcome::Return(-i64::from(Errno::BADF.raw_os_error()));
        assert_eq!(waiting.join().unwrap(), bad);
    });
    one.ok(libc::SYS_close, &[a]);
    let open = |guest: &Guest| guest.call(libc::SYS_open, &[guest.text("/data/db"), libc::O_RDWR as u64]);
    // The lock is free, and nothing but numbers holds the host's descriptors.
    let third = Guest::with_data(host.path(), Access::ReadWrite);
    assert_eq!(open(&third), Outcome::Return(0));
    third.ok(libc::SYS_fcntl, &[0, SET, flock(&third, libc::F_WRLCK, 0, 0)]);
}

/// Each piece is memory of the kernel's, which no limit of the domain's counts, and more work for every process that locks the file.
#[test]
fn pieces_that_are_locked_are_counted() {
    let (_host, one, two) = pair();
    let a = one.open("/data/db", libc::O_RDWR);
    for piece in 0..1024 {
        one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_WRLCK, 2 * piece, 1)]);
    }
    let more = [a, SET, flock(&one, libc::F_WRLCK, 4096, 1)];
    assert_eq!(one.err(libc::SYS_fcntl, &more), Errno::NOLCK);
    // What was refused is not locked, and what becomes one piece is one.
    let b = two.open("/data/db", libc::O_RDWR);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_WRLCK, 4096, 1)]);
    one.ok(libc::SYS_fcntl, &[a, SET, flock(&one, libc::F_WRLCK, 0, 2048)]);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_UNLCK, 0, 0)]);
    one.ok(libc::SYS_fcntl, &more);
    assert_eq!(two.err(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_RDLCK, 4096, 1)]), Errno::AGAIN);
    // A domain that closes the file has none.
    one.ok(libc::SYS_close, &[a]);
    two.ok(libc::SYS_fcntl, &[b, SET, flock(&two, libc::F_WRLCK, 0, 0)]);
}
