//! Attacks on paths: out of the granted directory, into the kernel's file systems, onto devices.
use crate::guest::Guest;
use lockgate_syscall::{Access, GrantError, Grants, Outcome};
use rustix::io::Errno;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const SECRET: &str = "the host's secret";

/// A host directory with `secret` beside `granted`.
fn house() -> (TempDir, Guest) {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("secret"), SECRET).unwrap();
    std::fs::create_dir_all(host.path().join("granted/deep/deeper")).unwrap();
    let guest = Guest::with_data(&host.path().join("granted"), Access::ReadWrite);
    (host, guest)
}

#[test]
fn paths_do_not_climb_out() {
    let (host, guest) = house();
    let granted = host.path().join("granted");
    symlink("../secret", granted.join("up")).unwrap();
    symlink(host.path().join("secret"), granted.join("absolute")).unwrap();
    symlink("..", granted.join("parent")).unwrap();
    symlink("deep/../../secret", granted.join("winding")).unwrap();
    symlink("/", granted.join("root")).unwrap();
    symlink("/proc/self/root", granted.join("magic")).unwrap();
    let secret = host.path().join("secret");
    let inside_root = format!("/data/root{}", secret.display());
    for path in [
        "/data/../secret",
        "../secret",
        "deep/../../secret",
        "/data/deep/deeper/../../../secret",
        "/data/up",
        "/data/absolute",
        "/data/parent/secret",
        "/data/winding",
        &inside_root,
        "/data/magic/etc/passwd",
        secret.to_str().unwrap(),
        "/secret",
        "//secret",
        "/data//..//secret",
        "..",
        "/data/..",
        "/..",
        "/etc/passwd",
        "/proc/self/mem",
    ] {
        let error = guest.open_err(path, libc::O_RDONLY);
        assert!(matches!(error, Errno::ACCESS | Errno::NOENT | Errno::LOOP), "{path}: {error}");
    }
    // From a descriptor too.
    let deep = guest.open("/data/deep", libc::O_DIRECTORY);
    for path in ["../../secret", "..", "deeper/../../../secret"] {
        let error = guest.err(libc::SYS_openat, &[deep, guest.text(path), 0, 0]);
        assert_eq!(error, Errno::ACCESS, "{path}");
    }
}

/// Every call that takes a path, with a path that leads out.
#[test]
fn no_call_follows_a_link_out() {
    let (host, guest) = house();
    symlink("../secret", host.path().join("granted/up")).unwrap();
    symlink("..", host.path().join("granted/parent")).unwrap();
    let buffer = guest.room(4096);
    let link = guest.text("/data/up");
    let through = guest.text("/data/parent/secret");
    let inside = guest.text("/data/mine");
    let current = libc::AT_FDCWD as u64;
    let times = guest.words(&[1, 0, 1, 0]);
    let calls: &[(i64, &[u64])] = &[
        (libc::SYS_open, &[link, libc::O_RDWR as u64]),
        (libc::SYS_open, &[link, libc::O_PATH as u64]),
        (libc::SYS_creat, &[link, 0o666]),
        (libc::SYS_stat, &[link, buffer]),
        (libc::SYS_lstat, &[through, buffer]),
        (libc::SYS_statx, &[current, link, 0, 0x7ff, buffer]),
        (libc::SYS_statfs, &[link, buffer]),
        (libc::SYS_statfs, &[through, buffer]),
        (libc::SYS_access, &[link, 0]),
        (libc::SYS_truncate, &[link, 0]),
        (libc::SYS_chmod, &[link, 0o777]),
        (libc::SYS_utimensat, &[current, link, times, 0]),
        (libc::SYS_chdir, &[guest.text("/data/parent")]),
        (libc::SYS_unlink, &[through]),
        (libc::SYS_rename, &[through, inside]),
        (libc::SYS_rename, &[inside, through]),
        (libc::SYS_link, &[through, inside]),
        (libc::SYS_link, &[inside, through]),
        (libc::SYS_mkdir, &[guest.text("/data/parent/new"), 0o777]),
        (libc::SYS_rmdir, &[guest.text("/data/parent/granted")]),
        (libc::SYS_readlink, &[through, buffer, 100]),
    ];
    for (number, arguments) in calls {
        let outcome = guest.call(*number, arguments);
        let refused = [Errno::ACCESS, Errno::NOENT, Errno::INVAL];
        let errors = refused.map(|error| Outcome::Return(-i64::from(error.raw_os_error())));
        assert!(errors.contains(&outcome), "system call {number}: {outcome:?}");
    }
    assert_eq!(std::fs::read_to_string(host.path().join("secret")).unwrap(), SECRET);
    assert!(!host.path().join("new").exists());
}

#[test]
fn read_only_grants_stay_as_they_are() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "as it was").unwrap();
    std::fs::create_dir(host.path().join("d")).unwrap();
    let spare = tempfile::tempdir().unwrap();
    let grants = Grants::default()
        .directory("/data", host.path(), Access::ReadOnly)
        .and_then(|grants| grants.directory("/spare", spare.path(), Access::ReadWrite))
        .unwrap();
    let guest = Guest::new(grants);
    let file = guest.text("/data/f");
    let new = guest.text("/data/new");
    let mine = guest.text("/spare/mine");
    let read = guest.open("/data/f", libc::O_RDONLY);
    let folder = guest.open("/data/d", libc::O_DIRECTORY);
    let byte = guest.put(b"x");
    let calls: &[(i64, &[u64], Errno)] = &[
        (libc::SYS_open, &[file, libc::O_WRONLY as u64], Errno::ROFS),
        (libc::SYS_open, &[file, libc::O_RDWR as u64], Errno::ROFS),
        (libc::SYS_open, &[file, libc::O_TRUNC as u64], Errno::ROFS),
        (libc::SYS_open, &[new, libc::O_CREAT as u64, 0o666], Errno::ROFS),
        (libc::SYS_openat, &[folder, guest.text("x"), libc::O_CREAT as u64, 0o666], Errno::ROFS),
        (libc::SYS_write, &[read, byte, 1], Errno::BADF),
        (libc::SYS_ftruncate, &[read, 0], Errno::INVAL),
        (libc::SYS_truncate, &[file, 0], Errno::ROFS),
        (libc::SYS_fallocate, &[read, 0, 0, 100], Errno::BADF),
        (libc::SYS_fchmod, &[read, 0o777], Errno::ROFS),
        (libc::SYS_chmod, &[file, 0o777], Errno::ROFS),
        (libc::SYS_utimensat, &[read, 0, 0, 0], Errno::ROFS),
        (libc::SYS_unlink, &[file], Errno::ROFS),
        (libc::SYS_rename, &[file, mine], Errno::ROFS),
        (libc::SYS_rename, &[mine, new], Errno::ROFS),
        (libc::SYS_link, &[file, mine], Errno::ROFS),
        (libc::SYS_mkdir, &[new, 0o777], Errno::ROFS),
        (libc::SYS_rmdir, &[guest.text("/data/d")], Errno::ROFS),
    ];
    for (number, arguments, error) in calls {
        assert_eq!(guest.err(*number, arguments), *error, "system call {number}");
    }
    assert_eq!(std::fs::read(host.path().join("f")).unwrap(), b"as it was");
    assert_eq!(std::fs::read_dir(host.path()).unwrap().count(), 2);
}

/// R6: with the host's whole tree granted, what could change memory or the kernel is still out of reach.
#[test]
fn pseudo_file_systems_and_devices_are_out_of_reach() {
    let guest = Guest::new(Grants::default().directory("/", "/", Access::ReadWrite).unwrap());
    let mut tried = 0;
    for path in [
        "/proc/self/mem",
        "/proc/self/maps",
        "/proc/thread-self/mem",
        "/proc/1/root",
        "/proc",
        "/sys",
        "/proc/self/fd/0",
        "/proc/self/exe",
        "/sys/kernel",
        "/dev/mem",
        "/dev/kmem",
        "/dev/port",
        "/dev/kvm",
        "/dev/ptmx",
        "/dev/tty",
        "/dev/fd/0",
    ] {
        if !Path::new(path).exists() {
            continue;
        }
        for flags in [libc::O_RDONLY, libc::O_RDWR, libc::O_PATH, libc::O_WRONLY | libc::O_TRUNC] {
            // A path handle of a device node cannot be read; only a file system may refuse that.
            if flags == libc::O_PATH && path.starts_with("/dev") {
                continue;
            }
            tried += 1;
            let error = guest.open_err(path, flags);
            assert!(
                matches!(
                    error,
                    Errno::ACCESS | Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::NOENT | Errno::PERM
                ),
                "{path}: {error}"
            );
        }
    }
    assert!(tried > 10, "this machine has a /proc");
    let buffer = guest.room(144);
    assert_eq!(guest.err(libc::SYS_stat, &[guest.text("/proc/self/maps"), buffer]), Errno::ACCESS);
    assert_eq!(guest.err(libc::SYS_chdir, &[guest.text("/proc/self")]), Errno::ACCESS);
    guest.open("/dev/null", libc::O_RDWR);
    assert_eq!(guest.read(guest.open("/dev/zero", libc::O_RDONLY), 4), [0; 4]);
}

#[test]
fn pseudo_file_systems_cannot_be_granted() {
    for (path, name) in [("/proc", "procfs"), ("/proc/self", "procfs"), ("/sys", "sysfs")] {
        if !Path::new(path).exists() {
            continue;
        }
        match Grants::default().directory("/p", path, Access::ReadOnly) {
            Err(GrantError::Pseudo { file_system, .. }) => assert_eq!(file_system, name),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn bad_grants_are_clear_errors() {
    let none = Grants::default().directory("/d", "/nowhere/at/all", Access::ReadOnly).unwrap_err();
    assert_eq!(
        none.to_string(),
        "cannot grant the directory /nowhere/at/all: No such file or directory (os error 2)"
    );
    for guest in ["relative", "", "/a/../b"] {
        let error = Grants::default().directory(guest, "/", Access::ReadOnly).unwrap_err();
        assert!(matches!(error, GrantError::GuestPath(_)), "{guest}: {error}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Grants::default().directory("/d", file.path(), Access::ReadOnly).unwrap_err();
    assert!(error.to_string().contains("Not a directory"), "{error}");
}

#[test]
fn fifos_and_sockets_are_refused() {
    let (host, guest) = house();
    let fifo = host.path().join("granted/fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(host.path().join("granted/socket")).unwrap();
    assert_eq!(guest.open_err("/data/fifo", libc::O_RDONLY), Errno::ACCESS);
    assert_eq!(guest.open_err("/data/fifo", libc::O_WRONLY), Errno::ACCESS);
    assert_eq!(guest.open_err("/data/socket", libc::O_RDWR), Errno::ACCESS);
}

/// R6: the file that the module itself came from, under every name that it has.
#[test]
fn a_forbidden_file_is_refused_by_identity() {
    let (host, _) = house();
    let module = host.path().join("granted/module.lg");
    std::fs::write(&module, "verified bytes").unwrap();
    std::fs::hard_link(&module, host.path().join("granted/other-name")).unwrap();
    symlink("module.lg", host.path().join("granted/link")).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options().write(true).open(&module).unwrap().set_modified(long_ago).unwrap();
    let before = std::fs::metadata(&module).unwrap();
    let grants = Grants::default()
        .directory("/data", host.path().join("granted"), Access::ReadWrite)
        .and_then(|grants| grants.forbid(std::fs::File::open(&module).unwrap()))
        .unwrap();
    let guest = Guest::new(grants);
    for name in ["module.lg", "other-name", "link"] {
        for flags in [libc::O_RDONLY, libc::O_RDWR, libc::O_WRONLY | libc::O_TRUNC] {
            assert_eq!(guest.open_err(&format!("/data/{name}"), flags), Errno::ACCESS, "{name}");
        }
        let path = guest.text(&format!("/data/{name}"));
        assert_eq!(guest.err(libc::SYS_truncate, &[path, 0]), Errno::ACCESS);
        assert_eq!(guest.err(libc::SYS_chmod, &[path, 0o777]), Errno::ACCESS);
        assert_eq!(guest.err(libc::SYS_utimensat, &[libc::AT_FDCWD as u64, path, 0, 0]), Errno::ACCESS);
    }
    let link = [libc::AT_FDCWD as u64, guest.text("/data/link"), 0, libc::AT_SYMLINK_NOFOLLOW as u64];
    guest.ok(libc::SYS_utimensat, &link);
    assert_eq!(std::fs::metadata(&module).unwrap().mtime(), before.mtime(), "its times are as they were");
    assert_eq!(std::fs::read(&module).unwrap(), b"verified bytes", "not even truncated");
}

/// Tells another thread to stop when it goes.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory changes into a symbolic link and back, and is moved about, while the domain opens through it.
#[test]
fn races_with_renames_do_not_open_a_way_out() {
    let (host, guest) = house();
    let granted = host.path().join("granted");
    std::fs::create_dir(host.path().join("outside")).unwrap();
    std::fs::write(host.path().join("outside/f"), SECRET).unwrap();
    std::fs::create_dir(granted.join("real")).unwrap();
    std::fs::write(granted.join("real/f"), "mine").unwrap();
    symlink("../outside", granted.join("evil")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when an assertion below fails: the scope waits for the other thread.
        let _stopped = StopAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, granted.join("real"), cwd, granted.join("evil"), exchange)
                    .unwrap();
                std::fs::rename(granted.join("deep/deeper"), host.path().join("moved")).unwrap();
                std::fs::rename(host.path().join("moved"), granted.join("deep/deeper")).unwrap();
            }
        });
        let (through, climb) = (guest.text("/data/real/f"), guest.text("/data/deep/deeper/../../../secret"));
        // Until both outcomes were seen often: how often the other thread runs is the scheduler's affair.
        let (at, mut opened, mut refused) = (guest.room(64), 0, 0);
        let timeout = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while (opened < 500 || refused < 500) && std::time::Instant::now() < timeout {
            for path in [through, climb] {
                let Outcome::Return(fd @ 0..) = guest.call(libc::SYS_open, &[path, 0, 0]) else {
                    refused += u32::from(path == through);
                    continue;
                };
                let got = guest.ok(libc::SYS_read, &[fd as u64, at, 64]) as usize;
                assert_eq!(guest.get(at, got), b"mine");
                guest.ok(libc::SYS_close, &[fd as u64]);
                opened += 1;
            }
        }
        assert!(opened >= 500 && refused >= 500, "the race was on: {opened} opened, {refused} refused");
    });
}

/// A directory to write in, `/data`, with one inside that may only be read, by itself: `/data/ro`. Beside them `secret`.
fn nested() -> (TempDir, Guest) {
    let host = tempfile::tempdir().unwrap();
    let data = host.path().join("data");
    std::fs::create_dir_all(data.join("sub/ro/deep")).unwrap();
    std::fs::create_dir(data.join("x")).unwrap();
    std::fs::write(data.join("sub/ro/file"), "as it was").unwrap();
    symlink("../sub/ro", data.join("x/link")).unwrap();
    symlink("sub/ro/file", data.join("to-file")).unwrap();
    symlink("sub/ro/none", data.join("to-nothing")).unwrap();
    let grants = Grants::default()
        .directory("/data", &data, Access::ReadWrite)
        .and_then(|grants| grants.directory("/data/sub/ro", data.join("sub/ro"), Access::ReadOnly))
        .unwrap();
    (host, Guest::new(grants))
}

/// What may only be read may only be read, whatever the path to it looks like.
#[test]
fn the_innermost_grant_counts() {
    let (host, guest) = nested();
    let ro = host.path().join("data/sub/ro");
    let outer = guest.open("/data", libc::O_DIRECTORY);
    let inner = guest.open("/data/sub/ro/deep", libc::O_DIRECTORY);
    guest.ok(libc::SYS_chdir, &[guest.text("/data/x")]);
    let current = libc::AT_FDCWD as u64;
    let folders = [
        (current, "/data/sub/ro/"),
        (current, "/data/x/../sub/ro/"),
        (current, "/data/sub/ro/deep/../"),
        (current, "../sub/ro/"),
        (current, "/data/x/link/"),
        (current, "link/deep/../"),
        (outer, "sub/ro/"),
        (outer, "x/link/./"),
        (inner, "./"),
    ];
    let mine = guest.text("/data/mine");
    std::fs::write(host.path().join("data/mine"), "mine").unwrap();
    for (fd, folder) in folders {
        let path = |name: &str| guest.text(&format!("{folder}{name}"));
        // What each folder has: `deep` is one level down.
        let (file, new) = (path(if fd == inner { "none" } else { "file" }), path("new"));
        let open = |path, flags: i32| guest.err(libc::SYS_openat, &[fd, path, flags as u64, 0o666]);
        for flags in [libc::O_CREAT | libc::O_WRONLY, libc::O_CREAT | libc::O_EXCL, libc::O_CREAT] {
            assert_eq!(open(new, flags), Errno::ROFS, "{folder}");
        }
        if fd != inner {
            for flags in [libc::O_RDWR, libc::O_WRONLY, libc::O_TRUNC, libc::O_WRONLY | libc::O_APPEND] {
                assert_eq!(open(file, flags), Errno::ROFS, "{folder}");
            }
            assert_eq!(guest.err(libc::SYS_fchmodat, &[fd, file, 0o777]), Errno::ROFS, "{folder}");
            assert_eq!(guest.err(libc::SYS_utimensat, &[fd, file, 0, 0]), Errno::ROFS, "{folder}");
            assert_eq!(guest.err(libc::SYS_faccessat, &[fd, file, 2]), Errno::ROFS, "{folder}");
            let read = guest.call(libc::SYS_openat, &[fd, file, 0, 0]);
            assert!(matches!(read, Outcome::Return(0..)), "{folder}: {read:?}");
        }
        for (number, arguments) in [
            (libc::SYS_unlinkat, vec![fd, file, 0]),
            (libc::SYS_mkdirat, vec![fd, new, 0o777]),
            (libc::SYS_renameat, vec![fd, file, current, mine]),
            (libc::SYS_renameat, vec![current, mine, fd, new]),
            (libc::SYS_linkat, vec![fd, file, current, guest.text("/data/link"), 0]),
            (libc::SYS_linkat, vec![current, mine, fd, new, 0]),
        ] {
            // (What is not there cannot be linked, Linux says before anything else.)
            let is_missing = number == libc::SYS_linkat && arguments[0] == inner;
            let error = if is_missing { Errno::NOENT } else { Errno::ROFS };
            assert_eq!(guest.err(number, &arguments), error, "system call {number}, {folder}");
        }
    }
    // Links whose last name is one, and a directory's own descriptor.
    for (path, flags) in [("/data/to-file", libc::O_RDWR), ("/data/to-nothing", libc::O_CREAT | libc::O_RDWR)]
    {
        assert_eq!(guest.open_err(path, flags), Errno::ROFS, "{path}");
    }
    assert_eq!(guest.err(libc::SYS_truncate, &[guest.text("/data/to-file"), 0]), Errno::ROFS);
    let through = guest.ok(libc::SYS_openat, &[outer, guest.text("x/link"), libc::O_DIRECTORY as u64]);
    for fd in [through, inner] {
        assert_eq!(guest.err(libc::SYS_fchmod, &[fd, 0o777]), Errno::ROFS);
        let create = (libc::O_CREAT | libc::O_RDWR) as u64;
        assert_eq!(guest.err(libc::SYS_openat, &[fd, guest.text("new"), create, 0o666]), Errno::ROFS);
    }
    assert_eq!(std::fs::read_to_string(ro.join("file")).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(&ro).unwrap().count(), 2);
    // The rest is for writing, also through the inner one.
    guest.open("/data/sub/ro/../new", libc::O_CREAT | libc::O_RDWR);
    guest.open("/data/x/new", libc::O_CREAT | libc::O_RDWR);
}

/// A granted directory, and what leads to it, stays where the host looks for it.
#[test]
fn granted_directories_are_not_moved() {
    let (host, guest) = nested();
    let current = libc::AT_FDCWD as u64;
    let [ro, sub, other, x] =
        ["/data/sub/ro", "/data/sub", "/data/other", "/data/x"].map(|path| guest.text(path));
    let outer = guest.open("/data", libc::O_DIRECTORY);
    for (number, arguments) in [
        (libc::SYS_renameat2, vec![outer, guest.text("sub/ro"), outer, guest.text("ro2"), 0]),
        (libc::SYS_renameat2, vec![outer, guest.text("x/../sub"), outer, guest.text("sub2"), 0]),
        (libc::SYS_renameat2, vec![current, sub, current, other, 0]),
        (libc::SYS_renameat2, vec![current, x, current, sub, libc::RENAME_EXCHANGE as u64]),
        (libc::SYS_renameat2, vec![current, sub, current, x, libc::RENAME_EXCHANGE as u64]),
        (libc::SYS_unlinkat, vec![outer, guest.text("sub/ro"), libc::AT_REMOVEDIR as u64]),
        (libc::SYS_unlinkat, vec![outer, guest.text("sub/"), libc::AT_REMOVEDIR as u64]),
    ] {
        assert_eq!(guest.err(number, &arguments), Errno::BUSY, "system call {number}");
    }
    let error = guest.err(libc::SYS_rename, &[ro, other]);
    assert!(matches!(error, Errno::BUSY | Errno::ROFS), "{error}");
    assert!(host.path().join("data/sub/ro/file").exists());
    guest.ok(libc::SYS_rename, &[x, other]);
    guest.ok(libc::SYS_rename, &[other, x]);
}

/// Inside a directory that may be read, one that may be written stays so, also by a roundabout path.
#[test]
fn a_writable_grant_may_lie_in_a_read_only_one() {
    let host = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(host.path().join("etc")).unwrap();
    std::fs::create_dir_all(host.path().join("tmp")).unwrap();
    let grants = Grants::default()
        .directory("/", host.path(), Access::ReadOnly)
        .and_then(|grants| grants.directory("/tmp", host.path().join("tmp"), Access::ReadWrite))
        .unwrap();
    let guest = Guest::new(grants);
    let create = libc::O_CREAT | libc::O_RDWR;
    guest.open("/tmp/one", create);
    guest.open("/etc/../tmp/two", create);
    for path in ["/three", "/etc/three", "/tmp/../three"] {
        assert_eq!(guest.open_err(path, create), Errno::ROFS, "{path}");
    }
}

/// A FIFO that is refused has not been opened: a process that waits at its other end still waits.
#[test]
fn what_is_refused_was_not_opened() {
    use std::os::unix::fs::OpenOptionsExt;
    let (host, guest) = house();
    let fifo = host.path().join("granted/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // A writer that does not wait finds a reader only if there was one in between; its reader then sees the end.
    let reader = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&fifo).unwrap();
    let hung_up = || {
        let mut fds = [rustix::event::PollFd::new(&reader, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
        fds[0].revents().contains(rustix::event::PollFlags::HUP)
    };
    assert!(!hung_up(), "no writer has come yet");
    for flags in
        [libc::O_WRONLY, libc::O_RDWR, libc::O_WRONLY | libc::O_NONBLOCK, libc::O_CREAT | libc::O_WRONLY]
    {
        assert_eq!(guest.open_err("/data/fifo", flags), Errno::ACCESS);
        assert!(!hung_up(), "it was opened for writing, and closed");
    }
}
