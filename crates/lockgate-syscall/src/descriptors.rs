//! A domain's own descriptor table. Its numbers mean nothing to the host, and host numbers nothing to it.
use super::memory_files::MemoryFile;
use super::notifications::Notifications;
use super::place::Place;
use super::signal_files::SignalFile;
use super::sockets::Socket;
use lockgate_kernel::locked;
use lockgate_kernel::{Identity, Lookup, has_page_cache, kept};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::SocketType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// What a description stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Never blocks.
    Regular,
    /// Names are resolved beneath it.
    Directory,
    /// Pipes, terminals, sockets, harmless devices: may block.
    Stream,
}

impl Kind {
    pub(super) fn of(stat: &Stat) -> Kind {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::Regular,
            FileType::Directory => Kind::Directory,
            _ => Kind::Stream,
        }
    }
}

/// What the kernel has to say of a stream of the host's besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing.
    Bytes,
    /// A socket, with time limits of its own.
    Socket {
        /// What is written at once arrives as one message, and a read takes one: datagrams, sequences of packets.
        messages: bool,
    },
    /// Perhaps a terminal, whose reads end as its settings say.
    Device,
}

impl Form {
    fn of(fd: impl AsFd, stat: &Stat) -> Form {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Socket => Form::Socket {
                messages: rustix::net::sockopt::socket_type(fd).is_ok_and(|kind| kind != SocketType::STREAM),
            },
            FileType::CharacterDevice => Form::Device,
            _ => Form::Bytes,
        }
    }
}

/// What quick calls ([`quick`](crate::quick)) may do with a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quick {
    /// Nothing: it has flags or locks of the host's, or messages, is no such thing, or other code answers for it.
    Nothing,
    /// Read and write it: a file in the kernel's page cache, that never waits.
    File,
    /// Read and write it: a pipe, or a socket without messages.
    Pipe,
    Socket,
    /// Wait for its events, if the kernel finds that it has some.
    Events,
}

impl Quick {
    fn of(fd: &OwnedFd, stat: &Stat, path_only: bool) -> Quick {
        match FileType::from_raw_mode(stat.st_mode) {
            _ if path_only => Quick::Nothing,
            FileType::RegularFile if has_page_cache(fd) == Ok(true) => Quick::File,
            FileType::Fifo => Quick::Pipe,
            // (What has no name and no type: sets of epoll, counters, timers.)
            FileType::Unknown => Quick::Events,
            _ => Quick::Nothing,
        }
    }
}

/// A stream that the host granted. Its open file description is the host's own, and perhaps other processes' too.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    fd: Arc<OwnedFd>,
    kind: Kind,
    form: Form,
    identity: Identity,
    mode: OFlags,
    /// Whether the host's description was opened for that. If not, the kernel says so of a read or write, but a wait for it never ends.
    is_open_for_it: bool,
}

impl Stream {
    /// Grants `fd` for what `mode` says.
    ///
    /// # Errors
    /// `EISDIR` for a directory, beneath which there are names; else the kernel's.
    pub(super) fn new(fd: OwnedFd, mode: OFlags) -> Result<Stream, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        let is_open_for_it =
            !flags.contains(OFlags::PATH) && [mode, OFlags::RDWR].contains(&(flags & OFlags::RWMODE));
        let (identity, form) = (Identity::from(&stat), Form::of(&fd, &stat));
        match Kind::of(&stat) {
            Kind::Directory => Err(Errno::ISDIR),
            kind => Ok(Stream { fd: Arc::new(fd), kind, form, identity, mode, is_open_for_it }),
        }
    }
}

/// What there is to a description besides what the kernel has.
#[derive(Debug)]
pub(super) enum Behind {
    /// Nothing.
    Kernel,
    /// Its size is counted: what is written goes there.
    Memory(MemoryFile),
    /// Signals of the domain's are read there. The kernel has a pipe for it, which is never read.
    Signals { file: Arc<SignalFile>, _places: [Place; 2] },
    /// What is read there was looked at.
    Notifications(Notifications),
}

/// An open file description of a domain: shared by descriptors that `dup` made, and by no other domain.
#[derive(Debug)]
pub(super) struct Description {
    fd: Arc<OwnedFd>,
    /// The kernel's description, or the file, is not the domain's alone: its flags stay as they are, and no lock is taken with it.
    pub(super) granted: bool,
    pub(super) kind: Kind,
    /// Of a granted stream; what the domain made has none but bytes.
    pub(super) form: Form,
    /// Of what the domain has opened or made itself.
    pub(super) quick: Quick,
    /// Of the file, whose locks it names.
    pub(super) identity: Identity,
    /// May be read, may be written: what was granted, whatever the host descriptor could do besides.
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// Beneath a read-only grant: neither attributes nor names below it may change.
    pub(super) read_only_grant: bool,
    /// A granted directory beneath which links and FIFOs may be made.
    pub(super) special_grant: bool,
    /// Opened with `O_PATH`: it says which file, and gives nothing of it.
    pub(super) path_only: bool,
    /// `O_APPEND` and `O_NONBLOCK` as the domain sees them.
    flags: AtomicU32,
    /// Absolute path in the domain, for `fchdir`; empty for what has none.
    pub(super) path: Vec<u8>,
    /// That of a socket that the domain made.
    pub(super) socket: Option<Socket>,
    /// What there is to it besides what the kernel has.
    pub(super) behind: Behind,
    /// How sets of `epoll` watch it.
    watches: Mutex<Vec<Watch>>,
    /// What a descriptor's description counts for ([`Reserved::fill`]); the others are granted, or in use for one call.
    place: Option<Place>,
}

impl Description {
    /// Wraps a host descriptor that was opened with `flags`, for the domain alone.
    pub(super) fn new(
        fd: OwnedFd,
        stat: &Stat,
        flags: OFlags,
        read_only_grant: bool,
        path: Vec<u8>,
    ) -> Description {
        let (mode, path_only) = (flags & OFlags::RWMODE, flags.contains(OFlags::PATH));
        Description {
            quick: Quick::of(&fd, stat, path_only),
            fd: Arc::new(fd),
            granted: false,
            kind: Kind::of(stat),
            form: Form::Bytes,
            identity: stat.into(),
            readable: !path_only && (mode == OFlags::RDONLY || mode == OFlags::RDWR),
            writable: !path_only && (mode == OFlags::WRONLY || mode == OFlags::RDWR),
            read_only_grant,
            special_grant: false,
            path_only,
            flags: AtomicU32::new((flags & SETTABLE).bits()),
            path,
            socket: None,
            behind: Behind::Kernel,
            watches: Mutex::default(),
            place: None,
        }
    }

    /// What a call has made that has no name: a pipe's end, a socket, a counter. The descriptor gets a number that is none of the host's streams.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn of_made(fd: OwnedFd, flags: OFlags) -> Result<Description, Errno> {
        let fd = kept(fd)?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Description::new(fd, &stat, flags, false, Vec::new()))
    }

    /// A socket, or one end of two.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn of_socket(fd: OwnedFd, socket: Socket, flags: OFlags) -> Result<Description, Errno> {
        let mut description = Description::of_made(fd, OFlags::RDWR | flags)?;
        description.quick = if socket.has_messages() { Quick::Nothing } else { Quick::Socket };
        description.socket = Some(socket);
        Ok(description)
    }

    /// What [`of_made`](Description::of_made) is, with that behind it.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn of_made_as(fd: OwnedFd, flags: OFlags, behind: Behind) -> Result<Description, Errno> {
        let mut description = Description::of_made(fd, flags)?;
        description.quick = match behind {
            Behind::Kernel | Behind::Memory(_) => description.quick,
            // (The kernel's answers are not the domain's.)
            Behind::Signals { .. } | Behind::Notifications(_) => Quick::Nothing,
        };
        description.behind = behind;
        Ok(description)
    }

    /// What this is a descriptor of, for code that keeps it without the description.
    pub(super) fn shared(&self) -> Weak<OwnedFd> {
        Arc::downgrade(&self.fd)
    }

    /// Has `set` watch it as `number`, by the descriptor that `add` tells the kernel.
    ///
    /// # Errors
    /// Those of `add`; `ENOSPC` if there is no room for a descriptor more.
    pub(super) fn begin_watch(
        &self,
        set: Weak<OwnedFd>,
        number: i32,
        place: impl FnOnce() -> Result<Place, Errno>,
        add: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut watches = locked(&self.watches);
        watches.retain(|watch| watch.set.strong_count() > 0);
        let (by, place) = match self.watched_by(&watches, &set, number) {
            // (If it is watched so already, the kernel refuses it.)
            Ok(by) => (by, None),
            Err(_) => {
                let place = place().map_err(|_| Errno::NOSPC)?;
                let copy = self.fd.try_clone().map_err(|_| Errno::NOSPC)?;
                (Arc::new(kept(copy)?), Some(place))
            }
        };
        add(by.as_fd())?;
        watches.push(Watch { set, number, by, _place: place });
        Ok(())
    }

    /// Has `change` tell the kernel something of what `set` watches as `number`.
    ///
    /// # Errors
    /// Those of `change`, or `ENOENT`.
    pub(super) fn change_watch(
        &self,
        set: &Weak<OwnedFd>,
        number: i32,
        change: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        change(self.watched_by(&locked(&self.watches), set, number)?.as_fd())
    }

    /// The same where `set` watches it so no more.
    ///
    /// # Errors
    /// Those of `delete`, or `ENOENT`.
    pub(super) fn end_watch(
        &self,
        set: &Weak<OwnedFd>,
        number: i32,
        delete: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut watches = locked(&self.watches);
        delete(self.watched_by(&watches, set, number)?.as_fd())?;
        watches.retain(|watch| !watch.is(set, number));
        Ok(())
    }

    /// The descriptor by which `set` watches it as `number`. If it watches it in no way yet, its own: the kernel says what is wrong with that.
    ///
    /// # Errors
    /// `ENOENT` if its own stands for another number there.
    fn watched_by(&self, watches: &[Watch], set: &Weak<OwnedFd>, number: i32) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(watch) = watches.iter().find(|watch| watch.is(set, number)) {
            return Ok(Arc::clone(&watch.by));
        }
        let stands_for_another =
            watches.iter().any(|watch| watch.set.ptr_eq(set) && Arc::ptr_eq(&watch.by, &self.fd));
        if stands_for_another { Err(Errno::NOENT) } else { Ok(Arc::clone(&self.fd)) }
    }

    /// One domain's description of a granted stream.
    fn of_stream(stream: &Stream) -> Description {
        Description {
            fd: Arc::clone(&stream.fd),
            granted: true,
            kind: stream.kind,
            form: stream.form,
            quick: Quick::Nothing,
            identity: stream.identity,
            readable: stream.is_open_for_it && stream.mode == OFlags::RDONLY,
            writable: stream.is_open_for_it && stream.mode == OFlags::WRONLY,
            read_only_grant: false,
            special_grant: false,
            path_only: false,
            flags: AtomicU32::new(0),
            path: Vec::new(),
            socket: None,
            behind: Behind::Kernel,
            watches: Mutex::default(),
            place: None,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The flags that `F_GETFL` reports.
    pub(super) fn status(&self) -> OFlags {
        let mode = match (self.readable, self.writable) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ if self.path_only => OFlags::PATH,
            _ => OFlags::RDONLY,
        };
        let append = if self.hosts_append() { OFlags::APPEND } else { OFlags::empty() };
        mode | append | self.flags()
    }

    fn flags(&self) -> OFlags {
        OFlags::from_bits_retain(self.flags.load(Ordering::Relaxed))
    }

    /// Whether calls may use it without a lock: what the domain has opened or made itself. (What the host granted has flags of the host's.)
    fn is_quick(&self) -> bool {
        !self.granted && self.quick != Quick::Nothing
    }

    /// Whether each write is one message, and each read takes one.
    pub(super) fn keeps_messages(&self) -> bool {
        self.form == Form::Socket { messages: true }
    }

    /// Whether it is a FIFO that the domain has opened, or an end of a pipe.
    pub(super) fn is_fifo(&self) -> bool {
        self.quick == Quick::Pipe && !self.granted
    }

    /// Whether what the kernel says of its bytes holds for the domain.
    pub(super) fn is_kernels(&self) -> bool {
        matches!(self.behind, Behind::Kernel | Behind::Memory(_))
    }

    pub(super) fn nonblocking(&self) -> bool {
        self.flags().contains(OFlags::NONBLOCK)
    }

    /// True for a stream that the host opened with `O_APPEND`: a log, of which nothing is overwritten.
    pub(super) fn hosts_append(&self) -> bool {
        // The kernel knows the flags of whatever is open.
        self.granted && rustix::fs::fcntl_getfl(&self.fd).is_ok_and(|flags| flags.contains(OFlags::APPEND))
    }

    /// True if the domain alone wants each write at the end: then each says so by itself.
    pub(super) fn appends_by_itself(&self) -> bool {
        self.granted && self.kind == Kind::Regular && self.flags().contains(OFlags::APPEND)
    }

    /// Changes `O_APPEND` and `O_NONBLOCK`, ignoring the rest of `flags`: for a granted stream in this domain only.
    ///
    /// # Errors
    /// `EPERM` if `flags` lack the `O_APPEND` that the host gave a stream; else the kernel's.
    pub(super) fn set_status(&self, flags: OFlags) -> Result<(), Errno> {
        if !flags.contains(OFlags::APPEND) && self.hosts_append() {
            return Err(Errno::PERM);
        }
        // (A write to a memory file says itself where the end is.)
        if self.kind == Kind::Regular && !self.granted && matches!(self.behind, Behind::Kernel) {
            rustix::fs::fcntl_setfl(&self.fd, flags & OFlags::APPEND)?;
        }
        self.flags.store((flags & SETTABLE).bits(), Ordering::Relaxed);
        Ok(())
    }

    /// The description itself, if it may be read.
    pub(super) fn for_reading(self: Arc<Self>) -> Result<Arc<Self>, Errno> {
        match self.kind {
            Kind::Directory => Err(Errno::ISDIR),
            _ if self.readable => Ok(self),
            _ => Err(Errno::BADF),
        }
    }

    /// The description itself, if it may be written.
    pub(super) fn for_writing(self: Arc<Self>) -> Result<Arc<Self>, Errno> {
        if self.writable { Ok(self) } else { Err(Errno::BADF) }
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        // The kernel watches a granted stream as long as the host has it.
        let watches = self.watches.get_mut().unwrap_or_else(|e| e.into_inner());
        for watch in watches.iter().filter(|_| self.granted) {
            if let Some(set) = watch.set.upgrade() {
                let _ = rustix::event::epoll::delete(&set, &watch.by);
            }
        }
    }
}

/// How a set of `epoll` watches a description. The kernel tells apart what it watches by file and descriptor, and of the host's descriptors
/// there is one for all numbers that `dup` made: for a second number in the same set, there is another.
#[derive(Debug)]
struct Watch {
    set: Weak<OwnedFd>,
    /// What the domain calls it, also when that number has been closed, or is something else by now.
    number: i32,
    by: Arc<OwnedFd>,
    /// What a descriptor more counts for.
    _place: Option<Place>,
}

impl Watch {
    fn is(&self, set: &Weak<OwnedFd>, number: i32) -> bool {
        self.number == number && self.set.ptr_eq(set)
    }
}

/// Flags that `fcntl` may change.
const SETTABLE: OFlags = OFlags::APPEND.union(OFlags::NONBLOCK);

/// One number of the table.
#[derive(Debug, Clone)]
struct Slot {
    description: Arc<Description>,
    close_on_exec: bool,
}

/// The table: lowest free number first, as POSIX wants.
#[derive(Debug)]
pub(super) struct Descriptors {
    slots: BTreeMap<i32, Slot>,
    /// Numbers that are given to calls in progress.
    reserved: BTreeSet<i32>,
    /// Of the numbers below [`next`](Descriptors::next), those that are neither.
    free: BTreeSet<i32>,
    next: i32,
    /// Numbers are below this, and no more descriptions than this are open.
    limit: i32,
    /// The same of new numbers: what the domain has said itself.
    own_limit: i32,
    /// Descriptions that are open, but for granted streams.
    open: Arc<AtomicI32>,
    /// What calls may use without this table's lock.
    lookup: Arc<Lookup<Arc<Description>>>,
}

/// Descriptors that one domain may hold if the host does not say how many: a share of the host's own limit.
pub(super) const LIMIT: i32 = 256;
/// Most that one may be given.
pub(super) const MOST: i32 = 65_536;

impl Descriptors {
    /// A table whose first numbers are `streams`, with numbers below `limit`.
    pub(super) fn new(streams: &[Option<Stream>; 3], limit: i32) -> Self {
        let slots = (0..).zip(streams).filter_map(|(number, stream)| {
            let description = Arc::new(Description::of_stream(stream.as_ref()?));
            Some((number, Slot { description, close_on_exec: false }))
        });
        let slots: BTreeMap<_, _> = slots.collect();
        let next = slots.last_key_value().map_or(0, |(last, _)| last + 1);
        let free = (0..next).filter(|number| !slots.contains_key(number)).collect();
        let lookup = Arc::new(Lookup::new(limit));
        let open = Arc::default();
        Descriptors { slots, reserved: BTreeSet::new(), free, next, limit, own_limit: limit, open, lookup }
    }

    /// Whether there is nothing but `streams`, as [`new`](Descriptors::new) makes them.
    pub(super) fn are_new(&self, streams: &[Option<Stream>; 3]) -> bool {
        let is_new = |slot: &Slot, stream: &Stream| {
            let own = &slot.description;
            Arc::ptr_eq(&own.fd, &stream.fd) && own.flags().is_empty() && !slot.close_on_exec
        };
        let wanted = (0..).zip(streams).filter_map(|(number, stream)| Some((number, stream.as_ref()?)));
        wanted.clone().count() == self.slots.len()
            && wanted
                .into_iter()
                .all(|(number, stream)| self.slots.get(&number).is_some_and(|slot| is_new(slot, stream)))
    }

    /// Room for one more open description.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn take_place(&self) -> Result<Place, Errno> {
        Place::new(&self.open, self.limit)
    }

    /// True if `number` still names this description.
    pub(super) fn names(&self, number: i32, description: &Arc<Description>) -> bool {
        self.slots.get(&number).is_some_and(|slot| Arc::ptr_eq(&slot.description, description))
    }

    /// At most `limit` descriptors from now on, before it has any of its own. A domain that was granted nothing has none.
    pub(super) fn restrict(&mut self, limit: i32) {
        self.limit = if self.limit == 0 { 0 } else { limit.min(MOST) };
        self.own_limit = self.limit;
        self.lookup = Arc::new(Lookup::new(self.limit));
    }

    /// What calls may use without a lock.
    pub(super) fn lookup(&self) -> &Arc<Lookup<Arc<Description>>> {
        &self.lookup
    }

    /// Gives `number`, which is free, its description.
    fn put(&mut self, number: i32, description: Arc<Description>, close_on_exec: bool) {
        if description.is_quick() {
            self.lookup.show(number, &description);
        }
        self.slots.insert(number, Slot { description, close_on_exec });
    }

    /// New numbers are below this from now on, and in any case below what the host has said. Those that are there stay.
    pub(super) fn lower(&mut self, limit: u64) {
        self.own_limit = i32::try_from(limit).unwrap_or(MOST).min(self.limit);
    }

    /// New numbers are below this, or none is there.
    pub(super) fn limit(&self) -> i32 {
        // (Where nothing is granted, there is nothing to be counted.)
        if self.limit == 0 { LIMIT } else { self.own_limit }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, number: i32) -> Result<Arc<Description>, Errno> {
        self.slots.get(&number).map(|slot| Arc::clone(&slot.description)).ok_or(Errno::BADF)
    }

    /// Gives `description` the lowest free number that is at least `from`.
    pub(super) fn insert(
        &mut self,
        description: Arc<Description>,
        from: i32,
        close_on_exec: bool,
    ) -> Result<i32, Errno> {
        if !(0..self.limit()).contains(&from) {
            return Err(Errno::INVAL);
        }
        let number = self.take(from)?;
        self.put(number, description, close_on_exec);
        Ok(number)
    }

    /// The lowest number that is at least `from` and free: it is not free any more.
    fn take(&mut self, from: i32) -> Result<i32, Errno> {
        let number = self.free.range(from..).next().copied().unwrap_or(self.next.max(from));
        if number >= self.own_limit {
            return Err(Errno::MFILE);
        }
        self.use_up(number);
        Ok(number)
    }

    /// Has `number` be free no more, if it is.
    fn use_up(&mut self, number: i32) {
        if number >= self.next {
            self.free.extend(self.next..number);
            self.next = number + 1;
        } else {
            self.free.remove(&number);
        }
    }

    /// Gives `description` the number `number`; returns what had it before.
    pub(super) fn replace(
        &mut self,
        number: i32,
        description: Arc<Description>,
        close_on_exec: bool,
    ) -> Result<Option<Arc<Description>>, Errno> {
        if !(0..self.own_limit).contains(&number) {
            return Err(Errno::BADF);
        }
        if self.reserved.contains(&number) {
            return Err(Errno::BUSY);
        }
        self.use_up(number);
        self.lookup.hide(number);
        let before = self.slots.remove(&number);
        self.put(number, description, close_on_exec);
        Ok(before.map(|slot| slot.description))
    }

    pub(super) fn remove(&mut self, number: i32) -> Result<Arc<Description>, Errno> {
        self.lookup.hide(number);
        let removed = self.slots.remove(&number).ok_or(Errno::BADF)?;
        self.free.insert(number);
        Ok(removed.description)
    }

    /// Every description, none of which has a number any more.
    pub(super) fn remove_all(&mut self) -> Vec<Arc<Description>> {
        let numbers: Vec<i32> = self.slots.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.remove(number).ok()).collect()
    }

    pub(super) fn close_on_exec(&mut self, number: i32) -> Result<&mut bool, Errno> {
        self.slots.get_mut(&number).map(|slot| &mut slot.close_on_exec).ok_or(Errno::BADF)
    }
}

/// A number and room for a description that are a call's own until it fills them; if it does not they are free again. What makes a
/// descriptor takes them first: it is refused before it has changed anything.
pub(super) struct Reserved<'a> {
    table: &'a Mutex<Descriptors>,
    pub(super) number: i32,
    place: Option<Place>,
}

impl<'a> Reserved<'a> {
    /// The lowest free number.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn new(table: &'a Mutex<Descriptors>) -> Result<Self, Errno> {
        let mut descriptors = locked(table);
        let place = descriptors.take_place()?;
        let number = descriptors.take(0)?;
        descriptors.reserved.insert(number);
        Ok(Reserved { table, number, place: Some(place) })
    }

    /// Gives `description` the number, which it returns.
    pub(super) fn fill(mut self, mut description: Description, close_on_exec: bool) -> i32 {
        description.place = self.place.take();
        let description = Arc::new(description);
        let mut descriptors = locked(self.table);
        descriptors.put(self.number, description, close_on_exec);
        descriptors.reserved.remove(&self.number);
        drop(descriptors);
        let number = self.number;
        // It has left nothing to give back.
        std::mem::forget(self);
        number
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut descriptors = locked(self.table);
        descriptors.reserved.remove(&self.number);
        descriptors.free.insert(self.number);
    }
}
