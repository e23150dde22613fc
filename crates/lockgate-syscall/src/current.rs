//! A domain's current directory: a directory that is open, whatever names lead to it by now.
//!
//! Paths are resolved beneath granted directories (`..` leads up to there), so a name of it is needed all the same. Before a name is
//! used, the directory that it leads to is compared with the open one; if it is another, the kernel is asked where the open one is.
use super::Grants;
use super::descriptors::Description;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::sync::Arc;

/// Where relative paths start.
pub(super) struct Current {
    /// Absolute in the domain, in its shortest form: where it was when it was last looked for.
    pub(super) path: Vec<u8>,
    /// None where the domain starts if there is nothing, or a granted directory, which stays where it is.
    pub(super) directory: Option<Arc<Description>>,
}

/// Most tries where others rename directories at the same time.
const TRIES: usize = 8;

impl Current {
    /// Where a new domain starts.
    pub(super) fn start(grants: &Grants) -> Self {
        let path = grants.start_directory();
        let directory = grants.current.as_ref().and_then(|_| grants.directory_at(&path).ok()).flatten();
        Current { path, directory: directory.map(Arc::new) }
    }

    /// `directory`, which `path` led to.
    pub(super) fn new(grants: &Grants, directory: Arc<Description>, path: Vec<u8>) -> Self {
        // (Where the kernel has no name for it, what led there is one.)
        let path = place(grants, &directory, &path).unwrap_or(path);
        Current { path, directory: Some(directory) }
    }

    /// Its path now.
    ///
    /// # Errors
    /// `ENOENT` if it was removed, or lies beneath no granted directory any more.
    pub(super) fn look(&self, grants: &Grants) -> Result<Vec<u8>, Errno> {
        let Some(directory) = &self.directory else { return Ok(self.path.clone()) };
        for _ in 0..TRIES {
            if grants.is_at(directory.identity, &self.path) {
                return Ok(self.path.clone());
            }
            if rustix::fs::fstat(directory.fd())?.st_nlink == 0 {
                break;
            }
            if let Some(path) = place(grants, directory, &self.path) {
                return Ok(path);
            }
        }
        Err(Errno::NOENT)
    }
}

/// Where the kernel says that `directory` is: a path in the domain that leads there, through the grant that `before` does if it can be.
fn place(grants: &Grants, directory: &Description, before: &[u8]) -> Option<Vec<u8>> {
    let host = name(directory.fd()).ok()?;
    let mut paths = Vec::new();
    for grant in &grants.directories {
        let Ok(root) = name(grant.description.fd()) else { continue };
        let root: &[u8] = if root == b"/" { &[] } else { &root };
        let Some(rest) = host.strip_prefix(root).filter(|rest| rest.is_empty() || rest[0] == b'/') else {
            continue;
        };
        let guest = grant.guest();
        let kept = before.strip_prefix(&*guest).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        paths.push((!kept, rest.len(), [&*guest, rest].concat()));
    }
    paths.sort();
    let path = |path: Vec<u8>| if path.is_empty() { b"/".to_vec() } else { path };
    paths.into_iter().map(|(.., found)| path(found)).find(|path| grants.is_at(directory.identity, path))
}

/// The kernel's name of what is open.
fn name(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let link = format!("/proc/thread-self/fd/{}", fd.as_fd().as_raw_fd());
    Ok(rustix::fs::readlink(link, Vec::new())?.into_bytes())
}
