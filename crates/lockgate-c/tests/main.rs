//! The integration tests as one program, which is built and linked once. `lanes` runs each suite, a module here, in a process of its own.
mod common;
mod complete;
mod fault_handlers;
mod install;
mod layer;
mod lua;
mod manual;
mod programs;
mod sanitizers;
