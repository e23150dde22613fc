//! Errors of the runtime as exceptions of `lockgate._errors`.
use crate::interpreter_sys;
use lockgate::{
    AllocError, BindError, CallError, CreateError, Fault, FaultKind, GrantError, LinkError, LoadError,
    MemoryError, RegistryError, ResetError,
};
use lockgate_programs::share::{RemoteError, RemoteFunction, ShareError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// The exception `lockgate._errors.<class>` with this message and these attributes.
fn make(
    py: Python<'_>,
    class: &str,
    message: &dyn Display,
    attributes: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let fields = PyDict::new(py);
        attributes(&fields)?;
        let errors = py.import("lockgate._errors")?;
        let class = errors.getattr(class)?;
        Ok(PyErr::from_value(interpreter_sys::call(&class, (message.to_string(),), Some(&fields))?))
    };
    made().unwrap_or_else(|error| error)
}

/// An exception with a message only.
pub fn plain(py: Python<'_>, class: &str, message: &dyn Display) -> PyErr {
    make(py, class, message, |_| Ok(()))
}

/// What ended a domain on a thread of the module's own.
pub enum End {
    Fault(Fault),
    /// A callback raised it.
    Raised(PyErr),
    Other(String),
}

impl End {
    /// Runs no code of Python's: the runtime's books are open.
    pub fn of(py: Python<'_>, error: &CallError) -> End {
        if let CallError::Panic(panic) = error
            && let Some(raised) =
                panic.look(|payload| payload.downcast_ref::<PyErr>().map(|raised| raised.clone_ref(py)))
        {
            return End::Raised(raised);
        }
        error.fault().map_or_else(|| End::Other(error.to_string()), |fault| End::Fault(fault.clone()))
    }
}

/// A call whose arguments are for the instance before, or an address that is of it.
#[cold]
pub fn older(py: Python<'_>, domain: &str) -> PyErr {
    let text = format!(
        "domain {domain} was restarted or reset meanwhile, and this call, or an argument of it, belongs to the instance before: make pointers and arguments again, and call again"
    );
    make(py, "Restarted", &text, |fields| fields.set_item("domain", domain))
}

/// A call through a function pointer that no Python function answers any more, as the module finds it a moment later.
pub fn taken_back(py: Python<'_>) -> PyErr {
    let text = "the program dropped the callback while the domain called it";
    make(py, "Fault", &text, |fields| {
        fields.set_item("kind", kind(FaultKind::Gate))?;
        fields.set_item("reason", text)
    })
}

/// What happened instead of a return. An exception of a callback comes out as it was raised.
pub fn call(py: Python<'_>, error: CallError) -> PyErr {
    match error {
        CallError::Fault(fault) => self::fault(py, &fault, &fault.to_string()),
        CallError::Panic(panic) => {
            let text = panic.to_string();
            match panic.into_payload().downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(_) => plain(py, "CallError", &format_args!("a host function panicked: {text}")),
            }
        }
        CallError::Callee { ref source, .. } => match source.fault() {
            Some(fault) => self::fault(py, fault, &error.to_string()),
            None => plain(py, "CallError", &error),
        },
        CallError::Import { ref domain, .. } => {
            let (text, domain) = (error.to_string(), domain.clone());
            let made = make(py, "Unresolved", &text, |fields| fields.set_item("domain", domain));
            if let CallError::Import { source, .. } = error {
                made.set_cause(py, Some(registry(py, *source)));
            }
            made
        }
        CallError::Detached { ref domain, ref entry_point, .. } => make(py, "Detached", &error, |fields| {
            fields.set_item("domain", domain)?;
            fields.set_item("function", entry_point)
        }),
        other => {
            let (class, domain) = refusal(&other);
            let domain = domain.map(str::to_owned);
            make(py, class, &other, |fields| match domain {
                Some(domain) => fields.set_item("domain", domain),
                None => Ok(()),
            })
        }
    }
}

/// The class for a call that was refused or taken back, and the domain's name.
fn refusal(error: &CallError) -> (&'static str, Option<&str>) {
    match error {
        CallError::Threads { domain, .. } | CallError::Depth(domain) | CallError::CpuTime(domain) => {
            ("QuotaExceeded", Some(domain))
        }
        CallError::QueueFull { domain, .. } => ("QuotaExceeded", Some(domain)),
        CallError::Memory(_) => ("QuotaExceeded", None),
        CallError::Cancelled(domain) | CallError::Interrupted(domain) => ("Cancelled", Some(domain)),
        CallError::Deadline(domain) => ("Timeout", Some(domain)),
        CallError::Killed(domain) => ("Killed", Some(domain)),
        CallError::Restarted(domain) => ("Restarted", Some(domain)),
        CallError::Revoked(_) => ("Revoked", None),
        CallError::Busy(domain, _)
        | CallError::NotBegun(domain)
        | CallError::Deadlock(domain)
        | CallError::OwnEnd(domain) => ("Busy", Some(domain)),
        CallError::Forked => ("Forked", None),
        _ => ("CallError", None),
    }
}

/// The class for a fault.
fn class_of(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::TimeOut => "Timeout",
        FaultKind::Quota | FaultKind::CpuTime => "QuotaExceeded",
        FaultKind::Killed => "Killed",
        FaultKind::Stopped => "Cancelled",
        FaultKind::Exit(_) => "Exited",
        _ => "Fault",
    }
}

/// A call that ended by a fault, with this for its text.
pub fn fault(py: Python<'_>, fault: &Fault, report: &str) -> PyErr {
    make(py, class_of(fault.kind()), &report, |fields| {
        fields.set_item("kind", kind(fault.kind()))?;
        fields.set_item("reason", fault.reason())?;
        fields.set_item("domain", fault.domain())?;
        fields.set_item("module", fault.module())?;
        fields.set_item("function", fault.entry_point())?;
        fields.set_item("address", fault.address())?;
        fields.set_item("access", fault.access().map(|access| format!("{access:?}").to_lowercase()))?;
        fields.set_item("instruction", fault.instruction())?;
        fields.set_item("registers", registers(py, fault)?)?;
        if let FaultKind::Exit(status) = fault.kind() {
            fields.set_item("status", status)?;
        }
        fields.set_item("trace", Trace(fault.clone()))?;
        let place = fault.location().unwrap_or_default();
        fields.set_item("location", (place.function, place.file, place.line))
    })
}

/// What the backtrace of a fault is made of: it may never be asked for.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Trace(Fault);

#[pymethods]
impl Trace {
    fn __str__(&self) -> String {
        self.0.backtrace().to_string()
    }
}

/// The name of a kind of fault, as Rust spells it but in words: `stack overflow`.
fn kind(kind: FaultKind) -> String {
    match kind {
        FaultKind::Exit(status) => format!("exit {status}"),
        FaultKind::Signal(number) => format!("signal {number}"),
        other => {
            let mut words = String::new();
            for letter in format!("{other:?}").chars() {
                if letter.is_uppercase() && !words.is_empty() {
                    words.push(' ');
                }
                words.extend(letter.to_lowercase());
            }
            words
        }
    }
}

fn registers<'py>(py: Python<'py>, fault: &Fault) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    let r = fault.registers();
    let named = [
        ("rax", r.rax),
        ("rbx", r.rbx),
        ("rcx", r.rcx),
        ("rdx", r.rdx),
        ("rsi", r.rsi),
        ("rdi", r.rdi),
        ("rbp", r.rbp),
        ("rsp", r.rsp),
        ("r8", r.r8),
        ("r9", r.r9),
        ("r10", r.r10),
        ("r11", r.r11),
        ("r12", r.r12),
        ("r13", r.r13),
        ("r14", r.r14),
        ("r15", r.r15),
        ("rip", r.rip),
        ("rflags", r.rflags),
    ];
    for (name, value) in named {
        values.set_item(name, value)?;
    }
    Ok(values)
}

/// Why a module was not loaded.
pub fn load(py: Python<'_>, error: LoadError) -> PyErr {
    match error {
        LoadError::Read { ref source, ref path } => {
            let (number, path) = (source.raw_os_error(), path.display().to_string());
            make(py, "LoadError", &error, |fields| {
                fields.set_item("errno", number)?;
                fields.set_item("filename", path)
            })
        }
        LoadError::Rejected { .. } => plain(py, "Rejected", &error),
        _ => plain(py, "LoadError", &error),
    }
}

/// Why a domain was not made.
pub fn create(py: Python<'_>, error: CreateError) -> PyErr {
    match error {
        CreateError::Start { source, .. } => call(py, *source),
        CreateError::Limit { .. } => plain(py, "QuotaExceeded", &error),
        CreateError::Option { .. } => plain(py, "OptionError", &error),
        CreateError::UnknownImport { .. } | CreateError::Import { .. } => plain(py, "SignatureError", &error),
        _ => plain(py, "Error", &error),
    }
}

/// Why a function was not bound.
pub fn bind(py: Python<'_>, error: BindError) -> PyErr {
    match error {
        BindError::Missing { .. } => plain(py, "SymbolError", &error),
        BindError::Signature { .. } | BindError::Prototype(_) | BindError::NeedsPrototype { .. } => {
            plain(py, "SignatureError", &error)
        }
        BindError::Forked(_) => plain(py, "Forked", &error),
        _ => plain(py, "Error", &error),
    }
}

/// Why a domain was not given a function of another.
pub fn link(py: Python<'_>, error: LinkError) -> PyErr {
    match error {
        LinkError::Bind(error) => bind(py, error),
        LinkError::Import { .. } => plain(py, "SymbolError", &error),
        _ => plain(py, "SignatureError", &error),
    }
}

/// Why a domain's memory could not be reached.
pub fn memory(py: Python<'_>, error: MemoryError) -> PyErr {
    let class = if matches!(error, MemoryError::Forked(_)) { "Forked" } else { "BadPointer" };
    plain(py, class, &error)
}

/// Why a domain's allocator gave nothing.
pub fn alloc(py: Python<'_>, error: AllocError) -> PyErr {
    match error {
        AllocError::Call(error) => call(py, error),
        AllocError::Memory(error) => memory(py, error),
        AllocError::NoMemory { .. } => plain(py, "QuotaExceeded", &error),
        _ => plain(py, "Error", &error),
    }
}

/// Why memory was not shared.
pub fn grant(py: Python<'_>, error: GrantError) -> PyErr {
    let class = if matches!(error, GrantError::Forked { .. }) { "Forked" } else { "GrantError" };
    plain(py, class, &error)
}

/// Why a domain was not reset.
pub fn reset(py: Python<'_>, error: ResetError) -> PyErr {
    match error {
        ResetError::Create(error) => create(py, error),
        ResetError::Caller(error) => call(py, error),
        ResetError::Forked(_) => plain(py, "Forked", &error),
        _ => plain(py, "Busy", &error),
    }
}

/// Why the registry refused.
pub fn registry(py: Python<'_>, error: RegistryError) -> PyErr {
    let class = match error {
        RegistryError::Bind(error) => return bind(py, error),
        RegistryError::Create(error) => return create(py, error),
        RegistryError::Caller(error) => return call(py, error),
        RegistryError::Unknown { ref near, .. } => {
            let near = near.clone();
            return make(py, "UnknownName", &error, |fields| fields.set_item("near", near));
        }
        RegistryError::Late { .. } => "Late",
        RegistryError::Forbidden { .. } => "Forbidden",
        RegistryError::Version { .. } => "VersionError",
        RegistryError::Signature { .. } => "Mismatch",
        RegistryError::NoSignature { .. } => "NoSignature",
        RegistryError::Taken { .. } => "Taken",
        RegistryError::DomainTaken(_) => "DomainTaken",
        RegistryError::UnknownDomain(_) | RegistryError::Removed(_) => "UnknownDomain",
        RegistryError::Import { .. } => "UnknownImport",
        RegistryError::HostFunction(_) => "HostFunction",
        RegistryError::Full(_) | RegistryError::Memory(_) => "RegistryFull",
        RegistryError::Gone => "RegistryGone",
        RegistryError::TooOften { .. } => "TooOften",
        RegistryError::Restarting(_) => "Restarting",
        _ => "RegistryError",
    };
    plain(py, class, &error)
}

/// Why a name was not bound in another process, or a call of `function` there did not return.
pub fn remote(py: Python<'_>, error: RemoteError, function: Option<&RemoteFunction>) -> PyErr {
    let class = match error {
        RemoteError::Bind(error) => return registry(py, error),
        RemoteError::Call(error) => return call(py, error),
        RemoteError::Fault { kind: ended, ref report } => {
            return make(py, class_of(ended), report, |fields| {
                fields.set_item("kind", kind(ended))?;
                fields.set_item("reason", report)?;
                fields.set_item("domain", function.map(RemoteFunction::domain_name))?;
                fields.set_item("function", function.map(RemoteFunction::name))?;
                match ended {
                    FaultKind::Exit(status) => fields.set_item("status", status),
                    _ => Ok(()),
                }
            });
        }
        RemoteError::Prototype(_) => "SignatureError",
        RemoteError::Connect { .. } | RemoteError::Closed(_) => "Disconnected",
        RemoteError::Late { .. } => "Late",
        _ => "RemoteError",
    };
    plain(py, class, &error)
}

/// Why names are not offered to other processes.
pub fn share(py: Python<'_>, error: &ShareError) -> PyErr {
    let class = match error {
        ShareError::Taken(_) => "Taken",
        ShareError::Prototype { .. } => "SignatureError",
        _ => "RemoteError",
    };
    plain(py, class, error)
}
