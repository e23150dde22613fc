//! The side that has the functions: a thread that accepts, one for what each client asks for, and one for each client's thread that calls.

use super::ShareError;
use super::line::{self, Line, NO_MORE, both, halves};
use super::shape::Shape;
use super::wire::{Answer, Ask, Ended, MESSAGE, Refused, SCHEMA};
use crate::server::{Accepting, Lock, Place, Socket, named, take_over, unbound};
use lockgate::{
    AllocError, CallError, Domain, Dynamic, Frame, Owner, Pointer, Principal, Rebind, Registry, Request,
    Version,
};
use lockgate_kernel::{locked, peer, takes_descriptors};
use rustix::fs::Mode;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketType, recv, sendmsg,
    shutdown,
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a thread is woken whose client has gone, until it has seen that.
const AGAIN: Duration = Duration::from_millis(5);

/// How often a thread that waits for calls looks by itself whether its client has gone: a client may see to it that no wake reaches it.
const LOOK: Duration = Duration::from_secs(1);

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Clients at once.
    pub clients: usize,
    /// Those of one user.
    pub clients_of_user: usize,
    /// Calls that a client may make at once: threads of this process.
    pub threads: u32,
    /// Functions that a client may have bound at once.
    pub functions: usize,
    /// Bytes of buffers in a call, at most 64 MiB.
    pub bytes: u64,
}

impl Default for Limits {
    /// 32 clients, 8 of a user; each 4 threads, 256 functions, and 64 KiB in a call.
    fn default() -> Limits {
        Limits { clients: 32, clients_of_user: 8, threads: 4, functions: 256, bytes: 64 << 10 }
    }
}

/// What is offered to other processes: names of a registry. Who may bind one of them, its export says ([`Allow`](lockgate::Allow)), by the user and the
/// group of the process that asks.
#[derive(Debug, Clone)]
pub struct Offer {
    names: BTreeMap<String, Option<String>>,
    limits: Limits,
    sleeps: bool,
}

impl Default for Offer {
    fn default() -> Offer {
        Offer::new()
    }
}

impl Offer {
    /// Nothing.
    pub fn new() -> Offer {
        Offer { names: BTreeMap::new(), limits: Limits::default(), sleeps: false }
    }

    /// This name, too, whose function takes and returns no pointers.
    pub fn name(mut self, name: impl Into<String>) -> Offer {
        self.names.insert(name.into(), None);
        self
    }

    /// This name, too, by a prototype that says how long its buffers are: `uint32_t crc(const uint8_t data[n], size_t n)`. What is not `const` is copied
    /// back to the caller.
    pub fn function(mut self, name: impl Into<String>, prototype: impl Into<String>) -> Offer {
        self.names.insert(name.into(), Some(prototype.into()));
        self
    }

    /// What clients may take.
    pub fn limits(mut self, limits: Limits) -> Offer {
        self.limits = limits;
        self
    }

    /// Threads that wait for a call sleep at once. Otherwise they try for some microseconds first, as long as calls come in that time.
    pub fn sleep_at_once(mut self) -> Offer {
        self.sleeps = true;
        self
    }

    /// True without names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Names that are offered, until this is dropped: then clients' calls end as if their domains were killed, but for those that are in progress, which go on, and
/// whose results are lost. Dropped in a child of the process, it changes nothing.
#[derive(Debug)]
pub struct Served {
    owner: Owner,
    shared: Arc<Shared>,
    accepting: Accepting,
}

#[derive(Debug)]
struct Shared {
    registry: Registry,
    /// With the shape, where a prototype says it.
    names: BTreeMap<String, Option<Shape>>,
    limits: Limits,
    sleeps: bool,
    is_over: AtomicBool,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    next: u64,
    sockets: HashMap<u64, (u32, Arc<OwnedFd>)>,
}

/// Offers names of `registry` at `path`, from now on. Only the user of this process reaches the socket, until its mode is changed. A socket there on which
/// no process listens any more is replaced.
///
/// # Errors
/// [`ShareError`].
pub fn serve(registry: &Registry, path: impl AsRef<Path>, offer: Offer) -> Result<Served, ShareError> {
    let path = path.as_ref();
    let shape = |(name, prototype): (String, Option<String>)| {
        let shape = prototype.as_deref().map(Shape::new).transpose();
        let shape = shape.map_err(|why| ShareError::Prototype { name: name.clone(), why })?;
        Ok((name, shape))
    };
    let names = offer.names.into_iter().map(shape).collect::<Result<_, _>>()?;
    let failed = |source| ShareError::Listen { path: path.to_owned(), source };
    let Some((listener, name)) = listener(path).map_err(failed)? else {
        return Err(ShareError::Taken(path.to_owned()));
    };
    let shared = Arc::new(Shared {
        registry: registry.clone(),
        names,
        limits: offer.limits,
        sleeps: offer.sleeps,
        is_over: AtomicBool::new(false),
        clients: Mutex::default(),
    });
    let admits = shared.clone();
    let admit = move |socket| admits.clone().admit(Arc::new(socket));
    let accepting = Accepting::new("lockgate-share", listener, Some(name), admit).map_err(failed)?;
    Ok(Served { owner: Owner::this(), shared, accepting })
}

/// A socket that listens on `path`; `None` if a process does already.
fn listener(path: &Path) -> io::Result<Option<(OwnedFd, Socket)>> {
    let socket = unbound(SocketType::SEQPACKET)?;
    // What is bound has the mode of the socket, from the beginning.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    takes_descriptors(socket.as_fd(), false); // nor those that it accepts
    Ok(match take_over(socket, path, &Lock::Beside)? {
        Place::Own(listener, name) => Some((listener, name)),
        Place::Others(_) => None,
    })
}

impl Drop for Served {
    fn drop(&mut self) {
        // (A child has the same sockets, and none of the threads.)
        if !self.owner.is_here() {
            return;
        }
        self.shared.is_over.store(true, Ordering::Release);
        self.accepting.stop();
        for (_, socket) in locked(&self.shared.clients).sockets.values() {
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

impl Shared {
    /// Begins to answer a client, unless there are too many.
    fn admit(self: Arc<Shared>, socket: Arc<OwnedFd>) {
        let Ok(peer) = peer(socket.as_fd()) else { return };
        // What a domain of this process connects is a socket of this process.
        if peer.is_own() {
            return;
        }
        let user = peer.user;
        let number = {
            let mut clients = locked(&self.clients);
            let of_user = clients.sockets.values().filter(|(other, _)| *other == user).count();
            let is_full =
                clients.sockets.len() >= self.limits.clients || of_user >= self.limits.clients_of_user;
            if is_full || self.is_over.load(Ordering::Acquire) {
                return;
            }
            clients.next += 1;
            let number = clients.next;
            clients.sockets.insert(number, (user, socket.clone()));
            number
        };
        let principal = Principal::user(user).in_group(peer.group);
        let client = Client {
            socket,
            principal,
            functions: Mutex::default(),
            is_over: AtomicBool::new(false),
            shared: self.clone(),
        };
        let answers = named("lockgate-client").spawn(move || {
            let client = Arc::new(client);
            client.answer();
            // Its place is free when all that it had is.
            locked(&client.shared.clients).sockets.remove(&number);
        });
        if answers.is_err() {
            locked(&self.clients).sockets.remove(&number);
        }
    }
}

/// A process that has connected.
struct Client {
    socket: Arc<OwnedFd>,
    principal: Principal,
    /// What it has bound.
    functions: Mutex<Vec<Option<Arc<Bound>>>>,
    is_over: AtomicBool,
    shared: Arc<Shared>,
}

/// A thread that makes a client's calls.
struct Caller {
    thread: JoinHandle<()>,
    wake: Box<dyn Fn() + Send>,
}

struct Bound {
    dynamic: Dynamic,
    shape: Shape,
    /// Calls go to the domain's newest instance.
    rebinds: bool,
}

impl Client {
    /// Answers until the client has gone.
    fn answer(self: &Arc<Client>) {
        let mut threads = Vec::new();
        while self.one(&mut threads).is_some() {}
        self.is_over.store(true, Ordering::Release);
        let _ = shutdown(&self.socket, Shutdown::Both);
        for Caller { thread, wake } in threads {
            // (One that is just about to sleep, or is in a call, sees it the next time.)
            while !thread.is_finished() {
                wake();
                std::thread::sleep(AGAIN);
            }
        }
    }

    /// Answers once; `None`: the client has gone, or does not keep to the protocol.
    fn one(self: &Arc<Client>, threads: &mut Vec<Caller>) -> Option<()> {
        let mut message = [0; MESSAGE];
        // (What is longer, or nothing, is no JSON.)
        let (length, _) = recv(&self.socket, &mut message, RecvFlags::empty()).ok()?;
        match serde_json::from_slice(&message[..length]).ok()? {
            Ask::Bind { schema: SCHEMA, name, version, rebind, prototype } => {
                let version = version.map(|[major, minor]| Version::new(major, minor));
                let answer = self.bind(&name, version, rebind, &prototype).unwrap_or_else(Answer::Refused);
                self.send(&answer, None)
            }
            Ask::Bind { .. } => {
                let other = Refused::Other("this client is of another version of lockgate".to_owned());
                self.send(&Answer::Refused(other), None)
            }
            Ask::Unbind { function } => {
                let mut functions = locked(&self.functions);
                let gone = functions.get_mut(usize::try_from(function).ok()?).and_then(Option::take);
                drop(functions);
                drop(gone); // without the lock: a domain may end
                Some(())
            }
            Ask::Line => {
                threads.retain(|caller| !caller.thread.is_finished());
                if threads.len() >= self.shared.limits.threads as usize {
                    let limit = self.shared.limits.threads;
                    return self.send(&Answer::Refused(Refused::Threads { limit }), None);
                }
                match self.line() {
                    Ok((caller, file)) => {
                        threads.push(caller);
                        self.send(&Answer::Line, Some(file.as_fd()))
                    }
                    Err(error) => self.send(&Answer::Refused(Refused::Other(error.to_string())), None),
                }
            }
        }
    }

    fn send(&self, answer: &Answer, file: Option<BorrowedFd<'_>>) -> Option<()> {
        let bytes = serde_json::to_vec(answer).ok()?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = file.into_iter().collect();
        if !files.is_empty() {
            with.push(SendAncillaryMessage::ScmRights(&files));
        }
        let sent = sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut with, SendFlags::NOSIGNAL).ok()?;
        (sent == bytes.len()).then_some(())
    }

    fn bind(
        &self,
        name: &str,
        version: Option<Version>,
        rebinds: bool,
        prototype: &str,
    ) -> Result<Answer, Refused> {
        let offered = self.shared.names.get(name).ok_or(Refused::Unknown)?;
        let mut asked = Shape::new(prototype).map_err(Refused::Other)?;
        let request = match version {
            Some(version) => Request::new(name, version),
            None => Request::newest(name),
        };
        // What another instance has at an address is not what was put there: a call with buffers enters the instance that has them, or none.
        let rebind = match (rebinds, asked.buffers.is_empty()) {
            (_, false) => Rebind::OnRequest,
            (false, true) => Rebind::No,
            (true, true) => Rebind::Yes,
        };
        let dynamic =
            self.shared.registry.bind_signature(&self.principal, &request.rebind(rebind), &asked.signature);
        let dynamic = dynamic.map_err(Refused::of)?;
        // Which bytes go where is this side's to say, too.
        asked.signature.name = dynamic.signature().name.clone();
        let own = match offered {
            Some(own) => own.buffers.clone(),
            None => Vec::new(),
        };
        if own != asked.buffers {
            let own = Shape { signature: asked.signature, buffers: own };
            return Err(Refused::Other(format!("{name} has other buffers: {own}")));
        }
        let domain = dynamic.domain_name().to_owned();
        let bound = Some(Arc::new(Bound { dynamic, shape: asked, rebinds }));
        let mut functions = locked(&self.functions);
        let function = match functions.iter().position(Option::is_none) {
            Some(free) => free,
            None if functions.len() >= self.shared.limits.functions => {
                let most = self.shared.limits.functions;
                return Err(Refused::Other(format!("a client has at most {most} functions: drop some")));
            }
            None => {
                functions.push(None);
                functions.len() - 1
            }
        };
        functions[function] = bound;
        Ok(Answer::Bound { function: function as u32, domain })
    }

    /// Memory for calls, and a thread that makes them.
    fn line(self: &Arc<Client>) -> io::Result<(Caller, OwnedFd)> {
        let (mut line, file) = line::made(self.shared.limits.bytes, !self.shared.sleeps)?;
        let wake = Box::new(line.waker());
        let client = self.clone();
        let thread = named("lockgate-caller").spawn(move || {
            let mut scratch = Vec::new();
            while !client.is_over.load(Ordering::Acquire) {
                match line.receive(LOOK) {
                    Ok(None) => {}
                    Ok(Some(request)) => {
                        if client.call(&mut line, &request, &mut scratch).is_none() {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        })?;
        Ok((Caller { thread, wake }, file))
    }

    /// Makes a call; `None`: the client wants no more, or does not keep to the protocol.
    fn call(&self, line: &mut OwnLine, request: &line::Request, scratch: &mut Vec<u8>) -> Option<()> {
        let (number, function) = halves(request[0]);
        if function == NO_MORE {
            return None;
        }
        let bound = locked(&self.functions).get(function as usize).and_then(Option::clone)?;
        let answer = match bound.call(line, &request[1..], scratch) {
            Ok([first, second]) => [both(number, 0), 0, first, second],
            Err(error) => {
                let said = serde_json::to_vec(&Ended::of(error)).ok()?;
                line.bytes.write(0, &said).ok()?;
                [both(number, 1), said.len() as u64, 0, 0]
            }
        };
        line.send(&answer).ok()
    }
}

type OwnLine = Line<line::Answer, line::Request>;

impl Bound {
    fn call(&self, line: &OwnLine, words: &[u64], scratch: &mut Vec<u8>) -> Result<[u64; 2], CallError> {
        if self.shape.buffers.is_empty() {
            return self.enter(&self.dynamic, words, &[]);
        }
        let newest = self.dynamic.newest();
        if newest.is_some() && !self.rebinds {
            return Err(CallError::Restarted(self.dynamic.domain_name().to_owned()));
        }
        let dynamic = newest.as_ref().unwrap_or(&self.dynamic);
        // (The client's words are in memory of this process's here: lengths stay what they are.)
        let first: Vec<u64> = self.shape.arguments(words).map(|(_, first)| first).collect();
        let places = self.shape.places(&first, line.bytes.len());
        let (places, end) =
            places.map_err(|_| CallError::Arguments("the buffers are too long".to_owned()))?;
        let domain = dynamic.domain();
        let room = Room::new(&domain, end)?;
        for place in &places {
            scratch.resize(place.length as usize, 0);
            let copied = line.bytes.copy_into(place.at, scratch);
            copied.map_err(|error| CallError::Arguments(error.to_string()))?;
            domain.write_slice(room.at(place.at), scratch).map_err(|_| gone(dynamic))?;
        }
        let pointers: Vec<u64> = places.iter().map(|place| room.at(place.at).address()).collect();
        let result = self.enter(dynamic, words, &pointers)?;
        for (buffer, place) in self.shape.buffers.iter().zip(&places) {
            if buffer.is_written {
                scratch.resize(place.length as usize, 0);
                domain.read_into(room.at(place.at), scratch).map_err(|_| gone(dynamic))?;
                let copied = line.bytes.write(place.at, scratch);
                copied.map_err(|error| CallError::Arguments(error.to_string()))?;
            }
        }
        Ok(result)
    }

    fn enter(&self, dynamic: &Dynamic, words: &[u64], pointers: &[u64]) -> Result<[u64; 2], CallError> {
        let plan = dynamic.plan();
        let mut frame = Frame::new(plan);
        let mut pointers = pointers.iter();
        let mut buffers = self.shape.buffers.iter().map(|buffer| buffer.parameter).peekable();
        for (parameter, (own, first)) in self.shape.arguments(words).enumerate() {
            let place = &plan.parameters[parameter];
            if buffers.next_if_eq(&parameter).is_some() {
                frame.set(place, pointers.next().map_or(&[], std::slice::from_ref));
            } else if own.len() == 1 {
                frame.set(place, &[first]);
            } else {
                frame.set(place, own);
            }
        }
        dynamic.call_frame(&mut frame)?;
        let second = || frame.result(plan).get(1).copied().unwrap_or_default();
        let has_second = self.shape.signature.result.size() > 8;
        Ok([frame.first_word(plan), if has_second { second() } else { 0 }])
    }
}

/// Memory of a domain for the buffers of one call.
struct Room<'a> {
    domain: &'a Domain,
    start: Pointer<u8>,
}

impl<'a> Room<'a> {
    fn new(domain: &'a Domain, bytes: u64) -> Result<Room<'a>, CallError> {
        let start = domain.alloc::<u8>(bytes.max(1) as usize).map_err(|error| match error {
            AllocError::Call(error) => error,
            other => CallError::Arguments(other.to_string()),
        })?;
        Ok(Room { domain, start })
    }

    fn at(&self, offset: u64) -> Pointer<u8> {
        Pointer::from_address(self.start.address() + offset)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        // (If it fails, the domain has no allocator any more.)
        let _ = self.domain.free(self.start);
    }
}

/// The domain has given back what its allocator gave, or its memory has gone.
fn gone(dynamic: &Dynamic) -> CallError {
    CallError::Arguments(format!("domain {} has no memory for the buffers", dynamic.domain_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::{Query, Remote, RemoteError};

    /// What a domain connects is a socket of the process that it runs in. Red without the look at process numbers.
    #[test]
    fn no_domain_of_the_same_process_is_a_client() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own");
        let _served = serve(&Registry::new(), &path, Offer::new().name("x")).unwrap();
        let remote = Remote::connect(&path).unwrap();
        let refused = remote.bind(&Query::newest("x"), "int x(void)").unwrap_err();
        assert!(matches!(refused, RemoteError::Closed(_)), "{refused}");
    }
}
