//! Descriptors by which a domain reads its virtual signals (`signalfd`).
//!
//! The kernel knows nothing of these signals. A pipe stands for the descriptor, so that it may be waited for together with all others: it holds
//! bytes while a signal of the set waits. The domain never reads them.
use super::signal_state::{Info, Signals};
use lockgate_kernel::kept;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most of a domain, which are all told of each signal.
pub(super) const MOST: usize = 16;

/// One of them.
#[derive(Debug)]
pub(super) struct SignalFile {
    set: AtomicU64,
    /// How many of the set waited when it was last told.
    waiting: AtomicUsize,
    told: OwnedFd,
    /// The other end, which the description has, too.
    shown: OwnedFd,
}

/// Bytes of what is read of one signal (`struct signalfd_siginfo`).
pub(super) const RECORD: usize = 128;

impl SignalFile {
    /// For these signals; the descriptor that stands for it beside it.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(set: u64) -> Result<(SignalFile, OwnedFd), Errno> {
        let (shown, told) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (shown, told) = (kept(shown)?, kept(told)?);
        let own = kept(shown.try_clone().map_err(|_| Errno::MFILE)?)?;
        let file = SignalFile { set: AtomicU64::new(set), waiting: AtomicUsize::new(0), told, shown: own };
        Ok((file, shown))
    }

    pub(super) fn set(&self) -> u64 {
        self.set.load(Ordering::SeqCst)
    }

    pub(super) fn change(&self, set: u64) {
        self.set.store(set, Ordering::SeqCst);
    }

    /// Makes it readable, or not, as `signals` have it. Each that has come since is an event of its own.
    pub(super) fn tell(&self, signals: &Signals) {
        let now = signals.waiting_of(self.set());
        let before = self.waiting.swap(now, Ordering::SeqCst);
        if now > before {
            // (It can only be full, and then it is readable.)
            let _ = rustix::io::write(&self.told, &[1]);
        } else if now == 0 && before > 0 {
            while rustix::io::read(&self.shown, &mut [0; 256]).is_ok_and(|read| read == 256) {}
        }
    }
}

/// What is read of a signal.
pub(super) fn record(info: &Info) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &info.signal.to_le_bytes());
    put(8, &info.code.to_le_bytes());
    let [low, high] = [info.first as u32, (info.first >> 32) as u32];
    if info.code == libc::SI_TIMER {
        // Number, and how often it was too late.
        put(24, &low.to_le_bytes());
        put(32, &high.to_le_bytes());
    } else {
        // Sender, and its user.
        put(12, &low.to_le_bytes());
        put(16, &high.to_le_bytes());
    }
    // (Of what `kill` has sent there is no value.)
    put(44, &(info.second as u32).to_le_bytes());
    put(48, &info.second.to_le_bytes());
    record
}
