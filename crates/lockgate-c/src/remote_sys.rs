//! Section "Other processes" of the header: the side that calls.
use crate::c_string::c_string;
use crate::call::{freed, guarded, made, value};
use crate::error::{Failure, Status};
use crate::fault_sys::{Ended, Told};
use crate::handle::{Handle, Handled};
use crate::remote_places::Pointer;
use crate::request_sys::RequestObject;
use crate::text_sys::{bytes, slice, slice_mut, text};
use crate::value_sys::{CValue, read_values, result_place};
use lockgate::Value;
use lockgate_programs::share::{Data, Query, Remote, RemoteError, RemoteFunction};
use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr;
use std::time::Duration;

/// What `lg_remote` stands for.
pub struct RemoteObject(Remote);

impl Handled for RemoteObject {
    const WHAT: &'static str = "a connection";
}

/// What `lg_remote_function` stands for.
pub struct RemoteFunctionObject {
    function: RemoteFunction,
    pointer: Pointer,
    prototype: CString,
    domain: CString,
}

impl Handled for RemoteFunctionObject {
    const WHAT: &'static str = "a function of another process";
}

impl RemoteFunctionObject {
    /// Which of the process's pointers to functions of others it has.
    pub(crate) fn place(&self) -> Result<usize, Failure> {
        self.pointer.place(&self.function)
    }
}

/// An argument: a value, or an array of the program's, whose bytes the other process gets. One that the function may write to is a copy until the call has
/// returned: programs may pass one array for several.
pub(crate) enum Argument<'a> {
    Value(Value),
    Read(&'a [u8]),
    Written { copy: Vec<u8>, to: *mut u8 },
}

impl Argument<'_> {
    /// An array of the program's.
    ///
    /// # Errors
    /// [`Status::Argument`]: nothing can be there, or there is no memory for a copy.
    ///
    /// # Safety
    /// If there are any, `at` leads to `size` bytes of the program's until the call has returned, to be written if `is_written`.
    pub unsafe fn array<'a>(at: *mut u8, size: usize, is_written: bool) -> Result<Argument<'a>, Failure> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice(at.cast_const(), size, "an array's bytes")? };
        if !is_written {
            return Ok(Argument::Read(bytes));
        }
        let mut copy = Vec::new();
        let room = copy.try_reserve_exact(size);
        room.map_err(|_| Failure::argument(format!("there is no memory for an array's {size} bytes")))?;
        copy.extend_from_slice(bytes);
        Ok(Argument::Written { copy, to: at })
    }
}

/// Calls; then arrays have what the function has written.
///
/// # Errors
/// Those of [`RemoteFunction::call`].
///
/// # Safety
/// Arrays are as [`Argument::array`] was promised.
pub(crate) unsafe fn call(
    function: &RemoteFunction,
    arguments: &mut [Argument<'_>],
) -> Result<Value, Failure> {
    let mut data: Vec<Data<'_>> = arguments
        .iter_mut()
        .map(|argument| match argument {
            Argument::Value(value) => Data::Value(value.clone()),
            Argument::Read(bytes) => Data::Read(bytes),
            Argument::Written { copy, .. } => Data::Written(copy),
        })
        .collect();
    let result = function.call(&mut data).map_err(|error| failed(function, error))?;
    drop(data);
    for argument in arguments {
        if let Argument::Written { copy, to } = argument {
            // SAFETY: the caller's promise.
            unsafe { slice_mut(*to, copy.len(), "an array's bytes")? }.copy_from_slice(copy);
        }
    }
    Ok(result)
}

/// Why a call did not return, with a report if that was a fault.
fn failed(function: &RemoteFunction, error: RemoteError) -> Failure {
    let RemoteError::Fault { kind, report } = error else { return error.into() };
    let (domain, entry_point) = (function.domain_name().to_owned(), function.name().to_owned());
    let told = Told { kind, report: report.clone(), domain, entry_point };
    Failure { status: Status::Fault, message: report, fault: Some(Ended::Elsewhere(Box::new(told))) }
}

/// Connects to a process that serves.
///
/// # Safety
/// `path` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_remote_connect(path: *const c_char, time_limit_ms: i64) -> Handle<RemoteObject> {
    made(|| {
        // SAFETY: the caller's string.
        let path = Path::new(unsafe { bytes(path, "path")? });
        let remote = match u64::try_from(time_limit_ms) {
            Ok(limit) => Remote::connect_with(path, Duration::from_millis(limit)),
            Err(_) => Remote::connect(path),
        };
        Ok(RemoteObject(remote?))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_remote_free(remote: Handle<RemoteObject>) -> i32 {
    freed(remote)
}

/// Binds a function there.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_remote_bind(
    remote: Handle<RemoteObject>,
    request: Handle<RequestObject>,
    prototype: *const c_char,
) -> Handle<RemoteFunctionObject> {
    made(|| {
        // SAFETY: the caller's string.
        let prototype = unsafe { text(prototype, "prototype")? };
        let (remote, request) = (remote.get()?, request.described()?);
        let function = remote.0.bind(&Query::from(&request), prototype)?;
        let domain = c_string(function.domain_name());
        let prototype = c_string(&function.signature().to_string());
        Ok(RemoteFunctionObject { prototype, domain, pointer: Pointer::default(), function })
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_remote_function_free(function: Handle<RemoteFunctionObject>) -> i32 {
    freed(function)
}

/// Its prototype.
#[unsafe(no_mangle)]
pub extern "C" fn lg_remote_function_prototype(function: Handle<RemoteFunctionObject>) -> *const c_char {
    value(ptr::null(), || Ok(function.get()?.prototype.as_ptr()))
}

/// Name of the domain that serves it.
#[unsafe(no_mangle)]
pub extern "C" fn lg_remote_function_domain(function: Handle<RemoteFunctionObject>) -> *const c_char {
    value(ptr::null(), || Ok(function.get()?.domain.as_ptr()))
}

/// Calls with arguments whose types are known at run time only.
///
/// # Safety
/// As `lg_call`; arrays lead to their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_remote_call(
    function: Handle<RemoteFunctionObject>,
    arguments: *const CValue,
    count: usize,
    result: *mut CValue,
) -> i32 {
    guarded(|| {
        let object = function.get()?;
        let function = &object.function;
        // SAFETY: the caller's array.
        let given = unsafe { slice(arguments, count, "arguments")? };
        let argument = |(number, value): (usize, &CValue)| match value.array() {
            Some((at, size)) => {
                let is_written =
                    function.buffers().iter().any(|buffer| buffer.parameter == number && buffer.is_written);
                // SAFETY: the caller's array.
                unsafe { Argument::array(at, size, is_written) }
            }
            // SAFETY: the caller's value; a structure leads to its bytes.
            None => Ok(Argument::Value(unsafe { read_values(std::slice::from_ref(value))? }.remove(0))),
        };
        let mut arguments = given.iter().enumerate().map(argument).collect::<Result<Vec<_>, _>>()?;
        let signature = function.signature();
        // SAFETY: the caller's place for the result.
        let place = unsafe { result_place(result, &signature.result, Some(signature))? };
        // SAFETY: arrays are the caller's until this returns.
        let returned = unsafe { call(function, &mut arguments)? };
        // SAFETY: as above.
        unsafe { place.put(returned) }
    })
}
