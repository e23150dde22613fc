//! What went wrong in a domain: raw facts at the fault, a report when the host asks.
use super::backtrace::{Backtrace, Captured, Frame};
use super::registers::Registers;
use lockgate_symbols::SourcePlace;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;
use std::sync::Arc;

/// Facts that a signal handler can collect.
#[derive(Clone, Copy)]
pub(crate) struct RawFault {
    pub cause: Cause,
    /// `si_addr`.
    pub address: u64,
    /// rsp in the domain where the call began.
    pub entry: u64,
    pub registers: Registers,
}

/// What ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Signal {
        number: i32,
        code: i32,
    },
    Syscall(lockgate_syscall::Fault),
    Exit(i32),
    /// A gate slot or callback without a host function.
    NoFunction,
    /// Stack arguments of a host function that cannot be read.
    Arguments,
    /// A host function panicked.
    Panic,
    /// The limit, milliseconds.
    TimeLimit(u32),
    /// The same limit, and the call goes on on another thread.
    Detached(u32),
    Killed,
    /// The call, or one that it is nested in, was stopped.
    Stopped,
    /// A call of another domain failed, and ends the caller's call, too; or an import was not found.
    Callee,
    /// The binding was revoked, with the calls in progress.
    Revoked,
    /// The domain is in the parent of this process.
    Forked,
    /// A host function came back to a call that was not the innermost one.
    OutOfTurn,
    /// The module wanted to go on where it cannot.
    Resume(NoResume),
    /// It wanted to go on in a context that it cannot.
    Context(NoContext),
}

/// Why control cannot go on where a module wants it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoResume {
    /// There is no label in verified code.
    NoLabel,
    /// The address is none of the thread's stack.
    OtherStack,
    /// It lies in a function that has returned.
    Returned,
    /// It lies in functions of an earlier call, beyond host code.
    Beyond,
    /// It lies beyond the function that the context has begun with.
    Context,
    /// The stack is not what verified code leaves.
    Stack,
}

/// Why a module's code cannot go on in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoContext {
    /// The word says nothing any more, or never did.
    Gone,
    /// The context runs: on another thread, or it waits for the host in a call that this one is nested in.
    Runs,
    /// The frames of another call, or of this one at an earlier time.
    Frames,
    /// Its function has returned, with nowhere to go on.
    Ended,
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// Access to memory that the domain does not have.
    Segv,
    /// Access to a page that its file does not back.
    Bus,
    /// Arithmetic: division by zero or overflow, unmasked floating-point exception.
    Fpe,
    /// Illegal instruction: traps of compilers and of the code model (a failed label check) end here.
    Ill,
    /// Breakpoint or padding reached.
    Trap,
    /// The data stack ran into its guard.
    StackOverflow,
    /// The control stack ran into its guard: recursion without locals.
    ControlStackOverflow,
    /// The domain stopped for want of memory: its limit had refused a request before.
    Quota,
    /// The call's time limit passed.
    TimeOut,
    /// The domain called `exit` with this status.
    Exit(i32),
    /// The domain called `abort`.
    Abort,
    /// The domain sent itself this signal.
    Signal(u8),
    /// The host killed the domain, or a thread that the module has started ended it, as it ends a process: the message says how.
    Killed,
    /// The domain has used up its CPU time.
    CpuTime,
    /// The asynchronous call was cancelled, its deadline passed, the host wants calls to end
    /// ([`DomainOptions::stop_if`](crate::DomainOptions::stop_if)), or a domain in whose call it is nested was killed a second ago.
    Stopped,
    /// The domain called a host function that it was not given, or with unreadable arguments.
    Gate,
}

/// What the faulting instruction wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// To load.
    Read,
    /// To store.
    Write,
    /// To run code.
    Execute,
}

/// What a raw fault comes to.
pub(crate) struct Judgement {
    pub kind: FaultKind,
    pub reason: String,
    pub address: Option<u64>,
    pub access: Option<Access>,
}

/// A fault of a domain: the error value of the call that it ended.
#[derive(Clone)]
pub struct Fault {
    kind: FaultKind,
    reason: String,
    address: Option<u64>,
    access: Option<Access>,
    captured: Arc<Captured>,
}

impl Fault {
    /// Of a call that has just ended.
    pub(crate) fn new(judgement: Judgement, captured: Captured) -> Box<Fault> {
        let Judgement { kind, reason, address, access } = judgement;
        Box::new(Fault { kind, reason, address, access, captured: Arc::new(captured) })
    }

    /// Kind.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// One sentence that says what happened.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Name of the domain.
    pub fn domain(&self) -> &str {
        &self.captured.call.domain
    }

    /// Name of the module.
    pub fn module(&self) -> &str {
        self.captured.call.module()
    }

    /// The entry point that the host called.
    pub fn entry_point(&self) -> &str {
        &self.captured.call.entry_point
    }

    /// Address that the instruction accessed, as an offset from the window's base. Meaningful up to the
    /// end of the control stacks; `None` if the fault was not about an address.
    pub fn address(&self) -> Option<u64> {
        self.address
    }

    /// What the instruction wanted at [`address`](Fault::address).
    pub fn access(&self) -> Option<Access> {
        self.access
    }

    /// Registers at the fault.
    pub fn registers(&self) -> &Registers {
        &self.captured.call.registers
    }

    /// Image-relative address of the instruction, if it lies in the module's image.
    pub fn instruction(&self) -> Option<u64> {
        self.captured.call.in_image(self.registers().rip)
    }

    /// Function, file and line of the instruction, from the module's symbols and debug information, which are
    /// read when this is first called.
    pub fn location(&self) -> Option<SourcePlace> {
        let call = &self.captured.call;
        // After a gate call, rip is the return address: the call is just before.
        let at = self.instruction()?;
        call.place(if call.after_call() { at.saturating_sub(1) } else { at })
    }

    /// What has thrown an exception that nothing caught: the functions inside of it are those of libraries.
    fn thrower(&self) -> Option<Frame> {
        const THROWS: [&str; 2] = ["__cxa_throw", "__cxa_rethrow"];
        let throws =
            |frame: &Frame| frame.place.function.as_deref().is_some_and(|name| THROWS.contains(&name));
        let has_ended = self.kind == FaultKind::Abort && self.reason.contains("an uncaught exception");
        let frames = if has_ended { self.captured.call.frames().frames } else { Vec::new() };
        frames.into_iter().skip_while(|frame| !throws(frame)).nth(1)
    }

    /// The functions in progress when the call ended: from the fault up to the [entry point](Fault::entry_point), and on through
    /// the domains that the call was nested in. Worked out when asked for, from copies of the stacks (docs/debugging.md).
    pub fn backtrace(&self) -> Backtrace {
        self.captured.backtrace()
    }
}

impl fmt::Display for Fault {
    /// One line; with `{:#}`, the [backtrace](Fault::backtrace) follows in lines of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "domain {} ({}), called at {}: {}",
            self.domain(),
            self.module(),
            self.entry_point(),
            self.reason
        )?;
        match (self.thrower(), self.location(), self.instruction()) {
            (Some(thrower), ..) => write!(f, "; at {thrower}")?,
            (None, Some(location), _) => {
                write!(f, "; at {location}")?;
                let caller = if location.line.is_none() { self.captured.call.own_source() } else { None };
                if let Some(caller) = caller {
                    write!(f, ", in a call by {caller}")?;
                }
            }
            (None, None, Some(at)) => write!(f, "; at image address {at:#x}")?,
            (None, None, None) => {}
        }
        if f.alternate() { write!(f, "\n{}", self.backtrace()) } else { Ok(()) }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("kind", &self.kind)
            .field("report", &self.to_string())
            .field("address", &self.address)
            .field("access", &self.access)
            .field("registers", self.registers())
            .finish()
    }
}

impl std::error::Error for Fault {}

impl Serialize for Fault {
    /// As `lockgate call --report json` prints it; docs/debugging.md lists the fields.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Fault", 10)?;
        fields.serialize_field("schema", &1)?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("reason", &self.reason)?;
        fields.serialize_field("domain", self.domain())?;
        fields.serialize_field("module", self.module())?;
        fields.serialize_field("entry_point", self.entry_point())?;
        fields.serialize_field("instruction", &self.instruction())?;
        fields.serialize_field("address", &self.address)?;
        fields.serialize_field("access", &self.access)?;
        fields.serialize_field("backtrace", &self.backtrace())?;
        fields.end()
    }
}
