//! Threads that answer connections: one each, and not too many.

use lockgate::Owner;
use lockgate_kernel::Identity;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// Connections that are answered at once; further ones are closed.
const AT_ONCE: usize = 16;

/// The name of a UNIX socket, removed in the end, if it is that socket's still. (A child of the process leaves it as it is.)
#[derive(Debug)]
pub struct Socket {
    owner: Owner,
    path: PathBuf,
    identity: Option<Identity>,
}

impl Socket {
    /// Of what was bound at `path` just now.
    pub(crate) fn bound(path: PathBuf) -> Socket {
        let identity = socket_at(&path);
        Socket { owner: Owner::this(), path, identity }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.owner.is_here() && self.identity.is_some() && socket_at(&self.path) == self.identity {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The socket that has this name itself; `None`: none has.
pub(crate) fn socket_at(path: &Path) -> Option<Identity> {
    let found = std::fs::symlink_metadata(path).ok()?;
    found.file_type().is_socket().then(|| Identity::from(&found))
}

/// Connects, without waiting where too many wait for a process that does not look.
///
/// # Errors
/// The kernel's: [`WouldBlock`](io::ErrorKind::WouldBlock) where too many do.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    Ok(connect_by(SocketType::STREAM, socket)?.into())
}

/// The same by a socket of this kind.
///
/// # Errors
/// The kernel's: `EAGAIN` where too many do.
pub(crate) fn connect_by(kind: SocketType, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

/// Answers what `accept` returns and `may_ask` admits, from now on, each on a thread of its own that is called `name`.
///
/// # Errors
/// The thread that accepts cannot be started.
pub fn serve<S: Send + 'static>(
    name: &'static str,
    mut accept: impl FnMut() -> io::Result<S> + Send + 'static,
    may_ask: impl Fn(&S) -> bool + Send + 'static,
    answer: impl Fn(S) + Clone + Send + 'static,
) -> io::Result<()> {
    let named = move || Builder::new().name(name.to_owned());
    let answered = Arc::new(AtomicUsize::new(0));
    named().spawn(move || {
        loop {
            let Ok(connection) = accept() else {
                // No descriptor is free for now.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            if !may_ask(&connection) || answered.load(Ordering::Relaxed) >= AT_ONCE {
                continue;
            }
            answered.fetch_add(1, Ordering::Relaxed);
            let (answer, done) = (answer.clone(), answered.clone());
            let thread = named().spawn(move || {
                answer(connection);
                done.fetch_sub(1, Ordering::Relaxed);
            });
            if thread.is_err() {
                answered.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(())
}
