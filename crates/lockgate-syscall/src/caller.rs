//! The thread that makes a system call, and what the runtime does for it.
use rustix::event::{PollFd, Timespec};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// System calls of the host's in which a thread sleeps that serves a domain's call. The code that makes them knows what else may happen to
/// the thread meanwhile: handlers of the host's are let in, which may leave the call by a jump.
pub trait Sleep {
    /// The thread is about to sleep in another way.
    fn rests(&self);

    /// The thread has waited for time that was over already: it need not sleep.
    fn has_waited(&self);

    /// Sleeps at `word` while that is `value`, until woken, or so long at most. (The sleeper looks again in any case.)
    fn wait(&self, word: &AtomicU32, value: u32, left: Option<&Timespec>);

    /// The same at a word that others share with the domain, by its address in the window, which may have lost it by now.
    ///
    /// # Errors
    /// The kernel's: `EAGAIN` (it is another value), `ETIMEDOUT`, `EINTR`, `EFAULT`.
    fn wait_shared(&self, address: u64, value: u32, left: Option<&Timespec>) -> Result<(), Errno>;

    /// `ppoll`, with the mask as it is.
    ///
    /// # Errors
    /// The kernel's.
    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno>;

    /// `read`.
    ///
    /// # Errors
    /// The kernel's.
    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno>;

    /// `write`, with these signals blocked.
    ///
    /// # Errors
    /// The kernel's.
    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8], blocked: &[i32]) -> Result<usize, Errno>;
}

/// The control stack of a thread that makes a system call.
pub trait ControlStack {
    /// The call that is in progress there changes the thread's mask, which is `mask` now: it has that back if the call ends in its midst
    /// ([`Process::gets_mask_back`](crate::Process::gets_mask_back)).
    fn mask_changes(&self, mask: u64);

    /// The thread has an alternate stack of so many bytes from now on, or none: so many can its handlers of stack overflows use.
    ///
    /// # Errors
    /// The kernel's; nothing has changed.
    fn alternate_changes(&self, size: Option<u64>) -> Result<(), Errno>;

    /// Whether a handler is in progress on the stack that asks for the thread's alternate one ([`Handler::alternate`](crate::Handler)).
    fn is_on_alternate(&self) -> bool;

    /// Shows the functions in progress of the call into the domain, innermost first, until `see` has seen enough.
    fn each_function(&self, see: &mut dyn FnMut(InProgress) -> ControlFlow<()>);
}

/// A function in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InProgress {
    /// Where it goes on.
    pub site: u64,
    /// Its frame's canonical address on the data stack: one word above its return slot.
    pub frame: u64,
}

/// What a module was made from: its code reads the names and lines of its own functions there.
pub trait OwnFile: Send + Sync {
    /// A descriptor of a sealed or read-only file with the module's bytes: neither the host nor the domain can write it.
    ///
    /// # Errors
    /// The kernel's.
    fn open(&self) -> Result<Arc<OwnedFd>, Errno>;
}

/// Starts threads that the domain asks for.
pub trait Threads {
    /// Starts a thread and returns its number, once [`Process::thread_begins`](crate::Process::thread_begins) and before its first instruction.
    ///
    /// # Errors
    /// `EAGAIN` if there may be no more.
    fn start(&self, start: ThreadStart) -> Result<u64, Errno>;

    /// Whether a thread has the stack slot with this number.
    fn has(&self, slot: u32) -> bool;

    /// The calling thread waits in the domain, for what threads inside alone can do. Who waits says so again and again, as long as the wait goes
    /// on, of which this is the first time if it `begins`.
    fn waits(&self, begins: bool);

    /// Whether no thread can end the calling thread's wait in the domain: all threads that could wait themselves, and each has said so since this
    /// was asked last.
    fn all_wait(&self) -> bool;
}

/// Memory that others share with the domain, and whom it may pass that on to.
pub trait Sharing {
    /// Passes the memory that holds the bytes `[at, at + size)` of the window on to the domain that answers the import with this name, to
    /// read it, or to write it as well.
    ///
    /// # Errors
    /// `ENOENT`: no other domain answers such an import. `EFAULT`: it is no memory that is shared with the domain. `EACCES`: the domain
    /// itself has less. `EEXIST`: the other domain has it already. `ENOSPC`: the other domain takes no more. `ENOMEM`.
    fn pass_on(&self, import: &str, at: u64, size: u64, writable: bool) -> Result<(), Errno>;

    /// Whether the bytes `[at, at + size)` of the window lie in one piece of memory that others share with the domain now, to read it, or
    /// to write it as well.
    ///
    /// # Errors
    /// `EFAULT`: they do not. `EACCES`: the domain may only read them.
    fn is_shared(&self, at: u64, size: u64, writable: bool) -> Result<(), Errno>;

    /// Whether the word at this offset of the window lies in memory that others share with the domain: its address then.
    ///
    /// # Errors
    /// `EACCES`: the domain may only read it.
    fn shared_word(&self, at: u64) -> Result<Option<u64>, Errno>;

    /// Wakes so many that sleep at that word, the host's threads and other domains' among them, and tells the host if it has asked for
    /// that. Returns how many it woke.
    ///
    /// # Errors
    /// `EFAULT`: it is not shared any more.
    fn wake_shared(&self, at: u64, most: usize) -> Result<usize, Errno>;
}

/// Addresses that a new thread is given.
#[derive(Debug, Clone, Copy)]
pub struct ThreadStart {
    /// What the module's start code makes of it is its own affair.
    pub argument: u64,
    /// Word that holds the thread's number from before its first instruction.
    pub number: u64,
    /// Word that becomes 0 when the thread has ended; one who waits there wakes.
    pub clear: u64,
    /// The signals that it begins with blocked: those of the thread that starts it.
    pub mask: u64,
}

/// The calling thread, as far as system calls are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    /// Index of its stack slot; 0 is the domain's first thread.
    pub slot: u32,
    /// When the time limit of the call in progress ends. No emulated call blocks beyond it.
    pub deadline: Option<Instant>,
    /// Tells whether the call in progress was stopped: asked whenever a blocked call wakes up.
    pub stopped: fn() -> bool,
    /// The call in progress does not end at the deadline, but goes on elsewhere: what waits returns there as if a signal had come.
    pub detaches: bool,
}

/// Signals that end a wait.
pub(super) trait WaitingSignals {
    /// Whether one waits for the thread of this slot that it does not block.
    fn wake(&self, slot: u32) -> bool;
}

/// Who waits in a system call.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) thread: Thread,
    pub(super) threads: &'a dyn Threads,
    pub(super) sleep: &'a dyn Sleep,
    pub(super) signals: &'a dyn WaitingSignals,
}
