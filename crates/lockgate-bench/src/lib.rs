//! Lockgate's benchmarks. Each module measures one family of metrics and returns them; SPECIFICATION.md says what
//! they promise, [`Report`] prints them as a table or as JSON.
//!
//! Method, for all of them: the sides of a comparison are interleaved in one run, after a warm-up, on one CPU; a metric is the
//! median of many samples and shows its minimum and 99th percentile beside it.

pub mod calls;
pub mod capi;
pub mod command;
pub mod create;
pub mod dlopen;
pub mod evidence;
pub mod ipc;
pub mod overhead;
pub mod postgres;
pub mod python;
pub mod rewrite;
pub mod soak;
pub mod split;
pub mod stubs;
pub mod verify;

mod child_sys;
mod code_size;
mod dlopen_sys;
mod gs_sys;
mod interleave;
mod machine;
mod metric;
mod objects;
mod pin;
mod plot;
mod preset;
mod programs;
mod progress;
mod promise;
mod table;

pub use metric::{Metric, Report};
pub use pin::Pinned;
pub use promise::Promise;
pub use table::Table;

/// How to measure.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Few samples: shows that everything works, proves no promise.
    pub quick: bool,
}
