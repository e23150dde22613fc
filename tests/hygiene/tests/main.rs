//! The integration tests as one program, which is built and linked once. `lanes` runs each suite, a module here, in a process of its own.
mod calls;
mod errors;
mod evidence;
mod fetched_once;
mod lints;
mod mutants;
mod packages;
mod setup;
mod tree;
mod watchdog;
