//! Lockgate for programs in C and C++. `lockgate.h` is the manual; this crate is what it declares.
//!
//! Every function goes through `call.rs`: errors become the calling thread's last error, a panic never leaves the library. Those that call
//! domains come in by `entry_asm.rs`, where the library learns what a jump of the program's has left. Handles
//! are numbers, not addresses (`handle.rs`), so that stale ones are found out. One file for each section of the header.

mod arena_sys;
mod async_sys;
mod c_string;
mod call;
mod callback_sys;
mod described;
mod dl_memory_sys;
mod dl_sys;
mod dl_text;
mod domain_sys;
mod entry_asm;
mod error;
mod error_sys;
mod fault_sys;
mod function_sys;
mod handle;
mod host_function_sys;
mod link_sys;
pub mod manual;
mod memory_sys;
mod module_sys;
mod observe_sys;
mod offer_sys;
mod options_sys;
mod policy;
mod pool_sys;
mod principal_sys;
mod program_asm;
mod program_sys;
mod region_sys;
mod registry_sys;
mod remote_places;
mod remote_pointer_sys;
mod remote_sys;
mod request_sys;
mod text_sys;
mod value_sys;
