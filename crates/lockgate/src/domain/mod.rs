//! Domains: memory, code, resources and quota of one instance of a module.
mod api;
mod burial;
mod core;
mod gates_sys;
mod memory;
mod options;
mod place_sys;
mod rest;
mod snapshot;
mod start;

pub use api::{Domain, ProgramEnd};
pub(crate) use burial::{bury, close};
pub(crate) use core::Core;
pub(crate) use gates_sys::Gate;
pub use options::DomainOptions;
