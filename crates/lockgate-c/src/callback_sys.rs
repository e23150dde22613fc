//! Section "Callbacks" of the header.
use crate::call::{freed, guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::error::{Failure, Status};
use crate::handle::{Handle, Handled};
use crate::host_function_sys::{Code, host_function};
use crate::text_sys::bytes;
use lockgate::Callback;
use std::ffi::{OsStr, c_char, c_void};
use std::ptr;

/// What `lg_callback` stands for.
pub struct CallbackObject(Callback);

impl Handled for CallbackObject {
    const WHAT: &'static str = "a callback";
}

impl CallbackObject {
    pub(crate) fn new(callback: Callback) -> CallbackObject {
        CallbackObject(callback)
    }
}

/// Makes a function of the host callable by a domain.
///
/// # Safety
/// As [`host_function`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_callback_new(
    domain: Handle<DomainObject>,
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
) -> Handle<CallbackObject> {
    made(|| {
        // SAFETY: the caller's promises.
        let (_, function) = unsafe { host_function(prototype, function, user)? };
        domain.with(|domain| {
            let full = || {
                let name = domain.name();
                Failure::new(
                    Status::NoPointers,
                    format!("domain {name} has no function pointers left; free some"),
                )
            };
            domain.callback(function).map(CallbackObject::new).ok_or_else(full)
        })
    })
}

/// Takes the function away.
#[unsafe(no_mangle)]
pub extern "C" fn lg_callback_free(callback: Handle<CallbackObject>) -> i32 {
    freed(callback)
}

/// The function pointer, for the module.
#[unsafe(no_mangle)]
pub extern "C" fn lg_callback_pointer(callback: Handle<CallbackObject>) -> *mut c_void {
    value(ptr::null_mut(), || Ok(callback.get()?.0.pointer::<u8>().address() as *mut c_void))
}

/// What the function was made with.
#[unsafe(no_mangle)]
pub extern "C" fn lg_user_data() -> *mut c_void {
    lockgate::user_data().map_or(ptr::null_mut(), |user| user as *mut c_void)
}

/// Whether a module has started the calling thread, or it goes on with a call without its caller.
#[unsafe(no_mangle)]
pub extern "C" fn lg_is_modules_thread() -> i32 {
    lockgate::is_without_caller().into()
}

/// Ends the call of the domain that called the function, whatever the message is: it may quote what the domain has passed, which would decide
/// whether the call is refused.
///
/// # Safety
/// `message` is a string or null.
pub unsafe extern "C" fn lg_end_call(message: *const c_char) -> i32 {
    guarded(|| {
        // SAFETY: the caller's string.
        let message = unsafe { bytes(message, "message") }
            .map_or_else(|_| "(no message)".into(), OsStr::to_string_lossy);
        match lockgate::end_call(message) {
            true => Ok(()),
            false => Err(Failure::argument("only a function that a domain has called can end its call")),
        }
    })
}
