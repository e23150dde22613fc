//! Functions of the program's that domains call.
use crate::error::Failure;
use crate::text_sys::text;
use lockgate::HostFunction;
use lockgate::signature::Signature;
use std::ffi::{c_char, c_void};

/// `lg_code`: a function of C whose type a prototype says.
pub type Code = unsafe extern "C" fn();

/// A function of the program's with its name.
///
/// # Errors
/// A prototype that is none; no function.
///
/// # Safety
/// `prototype` is a string or null, `function` a function of that type that any thread may call as long as domains have it.
pub(crate) unsafe fn host_function(
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> Result<(String, HostFunction), Failure> {
    // SAFETY: the caller's string.
    let signature: Signature = unsafe { text(prototype, "prototype")? }.parse()?;
    let function = function.ok_or_else(|| Failure::argument("function is NULL"))?;
    // SAFETY: the caller's promise.
    let made = unsafe { HostFunction::from_c(function as *const (), &signature, user as usize)? };
    Ok((signature.name, made))
}
