//! What a system call comes to.
use rustix::io::Errno;

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
