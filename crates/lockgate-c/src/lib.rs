//! Lockgate for programs in C and C++. `include/lockgate.h` is the manual; this crate is what it declares.
//!
//! Every function goes through `call.rs`: errors become the calling thread's last error, a panic never leaves the library. Handles
//! are numbers, not addresses (`handle.rs`), so that stale ones are found out. One file for each section of the header.

mod call;
mod callback_sys;
mod domain_sys;
mod error;
mod error_sys;
mod fault_sys;
mod function_sys;
mod handle;
mod memory_sys;
mod module_sys;
mod options_sys;
mod policy;
mod text_sys;
mod value_sys;
