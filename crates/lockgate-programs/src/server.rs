//! Sockets that have a name, and threads that answer connections: one each, and not too many.

use lockgate::Owner;
use lockgate_kernel::{Identity, peer};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, shutdown,
    socket_with, sockopt,
};
use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::Duration;

/// Connections that are answered at once, by a thread each; further ones are closed, so that clients cannot have this process start more.
const AT_ONCE: usize = 16;

/// How long the end of a socket waits for the thread that accepts there.
const AT_MOST: Duration = Duration::from_secs(1);

/// Connections that may wait to be accepted: more than the clients that are answered at once, so that a burst is not refused.
const WAITING: i32 = 128;

/// The name of a UNIX socket, removed in the end, if it is that socket's still. (A child of the process leaves it as it is.)
#[derive(Debug)]
pub struct Socket {
    owner: Owner,
    path: PathBuf,
    identity: Option<Identity>,
}

impl Socket {
    /// Of what was bound at `path` just now.
    fn bound(path: PathBuf) -> Socket {
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
fn socket_at(path: &Path) -> Option<Identity> {
    let found = std::fs::symlink_metadata(path).ok()?;
    found.file_type().is_socket().then(|| Identity::from(&found))
}

/// The lock of those that look whether a process listens, and begin to listen if none does: one at a time.
pub(crate) enum Lock<'a> {
    /// This file, in a folder that only this user enters: all who take the lock are this user's, and have it for a moment.
    Private(&'a Path),
    /// A file beside the socket, in a folder that may be others', too. A lock that is held is an error there, and not waited for.
    Beside,
}

impl Lock<'_> {
    /// Takes the lock, until what is returned is closed. The file is this user's and stays there: all that may open a file may lock it.
    fn take(&self, path: &Path) -> io::Result<OwnedFd> {
        let (name, how) = match self {
            Lock::Private(name) => (name.as_os_str().to_owned(), FlockOperation::LockExclusive),
            Lock::Beside => {
                let mut name = path.as_os_str().to_owned();
                name.push(".lock");
                (name, FlockOperation::NonBlockingLockExclusive)
            }
        };
        // (What else has the name is neither followed nor waited for.)
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let said = |error: Errno| {
            let name = Path::new(&name).display();
            io::Error::other(format!("{name}, the lock of those that begin to listen: {error}"))
        };
        let file = rustix::fs::open(&*name, flags, Mode::RUSR | Mode::WUSR).map_err(said)?;
        let seen = fstat(&file)?;
        let is_file = FileType::from_raw_mode(seen.st_mode) == FileType::RegularFile;
        if !is_file || seen.st_uid != geteuid().as_raw() {
            return Err(said(Errno::PERM));
        }
        flock(&file, how).map_err(said)?;
        Ok(file)
    }
}

/// What has become of a name.
pub(crate) enum Place {
    /// It is this process's, which listens from now on.
    Own(OwnedFd, Socket),
    /// A process listens there already: its number, where the kernel says it.
    Others(Option<i32>),
}

/// Binds `socket`, a UNIX socket whose mode is set, to `path`, and listens. A socket there on which no process listens any more is replaced; nothing else
/// is, and where it cannot be found out whether a process listens, nothing is either.
///
/// # Errors
/// Something else has the name, the lock is held, or the kernel refuses.
pub(crate) fn take_over(socket: OwnedFd, path: &Path, lock: &Lock<'_>) -> io::Result<Place> {
    let _held = lock.take(path)?;
    match connect_by(sockopt::socket_type(&socket)?, path) {
        Ok(other) => match peer(other.as_fd()) {
            // A process that has ended may have left children that hold its socket open, and answer nothing.
            Ok(peer) if peer.has_ended() => std::fs::remove_file(path)?,
            peer => return Ok(Place::Others(peer.ok().map(|peer| peer.pid).filter(|pid| *pid != 0))),
        },
        // (A socket of another kind, or one that too many wait for, listens.)
        Err(Errno::PROTOTYPE | Errno::AGAIN) => return Ok(Place::Others(None)),
        // To connect to a file that is no socket is refused, too: it keeps its name, and `bind` says so.
        Err(Errno::CONNREFUSED) if socket_at(path).is_none() => {}
        Err(Errno::CONNREFUSED) => std::fs::remove_file(path)?,
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    let name = Socket::bound(path.to_owned());
    listen(&socket, WAITING)?;
    Ok(Place::Own(socket, name))
}

/// A UNIX socket of this kind that is not bound yet.
pub(crate) fn unbound(kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
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

/// A thread that accepts the connections of a socket, until this is dropped; the socket's name goes with it. Dropped in a child of the
/// process, which has the socket and not the thread, it changes nothing.
#[derive(Debug)]
pub struct Accepting {
    owner: Owner,
    listener: Arc<OwnedFd>,
    is_over: Arc<AtomicBool>,
    /// Its other end goes with the thread, behind all that the thread has.
    ends: Receiver<()>,
    _name: Option<Socket>,
}

impl Accepting {
    /// Gives `admit` each connection of `listener`, which has this `name`, on a thread that is called `thread`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn new(
        thread: &str,
        listener: OwnedFd,
        name: Option<Socket>,
        admit: impl FnMut(OwnedFd) + Send + 'static,
    ) -> io::Result<Accepting> {
        let (listener, is_over) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (until, ends) = channel::<()>();
        let own = (until, listener.clone(), is_over.clone(), admit);
        named(thread).spawn(move || {
            let (_until, listener, is_over, mut admit) = own;
            while !is_over.load(Ordering::Acquire) {
                match accept_with(&listener, SocketFlags::CLOEXEC) {
                    Ok(connection) => admit(connection),
                    // No descriptor is free for now; or it is over.
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        })?;
        Ok(Accepting { owner: Owner::this(), listener, is_over, ends, _name: name })
    }

    /// No connection is accepted any more.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        // The kernel wakes the thread that waits there.
        let _ = shutdown(&self.listener, Shutdown::Both);
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        if self.owner.is_here() {
            self.stop();
            // (A client may keep that thread from its end: by a descriptor that it has sent, and whose last close waits.)
            let _ = self.ends.recv_timeout(AT_MOST);
        }
    }
}

pub(crate) fn named(thread: &str) -> Builder {
    Builder::new().name(thread.to_owned())
}

/// Answers the connections of `listener` that `may_ask` admits, until what it returns is dropped, each on a thread of its own that is called
/// `thread`.
///
/// # Errors
/// The thread that accepts cannot be started.
pub(crate) fn serve(
    thread: &'static str,
    listener: OwnedFd,
    name: Option<Socket>,
    may_ask: impl Fn(&OwnedFd) -> bool + Send + 'static,
    answer: impl Fn(OwnedFd) + Clone + Send + 'static,
) -> io::Result<Accepting> {
    let answered = Arc::new(AtomicUsize::new(0));
    Accepting::new(thread, listener, name, move |connection| {
        if !may_ask(&connection) || answered.load(Ordering::Relaxed) >= AT_ONCE {
            return;
        }
        answered.fetch_add(1, Ordering::Relaxed);
        let (answer, done) = (answer.clone(), answered.clone());
        let answers = named(thread).spawn(move || {
            answer(connection);
            done.fetch_sub(1, Ordering::Relaxed);
        });
        if answers.is_err() {
            answered.fetch_sub(1, Ordering::Relaxed);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{FdFlags, fcntl_setfd};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::process::{Command, Stdio};
    use std::sync::mpsc::RecvTimeoutError;

    /// Where a process of these tests is to listen, or to look.
    const PATH: &str = "LOCKGATE_TEST_PATH";

    /// This test of this program, in a process of its own with a path.
    fn process(test: &str, path: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("server::tests::{test}"), "--nocapture"]).env(PATH, path);
        command
    }

    /// The path, in such a process.
    fn path_of_process() -> Option<PathBuf> {
        std::env::var_os(PATH).map(PathBuf::from)
    }

    fn taken(path: &Path) -> io::Result<Place> {
        take_over(unbound(SocketType::STREAM).unwrap(), path, &Lock::Beside)
    }

    /// Red where the thread that accepts is not woken: it has what it answers with for good then, and connections are still accepted.
    #[test]
    fn what_is_dropped_accepts_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let Ok(Place::Own(listener, name)) = taken(&path) else { panic!("the name is free") };
        let again = listener.try_clone().unwrap();
        let (says, hears) = channel();
        let answer = move |_| says.send(()).unwrap();
        let accepting = serve("lockgate-test", listener, Some(name), |_| true, answer).unwrap();
        for _ in 0..2 {
            let _asks = connect(&path).unwrap();
            hears.recv().unwrap();
        }
        drop(accepting);
        assert_eq!(socket_at(&path), None, "the name is still there");
        // (A thread that is left would have it for good.)
        assert_eq!(hears.recv_timeout(Duration::from_secs(10)), Err(RecvTimeoutError::Disconnected));
        assert_eq!(accept_with(&again, SocketFlags::CLOEXEC).err(), Some(Errno::INVAL));
    }

    /// A process that does not look at its connections is there. Red where a connection that is refused for lack of room counts as none that listens.
    #[test]
    fn a_listener_that_too_many_wait_for_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = unbound(SocketType::STREAM).unwrap();
        bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&listener, 1).unwrap();
        let before = socket_at(&path);
        let waiting: Vec<_> = std::iter::from_fn(|| connect(&path).ok()).collect();
        assert!(!waiting.is_empty());
        assert!(matches!(taken(&path), Ok(Place::Others(None))));
        assert_eq!(socket_at(&path), before);
        drop(waiting);
        // One of another kind listens as well; what listens no more is replaced.
        let other = unbound(SocketType::SEQPACKET).unwrap();
        assert!(matches!(take_over(other, &path, &Lock::Beside), Ok(Place::Others(None))));
        drop(listener);
        let Ok(Place::Own(_listener, name)) = taken(&path) else { panic!("it is not replaced") };
        let own = std::process::id() as i32;
        assert!(matches!(taken(&path), Ok(Place::Others(Some(pid))) if pid == own));
        drop(name);
        assert_eq!(socket_at(&path), None);
    }

    /// A process that lacks descriptors cannot look whether another one listens. Red where a look that fails counts as none that listens: at one of
    /// these limits the lock is opened, and nothing more.
    #[test]
    fn a_look_that_fails_takes_nothing() {
        if let Some(path) = path_of_process() {
            let free = unbound(SocketType::STREAM).unwrap();
            let highest = std::os::fd::AsRawFd::as_raw_fd(&free) as u64;
            drop(free);
            let maximum = getrlimit(Resource::Nofile).maximum;
            let errors = (0..8).filter(|more| {
                let own = unbound(SocketType::STREAM).unwrap();
                setrlimit(Resource::Nofile, Rlimit { current: Some(highest + more), maximum }).unwrap();
                let result = take_over(own, &path, &Lock::Beside);
                setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
                assert!(!matches!(result, Ok(Place::Own(..))), "with {more} descriptors it was taken");
                result.is_err()
            });
            assert!(errors.count() >= 3, "neither lock nor look has failed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let Ok(Place::Own(_listener, _name)) = taken(&path) else { panic!("the name is free") };
        let before = socket_at(&path);
        let looked = process("a_look_that_fails_takes_nothing", &path).output().unwrap();
        assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stdout));
        assert_eq!(socket_at(&path), before);
    }

    /// A child of a process that has ended may hold its socket open. Red without the look at the process that began to listen.
    #[test]
    fn a_process_that_has_ended_listens_no_more() {
        if let Some(path) = path_of_process() {
            let Ok(Place::Own(listener, name)) = taken(&path) else { panic!("the name is free") };
            // The child has the listener, and ends with its standard input.
            fcntl_setfd(&listener, FdFlags::empty()).unwrap();
            let child = Command::new("cat").stdout(Stdio::null()).spawn().unwrap();
            std::mem::forget((listener, name, child));
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let mut parent = process("a_process_that_has_ended_listens_no_more", &path);
        let mut parent = parent.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let holds = parent.stdin.take();
        assert!(parent.wait().unwrap().success());
        assert!(connect(&path).is_ok(), "the child has the listener");
        assert!(matches!(taken(&path), Ok(Place::Own(..))));
        drop(holds);
    }
}
