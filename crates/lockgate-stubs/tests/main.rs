//! The integration tests as one program, which is built and linked once. `lanes` runs each suite, a module here, in a process of its own.
mod agreements;
mod outputs;
mod refusals;
