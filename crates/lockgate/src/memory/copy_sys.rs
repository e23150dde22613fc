//! Copies for bindings of other languages, between memory of the host and memory that may go at any moment.
use crate::copy_asm::copy_either_way;
use std::ffi::c_void;

/// Copies `length` bytes upwards, each once, as far as both sides are there; returns how many it could not. Nothing is
/// looked up: ranges are the caller's affair, as is a domain at rest, whose stacks [`Domain::read`](crate::Domain::read) brings back.
///
/// # Safety
/// The host's side is memory that may be used so; the other side lies in the window of a domain that is alive.
#[inline]
pub unsafe fn copy(to: *mut c_void, from: *const c_void, length: usize) -> usize {
    // SAFETY: the caller's; a fault ends the copy.
    unsafe { copy_either_way(to, from, length) }
}
