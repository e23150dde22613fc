//! Section "Functions" of the header.
use crate::c_string::c_string;
use crate::call::{freed, guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::handle::{Handle, Handled};
use crate::host_function_sys::Code;
use crate::policy::{call_limit, policy, word};
use crate::text_sys::{put, slice, text};
use crate::value_sys::{CValue, read_values, result_place};
use lockgate::{Dynamic, Policy};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

/// What `lg_function` stands for.
pub struct FunctionObject {
    pub(crate) dynamic: Dynamic,
    prototype: CString,
}

impl Handled for FunctionObject {
    const WHAT: &'static str = "a function";
}

impl FunctionObject {
    pub(crate) fn new(dynamic: Dynamic) -> FunctionObject {
        FunctionObject { prototype: c_string(&dynamic.signature().to_string()), dynamic }
    }
}

/// Binds a function of a domain.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_bind(
    domain: Handle<DomainObject>,
    prototype: *const c_char,
    asked: u32,
) -> Handle<FunctionObject> {
    made(|| {
        // SAFETY: the caller's string.
        let prototype = unsafe { text(prototype, "prototype")? };
        let policy = policy(asked, Policy::default())?;
        domain.with(|domain| Ok(FunctionObject::new(domain.bind_dynamic_with(prototype, policy)?)))
    })
}

/// Binds a function of a domain, for calls within a time limit of the caller's own.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_bind_within(
    domain: Handle<DomainObject>,
    prototype: *const c_char,
    asked: u32,
    milliseconds: u64,
    on_expiry: c_int,
) -> Handle<FunctionObject> {
    made(|| {
        // SAFETY: the caller's string.
        let prototype = unsafe { text(prototype, "prototype")? };
        let (policy, limit) = (policy(asked, Policy::default())?, call_limit(milliseconds, on_expiry)?);
        domain.with(|domain| Ok(FunctionObject::new(domain.bind_dynamic_within(prototype, policy, limit)?)))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_function_free(function: Handle<FunctionObject>) -> i32 {
    freed(function)
}

/// The function as a C function pointer.
#[unsafe(no_mangle)]
pub extern "C" fn lg_function_pointer(function: Handle<FunctionObject>) -> Option<Code> {
    value(None, || {
        let code = function.get()?.dynamic.as_ptr();
        // SAFETY: a thunk is a function of C; the program gives it the type of the prototype before it calls it.
        Ok(Some(unsafe { std::mem::transmute::<*const (), Code>(code) }))
    })
}

/// Prototype of the function.
#[unsafe(no_mangle)]
pub extern "C" fn lg_function_prototype(function: Handle<FunctionObject>) -> *const c_char {
    value(ptr::null(), || Ok(function.get()?.prototype.as_ptr()))
}

/// What is enforced.
#[unsafe(no_mangle)]
pub extern "C" fn lg_function_policy(function: Handle<FunctionObject>) -> u32 {
    value(0, || Ok(word(function.get()?.dynamic.policy())))
}

/// The proxy's code.
///
/// # Safety
/// `size` is null or to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_function_proxy(
    function: Handle<FunctionObject>,
    size: *mut usize,
) -> *const c_void {
    value(ptr::null(), || {
        let function = function.get()?;
        let bytes = function.dynamic.proxy().bytes;
        // SAFETY: the caller's place.
        unsafe { put(size, bytes.len(), "size")? };
        Ok(bytes.as_ptr().cast())
    })
}

/// Calls with arguments whose types are known at run time only.
///
/// # Safety
/// `arguments` leads to `count` values, `result` is null or one that says what is expected.
pub unsafe extern "C" fn lg_call(
    function: Handle<FunctionObject>,
    arguments: *const CValue,
    count: usize,
    result: *mut CValue,
) -> i32 {
    guarded(|| {
        let function = function.get()?;
        // SAFETY: the caller's array; structures among them lead to their bytes.
        let arguments = unsafe { read_values(slice(arguments, count, "arguments")?)? };
        let signature = function.dynamic.signature();
        // SAFETY: the caller's place for the result.
        let place = unsafe { result_place(result, &signature.result, Some(signature))? };
        let returned = function.dynamic.call(&arguments)?;
        // SAFETY: as above.
        unsafe { place.put(returned) }
    })
}
