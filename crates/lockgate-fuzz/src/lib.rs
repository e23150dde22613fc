//! What fuzzing asks of Lockgate's parts. `fuzz/` gives these oracles to libFuzzer, `tests/corpus.rs` runs them on stable Rust.
//!
//! An oracle takes any bytes, lets a part of Lockgate work on them, and panics if the outcome is wrong. `docs/appendix/evidence.md`
//! ("Fuzzing") says what each asks, and what came of it.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `target.rs` | what an oracle is, and the list of them |
//! | `targets/` | the oracles, one file each |
//! | `traces.rs` | what is looked for in memory |
//! | `mutate.rs`, `memory_sys.rs` | inputs and limits for stable Rust |
//! | `seeds.rs` | where corpora begin |

pub mod elf;
pub mod link;
pub mod memory_sys;
pub mod model;
pub mod module_file;
pub mod mutate;
pub mod probe_asm;
pub mod seeds;
pub mod target;
pub mod targets;
pub mod traces;

pub use target::Target;
pub use targets::TARGETS;
