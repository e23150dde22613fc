//! Policy: what the host grants a domain's system calls.
use super::descriptors::{self, Description, Stream};
use super::directory::{self, Directory};
use super::endpoints::{Endpoint, Purpose, Socketfile, Transport};
use lockgate_kernel::{Identity, kept};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, Stat};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a domain may do beneath a granted directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read files and list names.
    ReadOnly,
    /// Also create, write, rename and remove.
    ReadWrite,
    /// Also make symbolic links and FIFOs, and open FIFOs. Others who follow such a link are led to what lies beneath the link's own folder, and
    /// nowhere else; others who open such a FIFO may wait for the domain.
    Special,
}

/// Why something cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The host directory cannot be opened.
    #[error("cannot grant the directory {}: {error}", path.display())]
    Open {
        /// The host's directory.
        path: PathBuf,
        /// What the kernel said.
        error: Errno,
    },
    /// The host directory lies on a file system of the kernel's own making.
    #[error(
        "cannot grant the directory {}: it lies on {file_system}, through which a module could reach \
         the host's memory or the kernel; grant an ordinary directory", path.display()
    )]
    Pseudo {
        /// The host's directory.
        path: PathBuf,
        /// Name of the file system.
        file_system: &'static str,
    },
    /// The path in the domain is not absolute, or climbs.
    #[error("cannot grant a directory as {0:?}: a path in the domain starts with / and has no `..`")]
    GuestPath(String),
    /// There is no `/proc`.
    #[error("cannot grant directories: Lockgate opens files through /proc, which is not mounted; mount it")]
    NoProc,
    /// The kernel has no `openat2`.
    #[error("cannot grant directories: this kernel has no openat2 (Linux 5.6 or later is needed)")]
    NoOpenat2,
    /// It is no address, or nothing has it.
    #[error("cannot grant the address {text:?}: {why}; write HOST:PORT, udp:HOST:PORT or unix:PATH")]
    Address {
        /// What was to be granted.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A stream's descriptor is unusable.
    #[error("cannot grant a stream: {0}")]
    Stream(Errno),
}

/// What a domain's system calls may reach. The default is nothing but memory, clocks, random numbers
/// and exit.
///
/// ```
/// use lockgate_syscall::{Access, Grants};
/// let grants = Grants::default()
///     .directory("/data", std::env::temp_dir(), Access::ReadOnly)?
///     .current_directory("/data");
/// # Ok::<(), lockgate_syscall::GrantError>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct Grants {
    pub(super) directories: Vec<Directory>,
    pub(super) streams: [Option<Stream>; 3],
    pub(super) current: Option<String>,
    pub(super) forbidden: Vec<Identity>,
    /// Addresses at which the domain may be reached, and that it may reach.
    listen: Vec<Endpoint>,
    connect: Vec<Endpoint>,
    /// The names among them, as a file.
    names: OnceLock<Arc<OwnedFd>>,
}

impl Grants {
    /// Grants the host's directory `host`, and everything beneath it, as `guest` in the domain.
    ///
    /// # Errors
    /// [`GrantError`] if the directory cannot be opened, is a pseudo file system (procfs, sysfs, …), or
    /// `guest` is not an absolute path.
    pub fn directory(
        mut self,
        guest: &str,
        host: impl AsRef<Path>,
        access: Access,
    ) -> Result<Self, GrantError> {
        let path = host.as_ref().to_path_buf();
        let open = |error| GrantError::Open { path: path.clone(), error };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty()).and_then(kept).map_err(open)?;
        if let Some(file_system) = directory::pseudo_file_system(&fd).map_err(open)? {
            return Err(GrantError::Pseudo { path, file_system });
        }
        match directory::resolve(fd.as_fd(), b".", flags, Mode::empty()) {
            Err(Errno::NOSYS) => return Err(GrantError::NoOpenat2),
            other => match directory::reopen(&other.map_err(open)?, OFlags::PATH) {
                Err(Errno::NOENT) => return Err(GrantError::NoProc),
                other => drop(other.map_err(open)?),
            },
        }
        let stat = rustix::fs::fstat(&fd).map_err(open)?;
        let read_only = access == Access::ReadOnly;
        let mut description = Description::new(fd, &stat, OFlags::RDONLY, read_only, guest.into());
        description.special_grant = access == Access::Special;
        let directory = Directory::new(guest.as_bytes(), Arc::new(description))
            .ok_or_else(|| GrantError::GuestPath(guest.to_owned()))?;
        self.directories.push(directory);
        Ok(self)
    }

    /// Grants `fd` for reading, as descriptor 0.
    ///
    /// # Errors
    /// [`GrantError::Stream`] if the kernel does not know it, or it is a directory.
    pub fn stdin(self, fd: OwnedFd) -> Result<Self, GrantError> {
        self.stream(0, fd, OFlags::RDONLY)
    }

    /// Grants `fd` for writing, as descriptor 1.
    ///
    /// # Errors
    /// [`GrantError::Stream`] if the kernel does not know it, or it is a directory.
    pub fn stdout(self, fd: OwnedFd) -> Result<Self, GrantError> {
        self.stream(1, fd, OFlags::WRONLY)
    }

    /// Grants `fd` for writing, as descriptor 2.
    ///
    /// # Errors
    /// [`GrantError::Stream`] if the kernel does not know it, or it is a directory.
    pub fn stderr(self, fd: OwnedFd) -> Result<Self, GrantError> {
        self.stream(2, fd, OFlags::WRONLY)
    }

    /// Grants duplicates of the host's own standard streams; those that the host closed stay closed.
    ///
    /// # Errors
    /// [`GrantError::Stream`] if one cannot be duplicated.
    pub fn standard_streams(self) -> Result<Self, GrantError> {
        let duplicate = |fd: BorrowedFd<'_>| match rustix::io::fcntl_dupfd_cloexec(fd, 3) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::BADF) => Ok(None),
            Err(error) => Err(GrantError::Stream(error)),
        };
        let streams = [duplicate(stdin())?, duplicate(stdout())?, duplicate(stderr())?];
        let modes = [OFlags::RDONLY, OFlags::WRONLY, OFlags::WRONLY];
        (0..).zip(streams).zip(modes).try_fold(self, |grants, ((number, fd), mode)| match fd {
            Some(fd) => grants.stream(number, fd, mode),
            None => Ok(grants),
        })
    }

    /// Sets the directory of the domain in which it starts; without it, the first granted directory.
    pub fn current_directory(mut self, guest: &str) -> Self {
        self.current = Some(guest.to_owned());
        self
    }

    /// Never opens the file behind `fd`, wherever it is found, nor changes its rights or times: a module's own backing file (rule R6). Its names
    /// are those of the directories that they are in: a domain that may write there may move and remove them.
    ///
    /// # Errors
    /// [`GrantError::Stream`] if the kernel does not know `fd`.
    pub fn forbid(mut self, fd: impl AsFd) -> Result<Self, GrantError> {
        let stat = rustix::fs::fstat(fd).map_err(GrantError::Stream)?;
        self.forbidden.push(Identity::from(&stat));
        Ok(self)
    }

    /// Lets the domain be reached at `address`: `127.0.0.1:6379`, `[::1]:8080`, `udp:127.0.0.1:53`, `unix:/run/x.sock`. `*` stands for every
    /// address of the machine, or for every port; with port 0 the kernel picks one. A socket's path is the host's, and the same in the
    /// domain, which may remove what is called so if it is a socket. `unix:*` is every socket in directories that the domain may write.
    ///
    /// # Errors
    /// [`GrantError::Address`].
    pub fn listen(mut self, address: &str) -> Result<Self, GrantError> {
        self.names = OnceLock::new();
        self.listen.extend(endpoints(address, Purpose::Listen)?);
        Ok(self)
    }

    /// Lets the domain connect, and send, to `address`, written as for [`listen`](Grants::listen). A name of a host stands for the addresses that
    /// the host's resolver has for it now, and for the same in the domain: its `/etc/hosts` says so, unless that is in a granted directory.
    ///
    /// # Errors
    /// [`GrantError::Address`].
    pub fn connect(mut self, address: &str) -> Result<Self, GrantError> {
        self.names = OnceLock::new();
        self.connect.extend(endpoints(address, Purpose::Connect)?);
        Ok(self)
    }

    /// Names of hosts that were granted, as lines of an `/etc/hosts` in a sealed file; [`None`] if there are none.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn names(&self) -> Result<Option<BorrowedFd<'_>>, Errno> {
        if let Some(file) = self.names.get() {
            return Ok(Some(file.as_fd()));
        }
        let named: BTreeSet<_> =
            self.listen.iter().chain(&self.connect).filter_map(Endpoint::named).collect();
        if named.is_empty() {
            return Ok(None);
        }
        let lines: String = named.iter().map(|(ip, name)| format!("{ip}\t{name}\n")).collect();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = kept(rustix::fs::memfd_create(c"lockgate", flags)?)?;
        let mut rest = lines.as_bytes();
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(&file, rest)?..];
        }
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok(Some(self.names.get_or_init(|| Arc::new(file)).as_fd()))
    }

    /// Whether the domain has any use for sockets of this kind.
    pub(super) fn has_addresses(&self, transport: Transport) -> bool {
        self.listen.iter().chain(&self.connect).any(|endpoint| endpoint.transport() == transport)
    }

    /// Whether an address is granted for that.
    pub(super) fn admits(&self, purpose: Purpose, transport: Transport, address: SocketAddr) -> bool {
        self.endpoints(purpose).iter().any(|endpoint| endpoint.is(transport, address))
    }

    /// The socket in the file system that was granted for that by this path.
    pub(super) fn socketfile(&self, purpose: Purpose, path: &[u8]) -> Option<&Socketfile> {
        self.endpoints(purpose).iter().find_map(|endpoint| match endpoint {
            Endpoint::Unix(file) if file.path == path => Some(&**file),
            _ => None,
        })
    }

    /// Whether every socket in granted directories is.
    pub(super) fn has_sockets_beneath(&self, purpose: Purpose) -> bool {
        self.endpoints(purpose).iter().any(|endpoint| matches!(endpoint, Endpoint::Beneath))
    }

    fn endpoints(&self, purpose: Purpose) -> &[Endpoint] {
        match purpose {
            Purpose::Listen => &self.listen,
            Purpose::Connect => &self.connect,
        }
    }

    /// Whether the file with these properties is one of those.
    pub(super) fn is_forbidden(&self, stat: &Stat) -> bool {
        self.forbidden.contains(&stat.into())
    }

    fn stream(mut self, number: usize, fd: OwnedFd, mode: OFlags) -> Result<Self, GrantError> {
        self.streams[number] = Some(Stream::new(fd, mode).map_err(GrantError::Stream)?);
        Ok(self)
    }

    /// The right on this directory, if it is granted itself: the smaller one, if twice.
    pub(super) fn read_only(&self, identity: Identity) -> Option<bool> {
        let same = self.directories.iter().filter(|directory| directory.description.identity == identity);
        same.map(|directory| directory.description.read_only_grant).max()
    }

    /// Whether links and FIFOs may be made in this directory, if it is granted itself: not if one of two grants says no.
    pub(super) fn special(&self, identity: Identity) -> Option<bool> {
        let same = self.directories.iter().filter(|directory| directory.description.identity == identity);
        same.map(|directory| directory.description.special_grant).min()
    }

    /// Whether any directory is granted.
    pub(super) fn has_directories(&self) -> bool {
        !self.directories.is_empty()
    }

    /// True if some directories are granted for reading only, and others for writing: only then does it matter beneath which of
    /// them something lies.
    pub(super) fn are_mixed(&self) -> bool {
        let read_only = |directory: &Directory| directory.description.read_only_grant;
        self.directories.iter().any(read_only) && !self.directories.iter().all(read_only)
    }

    /// Descriptors that a domain may hold. One that was granted nothing has no use for any: its pipes would
    /// only use up the host's.
    pub(super) fn descriptor_limit(&self) -> i32 {
        let nothing = self.directories.is_empty()
            && self.streams.iter().all(Option::is_none)
            && self.listen.is_empty()
            && self.connect.is_empty();
        if nothing { 0 } else { descriptors::LIMIT }
    }

    /// Where a new domain starts.
    pub(super) fn start_directory(&self) -> Vec<u8> {
        match (&self.current, self.directories.first()) {
            (Some(current), _) => current.clone().into_bytes(),
            (None, Some(first)) => first.description.path.clone(),
            (None, None) => b"/".to_vec(),
        }
    }
}

fn endpoints(text: &str, purpose: Purpose) -> Result<Vec<Endpoint>, GrantError> {
    Endpoint::parse(text, purpose).map_err(|why| GrantError::Address { text: text.to_owned(), why })
}
