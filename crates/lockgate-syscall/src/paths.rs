//! Where a path of a system call leads: from the root, the current directory, or a descriptor on.
use super::SyscallContext;
use super::current::Current;
use super::descriptors::Kind;
use super::directories::{Location, NAMES, OWN_FILE};
use super::directory::{Directory, components, normal, without_climbs};
use lockgate_kernel::locked;
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::sync::Arc;

impl SyscallContext<'_> {
    /// Finds where `path`, relative to the domain's descriptor `dirfd` (or `AT_FDCWD`), lies.
    pub(super) fn locate(&self, dirfd: i32, path: &[u8]) -> Result<Location, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        if path == OWN_FILE
            && let Some(own) = self.process.own_file()
        {
            return Location::of_file(own.open()?.as_fd(), OWN_FILE);
        }
        if path.starts_with(b"/") {
            return match self.process.grants.locate(path.to_vec()) {
                // (Where a granted directory is in its place, it is what lies there.)
                Err(Errno::NOENT) if path == NAMES => {
                    let names = self.process.grants.names()?.ok_or(Errno::NOENT)?;
                    Location::of_file(names, NAMES)
                }
                location => location,
            };
        }
        if dirfd == libc::AT_FDCWD {
            let current = self.current()?;
            return self.process.grants.locate([&current, b"/".as_slice(), path].concat());
        }
        let base = self.process.handle(dirfd)?;
        // Names are looked up beneath granted directories, and nowhere else.
        if base.kind != Kind::Directory || base.path.is_empty() {
            return Err(Errno::NOTDIR);
        }
        let guest = normal(&[&base.path, b"/".as_slice(), path].concat());
        Ok(Location { base, rest: path.to_vec(), guest })
    }

    /// The first grant that `path` only leads to: `/` and `/a` lead to `/a/b`. There is nothing in such a
    /// folder to open, but programs that walk a path from its root must find it.
    pub(super) fn leads_to_a_grant(&self, dirfd: i32, path: &[u8]) -> Option<&Directory> {
        let path = match path.first() {
            Some(b'/') => path.to_vec(),
            Some(_) if dirfd == libc::AT_FDCWD => {
                // (`..` leads where the directory is now; else its name before will do.)
                let climbs = components(path).any(|part| part == b"..");
                let current = match climbs {
                    true => self.current().ok()?,
                    false => locked(&self.process.current).path.clone(),
                };
                [&current, b"/".as_slice(), path].concat()
            }
            _ => return None,
        };
        let parts = without_climbs(&path);
        self.process.grants.directories.iter().find(|directory| {
            parts.len() < directory.guest.len() && parts.iter().zip(&directory.guest).all(|(a, b)| a == b)
        })
    }

    /// The path of the current directory, which may have been renamed.
    ///
    /// # Errors
    /// `ENOENT` if it was removed, or lies beneath no granted directory any more.
    pub(super) fn current(&self) -> Result<Vec<u8>, Errno> {
        let current = Arc::clone(&locked(&self.process.current));
        let path = current.look(&self.process.grants)?;
        if path != current.path {
            let mut now = locked(&self.process.current);
            if Arc::ptr_eq(&now, &current) {
                *now = Arc::new(Current { path: path.clone(), directory: current.directory.clone() });
            }
        }
        Ok(path)
    }
}
