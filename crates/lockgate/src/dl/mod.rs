//! Libraries with dlopen's manners: [`Library::open`] loads a module into a domain of its own, [`Library::function`] gives raw C
//! function pointers into it, [`Library::close`] ends it. The C functions `lg_dlopen`, `lg_dlsym`, … are thin over this.
//!
//! | dlopen | here |
//! |---|---|
//! | a file opened twice is one library, counted | the same |
//! | `RTLD_NOW`, `RTLD_LAZY` | imports are answered before the constructors run, or each at its first call |
//! | `RTLD_GLOBAL` | later libraries, and lazy imports of earlier ones, find its functions |
//! | constructors, destructors | run inside the domain, within [`Options::timeout`] |
//! | `dlclose` while a thread is inside is a crash | the call in progress ends with an error |
//! | a pointer that was looked up before `dlclose` is a crash | calling it is an error |
//! | dependencies are loaded first, and counted | the same, for modules that join a domain ([`Options::into`]) |
//! | a crash in the library is the program's | the call returns what [`Options::failure`] says, and [`take_failure`] tells why |
//!
//! What a library may call of the host are services: [`provide`], [`Library::provide`]. docs/dlopen.md says more.
mod error;
mod expose_sys;
mod fronts;
mod handle;
mod imports;
mod join;
mod library;
mod loaded;
mod mode;
mod opening;
mod options;
mod search;
mod service_sys;
mod table;
mod verdicts;

pub use crate::call::failure_sys::{Failure, last_failure, on_failure, take_failure};
pub(crate) use crate::call::reporter::Reporter;
pub use crate::domain::JoinError;
pub use error::DlError;
pub use handle::{Library, Object, Symbol};
pub use imports::{provide, withdraw};
pub use mode::Mode;
pub use options::{MAX_STACK_BYTES, Options};
pub use search::{search_path, set_search_path};
pub use service_sys::Service;
