//! Section "Errors" of the header.
use crate::call::{self, guarded};
use crate::error::{self, Failure, Status};
use crate::fault_sys::CFault;
use std::ffi::c_char;

/// Status of the thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn lg_last_status() -> i32 {
    error::last_status() as i32
}

/// Message of the thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn lg_last_message() -> *const c_char {
    error::last_message()
}

/// Fault of the thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn lg_last_fault() -> *const CFault {
    error::last_fault()
}

/// Backtrace of the thread's last fault.
#[unsafe(no_mangle)]
pub extern "C" fn lg_last_backtrace() -> *const c_char {
    call::value(std::ptr::null(), || Ok(error::last_backtrace()))
}

/// Forgets the thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn lg_clear_error() {
    error::clear();
}

/// Why the thread's last call through a function pointer failed.
#[unsafe(no_mangle)]
pub extern "C" fn lg_take_call_error() -> i32 {
    guarded(|| match lockgate::take_call_error() {
        None => Ok(()),
        Some(error) => Err(Failure::of_pointer(error)),
    })
}

/// Puts the library's signal handlers in front.
#[unsafe(no_mangle)]
pub extern "C" fn lg_claim_signals() -> i32 {
    guarded(|| Ok(lockgate::claim_signals()?))
}

/// Name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn lg_status_name(status: i32) -> *const c_char {
    Status::name(status).as_ptr()
}

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn lg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
