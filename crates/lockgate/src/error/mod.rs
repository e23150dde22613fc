//! Errors are values: what, where and how to fix it.
mod registry;

pub use registry::RegistryError;

use crate::host::{locked, remedy};
use crate::report::Fault;
use std::any::Any;
use std::fmt;

/// What is said of the domain of this name in a forked child.
pub(crate) struct OfParent<'a>(pub &'a str);

impl fmt::Display for OfParent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OfParent(domain) = self;
        write!(
            f,
            "domain {domain} belongs to the parent process: a forked child cannot use it; make a new one there"
        )
    }
}

/// The thread that had a domain for which a call has waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its kernel id; 0 if no thread had it any more when that was looked at.
    pub thread: u32,
    /// Its name, of at most 15 bytes; empty if it has ended.
    pub name: String,
}

impl Holder {
    pub(crate) fn of(thread: u32) -> Holder {
        let name = std::fs::read(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name);
        Holder { thread, name: name.chars().filter(|c| !c.is_control()).collect() }
    }
}

impl fmt::Display for Holder {
    /// What the message of an error ends with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.thread, self.name.as_str()) {
            (0, _) => Ok(()),
            (thread, "") => write!(f, ": thread {thread} has it"),
            (thread, name) => write!(f, ": thread {thread} ({name}) has it"),
        }
    }
}

/// Why memory could not be mapped.
fn unmapped(source: &std::io::Error) -> String {
    if source.raw_os_error() == Some(libc::EBADF) {
        return format!(
            "the memory file of its module is closed, or has another number here ({source}); close no descriptor that the program has not \
             opened, and make domains on threads that share its table of descriptors"
        );
    }
    format!(
        "no address space or kernel mappings left ({source}); close domains, or raise vm.max_map_count or the limit of address space \
         (ulimit -v)"
    )
}

/// Why a domain was not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// No address space or kernel mappings left; or the module's file is not there any more (`EBADF`).
    #[error("domain {name}: {}", unmapped(source))]
    Space {
        /// The domain.
        name: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The system gives no more threads.
    #[error(
        "{what}: the system cannot start {threads} threads ({source}); ask for fewer, or raise the limits (ulimit -u, kernel.threads-max, pids.max)"
    )]
    Threads {
        /// What they are for.
        what: String,
        /// How many were asked for.
        threads: usize,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The image and one thread's stacks do not fit in the memory limit.
    #[error("domain {name}: image and stacks need {needed} bytes, the memory limit is {limit}; raise it")]
    Limit {
        /// The domain.
        name: String,
        /// Bytes needed.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The module is no domain of its own.
    #[error("{name} joins a domain of {base}: open {base} first, and then {name} with it (docs/dlopen.md)")]
    Joins {
        /// The domain, or module.
        name: String,
        /// File name of the base.
        base: String,
    },
    /// An option cannot be met.
    #[error("domain {name}: {what}")]
    Option {
        /// The domain.
        name: String,
        /// Which option and what it may be.
        what: String,
    },
    /// A host function was offered for an import that the module does not have.
    #[error("domain {name}: the module imports no function {import:?}; it imports: {known}")]
    UnknownImport {
        /// The domain.
        name: String,
        /// The name offered.
        import: String,
        /// What there is.
        known: String,
    },
    /// An import's signature is not that of the host function.
    #[error("domain {name}: import {import}: {mismatch}")]
    Import {
        /// The domain.
        name: String,
        /// The import.
        import: String,
        /// The difference.
        mismatch: Box<crate::signature::Mismatch>,
    },
    /// The module's initialisation failed.
    #[error("domain {name}: initialisation failed: {source}")]
    Start {
        /// The domain.
        name: String,
        /// What happened in it.
        source: Box<CallError>,
    },
}

/// Why an entry point was not bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The module does not export the name.
    #[error("{module} exports no function {name:?}{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean {n:?}?")))]
    Missing {
        /// The module.
        module: String,
        /// The name asked for.
        name: String,
        /// The export with the most similar name.
        near: Option<String>,
    },
    /// The signature asked for is not the module's.
    #[error("{module}: {name}: {mismatch}")]
    Signature {
        /// The module.
        module: String,
        /// The entry point.
        name: String,
        /// The difference.
        mismatch: Box<crate::signature::Mismatch>,
    },
    /// Only the module says that the function needs more than registers, which is nothing that the host's memory may depend on.
    #[error(
        "{module}: {name}: a name alone binds only functions whose arguments and result travel in registers; this one {what} (its module says that it is `{noted}`): bind it by its prototype with {instead}"
    )]
    NeedsPrototype {
        /// The module, or the exporter.
        module: String,
        /// The entry point.
        name: String,
        /// What the module says.
        noted: Box<crate::signature::Signature>,
        /// Why registers are not enough.
        what: &'static str,
        /// What takes a prototype, in Rust and in C.
        instead: &'static str,
    },
    /// A prototype could not be understood.
    #[error(transparent)]
    Prototype(#[from] crate::signature::PrototypeError),
    /// The domain, named here, belongs to a parent of this process.
    #[error("{}", OfParent(.0))]
    Forked(String),
    /// No memory for code.
    #[error("no memory for a proxy: {0}")]
    Memory(std::io::Error),
}

/// Why one domain was not given a function of another.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The module imports no such function.
    #[error("domain {domain}: the module imports no function {import:?}; it imports: {known}")]
    Import {
        /// The caller.
        domain: String,
        /// The import asked for.
        import: String,
        /// What there is.
        known: String,
    },
    /// Not both modules say the signature, and the host does not either: one's word says nothing about the other's memory.
    #[error(
        "import {0}, export {1}: both modules' notes must have the signature (compile them with -g, or name it by `--gate` and `--export`); or give the prototype in place of the export's name"
    )]
    NoSignature(String, String),
    /// A function of another domain is made callable through a pointer, and only that domain says its signature.
    #[error(
        "{0}: for a function pointer from domain to domain give the function's prototype, not its name alone: only the function's own module says its signature"
    )]
    NoPrototype(String),
    /// All of the domain's function pointers are in use.
    #[error("domain {0} has no function pointers left; drop those that it no longer needs")]
    Pointers(String),
    /// The export could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// Why a call did not return a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The domain faulted, ran out of time, was killed, or ended itself. The host's thread goes on.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// A host function that the domain called panicked, or asked for the end of the call ([`end_call`](crate::end_call)).
    #[error("a host function that the domain called ended the call: {0}")]
    Panic(Panic),
    /// The call came from a signal handler (rule R13).
    #[error(
        "a signal handler cannot call a domain, nor can frames deeper than a call that a handler has left by longjmp; set a flag there and call later"
    )]
    SignalHandler,
    /// Nested calls between host and domains have used up the host's stack, or a thread has less than 40 KiB of it left at its first call, or less
    /// than 80 KiB where it makes a domain or has one start again; or a nested call comes from another stack than the call that it is nested in, or from a thread on which such calls have come back out of turn.
    #[error(
        "the host's stack would overflow: too many nested calls between host and domains, or less than 40 KiB of stack at a thread's first call (80 KiB to make or reset a domain); or a nested call came from another stack, such as a coroutine's"
    )]
    TooDeep,
    /// The domain belongs to a parent of this process, where it lives on.
    #[error(
        "this domain belongs to the parent process: a forked child cannot use it; make a new one there (its module can be used, and is not verified again)"
    )]
    Forked,
    /// The thread is ending and has left all domains.
    #[error("this thread is ending: it cannot call domains any more")]
    ThreadEnding,
    /// A signal handler of the process does not run on the alternate stack (rule R11).
    #[error(
        "the handler of signal {0} does not run on the alternate stack and cannot be changed; install it with SA_ONSTACK"
    )]
    Handler(i32),
    /// As many threads as may are in the domain already.
    #[error(
        "domain {domain} has its {limit} threads already; raise its thread limit (at most {max}) or use more domains",
        max = lockgate_abi::stack::SLOTS
    )]
    Threads {
        /// The domain.
        domain: String,
        /// Its limit.
        limit: u32,
    },
    /// The call would be nested in more calls than the domain allows.
    #[error("domain {0} refuses a call nested this deep in other calls: raise its depth limit")]
    Depth(String),
    /// As many asynchronous calls as may wait for the domain already.
    #[error(
        "{limit} asynchronous calls wait for domain {domain} already; wait for some, or allow a longer queue"
    )]
    QueueFull {
        /// The domain.
        domain: String,
        /// Calls that may wait.
        limit: usize,
    },
    /// The asynchronous call was cancelled, before it began or meanwhile.
    #[error("the asynchronous call of domain {0} was cancelled")]
    Cancelled(String),
    /// The asynchronous call had not ended by its deadline.
    #[error("the asynchronous call of domain {0} did not end by its deadline")]
    Deadline(String),
    /// The domain has used up its CPU time.
    #[error("domain {0} has used up its CPU time limit: reset it, or raise the limit")]
    CpuTime(String),
    /// The caller's time was over, and its binding says that the call goes on ([`Expiry::Detach`](crate::Expiry::Detach)): on a thread of the
    /// library's, which holds what the call holds in the domain. Nothing tells the caller how it ends; [`Domain::usage`](crate::Domain::usage)
    /// counts it.
    #[error(
        "the call of {entry_point} in domain {domain} took longer than the caller's {limit} ms; it goes on without its caller: do not free what \
         was made in the domain for it"
    )]
    Detached {
        /// The domain.
        domain: String,
        /// Its entry point.
        entry_point: String,
        /// The caller's limit, milliseconds.
        limit: u32,
    },
    /// The domain was killed.
    #[error("domain {0} was killed")]
    Killed(String),
    /// The host's own stop predicate says that calls are to end ([`DomainOptions::stop_if`](crate::DomainOptions::stop_if)); or the domain was to
    /// be reset, or restarted, within a call that must end.
    #[error(
        "domain {0} was not called: the host's stop predicate, or the end of a call that this one would be nested in, asks calls to end"
    )]
    Interrupted(String),
    /// The registry took the name back.
    #[error("{0} was revoked; bind again when it is exported again")]
    Revoked(String),
    /// The domain was restarted, and the binding was made for the instance before.
    #[error("domain {0} was restarted; bind again, or ask for a binding that rebinds")]
    Restarted(String),
    /// The library was closed, and a pointer of it called.
    #[error("{0} was closed: pointers that dlsym gave before are stale; open it again")]
    Unloaded(String),
    /// Nothing answers an import of a library that was opened lazily.
    #[error("{library} called {import}: {why}; open with RTLD_NOW to learn of it at once")]
    Unanswered {
        /// The library.
        library: String,
        /// The import.
        import: String,
        /// What was looked for.
        why: String,
    },
    /// An import could not be bound at its first call.
    #[error("domain {domain}: import {import}: {source}")]
    Import {
        /// The domain that called it.
        domain: String,
        /// The import.
        import: String,
        /// What the registry says.
        source: Box<RegistryError>,
    },
    /// No memory for the thread's stacks.
    #[error(
        "no memory for this thread's stacks: {0}; {remedy}",
        remedy = remedy(.0, "raise the domain's memory limit or vm.max_map_count")
    )]
    Memory(std::io::Error),
    /// The domain takes one caller at a time, and others had it for too long.
    #[error("domain {0} takes one caller at a time and was busy for longer than callers wait{1}")]
    Busy(String, Holder),
    /// The domain is a program's that has not been started, or is in its first turn still: its first thread has not slept yet.
    #[error("program {0} has not begun: it takes calls from when it is ready, or first waits for something")]
    NotBegun(String),
    /// The domain takes one caller at a time, and this thread, or one that waits for it, is in it.
    #[error(
        "domain {0} takes one caller at a time: this call would wait for itself; do not call back into it, or do not make it exclusive"
    )]
    Deadlock(String),
    /// An asynchronous call of the domain, or what it has called, would wait for its own end.
    #[error(
        "this thread makes the asynchronous call of domain {0} that it would wait for; wait on another thread"
    )]
    OwnEnd(String),
    /// A domain's call of another failed, and its binding says that it ends then, too. Of a long chain of domains, some in the middle are left out.
    #[error("domain {domain}, called at {entry_point}, ended with a domain that it called: {source}")]
    Callee {
        /// The domain called by the host.
        domain: String,
        /// Its entry point.
        entry_point: String,
        /// What happened in the other one.
        source: Box<CallError>,
    },
    /// Thread-local storage of the module could not be made.
    #[error("domain {domain}: its thread initialisation failed with {status}")]
    ThreadInit {
        /// The domain.
        domain: String,
        /// What `_lg_thread_init` returned.
        status: i32,
    },
    /// The function was dropped before its caller asked why the call failed.
    #[error(
        "the call failed, but the library cannot say which function it was: the program freed the function before it read the error, or the call came back on another thread or out of turn"
    )]
    Gone,
    /// Arguments given at run time do not fit the signature.
    #[error("{0}")]
    Arguments(String),
}

/// The most of [`CallError::Callee`] in one error.
const CALLEES: usize = 8;

impl CallError {
    pub(crate) fn memory(error: rustix::io::Errno) -> CallError {
        CallError::Memory(error.into())
    }

    /// A call that ends because one that it made failed. Domains may call each other in circles, thousands deep: there are [`CALLEES`] domains in
    /// the error at most, the outermost and those next to what happened.
    pub(crate) fn of_callee(domain: String, entry_point: String, source: CallError) -> CallError {
        let mut callees = 0;
        let mut inner = &source;
        while let CallError::Callee { source, .. } = inner {
            (inner, callees) = (source, callees + 1);
        }
        let source = match source {
            CallError::Callee { source, .. } if callees >= CALLEES => source,
            few => Box::new(few),
        };
        CallError::Callee { domain, entry_point, source }
    }

    /// The fault, if that is what happened.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            CallError::Fault(fault) => Some(fault),
            CallError::Callee { source, .. } => source.fault(),
            _ => None,
        }
    }
}

/// What a host function panicked with.
pub struct Panic(std::sync::Mutex<Box<dyn Any + Send>>);

impl Panic {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Panic {
        Panic(std::sync::Mutex::new(payload))
    }

    /// What `look` makes of the payload.
    pub fn look<R>(&self, look: impl FnOnce(&(dyn Any + Send)) -> R) -> R {
        look(&**locked(&self.0))
    }

    /// The payload, for [`std::panic::resume_unwind`].
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.0.into_inner().unwrap_or_else(|e| e.into_inner())
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = locked(&self.0);
        let text = payload.downcast_ref::<&str>().copied();
        f.write_str(
            text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)"),
        )
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panic({self})")
    }
}

/// Why host code could not read or write a domain's memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Some of the bytes are not mapped, or not with that right.
    #[error("domain {domain}: {length} bytes at offset {offset:#x} are not all {access}")]
    Inaccessible {
        /// The domain.
        domain: String,
        /// Window offset of the first byte.
        offset: u64,
        /// Number of bytes.
        length: usize,
        /// "readable" or "writable".
        access: &'static str,
    },
    /// The domain, named here, belongs to a parent of this process.
    #[error("{}", OfParent(.0))]
    Forked(String),
    /// No terminating zero within the limit.
    #[error("domain {domain}: no string of at most {limit} bytes at offset {offset:#x}")]
    Unterminated {
        /// The domain.
        domain: String,
        /// Window offset of the first byte.
        offset: u64,
        /// Largest length accepted.
        limit: usize,
    },
}

/// Why [`Domain::alloc`](crate::Domain::alloc) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocError {
    /// The module has no allocator for the host.
    #[error("{0} does not export _lg_alloc and _lg_free: link it with `lockgate cc`")]
    NoAllocator(String),
    /// The module's allocator found no memory.
    #[error("domain {domain}: no memory for {size} bytes; raise its memory limit")]
    NoMemory {
        /// The domain.
        domain: String,
        /// Bytes asked for.
        size: usize,
    },
    /// The allocator did not return.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The bytes could not be copied.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why a domain was not reset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// Bindings or callbacks of the domain still exist, so threads may be inside; or threads that its module has started.
    #[error(
        "domain {0} still has bindings, or threads that its module has started: end them before the reset"
    )]
    InUse(String),
    /// The domain, named here, belongs to a parent of this process.
    #[error("{}", OfParent(.0))]
    Forked(String),
    /// The calling thread cannot call a domain now. Nothing has changed.
    #[error(transparent)]
    Caller(CallError),
    /// Its memory could not be restored or its initialisation failed.
    #[error(transparent)]
    Create(#[from] CreateError),
}

#[cfg(test)]
mod tests {
    use super::CallError;

    #[test]
    fn an_error_names_few_of_the_domains_that_end_with_each_other() {
        let mut error = CallError::Deadlock("innermost".to_owned());
        for number in 0..100_000 {
            error = CallError::of_callee(format!("d{number}"), "function".to_owned(), error);
        }
        let text = error.to_string();
        assert!(
            text.starts_with("domain d99999, ") && text.contains("domain d0, ") && text.contains("innermost")
        );
        assert_eq!(text.matches("ended with").count(), super::CALLEES);
    }
}
