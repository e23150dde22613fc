//! What a system call is given and what it comes to.
use super::{Memory, Process};
use rustix::event::{PollFd, Timespec};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// Everything that one system call may touch.
pub struct SyscallContext<'a> {
    /// The domain's window.
    pub memory: &'a dyn Memory,
    /// The domain's descriptors, directories, identity, counters.
    pub process: &'a Process,
    /// The calling thread.
    pub thread: Thread,
    /// Who starts threads for the domain.
    pub threads: &'a dyn Threads,
    /// The calling thread's control stack.
    pub stack: &'a dyn ControlStack,
    /// How the thread sleeps.
    pub sleep: &'a dyn Sleep,
}

/// System calls of the host's in which a thread sleeps that serves a domain's call. Whoever makes them knows what else may happen to
/// the thread meanwhile: handlers of the host's are let in, which may leave the call by a jump.
pub trait Sleep {
    /// Sleeps at `word` while that is `value`, until woken, or so long at most. (Whoever sleeps looks again in any case.)
    fn wait(&self, word: &AtomicU32, value: u32, left: Option<&Timespec>);

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

/// Starts threads that the domain asks for.
pub trait Threads {
    /// Starts a thread and returns its number, once [`Process::thread_begins`] and before its first instruction.
    ///
    /// # Errors
    /// `EAGAIN` if there may be no more.
    fn start(&self, start: ThreadStart) -> Result<u64, Errno>;

    /// Whether a thread has the stack slot with this number.
    fn has(&self, slot: u32) -> bool;

    /// How many threads have calls in progress in the domain, the module's own among them.
    fn inside(&self) -> usize;
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
}

/// What becomes of the call into the domain after a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The module goes on with this value in rax: a result, or a negated error number.
    Return(i64),
    /// The module asked to end with this status (0–255).
    Exit(i32),
    /// The call ends as a fault.
    Fault(Fault),
}

/// Faults that come from system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The module called `abort`.
    Abort,
    /// The module sent itself this deadly signal.
    Signal(u8),
    /// The handler of this signal could not begin: no room on the stack, no function, or too many in progress.
    Handler(u8),
    /// A return from a handler where none is in progress.
    NoHandler,
    /// A handler changed registers of what it had interrupted inside a unit of the code model's.
    InUnit,
    /// The deadline passed while the call was blocked.
    TimeLimit,
    /// The domain was killed while the call was blocked.
    Killed,
    /// The call into the domain was stopped.
    Stopped,
    /// The module waits for a lock of its C library that a call held when it was ended.
    LostLock,
}

/// Why a handler did not return a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    Errno(Errno),
    Exit(i32),
    Fault(Fault),
}

impl From<Errno> for Halt {
    fn from(errno: Errno) -> Self {
        Halt::Errno(errno)
    }
}

/// A handler's result: the value for rax, or why there is none.
pub(super) type Reply = Result<u64, Halt>;

/// Turns a handler's result into what the runtime acts upon.
pub(super) fn outcome(reply: Reply) -> Outcome {
    match reply {
        Ok(value) => Outcome::Return(value as i64),
        Err(Halt::Errno(errno)) => Outcome::Return(-i64::from(errno.raw_os_error())),
        Err(Halt::Exit(status)) => Outcome::Exit(status),
        Err(Halt::Fault(fault)) => Outcome::Fault(fault),
    }
}
