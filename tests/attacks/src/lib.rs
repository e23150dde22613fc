//! The attack suite: hostile modules, objects and hosts' bad days, and what must come of each. README.md says how to add one.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `list.rs`, `expect.rs` | a folder of the suite: what is attempted, how it must end |
//! | `build.rs` | from hostile sources to a module, through the project's own pieces |
//! | `world.rs`, `tripwires.rs` | what the attacker could harm, and whether it has |
//! | `attempt.rs`, `scenarios/` | one attack, in a process of its own |
//! | `suite.rs` | all of them, and the table |
pub mod attempt;
pub mod build;
// What the runtime's own tests share; it uses lockgate, lockgate-toolchain, libc and tempfile.
#[path = "../../../crates/lockgate/tests/common/mod.rs"]
mod common;
pub mod expect;
pub mod list;
pub mod scenarios;
pub mod suite;
pub mod tripwires;
pub mod world;
