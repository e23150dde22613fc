//! A domain's own file: what its code was made from, to be read and nothing else.
use crate::guest::Guest;
use lockgate_syscall::{Access, Grants, Outcome, OwnFile, Process};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tempfile::TempDir;

const PATH: &str = "/proc/self/exe";
const CONTENTS: &[u8] = b"verified bytes";

/// A descriptor that could write: the domain has none of that.
struct Own(Arc<OwnedFd>);

impl OwnFile for Own {
    fn open(&self) -> Result<Arc<OwnedFd>, Errno> {
        Ok(self.0.clone())
    }
}

/// A domain whose own file lies in the folder, beside `/data`.
fn guest() -> (TempDir, Guest) {
    let host = tempfile::tempdir().unwrap();
    let path = host.path().join("own");
    std::fs::write(&path, CONTENTS).unwrap();
    let own = File::options().read(true).write(true).open(&path).unwrap();
    std::fs::create_dir(host.path().join("data")).unwrap();
    std::fs::write(host.path().join("data/mine"), "mine").unwrap();
    let grants = Grants::default().directory("/data", host.path().join("data"), Access::ReadWrite).unwrap();
    let mut guest = Guest::new(Grants::default());
    guest.process = Process::new(Arc::new(grants)).with_own_file(Arc::new(Own(Arc::new(own.into()))));
    (host, guest)
}

#[test]
fn it_is_read() {
    let (_host, guest) = guest();
    let fd = guest.open(PATH, libc::O_RDONLY | libc::O_CLOEXEC);
    assert_eq!(guest.read(fd, 100), CONTENTS);
    let other = guest.open(PATH, libc::O_RDONLY);
    assert_eq!(guest.read(other, 8), b"verified", "each open has a position of its own");
    let at = guest.ok(libc::SYS_mmap, &[0, 4096, libc::PROT_READ as u64, libc::MAP_PRIVATE as u64, fd, 0]);
    assert_eq!(guest.get(at, CONTENTS.len()), CONTENTS);
    let path = guest.text(PATH);
    let buffer = guest.room(144);
    for number in [libc::SYS_stat, libc::SYS_lstat] {
        guest.ok(number, &[path, buffer]);
        assert_eq!(guest.word(buffer + 48), CONTENTS.len() as u64);
    }
    // The name that is read is one that can be opened.
    let room = guest.room(64);
    let length = guest.ok(libc::SYS_readlink, &[path, room, 64]);
    assert_eq!(guest.get(room, length as usize), PATH.as_bytes());
    assert_eq!(guest.ok(libc::SYS_readlink, &[path, room, 5]), 5);
    assert_eq!(guest.ok(libc::SYS_access, &[path, libc::R_OK as u64]), 0);
}

/// All domains of a module have one: who could watch it would hear what the others do. Red where it is watched.
#[test]
fn it_is_not_watched() {
    let (_host, guest) = guest();
    let fd = guest.ok(libc::SYS_inotify_init1, &[libc::IN_NONBLOCK as u64]);
    let watch = |path: &str| guest.call(libc::SYS_inotify_add_watch, &[fd, guest.text(path), 0x21]);
    assert_eq!(watch(PATH), Outcome::Return(-i64::from(Errno::ACCESS.raw_os_error())));
    assert_eq!([watch("/data/mine"), watch("/data")], [Outcome::Return(1), Outcome::Return(2)]);
}

/// Every call that changes a file, with a descriptor behind it that could.
#[test]
fn it_is_never_written() {
    let (host, guest) = guest();
    let path = guest.text(PATH);
    let (mine, new) = (guest.text("/data/mine"), guest.text("/data/new"));
    let read = guest.open(PATH, libc::O_RDONLY);
    let handle = guest.open(PATH, libc::O_PATH);
    let byte = guest.put(b"x");
    for flags in [
        libc::O_RDWR,
        libc::O_WRONLY,
        libc::O_TRUNC,
        libc::O_WRONLY | libc::O_APPEND,
        libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
    ] {
        assert_eq!(guest.open_err(PATH, flags), Errno::ROFS, "{flags:#o}");
    }
    let calls: &[(i64, &[u64], Errno)] = &[
        (libc::SYS_creat, &[path, 0o666], Errno::ROFS),
        (libc::SYS_write, &[read, byte, 1], Errno::BADF),
        (libc::SYS_write, &[handle, byte, 1], Errno::BADF),
        (libc::SYS_pwrite64, &[read, byte, 1, 0], Errno::BADF),
        (libc::SYS_truncate, &[path, 0], Errno::ROFS),
        (libc::SYS_ftruncate, &[read, 0], Errno::INVAL),
        (libc::SYS_fallocate, &[read, 0, 0, 100], Errno::BADF),
        (libc::SYS_chmod, &[path, 0o777], Errno::ROFS),
        (libc::SYS_fchmod, &[read, 0o777], Errno::ROFS),
        (libc::SYS_utimensat, &[read, 0, 0, 0], Errno::ROFS),
        (libc::SYS_utimensat, &[libc::AT_FDCWD as u64, path, 0, 0], Errno::ROFS),
        (libc::SYS_unlink, &[path], Errno::ROFS),
        (libc::SYS_rename, &[path, new], Errno::ROFS),
        (libc::SYS_rename, &[mine, path], Errno::ROFS),
        (libc::SYS_link, &[path, new], Errno::ROFS),
        (libc::SYS_mkdir, &[path, 0o777], Errno::ROFS),
        (libc::SYS_chdir, &[path], Errno::NOTDIR),
        (libc::SYS_access, &[path, libc::W_OK as u64], Errno::ROFS),
        // What one domain locks, another would notice.
        (libc::SYS_flock, &[read, libc::LOCK_SH as u64], Errno::NOLCK),
        (libc::SYS_flock, &[read, libc::LOCK_EX as u64], Errno::NOLCK),
    ];
    for (number, arguments, error) in calls {
        assert_eq!(guest.err(*number, arguments), *error, "system call {number}");
    }
    assert_eq!(guest.open_err(PATH, libc::O_RDONLY | libc::O_CREAT | libc::O_EXCL), Errno::EXIST);
    assert_eq!(guest.open_err(PATH, libc::O_RDONLY | libc::O_DIRECTORY), Errno::NOTDIR);
    assert_eq!(std::fs::read(host.path().join("own")).unwrap(), CONTENTS);
    assert_eq!(std::fs::read(host.path().join("data/mine")).unwrap(), b"mine");
}

/// Whether a domain reads it is not for others to know.
#[test]
fn reading_leaves_no_trace() {
    let (host, guest) = guest();
    let own = File::open(host.path().join("own")).unwrap();
    // Older than the last change: the kernel would set it at the next read, whatever it does of later ones.
    own.set_times(std::fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH)).unwrap();
    guest.read(guest.open(PATH, libc::O_RDONLY), 100);
    assert_eq!(own.metadata().unwrap().accessed().unwrap(), std::time::UNIX_EPOCH);
}

/// It has the one name, and takes a descriptor's place as any file does.
#[test]
fn it_is_nowhere_else() {
    let (host, guest) = guest();
    for path in [
        "/proc/self/exe/",
        "/proc/self/exe/x",
        "/proc/self/../self/exe",
        "//proc/self/exe",
        "/proc/self/maps",
    ] {
        assert_eq!(guest.open_err(path, libc::O_RDONLY), Errno::NOENT, "{path}");
    }
    assert_eq!(guest.open_err("proc/self/exe", libc::O_RDONLY), Errno::NOENT);
    let mut bare = Guest::bare();
    let own = Own(Arc::new(File::open(host.path().join("own")).unwrap().into()));
    bare.process = Process::new(Arc::new(Grants::default())).with_own_file(Arc::new(own));
    assert_eq!(bare.open_err(PATH, libc::O_RDONLY), Errno::MFILE, "nothing was granted");
}
