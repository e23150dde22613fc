//! From the raw facts of a fault to what happened, in words.
use super::info::Info;
use super::instance::Instance;
use crate::report::{
    Access, Captured, Cause, Entered, Fault, FaultKind, Judgement, NoContext, NoResume, RawFault,
};
use crate::stats::Gauge;
use crate::walk::context_base;
use lockgate_abi::{PAGE, code, stack, window};
use std::time::Duration;

impl Info {
    /// What a call of it that has just ended has done wrong, nested in `outer` calls, innermost first.
    pub fn fault(&self, raw: RawFault, outer: Vec<Entered>) -> Box<Fault> {
        let judgement = judge(&raw, &self.domain);
        if let Some(row) = self.domain.row().filter(|_| !matches!(judgement.kind, FaultKind::Exit(_))) {
            row.count(Gauge::Faults);
        }
        let call = self.entered(raw.registers, raw.entry);
        Fault::new(judgement, Captured { call, outer })
    }
}

fn judge(raw: &RawFault, domain: &Instance) -> Judgement {
    let plain =
        |kind, reason: &str| Judgement { kind, reason: reason.to_owned(), address: None, access: None };
    // (Where something else ended the call, they are not for the next one's `abort`.)
    let last_words = domain.process().take_last_words(domain.slot_of(raw.entry));
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
            match domain.module().parsed().strict_bounds {
                true => {
                    "a check failed: a pointer out of the window, a jump to something that is not a function, or a trap of the compiler or of libc's allocator"
                }
                false => {
                    "illegal instruction: a trap of the compiler or of libc's allocator, or a jump to something that is not a function"
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
        Cause::Syscall(lockgate_syscall::Fault::Abort) => {
            plain(FaultKind::Abort, &format!("the module called abort{}", last_words.unwrap_or_default()))
        }
        Cause::Syscall(lockgate_syscall::Fault::Signal(number)) => {
            plain(FaultKind::Signal(number), &format!("the module sent itself signal {number}"))
        }
        Cause::Syscall(lockgate_syscall::Fault::Handler(number)) => plain(
            FaultKind::Signal(number),
            &format!(
                "the handler of signal {number} cannot begin: no room on its stack, no function of the module's, or too many in progress"
            ),
        ),
        Cause::Syscall(lockgate_syscall::Fault::NoHandler) => plain(
            FaultKind::Gate,
            "a return from a signal handler (rt_sigreturn) where none is in progress on this stack of this call",
        ),
        Cause::Syscall(lockgate_syscall::Fault::InUnit) => plain(
            FaultKind::Gate,
            "a signal handler has changed registers in the middle of instructions that belong together (a checked branch, a table's jump, an opened frame, a string instruction)",
        ),
        Cause::Syscall(lockgate_syscall::Fault::LostLock) => plain(
            FaultKind::Abort,
            "the module waits for a lock of its C library that a call held when it was ended: reset the domain",
        ),
        Cause::TimeLimit(limit) | Cause::Detached(limit) => plain(
            FaultKind::TimeOut,
            &format!("the call exceeded its time limit of {:?}", Duration::from_millis(limit.into())),
        ),
        Cause::Syscall(lockgate_syscall::Fault::TimeLimit) => {
            plain(FaultKind::TimeOut, "the call exceeded its time limit in a system call")
        }
        Cause::Killed | Cause::Syscall(lockgate_syscall::Fault::Killed) if domain.is_spent() => {
            plain(FaultKind::CpuTime, "the domain has used up its CPU time limit")
        }
        Cause::Stopped | Cause::Syscall(lockgate_syscall::Fault::Stopped) => plain(
            FaultKind::Stopped,
            "the call was cancelled, its deadline passed, the host's stop predicate asked calls to end, or a domain was killed that had made it",
        ),
        Cause::Killed | Cause::Syscall(lockgate_syscall::Fault::Killed) => {
            plain(FaultKind::Killed, &killed(domain))
        }
        Cause::Exit(status) => plain(FaultKind::Exit(status), &format!("the module called exit({status})")),
        // What a closed domain was given goes before the last call has left.
        Cause::NoFunction if domain.is_killed() => plain(FaultKind::Killed, &killed(domain)),
        Cause::NoFunction => plain(FaultKind::Gate, "call of a host function that the domain was not given"),
        Cause::Arguments => plain(
            FaultKind::Gate,
            "the stack arguments of a host function could not be read, or the host's stack has no room for them",
        ),
        Cause::Callee => plain(FaultKind::Gate, "a call of another domain failed"),
        Cause::Revoked => plain(FaultKind::Killed, "the library was closed during the call"),
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

/// Whether rsp is so near to the guard of its control stack that the kernel may not be able to put a signal's frame below.
fn has_no_room_for_a_frame(rsp: u64, domain: &Instance) -> bool {
    /// More than any processor's registers take (AMX has 11 KiB), with the red zone.
    const FRAME: u64 = 16 << 10;
    let is_on_control_stack =
        (window::CONTROL..window::CONTROL_END).contains(&rsp.wrapping_sub(domain.base()));
    let bottom = stack::TOP - domain.stack_size_at(rsp).min(stack::MAX_SIZE) + domain.closed_at(rsp);
    is_on_control_stack && rsp % stack::SLOT < bottom + FRAME
}

/// Classifies a segmentation fault by the place that was accessed.
fn memory(raw: &RawFault, si_code: i32, domain: &Instance) -> Judgement {
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
    if si_code == SI_KERNEL && has_no_room_for_a_frame(raw.registers.rsp, domain) {
        // What the kernel does then looks like a fault of whatever instruction comes next (rule R11).
        let reason = "control-stack overflow: no room left for a signal handler's frame (such a handler has room with SA_ONSTACK), \
                      or an access through an address that the processor cannot form";
        let kind = FaultKind::ControlStackOverflow;
        return Judgement { kind, reason: reason.to_owned(), address: None, access: None };
    }
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

const _: () = assert!((code::OFF as u64).is_multiple_of(stack::SLOT));

/// Why a domain was ended in the middle of a call.
fn killed(domain: &Instance) -> String {
    match domain.ended_by_thread() {
        None => "the host killed the domain".to_owned(),
        Some(error) => format!("a thread that the module had started ended the domain: {error}"),
    }
}
