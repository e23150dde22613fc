//! What went wrong in a domain: raw facts at the fault, a report when somebody asks.
use crate::binding::Info;
use crate::call::resume_sys::NoResume;
use crate::debug::{Backtrace, Captured, Entered, SourcePlace};
use crate::domain::{Core, NoContext, context_base};
use crate::stats::Gauge;
use crate::syscall;
use lockgate_abi::{PAGE, code, stack, window};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    Syscall(syscall::Fault),
    Exit(i32),
    /// A gate slot or callback without a host function.
    NoFunction,
    /// Stack arguments of a host function that cannot be read.
    Arguments,
    /// A host function panicked.
    Panic,
    /// The limit, milliseconds.
    TimeLimit(u32),
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

/// Registers at the fault. General registers are zero where a gate, not an instruction, ended the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Registers {
    pub rax: u64,
    pub rbx: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub rbp: u64,
    pub rsp: u64,
    pub r8: u64,
    pub r9: u64,
    pub r10: u64,
    pub r11: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rip: u64,
    pub rflags: u64,
    /// The page-fault error code of the processor (Intel SDM vol. 3, 4.7).
    pub error: u64,
}

impl Registers {
    /// The registers of an interrupted context.
    pub(crate) fn of(context: &libc::ucontext_t) -> Registers {
        let get = |register: i32| context.uc_mcontext.gregs[register as usize] as u64;
        Registers {
            rax: get(libc::REG_RAX),
            rbx: get(libc::REG_RBX),
            rcx: get(libc::REG_RCX),
            rdx: get(libc::REG_RDX),
            rsi: get(libc::REG_RSI),
            rdi: get(libc::REG_RDI),
            rbp: get(libc::REG_RBP),
            rsp: get(libc::REG_RSP),
            r8: get(libc::REG_R8),
            r9: get(libc::REG_R9),
            r10: get(libc::REG_R10),
            r11: get(libc::REG_R11),
            r12: get(libc::REG_R12),
            r13: get(libc::REG_R13),
            r14: get(libc::REG_R14),
            r15: get(libc::REG_R15),
            rip: get(libc::REG_RIP),
            rflags: get(libc::REG_EFL),
            error: get(libc::REG_ERR),
        }
    }
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
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
    /// The host killed the domain.
    Killed,
    /// The domain has used up its processor time.
    CpuTime,
    /// The asynchronous call was cancelled, its deadline passed, or the host wants calls to end
    /// ([`DomainOptions::stop_if`](crate::DomainOptions::stop_if)).
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
    /// Of a call through `binding` that has just ended, nested in `outer` calls, innermost first.
    pub(crate) fn new(raw: RawFault, binding: &Info, outer: Vec<Entered>) -> Box<Fault> {
        let Judgement { kind, reason, address, access } = judge(&raw, &binding.core);
        if let Some(row) = binding.core.row().filter(|_| !matches!(kind, FaultKind::Exit(_))) {
            row.count(Gauge::Faults);
        }
        let call = Entered::new(binding, raw.registers, raw.entry);
        Box::new(Fault { kind, reason, address, access, captured: Arc::new(Captured { call, outer }) })
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
    /// read the first time anybody asks.
    pub fn location(&self) -> Option<SourcePlace> {
        let call = &self.captured.call;
        // After a gate call, rip is the return address: the call is just before.
        let at = self.instruction()?;
        call.place(if call.after_call() { at.saturating_sub(1) } else { at })
    }

    /// The functions in progress when the call ended: from the fault up to the [entry point](Fault::entry_point), and on through
    /// the domains that the call was nested in. Worked out when asked for, from copies of the stacks (docs/debugging.md).
    pub fn backtrace(&self) -> Backtrace {
        self.captured.backtrace()
    }
}

struct Judgement {
    kind: FaultKind,
    reason: String,
    address: Option<u64>,
    access: Option<Access>,
}

fn judge(raw: &RawFault, domain: &Core) -> Judgement {
    let plain =
        |kind, reason: &str| Judgement { kind, reason: reason.to_owned(), address: None, access: None };
    match raw.cause {
        Cause::Signal { number: libc::SIGSEGV, code } => memory(raw, code, domain),
        Cause::Signal { number: libc::SIGBUS, .. } => Judgement {
            address: Some(raw.address.wrapping_sub(domain.base())),
            ..plain(
                FaultKind::Bus,
                "access to a page without backing, or not aligned as the instruction demands",
            )
        },
        Cause::Signal { number: libc::SIGFPE, code } => plain(
            FaultKind::Fpe,
            match code {
                1 => "integer division by zero, or its result does not fit",
                2 => "integer overflow",
                3 => "floating-point division by zero",
                4 => "floating-point overflow",
                5 => "floating-point underflow",
                6 => "inexact floating-point result",
                _ => "invalid floating-point operation",
            },
        ),
        Cause::Signal { number: libc::SIGILL, .. } => plain(
            FaultKind::Ill,
            match domain.module().parsed().pinpoint {
                true => {
                    "a check failed: a pointer out of the window, a jump to something that is not a function, or a trap of the compiler"
                }
                false => {
                    "illegal instruction: a trap of the compiler, or a jump to something that is not a function"
                }
            },
        ),
        Cause::Signal { number: libc::SIGTRAP, .. } => {
            plain(FaultKind::Trap, "breakpoint: code ran into padding")
        }
        Cause::Forked => plain(FaultKind::Stopped, "the domain is in the parent of this process"),
        Cause::Signal { number, .. } => Judgement {
            kind: FaultKind::Signal(number as u8),
            ..plain(FaultKind::Trap, &format!("signal {number}"))
        },
        Cause::Syscall(syscall::Fault::Abort) => plain(FaultKind::Abort, "the module called abort"),
        Cause::Syscall(syscall::Fault::Signal(number)) => {
            plain(FaultKind::Signal(number), &format!("the module sent itself signal {number}"))
        }
        Cause::Syscall(syscall::Fault::Handler(number)) => plain(
            FaultKind::Signal(number),
            &format!(
                "the module sent itself signal {number}, whose handler cannot run: no signal is delivered in a domain"
            ),
        ),
        Cause::Syscall(syscall::Fault::Undeliverable(call)) => plain(
            FaultKind::Signal(libc::SIGSYS as u8),
            &format!("the module called {call}, but no signal is ever delivered in a domain"),
        ),
        Cause::TimeLimit(limit) => plain(
            FaultKind::TimeOut,
            &format!("the call exceeded its time limit of {:?}", Duration::from_millis(limit.into())),
        ),
        Cause::Syscall(syscall::Fault::TimeLimit) => {
            plain(FaultKind::TimeOut, "the call exceeded its time limit in a system call")
        }
        Cause::Killed | Cause::Syscall(syscall::Fault::Killed) if domain.is_spent() => {
            plain(FaultKind::CpuTime, "the domain has used up its limit of processor time")
        }
        Cause::Stopped | Cause::Syscall(syscall::Fault::Stopped) => plain(
            FaultKind::Stopped,
            "the call was cancelled, its deadline passed, or its host wants calls to end",
        ),
        Cause::Killed | Cause::Syscall(syscall::Fault::Killed) => {
            plain(FaultKind::Killed, "the host killed the domain")
        }
        Cause::Exit(status) => plain(FaultKind::Exit(status), &format!("the module called exit({status})")),
        // What a closed domain was given goes before the last call has left.
        Cause::NoFunction if domain.is_killed() => plain(FaultKind::Killed, "the host killed the domain"),
        Cause::NoFunction => plain(FaultKind::Gate, "call of a host function that the domain was not given"),
        Cause::Arguments => {
            plain(FaultKind::Gate, "the stack arguments of a host function could not be read")
        }
        Cause::Callee => plain(FaultKind::Gate, "a call of another domain failed"),
        Cause::Revoked => plain(FaultKind::Killed, "the binding was revoked during the call"),
        Cause::Panic => plain(FaultKind::Gate, "a host function ended the call"),
        Cause::OutOfTurn => plain(
            FaultKind::Gate,
            "a host function returned to the domain while a later call of this thread was in progress on another stack",
        ),
        Cause::Resume(no) => plain(
            FaultKind::Gate,
            match no {
                NoResume::NoLabel => "a jump (longjmp) to something that is no label of the module's code",
                NoResume::OtherStack => {
                    "a jump (longjmp) to a function on another stack: another thread's, or a context's"
                }
                NoResume::Returned => "a jump (longjmp) to a function that has returned",
                NoResume::Beyond => {
                    "a jump (longjmp) beyond the host: to a function of a call that this one is nested in"
                }
                NoResume::Context => {
                    "a jump (longjmp) out of a context: to a function further out than the one that it began with"
                }
                NoResume::Stack => "a jump (longjmp) over a stack that is not what the module's calls left",
            },
        ),
        Cause::Context(no) => plain(
            FaultKind::Gate,
            match no {
                NoContext::Gone => {
                    "a switch (swapcontext) to a context that has gone on or ended since, or never was one"
                }
                NoContext::Runs => {
                    "a switch (swapcontext) to a context that is running, waits for the host, or ended with the call that ran it"
                }
                NoContext::Frames => {
                    "a switch (swapcontext) to functions of another call of the domain, or to where this one has gone on since"
                }
                NoContext::Ended => "the function of a context returned, and its uc_link is null",
            },
        ),
    }
}

/// Classifies a segmentation fault by the place that was accessed.
fn memory(raw: &RawFault, si_code: i32, domain: &Core) -> Judgement {
    const ERROR_WRITE: u64 = 2;
    const ERROR_FETCH: u64 = 16;
    let access = match raw.registers.error {
        error if error & ERROR_FETCH != 0 => Access::Execute,
        error if error & ERROR_WRITE != 0 => Access::Write,
        _ => Access::Read,
    };
    let verb = match access {
        Access::Read => "read of",
        Access::Write => "write to",
        Access::Execute => "jump to",
    };
    let judgement = |kind, reason, address| Judgement { kind, reason, address, access: Some(access) };
    const SI_KERNEL: i32 = 0x80;
    if si_code == SI_KERNEL {
        // A general-protection fault has no address (rule R14).
        let reason = "access through an address that the processor cannot form, or not aligned as demanded";
        return Judgement { kind: FaultKind::Segv, reason: reason.to_owned(), address: None, access: None };
    }
    if raw.address == 0
        && raw.registers.rip == 0
        && raw.registers.rsp.wrapping_sub(8) == context_base(raw.registers.rsp)
    {
        let reason = "the function that a context began with returned";
        return Judgement {
            kind: FaultKind::Segv,
            reason: reason.to_owned(),
            address: None,
            access: Some(access),
        };
    }
    let offset = raw.address.wrapping_sub(domain.base());
    let is_in_slots = |start: u64, at: u64| (start..start + stack::SLOTS * stack::SLOT).contains(&at);
    // Farther from the stack's pointer is where a wild pointer leads. (What puts arguments on a stack runs on the host's.)
    let top = raw.registers.rsp.wrapping_sub(domain.base()).wrapping_sub(code::OFF.into());
    let is_near = !is_in_slots(window::STACKS, top) || top.abs_diff(offset) <= stack::SLOT;
    // (rsp may be the host's: proxies put results and arguments on the stack of the context that the call begins on.)
    let size = match is_in_slots(window::STACKS, top) {
        true => domain.stack_size_at(raw.registers.rsp),
        false => domain.stack_size_at(raw.entry),
    };
    if is_in_slots(window::STACKS, offset) && is_near {
        let reason = format!(
            "stack overflow: {verb} offset {offset:#x}, outside this thread's stack of {} bytes",
            size
        );
        return judgement(FaultKind::StackOverflow, reason, Some(offset));
    }
    if is_in_slots(window::CONTROL, offset) {
        let reason =
            format!("control-stack overflow: recursion too deep for {} bytes of return addresses", size);
        return judgement(FaultKind::ControlStackOverflow, reason, Some(offset));
    }
    let refused = domain.memory().refused;
    // A block that was not there is written anywhere from its first to its last byte.
    if refused > 0 && offset < refused.max(PAGE) {
        let limit = domain.memory().limit;
        let reason = format!(
            "{verb} a null pointer, after the memory limit of {limit} bytes had refused {refused} more"
        );
        return judgement(FaultKind::Quota, reason, Some(offset));
    }
    let reason = match offset {
        _ if raw.address < PAGE => format!("{verb} address {:#x}: return through a zero word", raw.address),
        0..window::NULL_GUARD => format!("{verb} a null pointer (offset {offset:#x})"),
        window::HEADER..window::IMAGE => format!("{verb} the runtime's read-only pages (offset {offset:#x})"),
        at if domain.images().iter().any(|image| image.holds(at)) => {
            format!("{verb} read-only or non-executable image memory (offset {at:#x})")
        }
        window::SHARED..window::SHARED_END => {
            format!(
                "{verb} shared memory without the right to (offset {offset:#x}): never granted, revoked, or less"
            )
        }
        window::IMAGE..window::SIZE if access == Access::Execute => {
            format!("{verb} memory that holds no code (offset {offset:#x})")
        }
        window::IMAGE..window::SIZE => format!("{verb} unmapped memory (offset {offset:#x})"),
        _ => format!("{verb} memory outside the window (address {:#x})", raw.address),
    };
    judgement(FaultKind::Segv, reason, Some(offset))
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
        match (self.location(), self.instruction()) {
            (Some(location), _) => write!(f, "; at {location}")?,
            (None, Some(at)) => write!(f, "; at image address {at:#x}")?,
            (None, None) => {}
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
    /// As `lockgate call --json` prints it; docs/debugging.md lists the fields.
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

const _: () = assert!((code::OFF as u64).is_multiple_of(stack::SLOT));
