//! Programs that run, asked from other processes of the same user: a socket in a folder that only the user may enter, for each file that is up.
//!
//! A client must be another process of the same user: a domain's socket is one of the process that it runs in, so no domain of it asks
//! anything here, whatever it was granted. And a client sends the folder along, as a descriptor: no domain can send any, by whatever way it has
//! reached the socket. One request a connection, with limits.

use crate::logs::Stream;
use crate::run::{Handle, Status};
use crate::server::{self, Accepting, Lock, Place, Socket, connect, take_over, unbound};
use lockgate_kernel::{Identity, peer};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketType, recvmsg, sendmsg,
};
use rustix::process::{geteuid, getpid};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a request.
const REQUEST: u64 = 64 << 10;

/// Bytes of an answer that are read.
const ANSWER: u64 = 64 << 20;

/// How long the server waits for a request's bytes, and for the client to take an answer's.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How often who waits for an answer looks whether the process is still there.
const LOOK: Duration = Duration::from_secs(1);

/// Layout of requests and answers.
const SCHEMA: u32 = 1;

/// Why programs cannot be asked, or did not do what they were asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no folder for sockets.
    #[error("no folder for control sockets: set XDG_RUNTIME_DIR to a folder that only you may write to")]
    NoFolder,
    /// Others could reach the sockets there.
    #[error("{} is not a folder that only you may enter: remove it", .0.display())]
    Open(PathBuf),
    /// The file is up already.
    #[error("{} is up already, in process {pid}: `lockgate stop` ends it", file.display())]
    Running {
        /// The file.
        file: PathBuf,
        /// Who runs it.
        pid: i32,
    },
    /// The file is up, and so many connections wait for its process that there is no room for another one.
    #[error("{} is up, but its process takes no more connections: if it was stopped, continue it or end it", .0.display())]
    Full(PathBuf),
    /// The file is not up.
    #[error("{} is not up: `lockgate up` starts it, `lockgate ps` shows which files are", .0.display())]
    NotUp(PathBuf),
    /// What the programs say.
    #[error("{0}")]
    Refused(String),
    /// They end, or say nothing that is understood.
    #[error("process {0} does not answer")]
    Silent(i32),
    /// The kernel's.
    #[error("cannot {what} {}: {source}", path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Wish {
    /// What they do.
    Status,
    /// What they wrote last.
    Logs,
    /// That they end.
    Stop,
    /// That they start again.
    Restart,
}

#[derive(Serialize, Deserialize)]
struct Request {
    schema: u32,
    wish: Wish,
    programs: Vec<String>,
}

/// What programs answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    schema: u32,
    /// The file that is up.
    pub file: String,
    /// The process that runs it.
    pub pid: i32,
    /// All of its programs.
    pub programs: Vec<Program>,
    /// Lines, if they were asked for.
    pub lines: Vec<SaidLine>,
    error: Option<String>,
}

/// A program of an [`Answer`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// What it is doing: [`State::name`](crate::State::name).
    pub state: String,
    /// How often it has been restarted.
    pub restarts: u64,
    /// The exit status of its last run, if one has ended.
    pub exit_status: Option<u8>,
    /// How that run ended.
    pub end: Option<String>,
    /// Runs that have begun.
    pub runs: u64,
    /// Runs that a fault has ended.
    pub faults: u64,
    /// Memory that it uses now, bytes, if it runs.
    pub memory: Option<u64>,
    /// Threads that have a place in it now, if it runs.
    pub threads: Option<u32>,
    /// Descriptors that it has open now, if it runs.
    pub descriptors: Option<u32>,
    /// CPU time of all its runs, nanoseconds, if that is measured.
    pub cpu_ns: Option<u64>,
    /// Bytes that it has written to its output and errors, without ends of lines.
    pub written_bytes: u64,
}

/// A line of an [`Answer`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaidLine {
    /// Who wrote it.
    pub program: String,
    /// Where to.
    pub stream: Stream,
    /// The line; bytes that are not UTF-8 are replaced.
    pub text: String,
}

fn system<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ControlError + 'a {
    move |source| ControlError::System { what, path: path.to_owned(), source }
}

/// The folder of control sockets, whether it is there or not: `lockgate` in `$XDG_RUNTIME_DIR`, `/run/user/UID`, or root's `/run`, all of which
/// belong to the user. A program with more rights than its caller does not ask the environment.
pub fn place() -> Option<PathBuf> {
    let user = geteuid();
    let given =
        lockgate_kernel::variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let candidates = match given {
        Some(given) => vec![given],
        None => {
            let own = PathBuf::from(format!("/run/user/{}", user.as_raw()));
            if user.is_root() { vec![own, PathBuf::from("/run")] } else { vec![own] }
        }
    };
    // Another user who may write there could put another folder in place of ours.
    let is_own = |path: &PathBuf| {
        let seen = path.metadata();
        seen.is_ok_and(|seen| seen.is_dir() && seen.uid() == user.as_raw() && seen.mode() & 0o022 == 0)
    };
    candidates.into_iter().find(is_own).and_then(|path| Some(path.canonicalize().ok()?.join("lockgate")))
}

/// The folder, made if it was not there.
fn folder() -> Result<PathBuf, ControlError> {
    let folder = place().ok_or(ControlError::NoFolder)?;
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(system("make", &folder)(error));
        }
        _ => {}
    }
    let seen = folder.symlink_metadata().map_err(system("examine", &folder))?;
    let is_private = seen.is_dir() && seen.uid() == geteuid().as_raw() && seen.mode() & 0o077 == 0;
    if is_private { Ok(folder) } else { Err(ControlError::Open(folder)) }
}

/// The socket on which names are [shared](crate::share) as `name`: that path if it has a `/`, else one in the folder of control sockets.
///
/// # Errors
/// [`ControlError`]: there is no folder, or it is open to others.
pub fn shared(name: &Path) -> Result<PathBuf, ControlError> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(name.to_owned());
    }
    let mut file = name.as_os_str().to_owned();
    file.push(".share");
    Ok(folder()?.join(file))
}

/// The socket of a file, which is known by its canonical path.
fn socket_of(folder: &Path, file: &Path) -> PathBuf {
    let name = blake3::hash(file.as_os_str().as_bytes()).to_hex();
    folder.join(&name[..24]).with_extension("sock")
}

/// A socket for the programs of one file.
#[derive(Debug)]
pub struct Server {
    listener: OwnedFd,
    folder: File,
    file: PathBuf,
    socket: Socket,
}

impl Server {
    /// A socket for `file`.
    ///
    /// # Errors
    /// [`ControlError::Running`] if another process has one; there is no folder, or the kernel refuses.
    pub fn new(file: &Path) -> Result<Server, ControlError> {
        let file = file.canonicalize().map_err(system("find", file))?;
        let folder = folder()?;
        let path = socket_of(&folder, &file);
        // One at a time looks whether it is the first, whatever its file.
        let lock = folder.join("lock");
        let taken = unbound(SocketType::STREAM).and_then(|own| take_over(own, &path, &Lock::Private(&lock)));
        let (listener, socket) = match taken.map_err(system("listen on", &path))? {
            Place::Own(listener, name) => (listener, name),
            Place::Others(Some(pid)) => return Err(ControlError::Running { file, pid }),
            Place::Others(None) => return Err(ControlError::Full(file)),
        };
        let folder = File::open(&folder).map_err(system("open", &folder))?;
        Ok(Server { listener, folder, file, socket })
    }

    /// Answers from now on, on a thread of its own, until what is returned is dropped. The socket's name goes with that.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn serve(self, handle: Handle) -> io::Result<Accepting> {
        let Server { listener, folder, file, socket } = self;
        let folder = Arc::new(folder);
        server::serve("lockgate-control", listener, Some(socket), may_ask, move |connection| {
            let _ = reply(&connection.into(), &folder, &handle, &file);
        })
    }
}

/// Whether who has connected is another process of this user.
fn may_ask(connection: &impl AsFd) -> bool {
    peer(connection.as_fd()).is_ok_and(|peer| peer.user == geteuid().as_raw() && !peer.is_own())
}

/// The first bytes of a request, and the descriptor that came with them.
fn first_of(stream: &UnixStream) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let (mut with, mut bytes) = (RecvAncillaryBuffer::new(&mut space), vec![0; 4096]);
    let got = recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
    bytes.truncate(got.bytes);
    let sent = with.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok((bytes, sent))
}

/// Whether what was sent along is the folder: who has it may enter it, and is no domain.
fn is_folder(sent: OwnedFd, folder: &File) -> io::Result<bool> {
    let identity = |file: &File| file.metadata().map(|seen| Identity::from(&seen));
    Ok(identity(&File::from(sent))? == identity(folder)?)
}

fn reply(mut stream: &UnixStream, folder: &File, handle: &Handle, file: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let (mut request, sent) = first_of(stream)?;
    if !sent.map_or(Ok(false), |sent| is_folder(sent, folder))? {
        return Ok(());
    }
    stream.take(REQUEST).read_to_end(&mut request)?;
    let mut lines = Vec::new();
    let mut is_understood = true;
    let result = match serde_json::from_slice::<Request>(&request) {
        Ok(Request { schema: SCHEMA, wish, programs }) => match wish {
            Wish::Status => Ok(()),
            Wish::Logs => handle.logs(programs).map(|all| {
                lines = all
                    .into_iter()
                    .map(|(program, line)| SaidLine {
                        program,
                        stream: line.stream,
                        text: String::from_utf8_lossy(&line.bytes).into_owned(),
                    })
                    .collect();
            }),
            Wish::Stop => handle.stop(programs),
            Wish::Restart => handle.restart(programs),
        },
        other => {
            is_understood = false;
            Err(match other {
                Ok(_) => "another version of lockgate has started these programs".to_owned(),
                Err(error) => format!("not understood: {error}"),
            })
        }
    };
    let programs = if is_understood { handle.status() } else { Vec::new() };
    let program = |status: Status| Program {
        name: status.name,
        state: status.state.name().to_owned(),
        restarts: status.restarts,
        exit_status: status.end.as_ref().map(crate::End::exit_status),
        end: status.end.as_ref().map(ToString::to_string),
        runs: status.totals.runs,
        faults: status.totals.faults,
        memory: status.usage.map(|usage| usage.memory),
        threads: status.usage.map(|usage| usage.threads),
        descriptors: status.usage.map(|usage| usage.descriptors),
        cpu_ns: Some(status.totals.cpu_time.as_nanos() as u64).filter(|time| *time > 0),
        written_bytes: status.totals.written.bytes,
    };
    let answer = Answer {
        schema: SCHEMA,
        file: file.to_string_lossy().into_owned(),
        pid: getpid().as_raw_nonzero().get(),
        programs: programs.into_iter().map(program).collect(),
        lines,
        error: result.err(),
    };
    stream.write_all(&serde_json::to_vec(&answer)?)
}

/// Asks the programs of `file` for something, and waits until it is done.
///
/// # Errors
/// [`ControlError`]: the file is not up, or what the programs say.
pub fn ask(file: &Path, wish: Wish, programs: Vec<String>) -> Result<Answer, ControlError> {
    let file = file.canonicalize().map_err(system("find", file))?;
    let not_up = || ControlError::NotUp(file.clone());
    let folder = place().ok_or(ControlError::NoFolder)?;
    let socket = socket_of(&folder, &file);
    let stream = connect(&socket).map_err(|error| unreached(error, &file))?;
    // All programs end with their process, the ones named here among them: there may be no process left that says so.
    let is_stop = wish == Wish::Stop;
    let listens = |pid| match connect(&socket) {
        Ok(other) => pid_of(&other) == pid,
        // (Too many wait for it.)
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    // (One that ends closes this connection and the socket one after the other.)
    let is_gone = |pid| {
        (0..10).any(|_| {
            let listens = listens(pid);
            if listens {
                std::thread::sleep(LOOK / 10);
            }
            !listens
        })
    };
    stream.set_read_timeout(Some(LOOK)).map_err(|_| not_up())?;
    match exchange(stream, &folder, wish, programs, || is_awake(&socket)) {
        Err(ControlError::Silent(pid)) if is_stop && is_gone(pid) => Ok(Answer {
            schema: SCHEMA,
            file: file.to_string_lossy().into_owned(),
            pid,
            programs: Vec::new(),
            lines: Vec::new(),
            error: None,
        }),
        answer => answer,
    }
}

/// The process on the other side; 0 if the kernel does not say.
fn pid_of(stream: &UnixStream) -> i32 {
    peer(stream.as_fd()).map_or(0, |peer| peer.pid)
}

/// Why there is no connection to the process that runs `file`.
fn unreached(error: io::Error, file: &Path) -> ControlError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotUp(file.to_owned()),
        io::ErrorKind::WouldBlock => ControlError::Full(file.to_owned()),
        _ => system("connect to", file)(error),
    }
}

/// Whether the process that listens here looks at its connections: answers one, or closes it. (One that was stopped does neither.)
fn is_awake(socket: &Path) -> bool {
    let asks = || {
        let mut stream = connect(socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.shutdown(Shutdown::Write)?;
        stream.read(&mut [0])
    };
    asks().is_ok()
}

/// Sends a request, and the folder with its first bytes.
fn send(mut stream: &UnixStream, folder: &Path, request: &[u8]) -> io::Result<()> {
    let folder = File::open(folder)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let (mut with, descriptors) = (SendAncillaryBuffer::new(&mut space), [folder.as_fd()]);
    with.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(stream, &[IoSlice::new(request)], &mut with, SendFlags::NOSIGNAL)?;
    stream.write_all(&request[sent..])
}

/// Sends a request and waits for the answer; as long as `goes_on` says, which is asked each time that the stream's time for reads is over.
fn exchange(
    stream: UnixStream,
    folder: &Path,
    wish: Wish,
    programs: Vec<String>,
    goes_on: impl Fn() -> bool,
) -> Result<Answer, ControlError> {
    let pid = pid_of(&stream);
    let silent = |_| ControlError::Silent(pid);
    let request = Request { schema: SCHEMA, wish, programs };
    let request = serde_json::to_vec(&request).map_err(|_| ControlError::Silent(pid))?;
    send(&stream, folder, &request).and_then(|()| stream.shutdown(Shutdown::Write)).map_err(silent)?;
    let mut answer = Vec::new();
    let mut reads = (&stream).take(ANSWER);
    // (What was read before an error stays.)
    while let Err(error) = reads.read_to_end(&mut answer) {
        if error.kind() != io::ErrorKind::WouldBlock || !goes_on() {
            return Err(silent(error));
        }
    }
    let answer: Answer = serde_json::from_slice(&answer).map_err(|_| ControlError::Silent(pid))?;
    match answer.error {
        Some(why) => Err(ControlError::Refused(why)),
        None => Ok(answer),
    }
}

/// Everything of this user's that is up, or why it says nothing: [`ControlError::Silent`] of what does not answer within `timeout`.
pub fn all(timeout: Duration) -> Vec<Result<Answer, ControlError>> {
    let Some(folder) = place() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let sockets = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let sockets = sockets.filter(|path| path.extension().is_some_and(|extension| extension == "sock"));
    let ask = |path: PathBuf| {
        let stream = match connect(&path).map_err(|error| unreached(error, &path)) {
            Ok(stream) => stream,
            // (A process that has not taken its socket away is no more.)
            Err(ControlError::NotUp(_)) => return None,
            Err(error) => return Some(Err(error)),
        };
        stream.set_read_timeout(Some(timeout)).ok()?;
        Some(exchange(stream, &folder, Wish::Status, Vec::new(), || false))
    };
    let mut answers: Vec<_> = sockets.filter_map(ask).collect();
    answers.sort_by_key(|answer| answer.as_ref().map_or(0, |answer| answer.pid));
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a domain connects is a socket of the process that it runs in. Red without the look at process numbers.
    #[test]
    fn no_domain_of_the_same_process_asks_anything() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(peer(one.as_fd()).unwrap().pid, getpid().as_raw_nonzero().get());
        assert!(!may_ask(&one));
    }
}
