//! What one program is, and how it is to be treated.

use lockgate::syscall::Grants;
use lockgate::{
    CallLimit, CreateError, DomainOptions, Module, OnFailure, Policy, Program, Rebind, Request, Version,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Whether a program starts again when it has ended without having been asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// It does not.
    #[default]
    Never,
    /// After a fault: a crash, a limit. Not after an exit status, whatever it is.
    OnFault,
    /// However it ended.
    Always,
}

impl Restart {
    pub(crate) fn applies_to(self, how: Ended) -> bool {
        match self {
            Restart::Never => false,
            Restart::OnFault => how == Ended::Fault,
            Restart::Always => true,
        }
    }
}

/// How one run of a program ended, as far as it matters for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With exit status 0, or by the signal that asked it to.
    Well,
    /// With another exit status.
    Badly,
    /// By a fault, a limit among them, or killed.
    Fault,
    /// It did not begin.
    NotStarted,
}

/// How long a program waits before it starts again: not at all the first time, then `first`, then twice as long each time, at most `ceiling`; from
/// the beginning after a run of at least `reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    /// The shortest delay.
    pub first: Duration,
    /// The longest one.
    pub ceiling: Duration,
    /// How long a run lasts that was a good one.
    pub reset: Duration,
}

impl Default for BackOff {
    /// 100 ms, 30 s, 10 s.
    fn default() -> BackOff {
        BackOff {
            first: Duration::from_millis(100),
            ceiling: Duration::from_secs(30),
            reset: Duration::from_secs(10),
        }
    }
}

impl BackOff {
    /// The delay after so many restarts in a row.
    pub(crate) fn delay(&self, in_a_row: u32) -> Duration {
        match in_a_row {
            0 => Duration::ZERO,
            n => self.first.saturating_mul(1 << (n - 1).min(30)).min(self.ceiling),
        }
    }
}

/// When a program is ready, so that those that depend on it may start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ready {
    /// As soon as it has started.
    #[default]
    Started,
    /// When something accepts connections at this address. The program that listens there sees a connection that is closed at once.
    Listening(Address),
    /// When a line of its output or of its errors contains this text.
    Line(String),
}

/// Where a program may accept connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Address and port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// A function of a program that others call while it runs, on their own threads.
#[derive(Debug, Clone)]
pub struct Exported {
    pub(crate) name: String,
    pub(crate) function: String,
    pub(crate) version: Version,
    pub(crate) policy: Policy,
    pub(crate) serialize: bool,
    pub(crate) to: Option<Vec<String>>,
    pub(crate) shared: Shared,
}

/// Whether other processes may call an export, where [`Programs::offer`](crate::Programs::offer) is served.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shared {
    /// They may not.
    #[default]
    No,
    /// By the signature that the module has: the function takes and returns no pointers.
    Values,
    /// By a prototype that says how long its buffers are ([`Offer::function`](crate::share::Offer::function)).
    As(String),
}

impl Exported {
    /// The program's function of this name, in version 1.0, for all programs that import it. The name has no dots.
    pub fn new(name: impl Into<String>) -> Exported {
        let name = name.into();
        Exported {
            function: name.clone(),
            name,
            version: Version::new(1, 0),
            policy: Policy::MUTUAL_TRUST,
            serialize: true,
            to: None,
            shared: Shared::No,
        }
    }

    /// The function, by its C prototype, or by name if the module's note has that.
    pub fn of(mut self, function: impl Into<String>) -> Exported {
        self.function = function.into();
        self
    }

    /// Its version.
    pub fn version(mut self, version: Version) -> Exported {
        self.version = version;
        self
    }

    /// What the program asks for in calls of it; nothing by default.
    pub fn policy(mut self, policy: Policy) -> Exported {
        self.policy = policy;
        self
    }

    /// Whether calls enter between the program's own turns only ([`DomainOptions::serialize`]), as is so by default; else at any time.
    pub fn serialize(mut self, serialize: bool) -> Exported {
        self.serialize = serialize;
        self
    }

    /// Whether other processes may call it; they may not by default.
    pub fn shared(mut self, shared: Shared) -> Exported {
        self.shared = shared;
        self
    }

    /// Only these programs may import it.
    pub fn to(mut self, programs: impl IntoIterator<Item = impl Into<String>>) -> Exported {
        self.to = Some(programs.into_iter().map(Into::into).collect());
        self
    }
}

/// What answers an import of a program's module.
#[derive(Debug, Clone)]
pub struct Imported {
    pub(crate) import: String,
    pub(crate) program: String,
    pub(crate) export: String,
    pub(crate) version: Option<Version>,
    pub(crate) policy: Policy,
    pub(crate) on_failure: OnFailure,
    pub(crate) limit: Option<CallLimit>,
}

impl Imported {
    /// The import is what `program` exports as `export`, in its newest version.
    pub fn new(import: impl Into<String>, program: impl Into<String>, export: impl Into<String>) -> Imported {
        Imported {
            import: import.into(),
            program: program.into(),
            export: export.into(),
            version: None,
            policy: Policy::default(),
            on_failure: OnFailure::default(),
            limit: None,
        }
    }

    /// This major version, with at least this minor one.
    pub fn version(mut self, version: Version) -> Imported {
        self.version = Some(version);
        self
    }

    /// What the caller asks for; [`Policy::default`] by default.
    pub fn policy(mut self, policy: Policy) -> Imported {
        self.policy = policy;
        self
    }

    /// How a call ends that fails, because the other program crashes in it, has ended, has not begun, or does not give its turn up.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Imported {
        self.on_failure = on_failure;
        self
    }

    /// How long the caller waits for a call, and what becomes of it then.
    pub fn within(mut self, limit: CallLimit) -> Imported {
        self.limit = Some(limit);
        self
    }

    pub(crate) fn request(&self) -> Request {
        let name = registered(&self.program, &self.export);
        let request = match self.version {
            Some(version) => Request::new(name, version),
            None => Request::newest(name),
        };
        let request = request.policy(self.policy).on_failure(self.on_failure).rebind(Rebind::Yes);
        self.limit.into_iter().fold(request, Request::within)
    }
}

/// The name in the programs' registry.
pub(crate) fn registered(program: &str, export: &str) -> String {
    format!("{program}.{export}")
}

/// One program, and how it is to be treated.
#[derive(Debug, Clone)]
pub struct Spec {
    pub(crate) name: String,
    pub(crate) module: Arc<Module>,
    pub(crate) options: DomainOptions,
    pub(crate) grants: Grants,
    pub(crate) threads: u32,
    pub(crate) descriptors: Option<u32>,
    pub(crate) mappings: Option<u32>,
    pub(crate) depends_on: Vec<String>,
    pub(crate) ready: Ready,
    pub(crate) restart: Restart,
    pub(crate) back_off: BackOff,
    pub(crate) stop_timeout: Duration,
    pub(crate) exports: Vec<Exported>,
    pub(crate) imports: Vec<Imported>,
    pub(crate) turn_timeout: Duration,
}

impl Spec {
    /// Whether there can be such a program now: makes its domain, in which nothing runs, and takes it away again.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), CreateError> {
        Program::new(&self.module, self.options(self.grants.clone())).map(drop)
    }

    /// A program that is called `name`, which names its domain, too. Its streams are an empty input, and outputs that an
    /// [`Observer`](crate::Observer) gets line by line; `options` has all else but what the functions below say.
    pub fn new(
        name: impl Into<String>,
        module: &Arc<Module>,
        options: DomainOptions,
        grants: Grants,
    ) -> Spec {
        let name = name.into();
        Spec {
            options: options.name(name.clone()),
            name,
            module: module.clone(),
            grants,
            threads: 0,
            descriptors: None,
            mappings: None,
            depends_on: Vec::new(),
            ready: Ready::default(),
            restart: Restart::default(),
            back_off: BackOff::default(),
            stop_timeout: Duration::from_secs(10),
            exports: Vec::new(),
            imports: Vec::new(),
            turn_timeout: Duration::from_secs(5),
        }
    }

    /// Threads that it may start itself, as [`DomainOptions::max_guest_threads`]; none by default.
    pub fn threads(mut self, threads: u32) -> Spec {
        self.options = self.options.max_guest_threads(threads);
        self.threads = threads;
        self
    }

    /// Descriptors that it is promised, as [`DomainOptions::descriptor_limit`].
    pub fn descriptors(mut self, descriptors: u32) -> Spec {
        self.options = self.options.descriptor_limit(descriptors);
        self.descriptors = Some(descriptors);
        self
    }

    /// Separate mappings of memory that it is promised, as [`DomainOptions::mapping_limit`].
    pub fn mappings(mut self, mappings: u32) -> Spec {
        self.options = self.options.mapping_limit(mappings);
        self.mappings = Some(mappings);
        self
    }

    /// Its CPU time is measured, as [`DomainOptions::measure_cpu_time`] says.
    pub fn measure_cpu_time(mut self) -> Spec {
        self.options = self.options.measure_cpu_time();
        self
    }

    /// Names of programs that must be ready before it starts.
    pub fn depends_on(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Spec {
        self.depends_on = names.into_iter().map(Into::into).collect();
        self
    }

    /// When it is ready.
    pub fn ready(mut self, ready: Ready) -> Spec {
        self.ready = ready;
        self
    }

    /// Whether it starts again.
    pub fn restart(mut self, restart: Restart) -> Spec {
        self.restart = restart;
        self
    }

    /// When it starts again.
    pub fn back_off(mut self, back_off: BackOff) -> Spec {
        self.back_off = back_off;
        self
    }

    /// Other programs may call this, and the host: in the [registry](crate::Programs::registry) it is `PROGRAM.NAME`.
    pub fn export(mut self, export: Exported) -> Spec {
        self.exports.push(export);
        self
    }

    /// What answers an import of its module.
    pub fn import(mut self, import: Imported) -> Spec {
        self.imports.push(import);
        self
    }

    /// How long calls of its exports wait for a turn; 5 s by default.
    pub fn turn_timeout(mut self, timeout: Duration) -> Spec {
        self.turn_timeout = timeout;
        self
    }

    /// What its domain is made with.
    pub(crate) fn options(&self, grants: Grants) -> DomainOptions {
        let options = self.options.clone().grants(grants);
        match self.exports.iter().any(|export| export.serialize) {
            true => options.serialize(self.turn_timeout),
            false => options,
        }
    }

    /// How long it has to end when it is asked to; 10 s by default.
    pub fn stop_timeout(mut self, timeout: Duration) -> Spec {
        self.stop_timeout = timeout;
        self
    }
}
