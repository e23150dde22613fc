//! Strings and memory that a program in C hands over.
use crate::error::Failure;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;

/// The string at `at`, which messages call `what`.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): `NULL`, or not UTF-8.
///
/// # Safety
/// If not null, `at` is a string of C that stays as it is for `'a`.
pub(crate) unsafe fn text<'a>(at: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise.
    let text = unsafe { bytes(at, what)? };
    text.to_str().ok_or_else(|| Failure::argument(format!("{what} is not UTF-8: {}", text.to_string_lossy())))
}

/// The string at `at`, of any bytes, which messages call `what`.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): `NULL`.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn bytes<'a>(at: *const c_char, what: &str) -> Result<&'a OsStr, Failure> {
    if at.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: the caller's promise.
    Ok(OsStr::from_bytes(unsafe { CStr::from_ptr(at) }.to_bytes()))
}

/// Whether there is anything at `at`, where the program says that `count` values are, which messages call `what`. The one look at a pointer
/// and a size: what it lets pass, a slice may be made of.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): `NULL`, but for none; a place where no value of this type can be; more than any
/// memory holds.
fn is_any<T>(at: *const T, count: usize, what: &str) -> Result<bool, Failure> {
    if count == 0 {
        return Ok(false);
    }
    if at.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    if !at.is_aligned() {
        let wanted = align_of::<T>();
        return Err(Failure::argument(format!("{what} is {at:p}, no multiple of {wanted}")));
    }
    let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    if bytes.is_none_or(|bytes| at.addr().checked_add(bytes).is_none()) {
        return Err(Failure::argument(format!(
            "{what}: no memory holds {count} of {} bytes",
            size_of::<T>()
        )));
    }
    Ok(true)
}

/// `count` values at `at`, which messages call `what`. `NULL` is fine for none.
///
/// # Errors
/// As [`is_any`].
///
/// # Safety
/// If not null, `at` leads to `count` values that stay as they are for `'a`.
pub(crate) unsafe fn slice<'a, T>(at: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    match is_any(at, count, what)? {
        false => Ok(&[]),
        // SAFETY: the caller's promise.
        true => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}

/// As [`slice()`], to be written.
///
/// # Safety
/// As there; no other thread uses the values meanwhile.
pub(crate) unsafe fn slice_mut<'a, T>(at: *mut T, count: usize, what: &str) -> Result<&'a mut [T], Failure> {
    match is_any(at, count, what)? {
        false => Ok(&mut []),
        // SAFETY: the caller's promise.
        true => Ok(unsafe { std::slice::from_raw_parts_mut(at, count) }),
    }
}

/// Puts a result where the program wants it.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): `NULL`.
///
/// # Safety
/// If not null, `place` is the program's, aligned, to be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Puts as much of a structure where the program wants it as the program's header knows: the structure may have grown since.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): `NULL`, or larger than the library's, whose end would stay unwritten.
///
/// # Safety
/// If not null, `place` leads to `size` bytes of the program's, to be written.
pub(crate) unsafe fn put_part<T>(place: *mut T, value: T, size: usize, what: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    if size > size_of::<T>() {
        return Err(Failure::argument(format!(
            "{what} has {size} bytes, more than this library knows of: {}",
            size_of::<T>()
        )));
    }
    // SAFETY: the caller's promise; `size` bytes of the value.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place.cast::<u8>(), size) };
    Ok(())
}

/// A descriptor of the program's, for the time of a call.
///
/// # Errors
/// [`Status::Argument`](crate::error::Status::Argument): a negative number.
pub(crate) fn borrow<'a>(descriptor: c_int) -> Result<BorrowedFd<'a>, Failure> {
    if descriptor < 0 {
        return Err(Failure::argument(format!("{descriptor} is no descriptor")));
    }
    // SAFETY: each use asks the kernel, which finds out whether it is open.
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}
