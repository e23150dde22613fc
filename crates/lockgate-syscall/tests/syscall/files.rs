//! Files beneath granted directories.
use crate::guest::Guest;
use lockgate_syscall::{Access, Grants, Process};
use rustix::io::Errno;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use tempfile::TempDir;

fn data(access: Access) -> (TempDir, Guest) {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("greeting"), "hello, file").unwrap();
    std::fs::create_dir(host.path().join("folder")).unwrap();
    let guest = Guest::with_data(host.path(), access);
    (host, guest)
}

#[test]
fn read_write_seek() {
    let (host, guest) = data(Access::ReadWrite);
    let fd = guest.open("/data/greeting", libc::O_RDWR);
    assert_eq!(guest.read(fd, 5), b"hello");
    assert_eq!(guest.ok(libc::SYS_lseek, &[fd, 7, libc::SEEK_SET as u64]), 7);
    assert_eq!(guest.ok(libc::SYS_write, &[fd, guest.put(b"gate"), 4]), 4);
    assert_eq!(guest.ok(libc::SYS_lseek, &[fd, 0, libc::SEEK_CUR as u64]), 11);
    assert_eq!(guest.err(libc::SYS_lseek, &[fd, -1i64 as u64, libc::SEEK_SET as u64]), Errno::INVAL);
    let at = guest.room(4);
    assert_eq!(guest.ok(libc::SYS_pread64, &[fd, at, 4, 7]), 4);
    assert_eq!(guest.get(at, 4), b"gate");
    guest.ok(libc::SYS_pwrite64, &[fd, guest.put(b"H"), 1, 0]);
    guest.ok(libc::SYS_fsync, &[fd]);
    guest.ok(libc::SYS_fdatasync, &[fd]);
    guest.ok(libc::SYS_sync_file_range, &[fd, 0, 0, libc::SYNC_FILE_RANGE_WRITE.into()]);
    guest.ok(libc::SYS_close, &[fd]);
    assert_eq!(std::fs::read(host.path().join("greeting")).unwrap(), b"Hello, gate");
    assert_eq!(guest.err(libc::SYS_read, &[fd, at, 1]), Errno::BADF);
}

#[test]
fn vectors_are_gathered_and_scattered() {
    let (host, guest) = data(Access::ReadWrite);
    let fd = guest.open("/data/new", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL);
    let (one, two) = (guest.put(b"one "), guest.put(b"two"));
    let vector = guest.words(&[one, 4, 0, 0, two, 3]);
    assert_eq!(guest.ok(libc::SYS_writev, &[fd, vector, 3]), 7);
    assert_eq!(std::fs::read(host.path().join("new")).unwrap(), b"one two");
    let (first, second) = (guest.room(2), guest.room(100));
    let vector = guest.words(&[first, 2, second, 100]);
    assert_eq!(guest.ok(libc::SYS_preadv, &[fd, vector, 2, 0]), 7);
    assert_eq!((guest.get(first, 2), guest.get(second, 5)), (b"on".to_vec(), b"e two".to_vec()));
    guest.ok(libc::SYS_pwritev, &[fd, guest.words(&[two, 3]), 1, 0]);
    assert_eq!(std::fs::read(host.path().join("new")).unwrap(), b"two two");
}

#[test]
fn large_transfers_are_whole() {
    let (host, guest) = data(Access::ReadWrite);
    let bytes: Vec<u8> = (0..300_000u32).map(|i| (i / 7) as u8).collect();
    let at = guest.put(&bytes);
    let fd = guest.open("/data/large", libc::O_RDWR | libc::O_CREAT);
    assert_eq!(guest.ok(libc::SYS_write, &[fd, at, bytes.len() as u64]), bytes.len() as u64);
    assert_eq!(std::fs::read(host.path().join("large")).unwrap(), bytes);
    guest.ok(libc::SYS_lseek, &[fd, 0, 0]);
    assert!(guest.read(fd, bytes.len()) == bytes);
}

#[test]
fn append_and_truncate() {
    let (host, guest) = data(Access::ReadWrite);
    let path = host.path().join("greeting");
    let fd = guest.open("/data/greeting", libc::O_WRONLY | libc::O_APPEND);
    guest.ok(libc::SYS_write, &[fd, guest.put(b"!"), 1]);
    assert_eq!(std::fs::read(&path).unwrap(), b"hello, file!");
    guest.ok(libc::SYS_ftruncate, &[fd, 5]);
    assert_eq!(std::fs::read(&path).unwrap(), b"hello");
    guest.ok(libc::SYS_truncate, &[guest.text("/data/greeting"), 2]);
    assert_eq!(std::fs::read(&path).unwrap(), b"he");
    guest.open("/data/greeting", libc::O_WRONLY | libc::O_TRUNC);
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    assert_eq!(guest.err(libc::SYS_ftruncate, &[fd, -1i64 as u64]), Errno::INVAL);
    guest.ok(libc::SYS_fallocate, &[fd, 0, 0, 100]);
    assert_eq!(path.metadata().unwrap().len(), 100);
}

#[test]
fn stat_family_agrees() {
    let (host, guest) = data(Access::ReadOnly);
    let meta = host.path().join("greeting").metadata().unwrap();
    let path = guest.text("/data/greeting");
    let fd = guest.open("/data/greeting", 0);
    let current = libc::AT_FDCWD as u64;
    let at = guest.room(144);
    let calls: [(i64, &[u64]); 5] = [
        (libc::SYS_stat, &[path, at]),
        (libc::SYS_lstat, &[path, at]),
        (libc::SYS_fstat, &[fd, at]),
        (libc::SYS_newfstatat, &[current, path, at, 0]),
        (libc::SYS_newfstatat, &[fd, guest.text(""), at, libc::AT_EMPTY_PATH as u64]),
    ];
    for (number, arguments) in calls {
        lockgate_syscall::Memory::write(&guest.window, at, &[0; 144]).unwrap();
        guest.ok(number, arguments);
        assert_eq!((guest.word(at), guest.word(at + 8)), (meta.dev(), meta.ino()));
        let mode = u32::from_le_bytes(guest.get(at + 24, 4).try_into().unwrap());
        assert_eq!(mode, meta.mode());
        assert_eq!(guest.word(at + 48), 11, "size");
        assert_eq!(guest.word(at + 88) as i64, meta.mtime());
        assert_eq!(guest.get(at + 28, 4), 65534u32.to_le_bytes(), "owned by the emulated user");
    }
    let at = guest.room(256);
    guest.ok(libc::SYS_statx, &[current, path, 0, 0x7ff, at]);
    assert_eq!((guest.word(at + 32), guest.word(at + 40)), (meta.ino(), 11));
    assert_eq!(guest.word(at + 112) as i64, meta.mtime());
}

/// Room and sizes are the file system's; which one it is, of those that look alike, is not told.
#[test]
fn file_systems_have_room() {
    let unnamed = |guest: &Guest, at: u64, writable: bool| {
        let flags = guest.word(at + 80);
        assert_eq!(guest.word(at + 56), 0, "no identity");
        assert_eq!(flags & !libc::ST_RDONLY, 0x20 | libc::ST_NOSUID | libc::ST_NODEV | libc::ST_NOEXEC);
        assert_eq!(flags & libc::ST_RDONLY == 0, writable, "{flags:#x}");
    };
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let (host, guest) = data(access);
        let native = rustix::fs::statfs(host.path()).unwrap();
        let room = rustix::fs::statvfs(host.path()).unwrap();
        let (path, fd) = (guest.text("/data/greeting"), guest.open("/data/greeting", 0));
        let at = guest.room(120);
        let calls: [(i64, &[u64]); 3] = [
            (libc::SYS_statfs, &[path, at]),
            (libc::SYS_statfs, &[guest.text("/data"), at]),
            (libc::SYS_fstatfs, &[fd, at]),
        ];
        for (number, arguments) in calls {
            lockgate_syscall::Memory::write(&guest.window, at, &[0xff; 120]).unwrap();
            guest.ok(number, arguments);
            let fields = [0, 8, 16, 40, 64, 72].map(|field| guest.word(at + field));
            let expected = [
                native.f_type as u64,
                native.f_bsize as u64,
                room.f_blocks,
                room.f_files,
                room.f_namemax,
                room.f_frsize,
            ];
            assert_eq!(fields, expected, "{number}");
            // (Others use the file system meanwhile.)
            assert!(guest.word(at + 24) <= room.f_blocks && guest.word(at + 32) <= guest.word(at + 24));
            assert_eq!(guest.get(at + 88, 32), [0; 32], "spare");
            unnamed(&guest, at, access == Access::ReadWrite);
        }
        // What leads to a grant is a folder that no domain writes.
        guest.ok(libc::SYS_statfs, &[guest.text("/"), at]);
        unnamed(&guest, at, false);
        for (path, error) in [("/data/none", Errno::NOENT), ("", Errno::NOENT), ("/etc", Errno::NOENT)] {
            assert_eq!(guest.err(libc::SYS_statfs, &[guest.text(path), at]), error, "{path}");
        }
        assert_eq!(guest.err(libc::SYS_fstatfs, &[77, at]), Errno::BADF);
    }
}

#[test]
fn access_tells_rights() {
    let (_host, guest) = data(Access::ReadOnly);
    let path = guest.text("/data/greeting");
    guest.ok(libc::SYS_access, &[path, libc::R_OK as u64]);
    guest.ok(libc::SYS_faccessat, &[libc::AT_FDCWD as u64, path, libc::F_OK as u64]);
    assert_eq!(guest.err(libc::SYS_access, &[path, libc::W_OK as u64]), Errno::ROFS);
    assert_eq!(guest.err(libc::SYS_access, &[path, libc::X_OK as u64]), Errno::ACCESS);
    assert_eq!(guest.err(libc::SYS_access, &[guest.text("/data/none"), 0]), Errno::NOENT);
}

#[test]
fn names_change() {
    let (host, guest) = data(Access::ReadWrite);
    let there = |name: &str| host.path().join(name).exists();
    guest.ok(libc::SYS_mkdir, &[guest.text("/data/made"), 0o777]);
    assert!(host.path().join("made").is_dir());
    assert_eq!(guest.err(libc::SYS_mkdir, &[guest.text("/data"), 0o777]), Errno::EXIST);
    guest.ok(libc::SYS_rename, &[guest.text("/data/greeting"), guest.text("/data/made/moved")]);
    assert!(there("made/moved") && !there("greeting"));
    guest.ok(libc::SYS_link, &[guest.text("/data/made/moved"), guest.text("/data/second")]);
    assert!(there("second"));
    assert_eq!(guest.err(libc::SYS_rmdir, &[guest.text("/data/made")]), Errno::NOTEMPTY);
    guest.ok(libc::SYS_unlink, &[guest.text("/data/made/moved")]);
    guest.ok(libc::SYS_rmdir, &[guest.text("/data/made/")]);
    assert!(!there("made"));
    let exclusive = [libc::AT_FDCWD as u64, guest.text("/data/second"), libc::AT_FDCWD as u64];
    let noreplace = [&exclusive[..], &[guest.text("/data/folder"), libc::RENAME_NOREPLACE.into()]].concat();
    assert_eq!(guest.err(libc::SYS_renameat2, &noreplace), Errno::EXIST);
    for busy in ["/data", "/data/"] {
        assert_eq!(guest.err(libc::SYS_rmdir, &[guest.text(busy)]), Errno::BUSY, "{busy}");
    }
}

#[test]
fn directories_are_listed_once() {
    let (host, guest) = data(Access::ReadOnly);
    for i in 0..200 {
        std::fs::write(host.path().join(format!("file-with-a-longish-name-{i}")), "").unwrap();
    }
    let fd = guest.open("/data", libc::O_RDONLY | libc::O_DIRECTORY);
    let at = guest.room(1024);
    let mut names = Vec::new();
    loop {
        let got = guest.ok(libc::SYS_getdents64, &[fd, at, 1024]) as usize;
        assert!(got <= 1024);
        if got == 0 {
            break;
        }
        let bytes = guest.get(at, got);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = u16::from_le_bytes([rest[16], rest[17]]) as usize;
            let name = rest[19..length].split(|byte| *byte == 0).next().unwrap();
            names.push(String::from_utf8(name.to_vec()).unwrap());
            rest = &rest[length..];
        }
    }
    names.sort();
    let before = names.len();
    names.dedup();
    assert_eq!((names.len(), before), (204, 204), "200 files, greeting, folder, `.` and `..`");
    guest.ok(libc::SYS_lseek, &[fd, 0, 0]);
    assert_eq!(guest.err(libc::SYS_getdents64, &[fd, at, 1]), Errno::INVAL, "no room for an entry");
}

#[test]
fn links_are_read_but_not_planted() {
    let (host, guest) = data(Access::ReadWrite);
    std::os::unix::fs::symlink("greeting", host.path().join("link")).unwrap();
    let at = guest.room(64);
    let got = guest.ok(libc::SYS_readlink, &[guest.text("/data/link"), at, 64]);
    assert_eq!(guest.get(at, got as usize), b"greeting");
    assert_eq!(guest.ok(libc::SYS_readlink, &[guest.text("/data/link"), at, 3]), 3);
    assert_eq!(guest.err(libc::SYS_readlink, &[guest.text("/data/greeting"), at, 64]), Errno::INVAL);
    let plant = [guest.text("/etc/shadow"), guest.text("/data/trap")];
    assert_eq!(guest.err(libc::SYS_symlink, &plant), Errno::PERM);
    assert_eq!(guest.read(guest.open("/data/link", 0), 5), b"hello", "links inside a grant work");
}

#[test]
fn rights_never_include_set_user_id() {
    let (host, guest) = data(Access::ReadWrite);
    let path = host.path().join("greeting");
    guest.ok(libc::SYS_chmod, &[guest.text("/data/greeting"), 0o7755]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
    let fd = guest.open("/data/greeting", libc::O_RDONLY);
    guest.ok(libc::SYS_fchmod, &[fd, 0o4700]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    guest.ok(libc::SYS_open, &[guest.text("/data/tool"), (libc::O_CREAT | libc::O_WRONLY) as u64, 0o6777]);
    assert_eq!(host.path().join("tool").metadata().unwrap().mode() & 0o7000, 0);
    assert_eq!(guest.ok(libc::SYS_umask, &[0o077]), 0o022);
    guest.ok(libc::SYS_mkdir, &[guest.text("/data/private"), 0o777]);
    assert_eq!(host.path().join("private").metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(guest.err(libc::SYS_chown, &[guest.text("/data/greeting"), 0, 0]), Errno::PERM);
}

/// The host's own mask holds, too. (Where the host says nothing: `rights_never_include_set_user_id`.)
#[test]
fn a_process_begins_with_the_mask_that_the_host_says() {
    let (host, mut guest) = data(Access::ReadWrite);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("Umask:")).expect("Linux 4.7");
    let own = u32::from_str_radix(own.trim(), 8).unwrap();
    for (said, mask) in [(0o027, 0o027), (0, 0), (0o777, 0o777), (0o7077, 0o077)] {
        let grants = Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
        guest.process = Process::new(Arc::new(grants)).with_umask(said);
        let name = format!("made-with-{said:o}");
        guest.ok(libc::SYS_mkdir, &[guest.text(&format!("/data/{name}")), 0o777]);
        let made = host.path().join(name).metadata().unwrap().mode() & 0o7777;
        assert_eq!(made, 0o777 & !mask & !own, "{said:o}");
        assert_eq!(guest.ok(libc::SYS_umask, &[0o022]), mask.into(), "{said:o}");
    }
}

#[test]
fn times_are_set() {
    let (host, guest) = data(Access::ReadWrite);
    let path = host.path().join("greeting");
    let times = guest.words(&[1_000_000_000, 0, 1_100_000_000, 0]);
    let current = libc::AT_FDCWD as u64;
    guest.ok(libc::SYS_utimensat, &[current, guest.text("/data/greeting"), times, 0]);
    assert_eq!(path.metadata().unwrap().mtime(), 1_100_000_000);
    let fd = guest.open("/data/greeting", libc::O_RDONLY);
    guest.ok(libc::SYS_utimensat, &[fd, 0, 0, 0]);
    assert!(path.metadata().unwrap().mtime() > 1_500_000_000, "null means now");
}

#[test]
fn current_directory_is_the_domains() {
    let (host, guest) = data(Access::ReadWrite);
    std::fs::write(host.path().join("folder/inner"), "deep").unwrap();
    let before = std::env::current_dir().unwrap();
    let at = guest.room(64);
    assert_eq!(guest.ok(libc::SYS_getcwd, &[at, 64]), 6, "it starts in the first granted directory");
    guest.ok(libc::SYS_chdir, &[guest.text("folder")]);
    assert_eq!(guest.ok(libc::SYS_getcwd, &[at, 64]), 13);
    assert_eq!(guest.get(at, 13), b"/data/folder\0");
    assert_eq!(guest.read(guest.open("inner", 0), 9), b"deep");
    assert_eq!(guest.read(guest.open("../greeting", 0), 5), b"hello");
    assert_eq!(guest.err(libc::SYS_getcwd, &[at, 12]), Errno::RANGE);
    assert_eq!(guest.err(libc::SYS_chdir, &[guest.text("/data/greeting")]), Errno::NOTDIR);
    assert_eq!(guest.err(libc::SYS_chdir, &[guest.text("/etc")]), Errno::NOENT);
    let top = guest.open("/data", libc::O_DIRECTORY);
    guest.ok(libc::SYS_fchdir, &[top]);
    assert_eq!(guest.read(guest.open("greeting", 0), 5), b"hello");
    assert_eq!(std::env::current_dir().unwrap(), before, "the host's own has not moved");
}

#[test]
fn relative_to_a_descriptor() {
    let (host, guest) = data(Access::ReadOnly);
    std::fs::write(host.path().join("folder/inner"), "deep").unwrap();
    let folder = guest.open("/data/folder", libc::O_RDONLY | libc::O_DIRECTORY);
    let fd = guest.ok(libc::SYS_openat, &[folder, guest.text("inner"), 0, 0]);
    assert_eq!(guest.read(fd, 9), b"deep");
    assert_eq!(guest.err(libc::SYS_openat, &[fd, guest.text("x"), 0, 0]), Errno::NOTDIR);
    assert_eq!(guest.err(libc::SYS_openat, &[99, guest.text("x"), 0, 0]), Errno::BADF);
}

/// Programs that walk a path from its root (`realpath`, `mkdir -p`) find the folders above a grant, empty.
#[test]
fn folders_above_a_grant_are_there() {
    let host = tempfile::tempdir().unwrap();
    let guest = Guest::new(Grants::default().directory("/a/b/c", host.path(), Access::ReadWrite).unwrap());
    let at = guest.room(144);
    for path in ["/", "/a", "/a/b", "/a/b/", "..", "../.."] {
        let text = guest.text(path);
        guest.ok(libc::SYS_lstat, &[text, at]);
        let mode = u32::from_le_bytes(guest.get(at + 24, 4).try_into().unwrap());
        assert_eq!(mode, libc::S_IFDIR | 0o555, "{path}");
        assert_eq!(guest.err(libc::SYS_readlink, &[text, at, 100]), Errno::INVAL, "no symbolic link");
        guest.ok(libc::SYS_access, &[text, libc::X_OK as u64]);
        assert_eq!(guest.err(libc::SYS_access, &[text, libc::W_OK as u64]), Errno::ROFS);
        assert_eq!(guest.err(libc::SYS_mkdir, &[text, 0o777]), Errno::EXIST);
        assert_eq!(guest.open_err(path, libc::O_DIRECTORY), Errno::NOENT, "nothing to open");
    }
    assert_eq!(guest.err(libc::SYS_lstat, &[guest.text("/a/x"), at]), Errno::NOENT);
    assert_eq!(guest.err(libc::SYS_mkdir, &[guest.text("/a/x"), 0o777]), Errno::NOENT);
}

/// The deepest grant wins, and `..` from one grant into another is found by its text.
#[test]
fn grants_nest() {
    let (outer, inner) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outer.path().join("f"), "outer").unwrap();
    std::fs::write(inner.path().join("f"), "inner").unwrap();
    let grants = Grants::default()
        .directory("/", outer.path(), Access::ReadOnly)
        .and_then(|grants| grants.directory("/a/b", inner.path(), Access::ReadWrite))
        .unwrap()
        .current_directory("/a/b");
    let guest = Guest::new(grants);
    for (path, text) in [
        ("/f", "outer"),
        ("/a/b/f", "inner"),
        ("f", "inner"),
        ("../../f", "outer"),
        ("/../f", "outer"),
        ("//a/./b//f", "inner"),
    ] {
        assert_eq!(guest.read(guest.open(path, 0), 5), text.as_bytes(), "{path}");
    }
    assert_eq!(guest.open_err("/new", libc::O_CREAT | libc::O_WRONLY), Errno::ROFS);
    guest.open("/a/b/new", libc::O_CREAT | libc::O_WRONLY);
}

fn current(guest: &Guest) -> String {
    let at = guest.room(64);
    let length = guest.ok(libc::SYS_getcwd, &[at, 64]) as usize;
    String::from_utf8(guest.get(at, length - 1)).unwrap()
}

/// The current directory is a directory and no name: it stays the same when it, or one above it, is renamed and others get the names.
#[test]
fn the_current_directory_is_known_by_identity() {
    let host = tempfile::tempdir().unwrap();
    let inside = |path: &str| host.path().join(path);
    std::fs::create_dir_all(inside("a/b/c")).unwrap();
    std::os::unix::fs::symlink("a/b", inside("link")).unwrap();
    let grants = || Grants::default().directory("/data", host.path(), Access::ReadWrite).unwrap();
    let started = Guest::new(grants().current_directory("/data/a/b"));
    let called = Guest::new(grants());
    called.ok(libc::SYS_chdir, &[called.text("/data/a/b")]);
    let opened = Guest::new(grants());
    let fd = opened.open("/data/link", libc::O_DIRECTORY);
    opened.ok(libc::SYS_fchdir, &[fd]);
    let linked = Guest::new(grants());
    linked.ok(libc::SYS_chdir, &[linked.text("link")]);
    let guests = [started, called, opened, linked];
    for guest in &guests {
        assert_eq!(current(guest), "/data/a/b");
    }
    let guest = &guests[1];
    guest.ok(libc::SYS_rename, &[guest.text("/data/a/b"), guest.text("/data/a/moved")]);
    guest.ok(libc::SYS_rename, &[guest.text("/data/a"), guest.text("/data/z")]);
    for path in ["/data/a", "/data/a/b", "/data/a/b/c"] {
        guest.ok(libc::SYS_mkdir, &[guest.text(path), 0o777]);
    }
    for (i, guest) in guests.iter().enumerate() {
        guest.open(&format!("new{i}"), libc::O_CREAT | libc::O_WRONLY);
        assert!(
            inside("z/moved").join(format!("new{i}")).exists(),
            "{i}: not in the directory of the old name"
        );
        assert_eq!(current(guest), "/data/z/moved");
        guest.open(&format!("../above{i}"), libc::O_CREAT | libc::O_WRONLY);
        assert!(inside("z").join(format!("above{i}")).exists(), "{i}");
    }
    // One that is gone is nowhere, whatever has its name.
    guest.ok(libc::SYS_chdir, &[guest.text("c")]);
    guest.ok(libc::SYS_rmdir, &[guest.text("/data/z/moved/c")]);
    guest.ok(libc::SYS_mkdir, &[guest.text("/data/z/moved/c"), 0o777]);
    assert_eq!(guest.open_err("f", libc::O_CREAT | libc::O_WRONLY), Errno::NOENT);
    assert_eq!(guest.err(libc::SYS_getcwd, &[guest.room(64), 64]), Errno::NOENT);
    guest.ok(libc::SYS_chdir, &[guest.text("/data")]);
    assert_eq!(current(guest), "/data");
}

/// Granted directories within each other: the way that a program has gone is the one that it is told.
#[test]
fn the_current_directory_stays_in_its_grant() {
    let host = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(host.path().join("in/deep")).unwrap();
    let grants = Grants::default()
        .directory("/out", host.path(), Access::ReadWrite)
        .and_then(|grants| grants.directory("/inner", host.path().join("in"), Access::ReadWrite))
        .unwrap();
    let guest = Guest::new(grants);
    for path in ["/out/in/deep", "/inner/deep", "/out/in", "/inner", "/out"] {
        guest.ok(libc::SYS_chdir, &[guest.text(path)]);
        assert_eq!(current(&guest), path);
    }
    guest.ok(libc::SYS_chdir, &[guest.text("../inner")]);
    assert_eq!(current(&guest), "/inner");
}

/// As in Linux: what a flag does not mean is no flag, and `.` and `..` are no names to give or take away.
#[test]
fn flags_and_names_that_are_none_are_refused() {
    let (host, guest) = data(Access::ReadWrite);
    let (path, at, none) = (guest.text("greeting"), guest.room(256), libc::AT_FDCWD as u64);
    for unknown in [1, 2, 0x40, 0x4000_0000] {
        assert_eq!(guest.err(libc::SYS_newfstatat, &[none, path, at, unknown]), Errno::INVAL);
        assert_eq!(guest.err(libc::SYS_faccessat2, &[none, path, 0, unknown]), Errno::INVAL);
        assert_eq!(guest.err(libc::SYS_utimensat, &[none, path, 0, unknown]), Errno::INVAL);
        assert_eq!(guest.err(libc::SYS_dup3, &[0, 5, unknown]), Errno::INVAL);
    }
    assert_eq!(guest.err(libc::SYS_readlink, &[path, at, 0]), Errno::INVAL);
    for kind in [libc::O_RDONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_DIRECTORY] {
        assert_eq!(guest.open_err("/data/folder", kind | libc::O_TRUNC), Errno::ISDIR);
    }
    let (file, itself) = (guest.open("/data/greeting", 0), guest.text(""));
    let nofollow = libc::AT_SYMLINK_NOFOLLOW as u64;
    assert_eq!(guest.err(libc::SYS_utimensat, &[file, 0, 0, nofollow]), Errno::INVAL);
    // A descriptor is an `int`, whatever lies above it.
    for current in [none, none & 0xffff_ffff] {
        guest.ok(libc::SYS_newfstatat, &[current, itself, at, libc::AT_EMPTY_PATH as u64]);
    }
    for (last, of_rmdir) in [(".", Errno::INVAL), ("./", Errno::INVAL), ("..", Errno::NOTEMPTY)] {
        let (last, new) = (guest.text(&format!("/data/folder/{last}")), guest.text("/data/new"));
        assert_eq!(guest.err(libc::SYS_rename, &[last, new]), Errno::BUSY);
        assert_eq!(guest.err(libc::SYS_rename, &[path, last]), Errno::BUSY);
        assert_eq!(guest.err(libc::SYS_rmdir, &[last]), of_rmdir);
        assert_eq!(guest.err(libc::SYS_unlink, &[last]), Errno::ISDIR);
        assert_eq!(guest.err(libc::SYS_link, &[path, last]), Errno::EXIST);
        assert_eq!(guest.err(libc::SYS_mkdir, &[last, 0o777]), Errno::EXIST);
    }
    assert!(host.path().join("folder").is_dir());
}

/// A path that ends in `.` leads to a directory, or nowhere; a symbolic link before that is followed. From wherever the path begins.
#[test]
fn a_dot_at_the_end_is_a_directorys() {
    let (host, guest) = data(Access::ReadWrite);
    std::os::unix::fs::symlink("folder", host.path().join("link")).unwrap();
    std::os::unix::fs::symlink("greeting", host.path().join("other")).unwrap();
    let (top, at) = (guest.open("/data", libc::O_DIRECTORY), guest.room(256));
    let none = libc::AT_FDCWD as u64;
    let kind = || guest.word(at + 24) as u32 & libc::S_IFMT;
    for (fd, before) in [(none, "/data/"), (none, ""), (none, "./"), (top, "")] {
        for end in ["/.", "/./", "/.//", "/./."] {
            let path = |name: &str| guest.text(&format!("{before}{name}{end}"));
            for name in ["greeting", "other"] {
                let path = path(name);
                for flags in [libc::O_RDONLY, libc::O_RDWR | libc::O_TRUNC, libc::O_PATH] {
                    assert_eq!(guest.err(libc::SYS_openat, &[fd, path, flags as u64, 0]), Errno::NOTDIR);
                }
                assert_eq!(guest.err(libc::SYS_newfstatat, &[fd, path, at, 0]), Errno::NOTDIR);
                assert_eq!(guest.err(libc::SYS_faccessat, &[fd, path, 0]), Errno::NOTDIR);
                assert_eq!(guest.err(libc::SYS_utimensat, &[fd, path, 0, 0]), Errno::NOTDIR);
                assert_eq!(guest.err(libc::SYS_fchmodat, &[fd, path, 0o600]), Errno::NOTDIR);
                assert_eq!(guest.err(libc::SYS_unlinkat, &[fd, path, 0]), Errno::NOTDIR);
            }
            let create = (libc::O_CREAT | libc::O_RDWR) as u64;
            assert_eq!(guest.err(libc::SYS_openat, &[fd, path("new"), create, 0o600]), Errno::NOENT);
            assert_eq!(guest.err(libc::SYS_mkdirat, &[fd, path("new"), 0o700]), Errno::NOENT);
            assert_eq!(guest.err(libc::SYS_mkdirat, &[fd, path("folder"), 0o700]), Errno::EXIST);
            let flags = (libc::O_NOFOLLOW | libc::O_DIRECTORY) as u64;
            let opened = guest.ok(libc::SYS_openat, &[fd, path("link"), flags, 0]);
            guest.ok(libc::SYS_close, &[opened]);
            guest.ok(libc::SYS_newfstatat, &[fd, path("link"), at, libc::AT_SYMLINK_NOFOLLOW as u64]);
            assert_eq!(kind(), libc::S_IFDIR, "{before} {end}");
            assert_eq!(guest.err(libc::SYS_readlinkat, &[fd, path("link"), at, 64]), Errno::INVAL);
        }
    }
    assert_eq!(guest.err(libc::SYS_truncate, &[guest.text("/data/greeting/."), 0]), Errno::NOTDIR);
    assert_eq!(std::fs::read(host.path().join("greeting")).unwrap(), b"hello, file");
    assert!(!host.path().join("new").exists());
}

/// Runs `test` as a user without root's rights over files, if this is root.
fn unprivileged(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The thread's own rights, not the process's: `rustix` makes the raw system call.
            if rustix::process::geteuid().is_root() {
                let sets = rustix::thread::CapabilitySets {
                    effective: rustix::thread::CapabilitySet::empty(),
                    permitted: rustix::thread::CapabilitySet::empty(),
                    inheritable: rustix::thread::CapabilitySet::empty(),
                };
                rustix::thread::set_capabilities(None, sets).unwrap();
            }
            test();
        });
    });
}

#[test]
fn rights_of_what_cannot_be_opened_are_its_owners() {
    let (host, guest) = data(Access::ReadWrite);
    let mode = |name: &str, mode| {
        std::fs::set_permissions(host.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("greeting", 0o200);
    mode("folder", 0o000);
    let chmod = |name: &str, mode| guest.ok(libc::SYS_chmod, &[guest.text(name), mode]);
    unprivileged(|| {
        assert_eq!(guest.open_err("/data/greeting", libc::O_RDONLY), Errno::ACCESS);
        chmod("/data/greeting", 0o640);
        chmod("/data/folder", 0o750);
    });
    for (name, mode) in [("greeting", 0o640), ("folder", 0o750)] {
        assert_eq!(host.path().join(name).metadata().unwrap().mode() & 0o7777, mode, "{name}");
    }
    // What may not be opened for other reasons keeps its rights.
    let (read_only, guest) = data(Access::ReadOnly);
    let before = read_only.path().join("greeting").metadata().unwrap().mode();
    assert_eq!(guest.err(libc::SYS_chmod, &[guest.text("/data/greeting"), 0o777]), Errno::ROFS);
    assert_eq!(read_only.path().join("greeting").metadata().unwrap().mode(), before);
    let (host, guest) = data(Access::ReadWrite);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        host.path().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(guest.err(libc::SYS_chmod, &[guest.text("/data/fifo"), 0o777]), Errno::ACCESS);
}

#[test]
fn nobody_goes_where_nothing_may_be_looked_up() {
    let (host, guest) = data(Access::ReadWrite);
    std::fs::set_permissions(host.path().join("folder"), std::fs::Permissions::from_mode(0o600)).unwrap();
    unprivileged(|| {
        assert_eq!(guest.err(libc::SYS_chdir, &[guest.text("/data/folder")]), Errno::ACCESS);
        let folder = guest.open("/data/folder", libc::O_RDONLY | libc::O_DIRECTORY);
        assert_eq!(guest.err(libc::SYS_fchdir, &[folder]), Errno::ACCESS);
        guest.ok(libc::SYS_chmod, &[guest.text("/data/folder"), 0o700]);
        guest.ok(libc::SYS_fchdir, &[folder]);
    });
}

/// Where several arguments are wrong, Linux says one thing of all; programs that try what is there rely on it.
#[test]
fn errors_come_in_the_kernels_order() {
    let (_host, guest) = data(Access::ReadWrite);
    const BAD: u64 = 77;
    let minus = |by: i64| (-by) as u64;
    let at = guest.room(16);
    let [none, greeting, folder, root] =
        ["/data/none/..", "/data/greeting", "/data/folder", "/data/."].map(|path| guest.text(path));
    let long_name = guest.text(&format!("/data/{}", "a".repeat(256)));
    let cwd = libc::AT_FDCWD as u64;
    let fifo = {
        let ends = guest.room(8);
        guest.ok(libc::SYS_pipe2, &[ends, 0]);
        guest.word(ends)
    };
    let (reading, writing) = (fifo & 0xffff_ffff, fifo >> 32);
    let (file, empty) = (guest.open("/data/greeting", libc::O_RDWR), guest.text(""));
    guest.ok(libc::SYS_faccessat2, &[file, empty, 6, libc::AT_EMPTY_PATH as u64]);
    let new_file = (libc::O_CREAT | libc::O_EXCL | libc::O_RDWR) as u64;
    let new_folder = (libc::O_CREAT | libc::O_DIRECTORY | libc::O_RDWR) as u64;
    let cases: &[(i64, &[u64], Errno)] = &[
        (libc::SYS_flock, &[BAD, 15], Errno::INVAL),
        (libc::SYS_creat, &[guest.text("/data/greeting/"), 0o600], Errno::ISDIR),
        (libc::SYS_open, &[guest.text("/data/folder/"), new_file, 0o600], Errno::ISDIR),
        (libc::SYS_open, &[guest.text("/data/none/folder/"), new_file, 0o600], Errno::NOENT),
        (libc::SYS_open, &[guest.text("/data/greeting/folder/"), new_file, 0o600], Errno::NOTDIR),
        (libc::SYS_ftruncate, &[BAD, minus(1)], Errno::INVAL),
        (libc::SYS_truncate, &[none, minus(1)], Errno::INVAL),
        (libc::SYS_pread64, &[BAD, at, 1, minus(1)], Errno::INVAL),
        (libc::SYS_pwrite64, &[writing, at, 0, minus(1)], Errno::INVAL),
        (libc::SYS_pread64, &[writing, at, 0, 1], Errno::SPIPE),
        (libc::SYS_pwrite64, &[reading, at, 0, 1], Errno::SPIPE),
        (libc::SYS_readv, &[BAD, at, minus(1)], Errno::BADF),
        (libc::SYS_writev, &[BAD, at, minus(1)], Errno::BADF),
        (libc::SYS_preadv, &[BAD, at, minus(1), 0], Errno::BADF),
        (libc::SYS_pwritev, &[BAD, at, minus(1), 0], Errno::BADF),
        (libc::SYS_readlink, &[none, at, 0], Errno::INVAL),
        (libc::SYS_open, &[none, new_folder, 0o600], Errno::INVAL),
        (libc::SYS_open, &[folder, new_folder, 0o600], Errno::INVAL),
        (libc::SYS_renameat2, &[cwd, none, cwd, none, 3], Errno::INVAL),
        (libc::SYS_link, &[root, greeting], Errno::EXIST),
        (libc::SYS_link, &[folder, greeting], Errno::EXIST),
        (libc::SYS_link, &[long_name, greeting], Errno::NAMETOOLONG),
        (libc::SYS_link, &[none, greeting], Errno::NOENT),
        (libc::SYS_mmap, &[0, 0, 3, libc::MAP_PRIVATE as u64, BAD, 0], Errno::BADF),
        (libc::SYS_mmap, &[0, 0, 3, libc::MAP_PRIVATE as u64, BAD, 1], Errno::INVAL),
        (libc::SYS_fallocate, &[BAD, 255, 0, 0], Errno::BADF),
        (libc::SYS_fallocate, &[reading, 255, 0, 0], Errno::INVAL),
        (libc::SYS_fallocate, &[reading, 255, 0, 1], Errno::OPNOTSUPP),
        (libc::SYS_fadvise64, &[reading, 0, 0, 0], Errno::SPIPE),
        (libc::SYS_sync_file_range, &[reading, 0, 0, 0], Errno::SPIPE),
        (libc::SYS_sync_file_range, &[file, 0, 0, 8], Errno::INVAL),
        (libc::SYS_sync_file_range, &[BAD, 0, 0, 0], Errno::BADF),
        (libc::SYS_mmap, &[0, 1, 3, 0, file, 0], Errno::INVAL),
        (libc::SYS_lseek, &[file, minus(1), libc::SEEK_DATA as u64], Errno::NXIO),
        (libc::SYS_faccessat2, &[BAD, empty, 4, libc::AT_EMPTY_PATH as u64], Errno::BADF),
        (libc::SYS_faccessat2, &[file, empty, 4, 0], Errno::NOENT),
        (libc::SYS_statx, &[cwd, greeting, 0x6000, 0, at], Errno::INVAL),
        (libc::SYS_statx, &[cwd, greeting, 0, 1 << 31, at], Errno::INVAL),
    ];
    for (i, (number, arguments, error)) in cases.iter().enumerate() {
        assert_eq!(guest.err(*number, arguments), *error, "case {i}: call {number} {arguments:x?}");
    }
}

#[test]
fn what_files_and_pipes_of_a_domain_say_of_themselves() {
    let (_host, guest) = data(Access::ReadWrite);
    let file = guest.open("/data/greeting", libc::O_RDWR);
    let ends = guest.room(8);
    guest.ok(libc::SYS_pipe2, &[ends, 0]);
    let (reading, writing) = (guest.word(ends) & 0xffff_ffff, guest.word(ends) >> 32);
    guest.ok(libc::SYS_write, &[writing, guest.put(b"abc"), 3]);
    let unread = |fd| {
        let at = guest.room(8);
        guest.ok(libc::SYS_ioctl, &[fd, libc::FIONREAD, at]);
        guest.word(at) as i32
    };
    guest.read(file, 5);
    assert_eq!((unread(file), unread(reading)), (6, 3));
    // A pipe is the domain's own.
    guest.ok(libc::SYS_utimensat, &[writing, 0, 0, 0]);
    let on = guest.put(&1u32.to_le_bytes());
    guest.read(reading, 3);
    guest.ok(libc::SYS_ioctl, &[reading, libc::FIONBIO, on]);
    assert_eq!(guest.err(libc::SYS_read, &[reading, guest.room(1), 1]), Errno::AGAIN);
    // Files are ready, by each name of that.
    let asked = libc::POLLIN | libc::POLLRDNORM | libc::POLLWRNORM | libc::POLLPRI;
    let poll = guest.put(&[(file as u32).to_le_bytes(), (asked as u32).to_le_bytes()].concat());
    assert_eq!(guest.ok(libc::SYS_poll, &[poll, 1, 0]), 1);
    assert_eq!((guest.word(poll) >> 48) as i16, asked & !libc::POLLPRI);
}
