//! For Rust inside a domain: what the host calls, what it offers, and memory that it shares, as safe types.
//!
//! A module is a crate of the type `cdylib` (or `staticlib`, or a program) that `lockgate cargo build` has built.
//!
//! ```
//! use std::ffi::CStr;
//!
//! lockgate_guest::export! {
//!     /// How many words there are.
//!     fn words(text: &CStr) -> i32 {
//!         text.to_string_lossy().split_whitespace().count() as i32
//!     }
//! }
//! ```
//!
//! The module's notes say `int32_t words(const char *)`, so that the host need not. Functions of the host's are named the same way:
//!
//! ```ignore
//! lockgate_guest::import! {
//!     /// Where messages go.
//!     fn host_log(text: &CStr);
//! }
//! ```
//!
//! A panic that an exported function does not catch ends the host's call with an error that has the panic's message and place.
//! [`Shared`] is memory of a grant, [`Ring`] a queue in it.
#![no_std]
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod declare;
#[allow(unsafe_code)]
mod functions_sys;
#[allow(unsafe_code)]
mod ring_sys;
#[allow(unsafe_code)]
mod shared_sys;
#[allow(unsafe_code)]
mod value_sys;

pub use ring_sys::{Corrupted, Ring};
pub use shared_sys::{Plain, Shared};
pub use value_sys::Value;
