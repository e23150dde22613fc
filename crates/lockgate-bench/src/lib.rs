//! Lockgate's benchmarks. Each module measures one family of metrics and returns them; SPECIFICATION.md says what
//! they target, [`Report`] prints them as a table or as JSON.
//!
//! Method, for all of them: the sides of a comparison are interleaved in one run, after a warm-up, on one CPU; a metric is the
//! median of many samples and shows its minimum and 99th percentile beside it.

// What only other families use.
#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports))]

pub mod calls;
#[cfg(feature = "all")]
pub mod capi;
pub mod command;
#[cfg(feature = "all")]
pub mod create;
#[cfg(feature = "all")]
pub mod dlopen;
#[cfg(feature = "all")]
pub mod evidence;
#[cfg(feature = "all")]
pub mod ipc;
#[cfg(feature = "all")]
pub mod languages;
#[cfg(feature = "all")]
pub mod overhead;
#[cfg(feature = "all")]
pub mod postgres;
#[cfg(feature = "all")]
pub mod python;
#[cfg(feature = "all")]
pub mod rewrite;
#[cfg(feature = "all")]
pub mod running;
#[cfg(feature = "all")]
pub mod soak;
#[cfg(feature = "all")]
pub mod split;
#[cfg(feature = "all")]
pub mod stubs;
#[cfg(feature = "all")]
pub mod verify;

#[cfg(feature = "all")]
mod child_sys;
#[cfg(feature = "all")]
mod code_size;
mod contexts_sys;
mod dlopen_sys;
mod gs_sys;
#[cfg(feature = "all")]
mod installed;
mod interleave;
mod machine;
mod metric;
mod objects;
mod options;
mod pin;
#[cfg(feature = "all")]
mod plot;
mod preset;
#[cfg(feature = "all")]
mod programs;
mod progress;
pub mod screen;
#[cfg(feature = "all")]
mod sides;
mod signals_sys;
mod table;
mod target;

#[cfg(feature = "all")]
pub use installed::install;
pub use metric::{Metric, Report};
pub use options::Options;
pub use pin::Pinned;
pub use table::Table;
pub use target::Target;
