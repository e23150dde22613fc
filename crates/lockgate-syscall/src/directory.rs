//! A granted directory, paths as text, and how a file is found beneath a directory.
use super::descriptors::Description;
use lockgate_kernel::kept;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::sync::Arc;

/// A granted directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// Components of its path in the domain.
    pub(super) guest: Vec<Vec<u8>>,
    pub(super) description: Arc<Description>,
}

impl Directory {
    /// None if `guest` is not absolute or contains `..` or a zero byte.
    pub(super) fn new(guest: &[u8], description: Arc<Description>) -> Option<Self> {
        let parts: Vec<_> = components(guest).map(<[u8]>::to_vec).collect();
        let sound = guest.starts_with(b"/") && !guest.contains(&0) && parts.iter().all(|part| part != b"..");
        sound.then_some(Directory { guest: parts, description })
    }

    /// Its path in the domain, empty for `/`.
    pub(super) fn guest(&self) -> Vec<u8> {
        self.guest.iter().flat_map(|part| [b"/".as_slice(), part]).flatten().copied().collect()
    }

    /// What is left of the path `parts` beneath this directory; None if it lies elsewhere.
    pub(super) fn rest<'a, 'p>(&self, parts: &'a [&'p [u8]]) -> Option<&'a [&'p [u8]]> {
        let (head, rest) = parts.split_at_checked(self.guest.len())?;
        head.iter().zip(&self.guest).all(|(part, name)| part == name).then_some(rest)
    }
}

/// A path's names, without `.` and empty ones.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".")
}

/// Whether `..` leads out of where the path starts, by its text.
pub(super) fn climbs(parts: &[&[u8]]) -> bool {
    let mut depth = 0;
    parts.iter().any(|part| {
        depth += if *part == b".." { -1 } else { 1 };
        depth < 0
    })
}

/// The path's names with each `..` taken together with the name before it.
pub(super) fn without_climbs(path: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    for part in components(path) {
        if part == b".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

/// The absolute path `path` in its shortest form.
pub(super) fn normal(path: &[u8]) -> Vec<u8> {
    [b"/".as_slice(), &without_climbs(path).join(&b'/')].concat()
}

/// The end of a path by which it leads to a directory and nothing else, and to that behind a symbolic link: `/`, or `/.`.
pub(super) fn end_of_directory(path: &[u8]) -> &'static [u8] {
    match path.split(|&byte| byte == b'/').rfind(|part| !part.is_empty()) {
        Some(b".") => b"/.",
        _ if path.ends_with(b"/") => b"/",
        _ => b"",
    }
}

/// How a file is looked at before it is opened.
pub(super) const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens the very file that `handle` stands for, whatever its names are now.
pub(super) fn reopen(handle: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    kept(rustix::fs::open(link_of(handle), flags | OFlags::CLOEXEC, Mode::empty())?)
}

/// A path by which the kernel finds what `handle` stands for, whatever its names are now.
pub(super) fn link_of(handle: impl AsFd) -> String {
    format!("/proc/thread-self/fd/{}", handle.as_fd().as_raw_fd())
}

/// What is behind `fd`, unless the kernel makes it.
pub(super) fn examine(fd: &OwnedFd) -> Result<Stat, Errno> {
    match pseudo_file_system(fd)? {
        Some(_) => Err(Errno::ACCESS),
        None => rustix::fs::fstat(fd),
    }
}

/// Opens `path` beneath `base`, and nowhere else.
pub(super) fn resolve(
    base: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // The kernel gives up with EAGAIN where a rename at the same time leaves it in doubt about `..`.
    for _ in 0..64 {
        match rustix::fs::openat2(base, path, flags, mode, beneath) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::XDEV) => return Err(Errno::ACCESS),
            other => return other.and_then(kept),
        }
    }
    Err(Errno::AGAIN)
}

/// Name of the file system that `fd` lies on, if it is one of the kernel's own making: through those a
/// module could write memory (`/proc/self/mem`), change the kernel, or learn host addresses.
pub fn pseudo_file_system(fd: impl AsFd) -> Result<Option<&'static str>, Errno> {
    // Numbers from linux/magic.h and the file systems' own sources.
    const PSEUDO: [(i64, &str); 18] = [
        (0x9fa0, "procfs"),
        (0x6265_6572, "sysfs"),
        (0x6462_6720, "debugfs"),
        (0x7472_6163, "tracefs"),
        (0x7363_6673, "securityfs"),
        (0xf97c_ff8c, "selinuxfs"),
        (0x4341_5d53, "smackfs"),
        (0x5a3c_69f0, "apparmorfs"),
        (0xcafe_4a11, "bpf"),
        (0x6265_6570, "configfs"),
        (0xde5e_81e4, "efivarfs"),
        (0x6165_676c, "pstore"),
        (0x0027_e0eb, "cgroup"),
        (0x6367_7270, "cgroup2"),
        (0x1cd1, "devpts"),
        (0x4249_4e4d, "binfmt_misc"),
        (0x6e73_6673, "nsfs"),
        (0x6573_5543, "fusectl"),
    ];
    let magic = rustix::fs::fstatfs(fd)?.f_type as i64;
    Ok(PSEUDO.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name))
}
