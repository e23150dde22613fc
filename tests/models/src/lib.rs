//! The runtime's protocols between threads that do without a lock, or mix atomics with one, under [loom](https://docs.rs/loom):
//! it runs each model in every order of its threads (with a bounded number of preemptions) and with every value that a load may see by the
//! memory model of C11.
//!
//! The files of `crates/lockgate` and `crates/lockgate-kernel` are compiled here as they are; what they get from `crate::sync` is loom's. Modules of this crate
//! with the names of theirs hold what these files use besides. Where one side of a protocol is assembly, the model says in Rust what
//! those instructions do, and names them.
#![cfg(test)]
#![allow(dead_code, missing_docs, reason = "parts of the runtime's own files that no model needs")]

mod binding;
mod call;
mod counted;
mod error;
mod grant_sys;
mod host_function_sys;
mod memory;
mod registry;
mod sync_sys;

use host_function_sys as host_function;
use sync_sys as sync;

/// Runs `model` in every order of its threads with at most so many preemptions.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}
