//! Lockgate's runtime: independently written native modules in one address space, confined to domains of
//! their own, called at function-call speed.
//!
//! ```no_run
//! use lockgate::{Domain, DomainOptions, Module};
//!
//! let module = Module::open("libm.lg")?;
//! let domain = Domain::new(&module, DomainOptions::new())?;
//! let cbrt = domain.bind::<extern "C" fn(f64) -> f64>("cbrt")?;
//! assert_eq!(cbrt.call(27.0)?, 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Folders, in the order of `tests/hygiene/layers.txt`: `symbols/` what debuggers and profilers read; `space/`
//! address space; `module/` loading; `report/` what is told of faults; `call/` the path of a call, readable in execution order; `binding`
//! what connects callers to entry points; [`mod@grant`] memory shared with domains; [`mod@handle`] numbers that name objects; `domain/` domains; [`mod@registry`] entry points by name.
//! The rules that this crate keeps are R1–R29 of `docs/rules.md`.

// They panic where the stream is closed or full (`host/telling.rs`).
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod arities;
mod binding;
mod call;
mod callback_sys;
mod copy_asm;
pub mod dl;
mod domain;
mod dynamic_callback_sys;
mod error;
mod function_sys;
pub mod grant;
pub mod handle;
mod host;
mod host_function_sys;
mod loading;
mod memory;
mod module;
mod nearest;
mod policy;
mod pool;
mod protection;
pub mod registry;
mod report;
pub mod signature;
mod space;
mod stats;
mod symbols;
mod sync;
mod version;
mod walk;
mod workers;

use arities::arities;
use callback_sys as callback;
use function_sys as function;
use host_function_sys as host_function;

pub use binding::{CallLimit, Dynamic, Expiry, Frame, Value, take_call_error};
#[doc(hidden)]
pub use binding::{Registers as CallRegisters, begins_elsewhere, failed_elsewhere};
pub use call::OnFailure;
pub use call::listing::{Base as ProxyBase, ProxyCode};
pub use call::proxies::ProxyListing;
pub use call::signals_sys::claim_signals;
pub use call::thread_sys::{is_modules_thread, is_without_caller};
pub use call::watch::interrupt;
#[doc(hidden)]
pub use call::{Held, disturbed, drop_left, hold, let_go_of_left};
pub use callback::{Callback, HostClosure, end_call, user_data, with_caller};
#[doc(hidden)]
pub use domain::until_reclaimed;
pub use domain::{Domain, DomainOptions, KeptDomain, Program, ProgramEnd, ProgramSignals, Usage};
pub use error::{
    AllocError, BindError, CallError, CreateError, Holder, LinkError, MemoryError, Panic, ResetError,
};
pub use function::{Function, FunctionType};
pub use grant::{Arena, Block, Grant, GrantError, Region, Rights, SharedSlice};
pub use handle::{Handle, HandleError, HandleGone, HandleRights, ObjectInUse};
pub use host::HostError;
#[doc(hidden)]
pub use host::{AtThreadEnd, Owner, PerProcess, Still, Uncancelled, still};
pub use host_function::HostFunction;
pub use loading::read_module;
pub use memory::{Argument, Member, Plain, Pointer, Returned, Tainted, copy as copy_memory};
pub use module::{LoadError, Module};
#[doc(hidden)]
pub use nearest::nearest;
pub use policy::{Policy, Properties};
pub use pool::{Pool, PooledDomain};
pub use registry::{
    Allow, Export, Principal, Rebind, Registry, RegistryError, Request, Revoke, Token, Version,
};
pub use report::{Access, Fault, FaultKind, Registers};
pub use workers::{AsyncCall, Submission, Workers};

/// Emulated system calls, and what a domain is granted of the host.
pub mod syscall {
    pub use lockgate_syscall::{
        Access, COUNTED_TOGETHER, Class, ControlStack, Entry, Exchange, Fault, GrantError, Grants,
        InProgress, Memory, Outcome, PARTS, Placement, Process, Protection, Resize, Sleep, SyscallContext,
        TABLE, Thread, ThreadStart, Threads, dispatch, name,
    };
}

/// What is known of a call that a domain did not return from: functions, lines, who called whom.
pub mod debug {
    pub use crate::report::{Backtrace, DomainFrames, Frame};
    pub use lockgate_symbols::{SourcePlace, Symbols};
}

/// The example there compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
