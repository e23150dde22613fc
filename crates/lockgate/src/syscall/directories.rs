//! Names of a domain: which granted directory a path lies beneath, and what may be opened there.
//!
//! The kernel resolves every path with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`, so `..`,
//! symbolic links and renames at the same time cannot leave the granted directory. What was opened is
//! then looked at once more: pseudo file systems, devices and forbidden files are refused (rule R6).
use super::descriptors::Description;
use super::waits::locked;
use super::{Grants, SyscallContext};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, major, minor};
use rustix::io::Errno;
use std::sync::Arc;

/// A granted directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// Components of its path in the domain.
    guest: Vec<Vec<u8>>,
    pub(super) description: Arc<Description>,
}

impl Directory {
    /// None if `guest` is not absolute or contains `..` or a zero byte.
    pub(super) fn new(guest: &[u8], description: Arc<Description>) -> Option<Self> {
        let parts: Vec<_> = components(guest).map(<[u8]>::to_vec).collect();
        let sound = guest.starts_with(b"/") && !guest.contains(&0) && parts.iter().all(|part| part != b"..");
        sound.then_some(Directory { guest: parts, description })
    }

    /// What is left of the path `parts` beneath this directory; None if it lies elsewhere.
    fn rest<'a, 'p>(&self, parts: &'a [&'p [u8]]) -> Option<&'a [&'p [u8]]> {
        let (head, rest) = parts.split_at_checked(self.guest.len())?;
        head.iter().zip(&self.guest).all(|(part, name)| part == name).then_some(rest)
    }
}

/// A path's names, without `.` and empty ones.
fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && *part != b".")
}

/// Whether `..` leads out of where the path starts, by its text.
fn climbs(parts: &[&[u8]]) -> bool {
    let mut depth = 0;
    parts.iter().any(|part| {
        depth += if *part == b".." { -1 } else { 1 };
        depth < 0
    })
}

/// The path's names with each `..` taken together with the name before it.
fn without_climbs(path: &[u8]) -> Vec<&[u8]> {
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

/// A path of the domain, found to lie beneath a directory that the domain may use.
pub(super) struct Location {
    base: Arc<Description>,
    /// Path beneath `base`, never empty.
    rest: Vec<u8>,
    /// The same, absolute in the domain.
    pub(super) guest: Vec<u8>,
}

impl SyscallContext<'_> {
    /// Finds where `path`, relative to the domain's descriptor `dirfd` (or `AT_FDCWD`), lies.
    pub(super) fn locate(&self, dirfd: i32, path: &[u8]) -> Result<Location, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        if path.starts_with(b"/") {
            return self.locate_absolute(path.to_vec());
        }
        if dirfd == libc::AT_FDCWD {
            let current = locked(&self.process.current).clone();
            return self.locate_absolute([&current, b"/".as_slice(), path].concat());
        }
        let base = self.process.descriptor(dirfd)?;
        if base.kind != super::descriptors::Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        let guest = normal(&[&base.path, b"/".as_slice(), path].concat());
        Ok(Location { base, rest: path.to_vec(), guest })
    }

    fn locate_absolute(&self, path: Vec<u8>) -> Result<Location, Errno> {
        let as_written: Vec<_> = components(&path).collect();
        let shortest = without_climbs(&path);
        // Only a path that climbs out of one grant, perhaps into another, is shortened by its text: inside
        // a grant the kernel follows `..` and symbolic links in their order.
        let (directory, rest) = self
            .deepest_grant(&as_written)
            .filter(|(_, rest)| !climbs(rest))
            .or_else(|| self.deepest_grant(&shortest))
            .ok_or(Errno::NOENT)?;
        let mut rest = rest.join(&b'/');
        match (rest.is_empty(), path.ends_with(b"/")) {
            (true, _) => rest.push(b'.'),
            (false, true) => rest.push(b'/'),
            (false, false) => {}
        }
        Ok(Location { base: Arc::clone(&directory.description), rest, guest: normal(&path) })
    }

    fn deepest_grant<'a, 'p>(&'a self, parts: &'a [&'p [u8]]) -> Option<(&'a Directory, &'a [&'p [u8]])> {
        let directories = self.process.grants.directories.iter();
        directories
            .filter_map(|directory| Some((directory, directory.rest(parts)?)))
            .max_by_key(|(directory, _)| directory.guest.len())
    }
}

impl SyscallContext<'_> {
    /// The first grant that `path` only leads to: `/` and `/a` lead to `/a/b`. There is nothing in such a
    /// folder to open, but programs that walk a path from its root must find it.
    pub(super) fn leads_to_a_grant(&self, dirfd: i32, path: &[u8]) -> Option<&Directory> {
        let path = match path.first() {
            Some(b'/') => path.to_vec(),
            Some(_) if dirfd == libc::AT_FDCWD => {
                [&**locked(&self.process.current), b"/".as_slice(), path].concat()
            }
            _ => return None,
        };
        let parts = without_climbs(&path);
        self.process.grants.directories.iter().find(|directory| {
            parts.len() < directory.guest.len() && parts.iter().zip(&directory.guest).all(|(a, b)| a == b)
        })
    }
}

impl Location {
    /// Opens what lies here, and looks at what was opened before anybody else can use it.
    pub(super) fn open(&self, grants: &Grants, flags: OFlags, mode: Mode) -> Result<Description, Errno> {
        let changes = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::RDWR;
        if self.base.read_only_grant && flags.intersects(changes) {
            return Err(Errno::ROFS);
        }
        // O_TRUNC would act before the check, and a FIFO or a terminal would block or become ours.
        let careful = match flags.contains(OFlags::PATH) {
            true => flags | OFlags::CLOEXEC,
            false => flags.difference(OFlags::TRUNC) | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        };
        let fd = resolve(self.base.fd(), &self.rest, careful, mode)?;
        let stat = self.examine(&fd)?;
        if !flags.contains(OFlags::PATH) {
            admit(grants, &stat)?;
        }
        if flags.contains(OFlags::TRUNC) && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            rustix::fs::ftruncate(&fd, 0)?;
        }
        Ok(Description::new(fd, &stat, flags, self.base.read_only_grant, self.guest.clone()))
    }

    /// A handle of what lies here, for `stat` and the like only.
    pub(super) fn handle(&self, follow: bool) -> Result<(OwnedFd, Stat), Errno> {
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::PATH | OFlags::CLOEXEC | nofollow;
        let fd = resolve(self.base.fd(), &self.rest, flags, Mode::empty())?;
        let stat = self.examine(&fd)?;
        Ok((fd, stat))
    }

    /// The directory that holds the last name of this path, and that name: for calls that change names.
    pub(super) fn parent(&self) -> Result<(OwnedFd, Vec<u8>), Errno> {
        if self.base.read_only_grant {
            return Err(Errno::ROFS);
        }
        let end = self.rest.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        let start = self.rest[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, name) = (&self.rest[..start], &self.rest[start..]);
        if matches!(&self.rest[start..end], b"" | b"." | b"..") {
            return Err(Errno::BUSY);
        }
        let folder = if folder.is_empty() { b"." } else { folder };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = resolve(self.base.fd(), folder, flags, Mode::empty())?;
        self.examine(&fd)?;
        Ok((fd, name.to_vec()))
    }

    /// Fails where attributes may not change.
    pub(super) fn writable(&self) -> Result<(), Errno> {
        if self.base.read_only_grant { Err(Errno::ROFS) } else { Ok(()) }
    }

    fn examine(&self, fd: &OwnedFd) -> Result<Stat, Errno> {
        match pseudo_file_system(fd)? {
            Some(_) => Err(Errno::ACCESS),
            None => rustix::fs::fstat(fd),
        }
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
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Refuses what may not be opened although it lies beneath a granted directory.
fn admit(grants: &Grants, stat: &Stat) -> Result<(), Errno> {
    let (device, inode) = (stat.st_dev, stat.st_ino);
    let harmless = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => !grants.forbidden.contains(&(device, inode)),
        FileType::Directory => true,
        // null, zero, full, random, urandom; all else of major 1 is memory.
        FileType::CharacterDevice => {
            major(stat.st_rdev) == 1 && matches!(minor(stat.st_rdev), 3 | 5 | 7 | 8 | 9)
        }
        _ => false,
    };
    if harmless { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Name of the file system that `fd` lies on, if it is one of the kernel's own making: through those a
/// module could write memory (`/proc/self/mem`), change the kernel, or learn host addresses.
pub(crate) fn pseudo_file_system(fd: impl AsFd) -> Result<Option<&'static str>, Errno> {
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

/// `AT_EMPTY_PATH` with an empty path: the call is about `dirfd` itself.
pub(super) fn is_descriptor_itself(path: &[u8], flags: AtFlags) -> bool {
    path.is_empty() && flags.contains(AtFlags::EMPTY_PATH)
}
