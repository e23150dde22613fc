//! Section "Safe dlopen" of the header: memory and services.
use crate::dl_sys::{handle, library};
use crate::dl_text::dl_value;
use crate::error::Failure;
use crate::host_function_sys::Code;
use crate::text_sys::{slice, slice_mut, text};
use lockgate::Rights;
use lockgate::dl::{self, Library, Service};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// Room on a library's heap.
pub extern "C" fn lg_malloc(handle: *mut c_void, size: usize) -> *mut c_void {
    dl_value(ptr::null_mut(), || Ok(library(handle).allocate(size)? as *mut c_void))
}

/// Frees what is on a library's heap.
pub extern "C" fn lg_free(handle: *mut c_void, at: *mut c_void) -> c_int {
    dl_value(-1, || {
        if !at.is_null() {
            library(handle).free(at as u64)?;
        }
        Ok(0)
    })
}

/// Copies out of a library's memory.
///
/// # Safety
/// `to` leads to `size` bytes of the program's, which no other thread uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_peek(
    handle: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> c_int {
    dl_value(-1, || {
        // SAFETY: the caller's promise.
        library(handle).read(from as u64, unsafe { slice_mut(to.cast(), size, "to")? })?;
        Ok(0)
    })
}

/// Copies into a library's memory.
///
/// # Safety
/// `from` leads to `size` bytes of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_poke(
    handle: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> c_int {
    dl_value(-1, || {
        // SAFETY: the caller's promise.
        library(handle).write(to as u64, unsafe { slice(from.cast(), size, "from")? })?;
        Ok(0)
    })
}

/// Makes a service callable through a pointer.
///
/// # Safety
/// As [`lg_gate`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlcallback(
    handle: *mut c_void,
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> *mut c_void {
    dl_value(ptr::null_mut(), || {
        // SAFETY: the caller's promises.
        let service = unsafe { service(prototype, function, user)? };
        Ok(library(handle).callback(&service)? as *mut c_void)
    })
}

/// # Safety
/// As [`lg_gate`].
unsafe fn service(
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> Result<Service, Failure> {
    // SAFETY: the caller's string.
    let prototype = unsafe { text(prototype, "prototype")? };
    let function = function.ok_or_else(|| Failure::argument("function is NULL"))?;
    // SAFETY: the caller's promise.
    Ok(unsafe { Service::new(prototype, function as *const (), user as usize)? })
}

/// Exposes shared pages of the program's to a library.
///
/// # Safety
/// The library will read them, and write them if it may, at any time; the program does not unmap them before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_expose(
    handle: *mut c_void,
    at: *mut c_void,
    length: usize,
    rights: c_int,
) -> *mut c_void {
    dl_value(ptr::null_mut(), || {
        let rights = match rights {
            1 => Rights::Read,
            3 => Rights::ReadWrite,
            _ => return Err(Failure::argument("rights: LG_READ or LG_READ_WRITE")),
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { library(handle).expose(at.cast(), length as u64, rights)? } as *mut c_void)
    })
}

/// Takes them back.
#[unsafe(no_mangle)]
pub extern "C" fn lg_hide(handle: *mut c_void, at: *mut c_void) -> c_int {
    dl_value(-1, || {
        library(handle).hide(at.cast())?;
        Ok(0)
    })
}

/// `LG_ALL` of the header: all libraries. (`NULL` is what an open that failed has returned.)
const ALL: usize = 4;

/// Offers a service.
///
/// # Safety
/// `prototype` is a string or null, `function` a function of that type, which any thread may call for as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_gate(
    handle: *mut c_void,
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> c_int {
    dl_value(-1, || {
        // SAFETY: the caller's promises.
        let service = unsafe { service(prototype, function, user)? };
        match handle as usize {
            ALL => dl::provide(service),
            _ => library(handle).provide(service)?,
        }
        Ok(0)
    })
}

/// Takes a service for all back.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_ungate(name: *const c_char) -> c_int {
    dl_value(-1, || {
        // SAFETY: the caller's string.
        let name = unsafe { text(name, "name")? };
        match dl::withdraw(name) {
            true => Ok(0),
            false => Err(Failure::argument(format!("there is no service {name:?} for all libraries"))),
        }
    })
}

/// The library that has called the service in which the thread is.
pub extern "C" fn lg_caller() -> *mut c_void {
    Library::caller().map_or(ptr::null_mut(), handle)
}

/// The library whose memory an address is.
#[unsafe(no_mangle)]
pub extern "C" fn lg_owner(at: *const c_void) -> *mut c_void {
    Library::of_address(at as u64).map_or(ptr::null_mut(), handle)
}
