//! Section "Memory" of the header.
use crate::call::{guarded, value};
use crate::domain_sys::DomainObject;
use crate::error::Failure;
use crate::handle::Handle;
use crate::policy::rights;
use crate::text_sys::{put, slice, slice_mut};
use lockgate::Pointer;
use std::ffi::{c_char, c_void};
use std::ptr;

fn pointer(at: *const c_void) -> Pointer<u8> {
    Pointer::from_address(at as u64)
}

/// Allocates with the module's own allocator.
pub extern "C" fn lg_memory_alloc(domain: Handle<DomainObject>, size: usize) -> *mut c_void {
    value(ptr::null_mut(), || domain.with(|domain| Ok(domain.alloc::<u8>(size)?.address() as *mut c_void)))
}

/// Allocates a copy.
///
/// # Safety
/// `bytes` leads to `size` bytes.
pub unsafe extern "C" fn lg_memory_alloc_copy(
    domain: Handle<DomainObject>,
    bytes: *const c_void,
    size: usize,
) -> *mut c_void {
    value(ptr::null_mut(), || {
        // SAFETY: the caller's bytes.
        let bytes = unsafe { slice(bytes.cast::<u8>(), size, "bytes")? };
        domain.with(|domain| Ok(domain.alloc_slice(bytes)?.address() as *mut c_void))
    })
}

/// Frees what the module's allocator gave.
pub extern "C" fn lg_memory_free(domain: Handle<DomainObject>, at: *mut c_void) -> i32 {
    guarded(|| domain.with(|domain| Ok(domain.free(pointer(at))?)))
}

/// Copies out of the domain.
///
/// # Safety
/// `to` leads to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_memory_read(
    domain: Handle<DomainObject>,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's room.
        let to = unsafe { slice_mut(to.cast::<u8>(), size, "to")? };
        domain.with(|domain| Ok(domain.read_into(pointer(from), to)?))
    })
}

/// Copies between host and domain without a look at handles.
///
/// # Safety
/// One side is the host's and may be used so, the other lies in the window of a domain that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_memory_copy(to: *mut c_void, from: *const c_void, size: usize) -> usize {
    // SAFETY: the caller's promises.
    unsafe { lockgate::copy_memory(to, from, size) }
}

/// Copies into the domain.
///
/// # Safety
/// `from` leads to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_memory_write(
    domain: Handle<DomainObject>,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's bytes.
        let from = unsafe { slice(from.cast::<u8>(), size, "from")? };
        domain.with(|domain| Ok(domain.write_slice(pointer(to), from)?))
    })
}

/// Copies a string out of the domain.
///
/// # Safety
/// `to` leads to `size` bytes that may be written, `length` is null or to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_memory_read_string(
    domain: Handle<DomainObject>,
    to: *mut c_char,
    size: usize,
    from: *const c_void,
    length: *mut usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's room.
        let to = unsafe { slice_mut(to.cast::<u8>(), size, "to")? };
        let limit =
            size.checked_sub(1).ok_or_else(|| Failure::argument("a string needs at least one byte"))?;
        let text = domain.with(|domain| Ok(domain.read_string(pointer(from), limit)?))?;
        let text = text.trust("bytes without a zero, as the program asked for");
        let bytes = text.as_bytes_with_nul();
        to[..bytes.len()].copy_from_slice(bytes);
        match length.is_null() {
            true => Ok(()),
            // SAFETY: the caller's place.
            false => unsafe { put(length, bytes.len() - 1, "length") },
        }
    })
}

/// Whether bytes are the domain's.
#[unsafe(no_mangle)]
pub extern "C" fn lg_memory_check(
    domain: Handle<DomainObject>,
    at: *const c_void,
    size: usize,
    wanted: i32,
) -> i32 {
    guarded(|| {
        let rights = rights(wanted)?;
        domain.with(|domain| Ok(domain.check(pointer(at), size, rights)?))
    })
}
