//! Nothing blocks beyond the call's deadline, nor beyond the domain's end.
use crate::guest::{BASE, Guest};
use lockgate_syscall::{Access, Fault, Grants, Outcome, Thread};
use rustix::io::Errno;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Every call that can wait, set up so that it would wait for ever.
fn waiting_calls(guest: &Guest) -> Vec<(&'static str, i64, Vec<u64>)> {
    let forever = guest.words(&[1 << 40, 0]);
    let word = guest.words(&[5]);
    let polled = guest.words(&[(libc::POLLIN as u64) << 32]);
    let at = guest.room(8);
    vec![
        ("nanosleep", libc::SYS_nanosleep, vec![forever, 0]),
        ("clock_nanosleep", libc::SYS_clock_nanosleep, vec![libc::CLOCK_MONOTONIC as u64, 0, forever, 0]),
        ("futex", libc::SYS_futex, vec![word, libc::FUTEX_WAIT as u64, 5, 0]),
        ("futex with a time", libc::SYS_futex, vec![word, libc::FUTEX_WAIT as u64, 5, forever]),
        ("read", libc::SYS_read, vec![0, at, 1]),
        ("readv", libc::SYS_readv, vec![0, guest.words(&[at, 1]), 1]),
        ("poll", libc::SYS_poll, vec![polled, 1, u64::MAX]),
        ("ppoll", libc::SYS_ppoll, vec![polled, 1, 0, 0]),
        ("poll of nothing", libc::SYS_poll, vec![BASE, 0, u64::MAX]),
        // More than a pipe holds, without a reader.
        ("write", libc::SYS_write, vec![1, BASE + 4096, 1 << 19]),
    ]
}

/// The host's ends of the pipes come along: while they live, reads and writes wait.
fn with_pipes() -> (Guest, impl Sized) {
    let (reader, held_writer) = std::io::pipe().unwrap();
    let (held_reader, writer) = std::io::pipe().unwrap();
    let grants = Grants::default().stdin(reader.into()).and_then(|grants| grants.stdout(writer.into()));
    (Guest::new(grants.unwrap()), (held_writer, held_reader))
}

#[test]
fn a_deadline_ends_every_wait() {
    let (guest, _ends) = with_pipes();
    for (name, number, arguments) in waiting_calls(&guest) {
        let start = Instant::now();
        let outcome = guest.call_until(number, &arguments, start + Duration::from_millis(20));
        let took = start.elapsed();
        assert_eq!(outcome, Outcome::Fault(Fault::TimeLimit), "{name}");
        assert!(took >= Duration::from_millis(20), "{name} ended early: {took:?}");
        // (Left to itself, it would never end.)
        assert!(took < Duration::from_secs(60), "{name} ended late: {took:?}");
    }
}

/// Half a gigabyte in one call, from a file that takes no room.
#[test]
fn a_deadline_ends_a_long_transfer() {
    const PIECE: u64 = 512 << 10;
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("zeros")).unwrap().set_len(1024 * PIECE).unwrap();
    let guest = Guest::with_data(folder.path(), Access::ReadOnly);
    let fd = guest.open("/data/zeros", libc::O_RDONLY);
    let pieces = guest.words(&[guest.room(PIECE as usize), PIECE].repeat(1024));
    let until = Instant::now() + Duration::from_millis(5);
    assert_eq!(
        guest.call_until(libc::SYS_readv, &[fd, pieces, 1024], until),
        Outcome::Fault(Fault::TimeLimit)
    );
}

#[test]
fn a_kill_ends_every_wait() {
    let (first, _) = with_pipes();
    for i in 0..waiting_calls(&first).len() {
        let (guest, _ends) = with_pipes();
        let (name, number, arguments) = waiting_calls(&guest).swap_remove(i);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| guest.call(number, &arguments));
            guest.process.kill();
            assert_eq!(waiting.join().unwrap(), Outcome::Fault(Fault::Killed), "{name}");
        });
        assert_eq!(guest.call(libc::SYS_getpid, &[]), Outcome::Fault(Fault::Killed), "it stays dead");
    }
}

#[test]
fn a_passed_deadline_stops_a_module_that_only_makes_calls() {
    let guest = Guest::bare();
    assert_eq!(guest.call_until(libc::SYS_getpid, &[], Instant::now()), Outcome::Fault(Fault::TimeLimit));
}

thread_local! {
    /// How often the thread may still go on.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// A call as of a thread that is stopped when it has been asked so often.
fn stopped_after(guest: &Guest, number: i64, arguments: &[u64], asked: u32) -> Outcome {
    LEFT.set(asked);
    let stopped = || LEFT.replace(LEFT.get().saturating_sub(1)) == 0;
    guest.call_as(number, arguments, Thread { slot: 0, deadline: None, stopped, detaches: false })
}

/// A file as long as Linux allows is nearly all hole: the kernel frees that at once, and a hundred million pieces would take hours.
#[test]
fn a_long_hole_is_one_piece() {
    const END: u64 = 1 << 62;
    let file = rustix::fs::memfd_create("holes", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let length = || rustix::fs::fstat(&file).unwrap().st_size as u64;
    let guest = Guest::new(Grants::default().stdout(file.try_clone().unwrap()).unwrap());
    for islands in [vec![], vec![0], vec![0, 1 << 40, END / 2, END - (16 << 20)]] {
        for island in &islands {
            rustix::io::pwrite(&file, &vec![1; 12 << 20], *island).unwrap();
        }
        rustix::fs::ftruncate(&file, END).unwrap();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(7)).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        assert_eq!(guest.call_until(libc::SYS_ftruncate, &[1, 3], until), Outcome::Return(0));
        assert_eq!((length(), rustix::fs::tell(&file)), (3, Ok(7)), "the host's position has not moved");
        rustix::fs::ftruncate(&file, 0).unwrap();
    }
    // What is there goes a piece at a time all the same.
    rustix::io::pwrite(&file, &vec![1; 24 << 20], END / 2).unwrap();
    rustix::fs::ftruncate(&file, END).unwrap();
    assert_eq!(stopped_after(&guest, libc::SYS_ftruncate, &[1, 0], 2), Outcome::Fault(Fault::Stopped));
    assert!((END / 2..END / 2 + (32 << 20)).contains(&length()), "{:x} bytes were left", length());
}

/// Nothing interrupts the kernel while it makes or frees blocks: it never gets many at a time.
#[test]
fn files_are_made_and_emptied_a_piece_at_a_time() {
    const SIZE: u64 = 40 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
    let length = || std::fs::metadata(&path).unwrap().len();
    let guest = Guest::with_data(folder.path(), Access::ReadWrite);
    let (name, fd) = (guest.text("/data/large"), guest.open("/data/large", libc::O_RDWR));
    let ways: [(&str, i64, &[u64]); 4] = [
        ("ftruncate", libc::SYS_ftruncate, &[fd, 100]),
        ("truncate", libc::SYS_truncate, &[name, 100]),
        ("O_TRUNC", libc::SYS_open, &[name, (libc::O_WRONLY | libc::O_TRUNC) as u64, 0]),
        ("O_TRUNC for reading", libc::SYS_open, &[name, libc::O_TRUNC as u64, 0]),
    ];
    for (way, number, arguments) in ways {
        let before = length();
        assert_eq!(stopped_after(&guest, number, arguments, 2), Outcome::Fault(Fault::Stopped), "{way}");
        let after = length();
        assert!(0 < after && after < before, "{way}: {after} bytes of {before} were left");
    }
    assert_eq!(guest.process.descriptors_used(), 1, "what was stopped has no number");
    guest.ok(libc::SYS_ftruncate, &[fd, 100]);
    assert_eq!(std::fs::read(&path).unwrap(), [7; 100]);
    guest.ok(libc::SYS_ftruncate, &[fd, SIZE]);
    assert_eq!(length(), SIZE);
    let emptied = guest.open("/data/large", libc::O_TRUNC);
    assert_eq!(length(), 0);
    guest.ok(libc::SYS_close, &[emptied]);

    let blocks = || std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
    let made = stopped_after(&guest, libc::SYS_fallocate, &[fd, 0, 5, SIZE], 3);
    assert_eq!(made, Outcome::Fault(Fault::Stopped));
    assert!(0 < blocks() && blocks() < SIZE, "{} bytes were allocated", blocks());
    assert_eq!(length(), 0, "its size comes last");
    guest.ok(libc::SYS_fallocate, &[fd, 0, 5, SIZE]);
    assert!(length() == SIZE + 5 && blocks() >= SIZE, "{} bytes were allocated", blocks());
    let keep = libc::FALLOC_FL_KEEP_SIZE as u64;
    guest.ok(libc::SYS_fallocate, &[fd, keep, SIZE, SIZE]);
    assert_eq!(length(), SIZE + 5);
    assert_eq!(guest.err(libc::SYS_fallocate, &[fd, 0, 0, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_fallocate, &[fd, 0, i64::MAX as u64, 1]), Errno::FBIG);
    let before = blocks();
    assert_eq!(guest.err(libc::SYS_fallocate, &[fd, 0, 0, i64::MAX as u64]), Errno::FBIG);
    assert_eq!(blocks(), before, "what no file can be is not begun");
}
