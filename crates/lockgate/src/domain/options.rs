//! Options of a new domain: limits, grants, host functions. They are checked before anything of the domain is mapped.
use super::limits::Limits;
use crate::call::{AnyDomain, StopIf, Terms};
use crate::error::{CallError, CreateError};
use crate::host::environment;
use crate::host_function::HostFunction;
use crate::module::{Module, callable};
use crate::policy::Policy;
use crate::signature;
use crate::space::{MAPPINGS, MAX_MAPPINGS};
use lockgate_abi::{PAGE, stack};
use lockgate_syscall::Grants;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Finds what an import of a domain is, at the domain's first call of it, by its number in the gate table, and sets it.
pub(crate) type Resolver = dyn Fn(&Arc<dyn AnyDomain>, u16) -> Result<(), CallError> + Send + Sync;

/// What finds imports.
#[derive(Clone)]
pub(super) struct Imports(pub Arc<Resolver>);

impl std::fmt::Debug for Imports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Imports")
    }
}

/// Limits and grants of a new domain. The default is 64 MiB of memory, 1 MiB of stack for each thread, no other limit but 63
/// threads, 256 descriptors and 1,024 mappings (docs/limits.md), and no reach beyond its own memory, clocks and random numbers.
#[derive(Debug, Clone)]
pub struct DomainOptions {
    pub(super) name: String,
    pub(super) memory_limit: u64,
    pub(super) terms: Terms,
    pub(super) grants: Arc<Grants>,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<OsString>,
    pub(super) gates: Vec<(String, HostFunction)>,
    pub(super) seal: bool,
    pub(super) limits: Limits,
    pub(super) imports: Option<Imports>,
    pub(super) full_xstate: bool,
    pub(super) umask: u32,
}

impl Default for DomainOptions {
    fn default() -> Self {
        DomainOptions {
            name: String::new(),
            memory_limit: 64 << 20,
            terms: Terms::default(),
            grants: Arc::default(),
            arguments: Vec::new(),
            environment: Vec::new(),
            gates: Vec::new(),
            seal: false,
            limits: Limits::default(),
            imports: None,
            full_xstate: false,
            umask: DomainOptions::UMASK,
        }
    }
}

impl DomainOptions {
    /// The [`umask`](DomainOptions::umask) of options that say nothing else.
    pub const UMASK: u32 = lockgate_syscall::UMASK;
    /// The largest one.
    pub const MOST_UMASK: u32 = lockgate_syscall::MAX_UMASK;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Name in reports; the module's by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Has `resolver` find what the module imports, but for what [`gate`](DomainOptions::gate) answers, each at its first call.
    pub(crate) fn resolver(mut self, resolver: Arc<Resolver>) -> Self {
        self.imports = Some(Imports(resolver));
        self
    }

    /// What finds them.
    pub(crate) fn found_by(&self) -> Option<Arc<Resolver>> {
        self.imports.as_ref().map(|imports| imports.0.clone())
    }

    pub(crate) fn is_named(&self) -> bool {
        !self.name.is_empty()
    }

    /// Most memory that the domain may have, bytes: image, stacks of all threads, heap and mappings.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Stack of each thread, bytes; the control stack has the same size again. A whole number of pages, at most
    /// [`stack::MAX_SIZE`].
    pub fn stack_size(mut self, bytes: u64) -> Self {
        self.terms.stack_size = bytes;
        self
    }

    /// Wall-clock limit of each call from the host, milliseconds precise. Calls within the limit pay nothing.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.terms.time_limit = Some(limit);
        self
    }

    /// How long a call may go on whose caller does not wait for it any more ([`Expiry::Detach`](crate::Expiry::Detach)), from then on: a minute if
    /// nothing is said, and no longer than its [`time_limit`](DomainOptions::time_limit). Zero: none goes on; where its caller's time is over, it is
    /// stopped.
    pub fn detached_limit(mut self, limit: Duration) -> Self {
        self.limits.detached = limit;
        self
    }

    /// Ends calls of the domain when the host says so: `predicate` is asked after [`interrupt`](crate::interrupt), and while it
    /// answers yes, the call that is innermost on the asking thread ends ([`FaultKind::Stopped`](crate::FaultKind::Stopped)), and a new one
    /// is refused ([`CallError::Interrupted`](crate::CallError::Interrupted)). Calls pay nothing.
    ///
    /// It runs in signal handlers of the thread that calls the domain: it may read the host's own flags, and little else.
    pub fn stop_if(mut self, predicate: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.terms.stop_if = Some(StopIf::new(predicate));
        self
    }

    /// What system calls may reach: directories, standard streams.
    pub fn grants(mut self, grants: impl Into<Arc<Grants>>) -> Self {
        self.grants = grants.into();
        self
    }

    /// File mode creation mask (umask(2)) with which the domain begins, also after a reset: rights that new files do not get, 0 to 0o777;
    /// 0o022 by default. The module may change it (`umask`). The mask of the host's process holds, too, and stays as it is.
    pub fn umask(mut self, mask: u32) -> Self {
        self.umask = mask;
        self
    }

    /// Arguments of the program (`argv`), of any bytes but zero; the first is its name.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Adds `NAME=value` to the environment of the program, in place of what that name had. The value may have any bytes but zero. Nothing
    /// of the host's own is passed on.
    pub fn environment(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut variable = OsString::from(format!("{name}="));
        self.environment.retain(|known| !known.as_bytes().starts_with(variable.as_bytes()));
        variable.push(value);
        self.environment.push(variable);
        self
    }

    /// Answers the module's import `name` with a host function.
    pub fn gate(mut self, name: impl Into<String>, function: impl Into<HostFunction>) -> Self {
        self.gates.push((name.into(), function.into()));
        self
    }

    /// Seals code, constants, header and gate table with `mseal` where the kernel has it (Linux 6.10), beyond what the
    /// memory services refuse anyway: for domains that live as long as the process, whose address space is
    /// not used again.
    pub fn seal(mut self, seal: bool) -> Self {
        self.seal = seal;
        self
    }

    /// Has all calls of the domain, and out of it, treat it as if it could touch all processor state: then modules may join that
    /// use more of it than the domain's own (rule R26). Calls under mutual distrust cost three to four times as much then.
    pub fn full_xstate(mut self, every: bool) -> Self {
        self.full_xstate = every;
        self
    }

    /// What the domain asks for in every call of it, beyond what the caller asks for. Nothing by default.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.terms.policy = policy;
        self
    }

    /// Lets one thread at a time into the domain; others queue, at most for `timeout`
    /// ([`CallError::Busy`](crate::CallError::Busy) then), or without end.
    pub fn exclusive(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.terms.exclusive = Some(timeout.into());
        self.terms.gives_up = false;
        self
    }

    /// As [`exclusive`](DomainOptions::exclusive), but a thread that sleeps in a system call lets others in meanwhile, and waits for its turn
    /// again before it goes on. One that need not sleep, but waits for events or time (`poll`, `epoll_wait`, `select`, `nanosleep`,
    /// `sched_yield`), lets those go first that wait. So a call enters a program between the turns of the program's own threads, and in the
    /// middle of none. A program's first turn ends with its first sleep: until then calls are refused ([`CallError::NotBegun`](crate::CallError::NotBegun)).
    pub fn serialize(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.terms.exclusive = Some(timeout.into());
        self.terms.gives_up = true;
        self
    }

    pub(super) fn check(&self, name: &str) -> Result<(), CreateError> {
        let option = |what: String| CreateError::Option { name: name.to_owned(), what };
        let size = self.terms.stack_size;
        if size == 0 || !size.is_multiple_of(PAGE) || size > stack::MAX_SIZE {
            let max = stack::MAX_SIZE;
            return Err(option(format!(
                "stack size {size} is not a multiple of {PAGE} between {PAGE} and {max}"
            )));
        }
        if self.terms.time_limit.is_some_and(|limit| limit < Duration::from_millis(1)) {
            return Err(option("the time limit is below one millisecond".to_owned()));
        }
        if self.umask > DomainOptions::MOST_UMASK {
            let (mask, most) = (self.umask, DomainOptions::MOST_UMASK);
            return Err(option(format!("the umask is {mask:#o}: it must be between 0 and {most:#o}")));
        }
        self.limits.check(self.terms.depth).map_err(option)?;
        if self.arguments.iter().chain(&self.environment).any(|s| s.as_bytes().contains(&0)) {
            return Err(option("an argument or environment string contains a zero byte".to_owned()));
        }
        Ok(())
    }
}

/// What is counted, and CPU time.
impl DomainOptions {
    /// The largest [`max_guest_threads`](DomainOptions::max_guest_threads): one place is the host's.
    pub const MOST_GUEST_THREADS: u32 = stack::SLOTS as u32 - 1;
    /// The [`descriptor_limit`](DomainOptions::descriptor_limit) of options that say nothing else.
    pub const DESCRIPTORS: u32 = lockgate_syscall::DESCRIPTORS;
    /// The largest one.
    pub const MOST_DESCRIPTORS: u32 = lockgate_syscall::MAX_DESCRIPTORS;
    /// The [`mapping_limit`](DomainOptions::mapping_limit) of options that say nothing else.
    pub const MAPPINGS: u32 = MAPPINGS;
    /// The largest one.
    pub const MOST_MAPPINGS: u32 = MAX_MAPPINGS;

    /// Most threads that may have a place in the domain at once, 1–63. Others get
    /// [`CallError::Threads`](crate::CallError::Threads).
    pub fn thread_limit(mut self, threads: u32) -> Self {
        self.limits.threads = threads;
        self
    }

    /// Most threads at once that the module may start itself (`pthread_create`); none by default. They count against the
    /// [thread limit](DomainOptions::thread_limit), and the domain's time limit is that of their lives. They end with the domain's
    /// handle.
    pub fn max_guest_threads(mut self, threads: u32) -> Self {
        self.limits.max_guest_threads = threads;
        self
    }

    /// Descriptors that the domain may have open at once, 1–65,536; granted streams count. The process's own limit holds, too.
    pub fn descriptor_limit(mut self, descriptors: u32) -> Self {
        self.limits.descriptors = descriptors;
        self
    }

    /// Separate mappings that the domain may have at once, 1–16,384; 1,024 by default. Beyond it `mmap`, `mprotect`, `munmap` and their like
    /// fail with `ENOMEM`. Neighbours with equal rights are one mapping; files that are mapped as shared are one each.
    ///
    /// The kernel may need two of its own for each, and a process has 65,530 (`vm.max_map_count`) for all of its domains and itself: a host
    /// that gives several domains many mappings must raise that.
    pub fn mapping_limit(mut self, mappings: u32) -> Self {
        self.limits.mappings = mappings;
        self
    }

    /// Largest number of calls, of any domains, nested in one another on a thread, this domain's included:
    /// 1 lets it be called from outside all domains only. Deeper calls get [`CallError::Depth`](crate::CallError::Depth).
    pub fn depth_limit(mut self, depth: u32) -> Self {
        self.terms.depth = Some(depth);
        self
    }

    /// CPU time that all calls of the domain may use together. Then its calls in progress end
    /// ([`FaultKind::CpuTime`](crate::FaultKind::CpuTime)), and later ones are refused
    /// ([`CallError::CpuTime`](crate::CallError::CpuTime)) until the domain is reset.
    ///
    /// Measured as by [`measure_cpu_time`](DomainOptions::measure_cpu_time), and so only a few milliseconds precise.
    pub fn cpu_limit(mut self, limit: Duration) -> Self {
        self.limits.cpu_time = Some(limit);
        self
    }

    /// Measures the CPU time that calls of the domain use ([`Usage::cpu_time`](crate::Usage::cpu_time)): a sample every few milliseconds, taken by
    /// another thread. Calls pay nothing.
    pub fn measure_cpu_time(mut self) -> Self {
        self.limits.measured = true;
        self
    }

    pub(super) fn is_measured(&self) -> bool {
        self.limits.measured || self.limits.cpu_time.is_some() || environment::measures()
    }
}

/// Host functions at the slots of the imports that they answer.
pub(super) fn imports(
    domain: &str,
    module: &Module,
    given: &[(String, HostFunction)],
) -> Result<Vec<(u16, HostFunction)>, CreateError> {
    let mut imports = Vec::new();
    for (name, function) in given {
        let Some(import) = module.parsed().imports.iter().find(|i| i.name == *name) else {
            let known: Vec<_> = module.imports().map(|(name, _)| name).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            return Err(CreateError::UnknownImport { name: domain.to_owned(), import: name.clone(), known });
        };
        if let Some(noted) = callable(import.signature.as_deref()) {
            signature::agree(&noted, function.signature()).map_err(|mismatch| CreateError::Import {
                name: domain.to_owned(),
                import: name.clone(),
                mismatch,
            })?;
        }
        imports.push((import.slot, function.clone()));
    }
    Ok(imports)
}
