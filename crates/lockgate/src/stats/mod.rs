//! What other processes read: a table of exports, bindings and domains, with live numbers (docs/registry.md).
pub(crate) mod generation;
pub(crate) mod table_sys;

pub(crate) use table_sys::{Gauge, Row, is_table};

use rustix::io::Errno;
use std::sync::atomic::AtomicU64;

/// Why something is not in the table.
#[derive(Debug)]
pub(crate) enum NoRow {
    /// All rows are taken: so many.
    Full(usize),
    /// The table could not be made.
    Memory(Errno),
}

/// Counts of a binding, where its policy asks for them.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Calls begun.
    pub calls: AtomicU64,
    /// Calls that returned.
    pub returned: AtomicU64,
    /// Sum of their durations, cycles of the time-stamp counter.
    pub cycles: AtomicU64,
}
