//! Pointers, lengths and counts that a hostile module would pass.
use crate::guest::{BASE, Guest, PAGE};
use lockgate_syscall::{Access, Outcome};
use rustix::io::Errno;

/// Addresses that are not the module's: null, the host's, non-canonical, past the end, wrapping.
fn wild(guest: &Guest) -> Vec<u64> {
    let host = guest as *const Guest as u64;
    vec![
        0,
        1,
        BASE - PAGE,
        BASE + (4 << 20),
        BASE + (4 << 20) - 4,
        host,
        1 << 47,
        1 << 63,
        u64::MAX,
        u64::MAX - 7,
        u64::MAX - PAGE,
        BASE + (1 << 32),
        0xffff_8000_0000_0000,
    ]
}

#[test]
fn wild_pointers_are_efault() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), vec![1; 8192]).unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR);
    let folder = guest.open("/data", libc::O_DIRECTORY);
    let notes = guest.ok(libc::SYS_inotify_init, &[]);
    let path = guest.text("/data/f");
    let there = guest.room(4);
    let current = libc::AT_FDCWD as u64;
    let wrlck = libc::F_SETLK as u64;
    for bad in wild(&guest) {
        let calls: &[(i64, &[u64])] = &[
            (libc::SYS_read, &[fd, bad, 4096]),
            (402, &[0x8000_0000, 8, bad, 1]),
            (libc::SYS_write, &[fd, bad, 4096]),
            (libc::SYS_pread64, &[fd, bad, 64, 0]),
            (libc::SYS_pwrite64, &[fd, bad, 64, 0]),
            (libc::SYS_readv, &[fd, bad, 1]),
            (libc::SYS_writev, &[fd, bad, 1]),
            (libc::SYS_open, &[bad, 0]),
            (libc::SYS_stat, &[path, bad]),
            (libc::SYS_stat, &[bad, path]),
            (libc::SYS_fstat, &[fd, bad]),
            (libc::SYS_statfs, &[path, bad]),
            (libc::SYS_statfs, &[bad, path]),
            (libc::SYS_fstatfs, &[fd, bad]),
            (libc::SYS_getdents64, &[folder, bad, 4096]),
            (libc::SYS_fcntl, &[fd, wrlck, bad]),
            (libc::SYS_uname, &[bad]),
            (libc::SYS_sysinfo, &[bad]),
            (libc::SYS_getresuid, &[bad, there, there]),
            (libc::SYS_getresuid, &[there, bad, there]),
            (libc::SYS_getresgid, &[there, there, bad]),
            (libc::SYS_getrandom, &[bad, 64, 0]),
            (libc::SYS_clock_gettime, &[0, bad]),
            (libc::SYS_nanosleep, &[bad, 0]),
            (libc::SYS_getcwd, &[bad, 100]),
            (libc::SYS_pipe2, &[bad, 0]),
            (libc::SYS_poll, &[bad, 1, 0]),
            (libc::SYS_rename, &[path, bad]),
            (libc::SYS_statx, &[current, path, 0, 0, bad]),
            (libc::SYS_getrlimit, &[7, bad]),
            (libc::SYS_setrlimit, &[7, bad]),
            (libc::SYS_sched_setaffinity, &[0, 8, bad]),
            (libc::SYS_memfd_create, &[bad, 0]),
            (libc::SYS_signalfd4, &[u64::MAX, bad, 8, 0]),
            (libc::SYS_inotify_add_watch, &[notes, bad, 1]),
        ];
        for (number, arguments) in calls {
            // A transfer that failed to be copied has moved the position all the same.
            for file in [fd, folder] {
                guest.ok(libc::SYS_lseek, &[file, 0, 0]);
            }
            let outcome = guest.call(*number, arguments);
            let fault = Outcome::Return(-i64::from(Errno::FAULT.raw_os_error()));
            assert_eq!(outcome, fault, "system call {number} at {bad:#x}");
        }
    }
    let file = std::fs::read(host.path().join("f")).unwrap();
    assert!(file == vec![1; 8192], "nothing was written");
    assert_eq!(guest.ok(libc::SYS_dup, &[fd]), 3, "no failed call kept a descriptor");
}

#[test]
fn lengths_that_wrap_reach_nothing() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "0123456789").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR);
    let at = guest.room(16);
    // (Linux refuses lengths that no address space has before that: `servers::a_negative_length_is_nowhere`.)
    for length in [1 << 46, 1 << 40, (4 << 20) + 1] {
        // Reading a short file into a buffer of a false length is allowed: only its 10 bytes are written.
        guest.ok(libc::SYS_lseek, &[fd, 0, 0]);
        assert_eq!(guest.ok(libc::SYS_read, &[fd, at, length]), 10);
        // Writing runs into the end of the window: what was there before it is a short write at most.
        guest.ok(libc::SYS_lseek, &[fd, 0, 0]);
        match guest.call(libc::SYS_write, &[fd, at, length]) {
            Outcome::Return(error) if error == -i64::from(Errno::FAULT.raw_os_error()) => {}
            Outcome::Return(sent) => assert!((0..4 << 20).contains(&sent), "{length:#x}: {sent}"),
            other => panic!("{other:?}"),
        }
        rustix::fs::ftruncate(std::fs::File::options().write(true).open(host.path().join("f")).unwrap(), 10)
            .unwrap();
    }
    for offset in [u64::MAX, 1 << 63, i64::MAX as u64] {
        assert_eq!(guest.err(libc::SYS_pread64, &[fd, at, 8, offset]), Errno::INVAL);
        assert_eq!(guest.err(libc::SYS_pwrite64, &[fd, at, 8, offset]), Errno::INVAL);
    }
}

#[test]
fn vectors_are_bounded() {
    let host = tempfile::tempdir().unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR | libc::O_CREAT);
    let byte = guest.put(b"x");
    let many = guest.words(&[byte, 0].repeat(1024));
    assert_eq!(guest.ok(libc::SYS_writev, &[fd, many, 1024]), 0);
    for count in [1025, u64::MAX, 1 << 32, 1 << 60, -1i64 as u64] {
        assert_eq!(guest.err(libc::SYS_writev, &[fd, many, count]), Errno::INVAL, "{count:#x}");
    }
    // Lengths whose sum wraps around to something small.
    let wrapping = guest.words(&[byte, u64::MAX, byte, 2]);
    assert_eq!(guest.err(libc::SYS_writev, &[fd, wrapping, 2]), Errno::INVAL);
    let negative = guest.words(&[byte, 1 << 63]);
    assert_eq!(guest.err(libc::SYS_readv, &[fd, negative, 1]), Errno::INVAL);
    assert_eq!(host.path().join("f").metadata().unwrap().len(), 0);
}

#[test]
fn paths_are_bounded() {
    let host = tempfile::tempdir().unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    let endless = guest.put(&[b'a'; 5000]);
    assert_eq!(guest.err(libc::SYS_open, &[endless, 0]), Errno::NAMETOOLONG);
    assert_eq!(guest.open_err("", 0), Errno::NOENT);
    assert_eq!(guest.open_err(&format!("/data/{}", "a".repeat(300)), 0), Errno::NAMETOOLONG);
    // A string that ends with the last mapped byte is read to there and no further.
    let last = BASE + (1 << 20) - 8;
    lockgate_syscall::Memory::write(&guest.window, last, b"/data/x\0").unwrap();
    assert_eq!(guest.err(libc::SYS_open, &[last, 0]), Errno::NOENT);
    lockgate_syscall::Memory::write(&guest.window, last, b"/data/xy").unwrap();
    assert_eq!(guest.err(libc::SYS_open, &[last, 0]), Errno::FAULT);
}

/// Another thread may change an argument at any time: what was judged must be what is used. Each call that
/// takes structures or paths reads each byte at most once.
#[test]
fn arguments_are_fetched_once() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "0123456789").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR);
    let words =
        |words: &[u64]| guest.on_own_page(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
    let path = |path: &str| guest.on_own_page(format!("{path}\0").as_bytes());
    let (file, new, newer) = (path("/data/f"), path("/data/new"), path("/data/newer"));
    let (buffer, text) = (guest.on_own_page(&[]), guest.on_own_page(b"text"));
    let current = libc::AT_FDCWD as u64;
    let vector = words(&[text, 4, text + 4, 4]);
    let calls: &[(i64, &[u64])] = &[
        (libc::SYS_open, &[file, libc::O_RDWR as u64]),
        (libc::SYS_openat, &[current, file, 0, 0]),
        (libc::SYS_stat, &[file, buffer]),
        (libc::SYS_statx, &[current, file, 0, 0, buffer]),
        (libc::SYS_statfs, &[file, buffer]),
        (libc::SYS_access, &[file, 0]),
        (libc::SYS_write, &[fd, text, 4]),
        (libc::SYS_writev, &[fd, vector, 2]),
        (libc::SYS_pwritev, &[fd, vector, 2, 0]),
        (libc::SYS_readv, &[fd, words(&[buffer, 4]), 1]),
        (libc::SYS_fcntl, &[fd, libc::F_SETLK as u64, words(&[0, 0, 0, 0])]),
        (libc::SYS_fcntl, &[fd, libc::F_GETLK as u64, words(&[0, 0, 0, 0])]),
        (libc::SYS_nanosleep, &[words(&[0, 1]), 0]),
        (libc::SYS_clock_nanosleep, &[0, 0, words(&[0, 1]), 0]),
        (libc::SYS_futex, &[words(&[0]), libc::FUTEX_WAIT as u64, 0, words(&[0, 1])]),
        (libc::SYS_poll, &[words(&[0]), 1, 0]),
        (libc::SYS_ppoll, &[words(&[0]), 1, words(&[0, 1]), 0]),
        (libc::SYS_rt_sigaction, &[1, words(&[0; 4]), buffer, 8]),
        (libc::SYS_rt_sigprocmask, &[0, words(&[0]), buffer, 8]),
        (libc::SYS_utimensat, &[current, file, words(&[1, 0, 1, 0]), 0]),
        (libc::SYS_chmod, &[file, 0o644]),
        (libc::SYS_truncate, &[file, 3]),
        (libc::SYS_mkdir, &[new, 0o777]),
        (libc::SYS_rename, &[new, newer]),
        (libc::SYS_chdir, &[newer]),
        (libc::SYS_rmdir, &[newer]),
        (libc::SYS_sendfile, &[fd, fd, words(&[0]), 1]),
        (libc::SYS_copy_file_range, &[fd, words(&[0]), fd, words(&[100]), 1, 0]),
        (libc::SYS_setrlimit, &[0, words(&[1, 1])]),
        (libc::SYS_prlimit64, &[0, 0, words(&[1, 1]), buffer]),
        (libc::SYS_sched_setaffinity, &[0, 8, words(&[1])]),
        (libc::SYS_memfd_create, &[new, 0]),
        (libc::SYS_signalfd4, &[u64::MAX, words(&[1]), 8, 0]),
        (libc::SYS_chown, &[file, 65534, 65534]),
        (libc::SYS_link, &[file, new]),
        (libc::SYS_unlink, &[new]),
    ];
    for (number, arguments) in calls {
        let outcome = guest.call_watched(*number, arguments);
        let timed_out = Outcome::Return(-i64::from(Errno::TIMEDOUT.raw_os_error()));
        let fine = matches!(outcome, Outcome::Return(0..)) || outcome == timed_out;
        assert!(fine, "system call {number}: {outcome:?}");
    }
}

/// Every call of the table with random combinations of a few hostile words: nothing panics, hangs or gets
/// written.
#[test]
fn hostile_words_everywhere() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "text").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadOnly);
    guest.open("/data/f", 0);
    let words = [0, 1, u64::MAX, 1 << 63, guest.text("/data/f"), BASE + (4 << 20) - 1];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut pick = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        words[(state >> 33) as usize % words.len()]
    };
    // Calls that may rightly wait for ever are given a deadline that has nearly passed.
    for entry in lockgate_syscall::TABLE {
        for _ in 0..100 {
            let arguments: [u64; 6] = std::array::from_fn(|_| pick());
            let deadline = std::time::Instant::now() + std::time::Duration::from_micros(300);
            guest.call_until(entry.number as i64, &arguments, deadline);
        }
    }
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), b"text");
}
