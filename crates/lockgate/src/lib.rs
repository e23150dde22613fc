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
//! Folders: [`mod@syscall`] emulated system calls; `call/` the path of a call, readable in execution order; `space/`
//! address space; `domain/` domains; [`mod@grant`] memory shared with them; [`mod@registry`] entry points by name; `module/` loading; `signature/` C
//! signatures; `debug/` names for addresses.
//! The rules that this crate keeps are R1–R26 of `docs/rules.md`.

mod binding;
mod call;
mod callback_sys;
mod copy_asm;
pub mod debug;
pub mod dl;
mod domain;
mod dynamic_callback_sys;
mod error;
mod fault;
mod function_sys;
pub mod grant;
mod host;
mod memory;
mod module;
mod nearest;
mod policy;
mod pool;
pub mod registry;
pub mod signature;
mod space;
mod sync_sys;
pub mod syscall;
mod workers;

use callback_sys as callback;
use function_sys as function;
use sync_sys as sync;

pub use binding::{Dynamic, Frame, OnFailure, Value, take_call_error};
pub use call::listing::{Base as ProxyBase, ProxyCode};
pub use call::shape::ProxyListing;
pub use call::signals_sys::claim_signals;
pub use call::thread_sys::interrupt;
pub use callback::{Callback, HostClosure, HostFunction, end_call, user_data, with_caller};
pub use domain::is_modules_thread;
pub use domain::{Domain, DomainOptions, Kept, ProgramEnd, Usage};
pub use error::{
    AllocError, BindError, CallError, CreateError, HostError, LinkError, MemoryError, Panic, ResetError,
};
pub use fault::{Access, Fault, FaultKind, Registers};
pub use function::{Function, FunctionType};
pub use grant::{Grant, GrantError, Region, Rights, SharedSlice};
#[doc(hidden)]
pub use host::{AtThreadEnd, Owner, PerProcess, Still, Uncancelled, still};
pub use memory::{Argument, Member, Plain, Pointer, Returned, Tainted, copy as copy_memory};
pub use module::{LoadError, Module, read_module};
#[doc(hidden)]
pub use nearest::nearest;
pub use policy::{Policy, Properties};
pub use pool::{Pool, PooledDomain};
pub use registry::{
    Allow, Export, Heal, Principal, Registry, RegistryError, Request, Revoke, Token, Version,
};
pub use workers::{AsyncCall, Submission, Workers};
