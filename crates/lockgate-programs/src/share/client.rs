//! The side that calls.

use super::RemoteError;
use super::line::{self, Line, NO_MORE, both, halves, opened};
use super::shape::{Buffer, Place, Shape, words_of};
use super::wire::{Answer, Ask, Ended, MESSAGE, SAID, SCHEMA};
use crate::server::connect_by;
use lockgate::{CallError, FaultKind, Owner, Rebind, RegistryError, Request, SharedSlice, Value, Version};
use lockgate_kernel::{locked, peer, takes_descriptors};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, Shutdown, SocketType, recvmsg, send,
    shutdown,
};
use std::fmt;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the other process may take to answer on the socket, unless the client says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The least time that the kernel is asked to wait: none would be without end.
const LEAST: Duration = Duration::from_millis(1);

/// How often a call that waits looks whether the other process is still there.
const LOOK: Duration = Duration::from_millis(10);

/// How often a name that is waited for is looked up.
const RETRY: Duration = Duration::from_millis(10);

/// What a client asks for.
#[derive(Debug, Clone)]
pub struct Query {
    name: String,
    version: Option<Version>,
    rebinds: bool,
    wait: Duration,
    time_limit: Option<Duration>,
}

/// What a registry of this process would be asked: policies and what a domain gets in place of a result mean nothing in another one.
impl From<&Request> for Query {
    fn from(request: &Request) -> Query {
        Query {
            name: request.name().to_owned(),
            version: request.version(),
            rebinds: request.rebinding() != Rebind::No,
            wait: request.waiting(),
            time_limit: None,
        }
    }
}

impl Query {
    /// This major version of `name`, with at least this minor one.
    pub fn new(name: impl Into<String>, version: Version) -> Query {
        Query { version: Some(version), ..Query::newest(name) }
    }

    /// The newest version of `name` that has the client's signature.
    pub fn newest(name: impl Into<String>) -> Query {
        Query { name: name.into(), version: None, rebinds: false, wait: Duration::ZERO, time_limit: None }
    }

    /// Calls go on with the next instance when the domain is restarted, as with [`Rebind::Yes`](lockgate::Rebind::Yes). Without this they return
    /// [`CallError::Restarted`].
    pub fn rebinds(mut self) -> Query {
        self.rebinds = true;
        self
    }

    /// Waits for the name to be exported, so long at most.
    pub fn wait(mut self, timeout: Duration) -> Query {
        self.wait = timeout;
        self
    }

    /// How long the other process may take to answer. Without this, as long as a [call](Remote::connect_with) may take, and five seconds if those have
    /// no limit. (A name that is [waited](Query::wait) for is asked for again and again: each answer has this time.)
    pub fn time_limit(mut self, limit: Duration) -> Query {
        self.time_limit = Some(limit);
        self
    }
}

/// An argument of a call.
#[derive(Debug)]
pub enum Data<'a> {
    /// A value.
    Value(Value),
    /// The bytes of a `const` array.
    Read(&'a [u8]),
    /// Those of an array that the function may write to.
    Written(&'a mut [u8]),
}

impl From<Value> for Data<'_> {
    fn from(value: Value) -> Self {
        Data::Value(value)
    }
}

impl Data<'_> {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Data::Value(_) => None,
            Data::Read(bytes) => Some(bytes),
            Data::Written(bytes) => Some(bytes),
        }
    }
}

/// A process that offers names. Clones are the same connection, which all threads may use: each call that is in progress takes memory and a thread of the other
/// process's, as many as that allows.
#[derive(Clone)]
pub struct Remote(Arc<Connection>);

struct Connection {
    owner: Owner,
    path: PathBuf,
    socket: OwnedFd,
    /// The other process: a child of its may have its end of the socket when it has ended.
    process: Option<OwnedFd>,
    asking: Turn,
    /// Those that no call has.
    lines: Mutex<Vec<OwnLine>>,
    time_limit: Option<Duration>,
    sleeps: bool,
}

type OwnLine = Line<line::Request, line::Answer>;

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.0.path).finish()
    }
}

impl Remote {
    /// Connects to the process that [serves](super::serve) at `path`.
    ///
    /// # Errors
    /// [`RemoteError::Connect`].
    pub fn connect(path: impl AsRef<Path>) -> Result<Remote, RemoteError> {
        Remote::with(path.as_ref(), None, false)
    }

    /// The same, with a limit for each call and for each binding: a call that takes longer ends with [`FaultKind::TimeOut`], and goes on in the other process
    /// until a limit of the domain's ends it; a binding that takes longer is [`RemoteError::Late`], and the end of the connection.
    ///
    /// # Errors
    /// As for [`connect`](Remote::connect).
    pub fn connect_with(path: impl AsRef<Path>, time_limit: Duration) -> Result<Remote, RemoteError> {
        Remote::with(path.as_ref(), Some(time_limit), false)
    }

    /// The same, without trying for some microseconds whether an answer comes, before the thread sleeps.
    ///
    /// # Errors
    /// As for [`connect`](Remote::connect).
    pub fn connect_to_sleep(path: impl AsRef<Path>) -> Result<Remote, RemoteError> {
        Remote::with(path.as_ref(), None, true)
    }

    fn with(path: &Path, time_limit: Option<Duration>, sleeps: bool) -> Result<Remote, RemoteError> {
        let failed = |error: Errno| RemoteError::Connect { path: path.to_owned(), source: error.into() };
        let socket = connect_by(SocketType::SEQPACKET, path).map_err(failed)?;
        takes_descriptors(socket.as_fd(), false);
        let process = peer(socket.as_fd()).ok().and_then(|peer| peer.process());
        Ok(Remote(Arc::new(Connection {
            owner: Owner::this(),
            path: path.to_owned(),
            socket,
            process,
            asking: Turn::default(),
            lines: Mutex::default(),
            time_limit,
            sleeps,
        })))
    }

    /// Binds a function by its prototype. An array whose length another parameter has (`const uint8_t data[n], size_t n`) is a buffer, whose bytes go to
    /// the other process and, without `const`, back. Other pointers mean nothing there.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn bind(&self, query: &Query, prototype: &str) -> Result<RemoteFunction, RemoteError> {
        let shape = Shape::new(prototype).map_err(RemoteError::Prototype)?;
        let limit = query.time_limit.or(self.0.time_limit).unwrap_or(TIMEOUT);
        let end = Instant::now().checked_add(query.wait);
        loop {
            let ask = Ask::Bind {
                schema: SCHEMA,
                name: query.name.clone(),
                version: query.version.map(|version| [version.major, version.minor]),
                rebind: query.rebinds,
                prototype: prototype.to_owned(),
            };
            match self.0.ask(&ask, limit, Instant::now().checked_add(limit))? {
                (Answer::Bound { function, domain }, _) => {
                    let name = query.name.clone();
                    let domain = lockgate::signature::printable(&domain);
                    return Ok(RemoteFunction(Arc::new(Bound {
                        remote: self.clone(),
                        function,
                        domain,
                        name,
                        shape,
                    })));
                }
                (Answer::Refused(refused), _) => match refused.error(&query.name, query.version, &shape) {
                    RemoteError::Bind(RegistryError::Unknown { name, .. }) if !query.wait.is_zero() => {
                        if end.is_some_and(|end| Instant::now() >= end) {
                            return Err(RegistryError::Late { name, timeout: query.wait }.into());
                        }
                        std::thread::sleep(RETRY);
                    }
                    error => return Err(error),
                },
                (Answer::Line, _) => return Err(self.0.nonsense("it answers what was not asked")),
            }
        }
    }
}

impl Connection {
    /// Nothing more is asked here.
    fn nonsense(&self, what: &'static str) -> RemoteError {
        let _ = shutdown(&self.socket, Shutdown::Both);
        RemoteError::Nonsense(what)
    }

    /// Asks; what is waited for takes so long at most, and is over by `end`.
    fn ask(
        &self,
        ask: &Ask,
        limit: Duration,
        end: Option<Instant>,
    ) -> Result<(Answer, Option<OwnedFd>), RemoteError> {
        if !self.owner.is_here() {
            return Err(CallError::Forked.into());
        }
        let late = || RemoteError::Late { path: self.path.clone(), limit };
        let closed = |error| {
            // (What is answered late would be the answer of the next one.)
            let _ = shutdown(&self.socket, Shutdown::Both);
            if error == Errno::AGAIN { late() } else { RemoteError::Closed(self.path.clone()) }
        };
        let message = serde_json::to_vec(ask).map_err(|_| RemoteError::Nonsense("it cannot be asked"))?;
        if message.len() > MESSAGE {
            return Err(RemoteError::Prototype(format!(
                "the name and the prototype have {} bytes",
                message.len()
            )));
        }
        let Some(_asking) = self.asking.take(end) else { return Err(late()) };
        let left = end.map(|end| end.saturating_duration_since(Instant::now()).max(LEAST));
        for which in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&self.socket, which, left).map_err(closed)?;
        }
        takes_descriptors(self.socket.as_fd(), matches!(ask, Ask::Line));
        send(&self.socket, &message, SendFlags::NOSIGNAL).map_err(closed)?;
        // As many as one message can have: what there is no room for the kernel closes on this thread.
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let (mut with, mut bytes) = (RecvAncillaryBuffer::new(&mut space), vec![0; MESSAGE]);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got =
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut with, flags).map_err(closed)?;
        let mut files: Vec<OwnedFd> = with
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(files) => Some(files),
                _ => None,
            })
            .flatten()
            .collect();
        let answer = serde_json::from_slice(&bytes[..got.bytes]).ok();
        let is_line = matches!((ask, &answer), (Ask::Line, Some(Answer::Line)));
        let file = (is_line && !files.is_empty()).then(|| files.remove(0));
        close_elsewhere(files);
        match answer {
            _ if got.bytes == 0 => Err(closed(Errno::PIPE)),
            Some(answer) => Ok((answer, file)),
            None => Err(self.nonsense("its answer is not understood")),
        }
    }

    /// Memory for a call.
    fn line(&self, name: &str, end: Option<Instant>) -> Result<OwnLine, RemoteError> {
        if let Some(line) = locked(&self.lines).pop() {
            return Ok(line);
        }
        // A call that waits for this waits within its time limit.
        let limit = self.time_limit.unwrap_or(TIMEOUT);
        match self.ask(&Ask::Line, limit, end.or_else(|| Instant::now().checked_add(TIMEOUT)))? {
            (Answer::Line, Some(file)) => {
                let line = opened(&file, !self.sleeps);
                if line.is_err() {
                    close_elsewhere(vec![file]); // (What is such memory waits for nothing.)
                }
                line
            }
            (Answer::Refused(refused), _) => {
                // (A thread that has just ended has given its memory back meanwhile.)
                if let Some(line) = locked(&self.lines).pop() {
                    return Ok(line);
                }
                Err(refused.error(name, None, &Shape { signature: nothing(name), buffers: Vec::new() }))
            }
            _ => Err(self.nonsense("it answers what was not asked")),
        }
    }

    /// Whether the other process has closed the connection, as it does when it ends.
    fn is_closed(&self) -> bool {
        let mut waits = vec![PollFd::new(&self.socket, PollFlags::RDHUP)];
        waits.extend(self.process.iter().map(|process| PollFd::new(process, PollFlags::IN)));
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut waits, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// One asks at a time, and waits for that no longer than it may.
#[derive(Default)]
struct Turn {
    is_taken: Mutex<bool>,
    is_free: Condvar,
}

struct Taken<'a>(&'a Turn);

impl Turn {
    /// `None`: not until then.
    fn take(&self, end: Option<Instant>) -> Option<Taken<'_>> {
        let mut is_taken = locked(&self.is_taken);
        while *is_taken {
            let left = end.map_or(TIMEOUT, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            let waited = self.is_free.wait_timeout(is_taken, left);
            is_taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_taken = true;
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *locked(&self.0.is_taken) = false;
        self.0.is_free.notify_one();
    }
}

/// Closes descriptors of the other process's, of which the last close may wait for as long as that likes, on a thread that nothing waits for. (If there
/// is none to be had they stay open.)
fn close_elsewhere(files: Vec<OwnedFd>) {
    if files.is_empty() {
        return;
    }
    let files = std::mem::ManuallyDrop::new(files);
    let closes = move || drop(std::mem::ManuallyDrop::into_inner(files));
    let _ = std::thread::Builder::new().name("lockgate-closes".to_owned()).stack_size(64 << 10).spawn(closes);
}

/// A signature that no error shows.
fn nothing(name: &str) -> lockgate::signature::Signature {
    lockgate::signature::Signature {
        name: name.to_owned(),
        result: lockgate::signature::Type::Void,
        parameters: Vec::new(),
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.owner.is_here() {
            for line in locked(&self.lines).iter_mut() {
                end(line);
            }
        }
    }
}

/// Tells the other process that the memory is not needed any more.
fn end(line: &mut OwnLine) {
    let mut last = line::Request::default();
    last[0] = both(0, NO_MORE);
    // (If there is no place, it does not keep to the protocol, and sees the connection's end.)
    let _ = line.send(&last);
}

/// A function in another process. Clones are the same binding.
#[derive(Clone)]
pub struct RemoteFunction(Arc<Bound>);

struct Bound {
    remote: Remote,
    function: u32,
    domain: String,
    name: String,
    shape: Shape,
}

impl fmt::Debug for RemoteFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteFunction({} of {} at {:?})", self.0.shape, self.0.domain, self.0.remote)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let connection = &self.remote.0;
        if connection.owner.is_here()
            && let Ok(message) = serde_json::to_vec(&Ask::Unbind { function: self.function })
        {
            let _ = send(&connection.socket, &message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }
}

impl RemoteFunction {
    /// Its signature, as the client has asked for it.
    pub fn signature(&self) -> &lockgate::signature::Signature {
        &self.0.shape.signature
    }

    /// Its parameters that are arrays, in their order.
    pub fn buffers(&self) -> &[Buffer] {
        &self.0.shape.buffers
    }

    /// The name that it was asked for by.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Name of the domain that serves it, as the other process says.
    pub fn domain_name(&self) -> &str {
        &self.0.domain
    }

    /// Calls the function. The bytes of buffers that the other process may write are its word alone, as the result is.
    ///
    /// # Errors
    /// [`RemoteError`]: [`CallError::Arguments`] if the values do not fit the prototype, else what happened instead of a return.
    pub fn call(&self, arguments: &mut [Data<'_>]) -> Result<Value, RemoteError> {
        self.call_while(arguments, &mut || true)
    }

    /// The same, as long as `goes_on` says so: it is asked some times in a second, while the call waits. Then the call is [`CallError::Interrupted`], and goes on
    /// in the other process as behind a time limit.
    ///
    /// # Errors
    /// As for [`call`](RemoteFunction::call).
    pub fn call_while(
        &self,
        arguments: &mut [Data<'_>],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Value, RemoteError> {
        let bound = &*self.0;
        let connection = &*bound.remote.0;
        if !connection.owner.is_here() {
            return Err(CallError::Forked.into());
        }
        let mut request = line::Request::default();
        let first = bound.words(arguments, &mut request[1..])?;
        let end = connection.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut line = connection.line(&bound.name, end)?;
        match bound.exchange(&mut line, &mut request, &first, arguments, (end, goes_on)) {
            Ok(result) => {
                locked(&connection.lines).push(line);
                result
            }
            Err(broken) => {
                self::end(&mut line);
                Err(broken)
            }
        }
    }
}

impl Bound {
    /// Puts the words of the arguments into `words`; returns the first one of each.
    fn words(&self, arguments: &[Data<'_>], words: &mut [u64]) -> Result<Vec<u64>, RemoteError> {
        let Shape { signature, buffers } = &self.shape;
        let wrong = |what: String| RemoteError::Call(CallError::Arguments(what));
        let (given, wanted) = (arguments.len(), signature.parameters.len());
        if given != wanted {
            return Err(wrong(format!("{signature} takes {wanted} arguments, {given} were given")));
        }
        let (mut at, mut first) = (0, Vec::with_capacity(wanted));
        for (number, (data, kind)) in arguments.iter().zip(&signature.parameters).enumerate() {
            let buffer = buffers.iter().find(|buffer| buffer.parameter == number);
            let own = match (data, buffer) {
                (Data::Value(value), None) => value.words(kind),
                (Data::Written(_), Some(_)) => Some(vec![0]),
                (Data::Read(_), Some(buffer)) if !buffer.is_written => Some(vec![0]),
                _ => None,
            };
            let own = own.ok_or_else(|| {
                wrong(format!("argument {} of {}: it is not what the prototype says", number + 1, self.shape))
            })?;
            words[at..at + own.len()].copy_from_slice(&own);
            at += words_of(kind);
            first.push(own.first().copied().unwrap_or_default());
        }
        for buffer in buffers {
            let bytes = arguments[buffer.parameter].bytes().map_or(0, <[u8]>::len) as u64;
            if buffer.bytes(first[buffer.length]) != Some(bytes) {
                return Err(wrong(format!(
                    "argument {} of {}: it has {bytes} bytes, argument {} says another length",
                    buffer.parameter + 1,
                    self.shape,
                    buffer.length + 1
                )));
            }
        }
        Ok(first)
    }

    /// Makes a call: the outer error is one after which the memory cannot be used any more.
    fn exchange(
        &self,
        line: &mut OwnLine,
        request: &mut line::Request,
        first: &[u64],
        arguments: &mut [Data<'_>],
        (end, goes_on): (Option<Instant>, &mut dyn FnMut() -> bool),
    ) -> Result<Result<Value, RemoteError>, RemoteError> {
        let connection = &*self.remote.0;
        let most = line.bytes.len();
        let Ok((places, _)) = self.shape.places(first, most) else {
            let what = format!("{}: the buffers of a call have at most {most} bytes here", self.shape);
            return Ok(Err(CallError::Arguments(what).into()));
        };
        let lost = |_| RemoteError::Nonsense("the memory of calls is gone");
        for (buffer, place) in self.shape.buffers.iter().zip(&places) {
            let bytes = arguments[buffer.parameter].bytes().unwrap_or_default();
            line.bytes.write(place.at, bytes).map_err(lost)?;
        }
        let number = line.next_number();
        request[0] = both(number, self.function);
        let broken = |_| RemoteError::Nonsense("it has destroyed the memory of calls");
        line.send(request).map_err(broken)?;
        // Looked at before the last look at the answer, which may have come before the end.
        let mut is_closed = false;
        let answer = loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
            match line.receive(left.min(LOOK)).map_err(broken)? {
                Some(answer) => break answer,
                None if is_closed => return Err(CallError::Killed(self.domain.clone()).into()),
                None if left.is_zero() => {
                    let report =
                        format!("domain {}, called at {}: the time limit passed", self.domain, self.name);
                    return Err(RemoteError::Fault { kind: FaultKind::TimeOut, report });
                }
                None if !goes_on() => return Err(CallError::Interrupted(self.domain.clone()).into()),
                None => is_closed = connection.is_closed(),
            }
        };
        judged(&self.shape, &line.bytes, number, &answer, &places, arguments)
    }
}

/// What an answer to call `number` says, whose buffers lie at `places`. The outer error is that it is none.
///
/// # Errors
/// [`RemoteError`].
#[doc(hidden)]
pub fn judged(
    shape: &Shape,
    bytes: &SharedSlice<u8>,
    number: u32,
    answer: &line::Answer,
    places: &[Place],
    arguments: &mut [Data<'_>],
) -> Result<Result<Value, RemoteError>, RemoteError> {
    let lost = |_| RemoteError::Nonsense("the memory of calls is gone");
    let (answered, status) = halves(answer[0]);
    if answered != number {
        return Err(RemoteError::Nonsense("it answers another call"));
    }
    match status {
        0 => {}
        1 if answer[1] <= (SAID as u64).min(bytes.len()) => {
            let mut said = vec![0; answer[1] as usize];
            bytes.copy_into(0, &mut said).map_err(lost)?;
            let ended: Ended = serde_json::from_slice(&said)
                .map_err(|_| RemoteError::Nonsense("what it says of a call is not understood"))?;
            return Ok(Err(ended.error()));
        }
        _ => return Err(RemoteError::Nonsense("it says nothing that is understood of a call")),
    }
    for (buffer, place) in shape.buffers.iter().zip(places) {
        if let Data::Written(written) = &mut arguments[buffer.parameter]
            && buffer.is_written
        {
            bytes.copy_into(place.at, written).map_err(lost)?;
        }
    }
    let result = &shape.signature.result;
    Ok(Ok(Value::from_words(&answer[2..2 + words_of(result)], result)))
}
