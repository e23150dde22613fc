//! A domain's own descriptor table. Its numbers mean nothing to the host, and host numbers nothing to it.
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// An open file description: shared by descriptors that `dup` made.
#[derive(Debug)]
pub(super) struct Description {
    fd: OwnedFd,
    pub(super) kind: Kind,
    /// Device and inode number: names the file for locks.
    pub(super) identity: (u64, u64),
    /// May be read, may be written: what was granted, whatever the host descriptor could do besides.
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// Beneath a read-only grant: neither attributes nor names below it may change.
    pub(super) read_only_grant: bool,
    /// `O_APPEND` and `O_NONBLOCK` as the domain sees them.
    flags: AtomicU32,
    /// Absolute path in the domain, for `fchdir`; empty for what has none.
    pub(super) path: Vec<u8>,
}

impl Description {
    /// Wraps a host descriptor that was opened with `flags`.
    pub(super) fn new(
        fd: OwnedFd,
        stat: &Stat,
        flags: OFlags,
        read_only_grant: bool,
        path: Vec<u8>,
    ) -> Description {
        let mode = flags & OFlags::ACCMODE;
        Description {
            fd,
            kind: Kind::of(stat),
            identity: (stat.st_dev, stat.st_ino),
            readable: mode == OFlags::RDONLY || mode == OFlags::RDWR,
            writable: mode == OFlags::WRONLY || mode == OFlags::RDWR,
            read_only_grant,
            flags: AtomicU32::new((flags & SETTABLE).bits()),
            path,
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
            _ => OFlags::RDONLY,
        };
        mode | OFlags::from_bits_retain(self.flags.load(Ordering::Relaxed))
    }

    pub(super) fn nonblocking(&self) -> bool {
        self.status().contains(OFlags::NONBLOCK)
    }

    /// Changes `O_APPEND` and `O_NONBLOCK`, ignoring the rest of `flags`.
    ///
    /// A stream may share its description with the host, so its flags are kept here only.
    pub(super) fn set_status(&self, flags: OFlags) -> Result<(), Errno> {
        if self.kind == Kind::Regular {
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
    /// Numbers are below this.
    limit: i32,
}

/// Descriptors that one domain may hold: a share of the host's own limit.
pub(super) const LIMIT: i32 = 256;

impl Descriptors {
    /// A table whose first numbers are `streams`, with numbers below `limit`.
    pub(super) fn new(streams: &[Option<Arc<Description>>; 3], limit: i32) -> Self {
        let slots = (0..).zip(streams).filter_map(|(number, stream)| {
            Some((number, Slot { description: Arc::clone(stream.as_ref()?), close_on_exec: false }))
        });
        Descriptors { slots: slots.collect(), limit }
    }

    /// At most `limit` descriptors from now on.
    pub(super) fn restrict(&mut self, limit: i32) {
        self.limit = self.limit.min(limit);
    }

    /// Numbers are below this.
    pub(super) fn limit(&self) -> i32 {
        self.limit
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
        if !(0..LIMIT).contains(&from) {
            return Err(Errno::INVAL);
        }
        let number =
            (from..self.limit).find(|number| !self.slots.contains_key(number)).ok_or(Errno::MFILE)?;
        self.slots.insert(number, Slot { description, close_on_exec });
        Ok(number)
    }

    /// Gives `description` the number `number`; returns what had it before.
    pub(super) fn replace(
        &mut self,
        number: i32,
        description: Arc<Description>,
        close_on_exec: bool,
    ) -> Result<Option<Arc<Description>>, Errno> {
        if !(0..self.limit).contains(&number) {
            return Err(Errno::BADF);
        }
        Ok(self.slots.insert(number, Slot { description, close_on_exec }).map(|slot| slot.description))
    }

    pub(super) fn remove(&mut self, number: i32) -> Result<Arc<Description>, Errno> {
        self.slots.remove(&number).map(|slot| slot.description).ok_or(Errno::BADF)
    }

    pub(super) fn close_on_exec(&mut self, number: i32) -> Result<&mut bool, Errno> {
        self.slots.get_mut(&number).map(|slot| &mut slot.close_on_exec).ok_or(Errno::BADF)
    }
}
