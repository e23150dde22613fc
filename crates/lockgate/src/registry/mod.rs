//! The registry: entry points by name, for clients that do not know who serves them (docs/registry.md).
//!
//! `request` what is exported and asked for; `principal` who asks and who may; `state` the names, with `instance`, a domain that exports, and
//! `bound`, what was given to whom; `export` names that come and go; `binder` from a request to a binding; `restart` new instances under
//! old names; `observe` how other processes see what `stats` counts.
mod binder;
mod bound;
mod export;
mod instance;
mod observe;
mod principal;
mod request;
mod restart;
mod state;

pub use crate::error::RegistryError;
pub use crate::version::Version;
pub use observe::{
    Counts, Observation, ObserveError, ObservedBinding, ObservedCalls, ObservedDomain, ObservedExport,
    Observer, observe,
};
pub use principal::{Allow, Principal, Token};
pub use request::{Export, Rebind, Request, Revoke};
pub use state::Registry;
