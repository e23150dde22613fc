//! Names of a domain: which granted directory a path lies beneath, and what may be opened there.
//!
//! The kernel resolves every path with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`, so `..`,
//! symbolic links and renames at the same time cannot leave the granted directory. What was found is looked at before it is
//! opened, through a handle that opens nothing (`O_PATH`): pseudo file systems, devices and forbidden files are refused (rule R6).
//!
//! One grant may lie in another. What may be done with a file is what the innermost granted directory on the way *from where the file
//! was found* says, whatever the path looks like: directories are known by device and inode number, not by their names.
use super::Grants;
use super::descriptors::Description;
use super::directory::{
    Directory, HANDLE, climbs, components, end_of_directory, examine, normal, reopen, resolve, without_climbs,
};
use lockgate_kernel::Identity;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, major, minor};
use rustix::io::Errno;
use std::sync::Arc;

/// Where a module finds its own file, as a process of Linux does: what makes backtraces looks for names and lines there.
pub(super) const OWN_FILE: &[u8] = b"/proc/self/exe";

/// Where libc looks for addresses of names.
pub(super) const NAMES: &[u8] = b"/etc/hosts";

/// A path of the domain, found to lie beneath a directory that the domain may use, or its own file.
pub(super) struct Location {
    pub(super) base: Arc<Description>,
    /// Path beneath `base`; empty of the domain's own file, which `base` is.
    pub(super) rest: Vec<u8>,
    /// The same, absolute in the domain.
    pub(super) guest: Vec<u8>,
}

impl Grants {
    /// Finds where the absolute `path` lies.
    pub(super) fn locate(&self, path: Vec<u8>) -> Result<Location, Errno> {
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
        match rest.is_empty() {
            true => rest.push(b'.'),
            // What lies there is a directory, says the path: the kernel is to see that.
            false => rest.extend_from_slice(end_of_directory(&path)),
        }
        Ok(Location { base: Arc::clone(&directory.description), rest, guest: normal(&path) })
    }

    fn deepest_grant<'a, 'p>(&'a self, parts: &'a [&'p [u8]]) -> Option<(&'a Directory, &'a [&'p [u8]])> {
        let directories = self.directories.iter();
        directories
            .filter_map(|directory| Some((directory, directory.rest(parts)?)))
            .max_by_key(|(directory, _)| directory.guest.len())
    }

    /// The directory that the absolute `path` leads to, unopened; `None` if it is a granted one itself.
    pub(super) fn directory_at(&self, path: &[u8]) -> Result<Option<Description>, Errno> {
        let location = self.locate(path.to_vec())?;
        if location.rest == b"." {
            return Ok(None);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let fd = resolve(location.base.fd(), &location.rest, flags | HANDLE, Mode::empty())?;
        let stat = examine(&fd)?;
        let read_only = location.base.read_only_grant;
        Ok(Some(Description::new(fd, &stat, flags, read_only, location.guest)))
    }

    /// Whether the absolute `path` leads to this directory at this moment.
    pub(super) fn is_at(&self, directory: Identity, path: &[u8]) -> bool {
        let found = self.locate(path.to_vec()).and_then(|location| {
            let fd = resolve(location.base.fd(), &location.rest, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
            rustix::fs::fstat(fd)
        });
        found.is_ok_and(|stat| Identity::from(&stat) == directory)
    }
}

/// Most symbolic links of one path, and most tries where others change names at the same time, as in Linux.
const TRIES: usize = 40;
/// Most directories between a file and the directory that it was looked for in.
const DEPTH: usize = 1024;

/// A path's last name and the folder before it; `None` if the path ends with no name of its own.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let start = path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let folder = if start == 0 { b"." } else { &path[..start] };
    let name = &path[start..end];
    (!matches!(name, b"" | b"." | b"..")).then_some((folder, name))
}

/// What a path leads to.
struct Found {
    /// Where its last name is looked up, and that name.
    folder: OwnedFd,
    name: Vec<u8>,
    /// What has that name, unopened.
    object: Option<(OwnedFd, Stat)>,
    /// The innermost grant around it is for reading only.
    read_only: bool,
    /// The path says that it is a directory.
    directory: bool,
}

/// Something that was found, unopened: for `stat` and the like.
pub(super) struct Handle {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
    /// The innermost grant around it is for reading only.
    pub(super) read_only: bool,
}

impl Location {
    /// The place of a file that lies beneath no directory, for reading only: the domain's own, or the names that it was granted.
    pub(super) fn of_file(file: BorrowedFd<'_>, path: &[u8]) -> Result<Location, Errno> {
        let handle = reopen(file, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&handle)?;
        let base = Description::new(handle, &stat, OFlags::PATH, true, path.to_vec());
        Ok(Location { base: Arc::new(base), rest: Vec::new(), guest: path.to_vec() })
    }

    /// Whether it is such a file, which several domains have.
    pub(super) fn is_shared(&self) -> bool {
        self.rest.is_empty()
    }

    /// Opens what lies here, once it has been looked at; `O_TRUNC` is the caller's.
    pub(super) fn open(&self, grants: &Grants, flags: OFlags, mode: Mode) -> Result<Description, Errno> {
        // All domains of a module have one own file: none is to learn from it what others do.
        let is_own = self.is_shared();
        let flags = if is_own { flags | OFlags::NOATIME } else { flags };
        let exclusive = flags.contains(OFlags::CREATE | OFlags::EXCL);
        let follow = !exclusive && !flags.contains(OFlags::NOFOLLOW);
        if flags.contains(OFlags::CREATE)
            && self.rest.ends_with(b"/")
            && let Some((folder, _)) = split(&self.rest)
        {
            // As Linux, which does not look whether there is anything of that name.
            resolve(self.base.fd(), folder, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
            return Err(Errno::ISDIR);
        }
        for _ in 0..TRIES {
            let found = self.find(grants, follow)?;
            let (fd, stat) = match found.object {
                Some(_) if exclusive => return Err(Errno::EXIST),
                Some((handle, stat)) if flags.contains(OFlags::PATH) => {
                    let is_directory = FileType::from_raw_mode(stat.st_mode).is_dir();
                    if flags.contains(OFlags::DIRECTORY) && !is_directory {
                        return Err(Errno::NOTDIR);
                    }
                    (handle, stat)
                }
                Some((handle, stat)) => {
                    let is_fifo = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
                    let may_be_fifo = is_fifo && is_special(grants, found.folder.as_fd())?;
                    let fd = found_file(grants, &handle, &stat, flags, (found.read_only, may_be_fifo))?;
                    (fd, stat)
                }
                None if !flags.contains(OFlags::CREATE) => return Err(Errno::NOENT),
                None if found.read_only => return Err(Errno::ROFS),
                None if found.directory => return Err(Errno::ISDIR),
                None => {
                    let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                    match resolve(found.folder.as_fd(), &found.name, flags | new | CAREFUL, mode) {
                        // It has come into being meanwhile.
                        Err(Errno::EXIST) => continue,
                        fd => {
                            let fd = fd?;
                            let stat = examine(&fd)?;
                            (fd, stat)
                        }
                    }
                }
            };
            let mut description = Description::new(fd, &stat, flags, found.read_only, self.guest.clone());
            description.granted = is_own;
            return Ok(description);
        }
        Err(Errno::AGAIN)
    }

    /// A handle of what lies here.
    pub(super) fn handle(&self, grants: &Grants, follow: bool) -> Result<Handle, Errno> {
        let found = self.find(grants, follow)?;
        let (fd, stat) = found.object.ok_or(Errno::NOENT)?;
        Ok(Handle { fd, stat, read_only: found.read_only })
    }

    /// The directory that holds the last name of this path, and that name: for calls that change names.
    pub(super) fn parent(&self, grants: &Grants) -> Result<(OwnedFd, Vec<u8>), Errno> {
        let Some((folder, name)) = split(&self.rest) else {
            return Err(if self.base.read_only_grant { Errno::ROFS } else { Errno::BUSY });
        };
        let fd = resolve(self.base.fd(), folder, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
        examine(&fd)?;
        if self.is_read_only(grants, fd.as_fd())? {
            return Err(Errno::ROFS);
        }
        // The kernel is to see slashes behind the name.
        let start =
            self.rest.len() - self.rest.iter().rev().take_while(|&&byte| byte == b'/').count() - name.len();
        Ok((fd, self.rest[start..].to_vec()))
    }

    /// Follows the path to its last name, symbolic links included if `follow`.
    fn find(&self, grants: &Grants, follow: bool) -> Result<Found, Errno> {
        let base = self.base.fd();
        if self.rest.is_empty() {
            let handle = || rustix::io::fcntl_dupfd_cloexec(base, 0);
            let (folder, object) = (handle()?, Some((handle()?, rustix::fs::fstat(base)?)));
            return Ok(Found { folder, name: Vec::new(), object, read_only: true, directory: false });
        }
        let mut rest = self.rest.clone();
        for _ in 0..TRIES {
            let Some((folder, name)) = split(&rest) else {
                let fd = resolve(base, &rest, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
                let stat = examine(&fd)?;
                let read_only = self.is_read_only(grants, fd.as_fd())?;
                let itself = resolve(fd.as_fd(), b".", HANDLE | OFlags::DIRECTORY, Mode::empty())?;
                let (name, object) = (b".".to_vec(), Some((itself, stat)));
                return Ok(Found { folder: fd, name, object, read_only, directory: true });
            };
            let directory = rest.ends_with(b"/");
            let fd = resolve(base, folder, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
            examine(&fd)?;
            let object = match resolve(fd.as_fd(), name, HANDLE | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) => None,
                object => {
                    let object = object?;
                    let stat = examine(&object)?;
                    Some((object, stat))
                }
            };
            let kind = object.as_ref().map(|(_, stat)| FileType::from_raw_mode(stat.st_mode));
            if let (Some(FileType::Symlink), Some((link, _))) = (kind, &object)
                && (follow || directory)
            {
                let target = rustix::fs::readlinkat(link, c"", Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    return Err(Errno::ACCESS);
                }
                let end: &[u8] = if directory { b"/" } else { b"" };
                rest = [folder, b"/", &target, end].concat();
                if rest.len() > libc::PATH_MAX as usize {
                    return Err(Errno::NAMETOOLONG);
                }
                continue;
            }
            if directory && kind.is_some_and(|kind| !kind.is_dir()) {
                return Err(Errno::NOTDIR);
            }
            let around = match (kind, &object) {
                (Some(FileType::Directory), Some((directory, _))) => directory.as_fd(),
                _ => fd.as_fd(),
            };
            let read_only = self.is_read_only(grants, around)?;
            return Ok(Found { name: name.to_vec(), object, read_only, directory, folder: fd });
        }
        Err(Errno::LOOP)
    }

    /// Whether the innermost grant around `directory` is for reading only: it or the first one above it that is granted, no further
    /// than where the path began.
    fn is_read_only(&self, grants: &Grants, directory: BorrowedFd<'_>) -> Result<bool, Errno> {
        if !grants.are_mixed() {
            return Ok(self.base.read_only_grant);
        }
        let base = self.base.identity;
        let around = on_the_way_up(directory, |identity| match identity == base {
            true => Some(self.base.read_only_grant),
            false => grants.read_only(identity),
        });
        // If the host has moved it away from there meanwhile, it is not granted any more.
        around?.ok_or(Errno::ACCESS)
    }
}

/// The first answer that `ask` gives for `directory` or one that it lies in, from the innermost on.
fn on_the_way_up<T>(
    directory: BorrowedFd<'_>,
    mut ask: impl FnMut(Identity) -> Option<T>,
) -> Result<Option<T>, Errno> {
    let mut above: Option<OwnedFd> = None;
    let mut below = None;
    for _ in 0..DEPTH {
        let here = above.as_ref().map_or(directory, AsFd::as_fd);
        let identity = Identity::from(&rustix::fs::fstat(here)?);
        if below == Some(identity) {
            return Ok(None);
        }
        if let Some(answer) = ask(identity) {
            return Ok(Some(answer));
        }
        below = Some(identity);
        above = Some(rustix::fs::openat(here, c"..", HANDLE | OFlags::DIRECTORY, Mode::empty())?);
    }
    Err(Errno::NAMETOOLONG)
}

/// Whether links and FIFOs may be made in `directory`: whether the innermost grant around it says so.
///
/// # Errors
/// `EACCES` if it lies beneath none any more, or the kernel's.
pub(super) fn is_special(grants: &Grants, directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    if !grants.directories.iter().any(|granted| granted.description.special_grant) {
        return Ok(false);
    }
    on_the_way_up(directory, |identity| grants.special(identity))?.ok_or(Errno::ACCESS)
}

/// Fails if `name` in `folder` is a directory that a grant is, or lies in: as a mount point, it stays where it is. Else a module could
/// put files of its own where the host looks for those of a grant for reading only.
pub(super) fn may_move(grants: &Grants, folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    if grants.directories.len() < 2 {
        return Ok(()); // it lies beneath the only one
    }
    let Some((_, name)) = split(name) else { return Ok(()) };
    // What cannot be found cannot be moved either.
    let Ok(fd) = resolve(folder, name, HANDLE | OFlags::NOFOLLOW, Mode::empty()) else { return Ok(()) };
    let stat = rustix::fs::fstat(&fd)?;
    if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Ok(());
    }
    let moved = Identity::from(&stat);
    for directory in &grants.directories {
        match on_the_way_up(directory.description.fd(), |identity| (identity == moved).then_some(())) {
            // The host itself may not look further up: neither may it find a module's directory there.
            Ok(None) | Err(Errno::ACCESS) => {}
            Ok(Some(())) => return Err(Errno::BUSY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Keeps the host from blocking, and from getting a terminal.
const CAREFUL: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens what was found, if that may be.
fn found_file(
    grants: &Grants,
    handle: &OwnedFd,
    stat: &Stat,
    flags: OFlags,
    (read_only, may_be_fifo): (bool, bool),
) -> Result<OwnedFd, Errno> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind.is_symlink() {
        return Err(Errno::LOOP);
    }
    if read_only && flags.intersects(OFlags::TRUNC | OFlags::WRONLY | OFlags::RDWR) {
        return Err(Errno::ROFS);
    }
    if !may_be_fifo {
        admit(grants, stat)?;
    }
    if kind.is_dir() && flags.intersects(OFlags::CREATE | OFlags::TRUNC) {
        return Err(Errno::ISDIR);
    }
    // The caller empties the file: the kernel would take its time for that.
    let done = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::TRUNC;
    let asked = flags.difference(done) | CAREFUL;
    reopen(handle, asked)
}

/// Refuses what may not be opened although it lies beneath a granted directory.
pub(super) fn admit(grants: &Grants, stat: &Stat) -> Result<(), Errno> {
    let harmless = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => !grants.is_forbidden(stat),
        FileType::Directory => true,
        // null, zero, full, random, urandom; all else of major 1 is memory.
        FileType::CharacterDevice => {
            major(stat.st_rdev) == 1 && matches!(minor(stat.st_rdev), 3 | 5 | 7 | 8 | 9)
        }
        _ => false,
    };
    if harmless { Ok(()) } else { Err(Errno::ACCESS) }
}

/// `AT_EMPTY_PATH` with an empty path: the call is about `dirfd` itself.
pub(super) fn is_descriptor_itself(path: &[u8], flags: AtFlags) -> bool {
    path.is_empty() && flags.contains(AtFlags::EMPTY_PATH)
}
