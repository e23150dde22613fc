//! Errors: one status for each variant of the Rust interface's errors, and what the thread keeps of the last one.
use crate::c_string::c_string;
use crate::fault_sys::{CFault, Ended, FaultReport};
use lockgate::dl::DlError;
use lockgate::registry::ObserveError;
use lockgate::signature::PrototypeError;
use lockgate::syscall;
use lockgate::{
    AllocError, AtThreadEnd, BindError, CallError, CreateError, GrantError, LinkError, LoadError,
    MemoryError, RegistryError, ResetError,
};
use lockgate_programs::share::{RemoteError, ShareError};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::ManuallyDrop;

macro_rules! statuses {
    ($($status:ident = $number:literal $name:literal,)*) => {
        /// `enum lg_status` of the header; a test compares them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        pub(crate) enum Status { $($status = $number,)* }

        impl Status {
            /// Name in C of the status with this number.
            pub fn name(number: i32) -> &'static CStr {
                match number {
                    $($number => $name,)*
                    _ => c"unknown",
                }
            }
        }
    };
}

statuses! {
    Ok = 0 c"LG_OK",
    Argument = 1 c"LG_E_ARGUMENT",
    Handle = 2 c"LG_E_HANDLE",
    Internal = 3 c"LG_E_INTERNAL",
    Read = 10 c"LG_E_READ",
    Parse = 11 c"LG_E_PARSE",
    Rejected = 12 c"LG_E_REJECTED",
    Host = 13 c"LG_E_HOST",
    Memory = 14 c"LG_E_MEMORY",
    Option = 20 c"LG_E_OPTION",
    Limit = 21 c"LG_E_LIMIT",
    Import = 22 c"LG_E_IMPORT",
    Start = 23 c"LG_E_START",
    Missing = 24 c"LG_E_MISSING",
    Signature = 25 c"LG_E_SIGNATURE",
    Prototype = 26 c"LG_E_PROTOTYPE",
    InUse = 27 c"LG_E_IN_USE",
    NoPointers = 28 c"LG_E_NO_POINTERS",
    Directory = 29 c"LG_E_DIRECTORY",
    Stream = 30 c"LG_E_STREAM",
    Join = 31 c"LG_E_JOIN",
    Fault = 40 c"LG_E_FAULT",
    Callback = 41 c"LG_E_CALLBACK",
    SignalHandler = 42 c"LG_E_SIGNAL_HANDLER",
    TooDeep = 43 c"LG_E_TOO_DEEP",
    Forked = 44 c"LG_E_FORKED",
    ThreadEnding = 45 c"LG_E_THREAD_ENDING",
    Handler = 46 c"LG_E_HANDLER",
    Threads = 47 c"LG_E_THREADS",
    Depth = 48 c"LG_E_DEPTH",
    QueueFull = 49 c"LG_E_QUEUE_FULL",
    Cancelled = 50 c"LG_E_CANCELLED",
    Deadline = 51 c"LG_E_DEADLINE",
    CpuTime = 52 c"LG_E_CPU_TIME",
    Killed = 53 c"LG_E_KILLED",
    Revoked = 54 c"LG_E_REVOKED",
    Restarted = 55 c"LG_E_RESTARTED",
    Unresolved = 56 c"LG_E_UNRESOLVED",
    Busy = 57 c"LG_E_BUSY",
    Deadlock = 58 c"LG_E_DEADLOCK",
    Callee = 59 c"LG_E_CALLEE",
    ThreadInit = 60 c"LG_E_THREAD_INIT",
    Gone = 61 c"LG_E_GONE",
    Interrupted = 62 c"LG_E_INTERRUPTED",
    Detached = 63 c"LG_E_DETACHED",
    Inaccessible = 70 c"LG_E_INACCESSIBLE",
    Unterminated = 71 c"LG_E_UNTERMINATED",
    NoAllocator = 72 c"LG_E_NO_ALLOCATOR",
    NoMemory = 73 c"LG_E_NO_MEMORY",
    Empty = 80 c"LG_E_EMPTY",
    Unaligned = 81 c"LG_E_UNALIGNED",
    Private = 82 c"LG_E_PRIVATE",
    NotMapped = 83 c"LG_E_NOT_MAPPED",
    Window = 84 c"LG_E_WINDOW",
    File = 85 c"LG_E_FILE",
    NoRoom = 86 c"LG_E_NO_ROOM",
    TooMany = 87 c"LG_E_TOO_MANY",
    Overlap = 88 c"LG_E_OVERLAP",
    Upgrade = 89 c"LG_E_UPGRADE",
    GrantRevoked = 90 c"LG_E_GRANT_REVOKED",
    Range = 91 c"LG_E_RANGE",
    Lost = 92 c"LG_E_LOST",
    System = 93 c"LG_E_SYSTEM",
    ArenaFull = 94 c"LG_E_ARENA_FULL",
    Block = 95 c"LG_E_BLOCK",
    NotArena = 96 c"LG_E_NOT_ARENA",
    NotOpen = 97 c"LG_E_NOT_OPEN",
    Unknown = 100 c"LG_E_UNKNOWN",
    Late = 101 c"LG_E_LATE",
    Forbidden = 102 c"LG_E_FORBIDDEN",
    Version = 103 c"LG_E_VERSION",
    NoSignature = 104 c"LG_E_NO_SIGNATURE",
    Taken = 105 c"LG_E_TAKEN",
    DomainTaken = 106 c"LG_E_DOMAIN_TAKEN",
    UnknownDomain = 107 c"LG_E_UNKNOWN_DOMAIN",
    HostFunction = 108 c"LG_E_HOST_FUNCTION",
    Full = 109 c"LG_E_FULL",
    TooOften = 111 c"LG_E_TOO_OFTEN",
    Restarting = 112 c"LG_E_RESTARTING",
    Pending = 120 c"LG_E_PENDING",
    NoProcess = 130 c"LG_E_NO_PROCESS",
    Permission = 131 c"LG_E_PERMISSION",
    NoExports = 132 c"LG_E_NO_EXPORTS",
    Layout = 133 c"LG_E_LAYOUT",
    Connect = 140 c"LG_E_CONNECT",
    Closed = 141 c"LG_E_CLOSED",
    Protocol = 142 c"LG_E_PROTOCOL",
    Refused = 143 c"LG_E_REFUSED",
    Listen = 144 c"LG_E_LISTEN",
}

/// An error on its way to the thread that will ask for it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: Status,
    pub message: String,
    pub fault: Option<Ended>,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), fault: None }
    }

    pub fn argument(message: impl Into<String>) -> Failure {
        Failure::new(Status::Argument, message)
    }

    /// Keeps it until the program asks why its last call through a function pointer failed.
    pub fn keep_for_pointer(self) {
        lockgate::failed_elsewhere(Box::new(self));
    }

    /// Why that call failed: what was kept so, or the error of a domain's function.
    pub fn of_pointer(error: CallError) -> Failure {
        match error {
            CallError::Panic(panic) if panic.look(|payload| payload.is::<Failure>()) => {
                let kept = panic.into_payload().downcast::<Failure>();
                kept.map_or_else(|_| Failure::new(Status::Internal, ""), |kept| *kept)
            }
            error => error.into(),
        }
    }
}

/// The last error of a thread.
struct Last {
    status: Status,
    message: CString,
    fault: Option<Box<FaultReport>>,
}

thread_local! {
    /// Dropped as [`AtThreadEnd`] says. (In a box, since static thread-local storage is scarce.)
    static LAST: Cell<Option<ManuallyDrop<Box<Last>>>> = const { Cell::new(None) };
}

static END: AtThreadEnd = AtThreadEnd::new(forget);

extern "C" fn forget(_: *mut c_void) {
    clear();
}

fn replace(last: Option<Last>) {
    drop(LAST.replace(last.map(Box::new).map(ManuallyDrop::new)).map(ManuallyDrop::into_inner));
}

/// Makes `failure` the thread's last error. Strings that the thread was given of the one before are gone.
pub(crate) fn keep(failure: Failure) -> Status {
    let Failure { status, message, fault } = failure;
    let fault = fault.map(|ended| Box::new(FaultReport::new(ended)));
    let last = Last { status, message: c_string(&message), fault };
    END.arm();
    replace(Some(last));
    status
}

/// Forgets the thread's last error.
pub(crate) fn clear() {
    replace(None);
}

/// What the last error is, or `none`. Pointers into it stay good until the next one.
fn last<R>(none: R, read: impl FnOnce(&Last) -> R) -> R {
    let Some(last) = LAST.take() else { return none };
    let read = read(&last);
    LAST.set(Some(last));
    read
}

pub(crate) fn last_status() -> Status {
    last(Status::Ok, |last| last.status)
}

pub(crate) fn last_message() -> *const c_char {
    last(c"".as_ptr(), |last| last.message.as_ptr())
}

pub(crate) fn last_fault() -> *const CFault {
    last(std::ptr::null(), |last| last.fault.as_ref().map_or(std::ptr::null(), |fault| fault.c()))
}

pub(crate) fn last_backtrace() -> *const c_char {
    last(std::ptr::null(), |last| last.fault.as_ref().map_or(std::ptr::null(), |fault| fault.backtrace()))
}

macro_rules! failures {
    ($($error:ty: $($pattern:pat => $status:ident),+;)*) => { $(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                #[allow(unreachable_patterns, reason = "these enumerations may grow")]
                let status = match &error {
                    $($pattern => Status::$status,)+
                    _ => Status::Internal,
                };
                Failure::new(status, error.to_string())
            }
        }
    )* };
}

failures! {
    LoadError: LoadError::Read { .. } => Read, LoadError::Bytes { .. } => Read, LoadError::Parse { .. } => Parse, LoadError::Rejected { .. } => Rejected,
        LoadError::Host(_) => Host, LoadError::Processor { .. } => Host, LoadError::Memory { .. } => Memory;
    BindError: BindError::Missing { .. } => Missing, BindError::Signature { .. } => Signature,
        BindError::NeedsPrototype { .. } => NoSignature, BindError::Prototype(_) => Prototype,
        BindError::Memory(_) => Memory, BindError::Forked(_) => Forked;
    MemoryError: MemoryError::Inaccessible { .. } => Inaccessible, MemoryError::Unterminated { .. } => Unterminated,
        MemoryError::Forked(_) => Forked;
    PrototypeError: _ => Prototype;
    GrantError: GrantError::Empty => Empty, GrantError::Unaligned { .. } => Unaligned,
        GrantError::Private { .. } => Private, GrantError::NotMapped { .. } => NotMapped,
        GrantError::Window { .. } => Window, GrantError::File { .. } | GrantError::Event { .. } => File, GrantError::NoRoom { .. } => NoRoom,
        GrantError::TooMany { .. } => TooMany, GrantError::Overlap { .. } => Overlap,
        GrantError::Upgrade { .. } => Upgrade, GrantError::Revoked { .. } => GrantRevoked,
        GrantError::Range { .. } => Range, GrantError::Lost { .. } => Lost, GrantError::Host(_) => Host,
        GrantError::Full { .. } => ArenaFull, GrantError::Block { .. } => Block, GrantError::NotArena { .. } => NotArena,
        GrantError::NotOpen { .. } => NotOpen, GrantError::Alignment(_) => Argument, GrantError::Closed => Handle,
        GrantError::System { .. } => System, GrantError::Forked { .. } => Forked, GrantError::Inherited => Forked;
    ObserveError: ObserveError::NoProcess(_) => NoProcess, ObserveError::Permission(_) => Permission,
        ObserveError::None(_) => NoExports, ObserveError::Layout { .. } => Layout,
        ObserveError::System { .. } => System;
    ShareError: ShareError::Taken(_) => Taken, ShareError::Prototype { .. } => Prototype, ShareError::Listen { .. } => Listen;
    syscall::GrantError: syscall::GrantError::Stream(_) => Stream, syscall::GrantError::Address { .. } => Argument, _ => Directory;
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Failure {
        let status = match &error {
            CreateError::Space { .. } | CreateError::Threads { .. } => Status::Memory,
            CreateError::Limit { .. } => Status::Limit,
            CreateError::Option { .. } => Status::Option,
            CreateError::UnknownImport { .. } | CreateError::Import { .. } => Status::Import,
            CreateError::Start { source, .. } if matches!(**source, CallError::TooDeep) => Status::TooDeep,
            CreateError::Start { .. } => Status::Start,
            CreateError::Joins { .. } => Status::Join,
            _ => Status::Internal,
        };
        let message = error.to_string();
        let fault = match error {
            CreateError::Start { source, .. } => fault_of(&source),
            _ => None,
        };
        Failure { status, message, fault }
    }
}

impl From<ResetError> for Failure {
    fn from(error: ResetError) -> Failure {
        match error {
            ResetError::Create(error) => error.into(),
            ResetError::Caller(error) => error.into(),
            ResetError::Forked(_) => Failure::new(Status::Forked, error.to_string()),
            error => Failure::new(Status::InUse, error.to_string()),
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Failure {
        let status = match &error {
            LinkError::Import { .. } => Status::Import,
            LinkError::NoSignature(..) | LinkError::NoPrototype(_) => Status::NoSignature,
            LinkError::Pointers(_) => Status::NoPointers,
            _ => Status::Internal,
        };
        match error {
            LinkError::Bind(error) => error.into(),
            error => Failure::new(status, error.to_string()),
        }
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Failure {
        let status = match &error {
            RegistryError::Removed(_) => Status::UnknownDomain,
            RegistryError::Name(_) => Status::Argument,
            RegistryError::Unknown { .. } => Status::Unknown,
            RegistryError::Late { .. } => Status::Late,
            RegistryError::Forbidden { .. } => Status::Forbidden,
            RegistryError::Version { .. } => Status::Version,
            RegistryError::Signature { .. } => Status::Signature,
            RegistryError::NoSignature { .. } => Status::NoSignature,
            RegistryError::Taken { .. } => Status::Taken,
            RegistryError::DomainTaken(_) => Status::DomainTaken,
            RegistryError::UnknownDomain(_) => Status::UnknownDomain,
            RegistryError::Import { .. } => Status::Import,
            RegistryError::HostFunction(_) => Status::HostFunction,
            RegistryError::Full(_) => Status::Full,
            RegistryError::Gone => Status::Unresolved,
            RegistryError::TooOften { .. } => Status::TooOften,
            RegistryError::Restarting(_) => Status::Restarting,
            RegistryError::Memory(_) => Status::Memory,
            _ => Status::Internal,
        };
        match error {
            RegistryError::Bind(error) => error.into(),
            RegistryError::Create(error) => error.into(),
            RegistryError::Caller(error) => error.into(),
            error => Failure::new(status, error.to_string()),
        }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        let status = match &error {
            RemoteError::Fault { .. } => Status::Fault,
            RemoteError::Prototype(_) => Status::Prototype,
            RemoteError::Refused(_) => Status::Refused,
            RemoteError::Connect { .. } => Status::Connect,
            RemoteError::Closed(_) => Status::Closed,
            RemoteError::Late { .. } => Status::Late,
            RemoteError::Nonsense(_) => Status::Protocol,
            _ => Status::Internal,
        };
        match error {
            RemoteError::Bind(error) => error.into(),
            RemoteError::Call(error) => error.into(),
            error => Failure::new(status, error.to_string()),
        }
    }
}

impl From<AllocError> for Failure {
    fn from(error: AllocError) -> Failure {
        let message = error.to_string();
        match error {
            AllocError::NoAllocator(_) => Failure::new(Status::NoAllocator, message),
            AllocError::NoMemory { .. } => Failure::new(Status::NoMemory, message),
            AllocError::Call(error) => error.into(),
            AllocError::Memory(error) => error.into(),
            _ => Failure::new(Status::Internal, message),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        Failure::from(&error)
    }
}

impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Failure {
        let status = match error {
            CallError::Fault(_) => Status::Fault,
            CallError::Panic(_) => Status::Callback,
            CallError::SignalHandler => Status::SignalHandler,
            CallError::TooDeep => Status::TooDeep,
            CallError::Forked => Status::Forked,
            CallError::ThreadEnding => Status::ThreadEnding,
            CallError::Handler(_) => Status::Handler,
            CallError::Threads { .. } => Status::Threads,
            CallError::Depth(_) => Status::Depth,
            CallError::QueueFull { .. } => Status::QueueFull,
            CallError::Cancelled(_) => Status::Cancelled,
            CallError::Deadline(_) => Status::Deadline,
            CallError::Detached { .. } => Status::Detached,
            CallError::CpuTime(_) => Status::CpuTime,
            CallError::Killed(_) => Status::Killed,
            CallError::Interrupted(_) => Status::Interrupted,
            CallError::Revoked(_) => Status::Revoked,
            CallError::Restarted(_) => Status::Restarted,
            CallError::Import { .. } | CallError::Unanswered { .. } => Status::Unresolved,
            CallError::Memory(_) => Status::Memory,
            CallError::Busy(..) | CallError::NotBegun(_) => Status::Busy,
            CallError::Deadlock(_) | CallError::OwnEnd(_) => Status::Deadlock,
            CallError::Callee { .. } => Status::Callee,
            CallError::ThreadInit { .. } => Status::ThreadInit,
            CallError::Gone | CallError::Unloaded(_) => Status::Gone,
            CallError::Arguments(_) => Status::Argument,
            _ => Status::Internal,
        };
        Failure { status, message: error.to_string(), fault: fault_of(error) }
    }
}

impl From<DlError> for Failure {
    fn from(error: DlError) -> Failure {
        let status = match &error {
            DlError::Flags(_) | DlError::StackBytes(_) => Status::Argument,
            DlError::NotFound { .. } | DlError::File { .. } => Status::Read,
            DlError::NotConfined(_) => Status::Parse,
            DlError::Imports { .. } => Status::Import,
            DlError::Join(_) => Status::Join,
            DlError::Busy(_) => Status::Busy,
            DlError::Ring(_) => Status::Deadlock,
            DlError::Handle => Status::Handle,
            DlError::Forked => Status::Forked,
            DlError::NotExposed(..) => Status::NotMapped,
            DlError::Service(..) => Status::Prototype,
            _ => Status::Missing,
        };
        match error {
            DlError::Load(error) => error.into(),
            DlError::Create(error) => error.into(),
            DlError::Bind(error) => error.into(),
            DlError::Alloc(error) => error.into(),
            DlError::Grant(error) => error.into(),
            DlError::Memory(error) => error.into(),
            error => Failure::new(status, error.to_string()),
        }
    }
}

fn fault_of(error: &CallError) -> Option<Ended> {
    error.fault().cloned().map(|fault| Ended::Here(Box::new(fault)))
}
