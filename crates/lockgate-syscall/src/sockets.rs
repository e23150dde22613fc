//! What a description knows of the socket that it is.
use super::endpoints::{Address, Transport};
use lockgate_kernel::locked;
use rustix::net::{AddressFamily, SocketType};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) family: AddressFamily,
    pub(super) kind: SocketType,
    pub(super) transport: Transport,
    /// It has been bound, or is being. The kernel lets a socket that has lost its port be bound once more.
    is_bound: AtomicBool,
    /// It has an address at which any peer may reach the domain.
    is_granted: AtomicBool,
    /// Nothing is received any more (`SHUT_RD`): a wait of the kernel's for a message ends so, and a try does not say it.
    is_shut: AtomicBool,
    /// Paths of its own and of its peer, as the domain knows them.
    own: Mutex<Option<Vec<u8>>>,
    peer: Mutex<Option<Vec<u8>>>,
    /// How long the domain waits for it, in nanoseconds: 0 is for ever. The host's socket waits for nothing.
    receive_timeout: AtomicU64,
    send_timeout: AtomicU64,
    /// Bytes for which a read waits (`SO_RCVLOWAT`).
    least: AtomicUsize,
    /// `SO_LINGER` as the domain set it. The host's socket never waits when it is closed.
    linger: Mutex<[i32; 2]>,
}

/// The direction of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

impl Socket {
    pub(super) fn new(family: AddressFamily, kind: SocketType, transport: Transport) -> Socket {
        Socket {
            family,
            kind,
            transport,
            is_bound: AtomicBool::new(false),
            is_granted: AtomicBool::new(false),
            is_shut: AtomicBool::new(false),
            own: Mutex::default(),
            peer: Mutex::default(),
            receive_timeout: AtomicU64::new(0),
            send_timeout: AtomicU64::new(0),
            least: AtomicUsize::new(1),
            linger: Mutex::default(),
        }
    }

    /// What comes of a connection to this one.
    pub(super) fn accepted(&self) -> Socket {
        let accepted = Socket::new(self.family, self.kind, self.transport);
        *locked(&accepted.own) = locked(&self.own).clone();
        for (new, old) in
            [(&accepted.receive_timeout, &self.receive_timeout), (&accepted.send_timeout, &self.send_timeout)]
        {
            new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        *locked(&accepted.linger) = *locked(&self.linger);
        // (A UNIX socket has its own, as on Linux.)
        if self.transport != Transport::Unix {
            accepted.least.store(self.least(), Ordering::Relaxed);
        }
        accepted
    }

    /// Bytes for which a read waits that waits at all.
    pub(super) fn least(&self) -> usize {
        self.least.load(Ordering::Relaxed)
    }

    /// (As Linux takes it: nothing is one, and what is negative is as much as can be.)
    pub(super) fn set_least(&self, bytes: i32) {
        let bytes = usize::try_from(bytes).unwrap_or(i32::MAX as usize).max(1);
        self.least.store(bytes, Ordering::Relaxed);
    }

    /// Whether, and how many seconds, closing would wait.
    pub(super) fn linger(&self) -> [i32; 2] {
        *locked(&self.linger)
    }

    pub(super) fn set_linger(&self, linger: [i32; 2]) {
        *locked(&self.linger) = linger;
    }

    /// Whether it may be bound now: what was granted for its first address holds for no other. A caller that could not bind it gives that back.
    pub(super) fn begins_to_be_bound(&self) -> bool {
        !self.is_bound.swap(true, Ordering::AcqRel)
    }

    pub(super) fn is_bound(&self) -> bool {
        self.is_bound.load(Ordering::Acquire)
    }

    pub(super) fn was_not_bound(&self) {
        self.is_bound.store(false, Ordering::Release);
    }

    /// It is bound to an address that was granted: a path, if it has one.
    pub(super) fn has_granted_address(&self, path: Option<&[u8]>) {
        *locked(&self.own) = path.map(<[u8]>::to_vec);
        self.is_granted.store(true, Ordering::Release);
    }

    /// Whether any peer may reach it.
    pub(super) fn is_granted(&self) -> bool {
        self.is_granted.load(Ordering::Acquire)
    }

    pub(super) fn shut(&self) {
        self.is_shut.store(true, Ordering::Release);
    }

    pub(super) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Acquire)
    }

    pub(super) fn connects_to(&self, path: &[u8]) {
        *locked(&self.peer) = Some(path.to_vec());
    }

    /// Paths instead of what the kernel says of this end, or of the other.
    pub(super) fn name(&self, of_peer: bool, kernels: Address) -> Address {
        match (self.transport, of_peer) {
            (Transport::Unix, true) => Address::Unix(locked(&self.peer).clone().unwrap_or_default()),
            (Transport::Unix, false) => Address::Unix(locked(&self.own).clone().unwrap_or_default()),
            _ => kernels,
        }
    }

    /// Messages keep their bounds.
    pub(super) fn has_messages(&self) -> bool {
        self.kind != SocketType::STREAM
    }

    fn timeout_of(&self, way: Way) -> &AtomicU64 {
        match way {
            Way::In => &self.receive_timeout,
            Way::Out => &self.send_timeout,
        }
    }

    pub(super) fn timeout(&self, way: Way) -> Duration {
        Duration::from_nanos(self.timeout_of(way).load(Ordering::Relaxed))
    }

    /// (A time that cannot be expressed is for ever.)
    pub(super) fn set_timeout(&self, way: Way, timeout: Duration) {
        let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(0);
        self.timeout_of(way).store(nanoseconds, Ordering::Relaxed);
    }

    /// When a wait that begins now ends.
    pub(super) fn until(&self, way: Way) -> Option<Instant> {
        let timeout = self.timeout(way);
        if timeout.is_zero() { None } else { Instant::now().checked_add(timeout) }
    }
}
