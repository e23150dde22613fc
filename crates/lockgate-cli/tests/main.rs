//! The integration tests as one program, which is built and linked once. `lanes` runs each suite, a module here, in a process of its own.
mod bindings;
mod build_systems;
mod cargo;
mod cc;
mod commands;
mod common;
mod compilers;
mod cxx;
mod differ;
mod examples;
mod gdb;
mod hammer;
#[path = "common/installed.rs"]
mod installed;
mod perf;
mod programs;
#[path = "common/reading.rs"]
mod reading;
mod readme;
mod split;
mod stubs;
mod stubs_reading;
mod threads;
mod traps;
mod up;
mod up_calls;
mod up_many;
mod up_share;
