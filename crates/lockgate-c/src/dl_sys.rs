//! Section "Safe dlopen" of the header: libraries and symbols.
use crate::c_string::c_string;
use crate::dl_text::{self, dl_value};
use crate::error::{self, Failure};
use crate::handle::Handle;
use crate::host_function_sys::Code;
use crate::options_sys::OptionsObject;
use crate::policy::policy;
use crate::program_asm::lockgate_call_program_from;
use crate::text_sys::{put, text};
use lockgate::Policy;
use lockgate::dl::{self, Library, Mode, Options, Symbol};
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;
use std::sync::{Once, PoisonError, RwLock};
use std::time::Duration;

/// A handle is no address: this bit and the next, which is not one of `handle.rs`, and the library's number.
const MARK: u64 = 3 << 62;
/// `RTLD_NEXT`.
const NEXT: u64 = u64::MAX;

/// `lg_dl_options`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DlOptions {
    domain: Handle<OptionsObject>,
    policy: u32,
    stack_bytes: u32,
    timeout_ms: u32,
    has_failure: c_int,
    failure: u64,
    into: *mut c_void,
}

/// `lg_dl_handler`.
type Handler = unsafe extern "C" fn(library: *const c_char, symbol: *const c_char, user: *mut c_void);

/// The program's handler, and its own argument.
static HANDLER: RwLock<Option<(Handler, usize)>> = RwLock::new(None);

/// Has failures of calls become the calling thread's last error.
fn listen() {
    static ONCE: Once = Once::new();
    let _still = lockgate::still();
    ONCE.call_once(|| dl::on_failure(Some(Box::new(failed))));
}

fn failed(failure: &dl::Failure) {
    error::keep(Failure::from(&failure.error));
    let handler = {
        let _still = lockgate::still();
        *HANDLER.read().unwrap_or_else(PoisonError::into_inner)
    };
    if let Some((handler, user)) = handler {
        let (library, symbol) = (c_string(&failure.library), c_string(&failure.symbol));
        let words = [handler as usize, library.as_ptr() as usize, symbol.as_ptr() as usize, user];
        // SAFETY: what the program promised with the handler. From here on signals come as ever.
        unsafe { lockgate::disturbed(lockgate_call_program_from as *const (), words.as_ptr().cast()) };
    }
}

/// The library that `handle` stands for.
pub(crate) fn library(handle: *mut c_void) -> Library {
    let bits = handle as u64;
    // A number that no library has, if it is no handle.
    Library::from_number(if bits & MARK == MARK { bits & !MARK } else { 0 })
}

pub(crate) fn handle(library: Library) -> *mut c_void {
    (MARK | library.number()) as *mut c_void
}

/// The handle that stands for all libraries open with `RTLD_GLOBAL`.
const ALL: *mut c_void = MARK as *mut c_void;

/// Opens a library.
///
/// # Safety
/// `file` is a string or null.
pub unsafe extern "C" fn lg_dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the caller's string.
    unsafe { lg_dlopen_with(file, flags, ptr::null(), 0) }
}

/// The same with options.
///
/// # Safety
/// `file` is a string or null; `options` leads to `size` bytes.
pub unsafe extern "C" fn lg_dlopen_with(
    file: *const c_char,
    flags: c_int,
    options: *const DlOptions,
    size: usize,
) -> *mut c_void {
    dl_value(ptr::null_mut(), || {
        listen();
        let mode = Mode::from_flags(flags)?;
        if file.is_null() {
            return Ok(ALL);
        }
        // SAFETY: the caller's promises.
        let (file, options) = unsafe { (std::ffi::CStr::from_ptr(file), read_options(options, size)?) };
        Ok(handle(Library::open(OsStr::from_bytes(file.to_bytes()), mode, &options)?))
    })
}

/// # Safety
/// `at` is null, or leads to `size` bytes.
unsafe fn read_options(at: *const DlOptions, size: usize) -> Result<Options, Failure> {
    let options = Options::default();
    if at.is_null() {
        return Ok(options);
    }
    if size != size_of::<DlOptions>() {
        let known = size_of::<DlOptions>();
        return Err(Failure::argument(format!("options of {size} bytes: this library knows {known}")));
    }
    // SAFETY: the caller's promise.
    let given = unsafe { at.read() };
    let mut options = options
        .domain(given.domain.options()?)
        .policy(policy(given.policy, Policy::default())?)
        .stack_bytes(given.stack_bytes);
    if given.timeout_ms != 0 {
        options = options.timeout(Duration::from_millis(given.timeout_ms.into()));
    }
    if given.has_failure != 0 {
        options = options.failure(given.failure);
    }
    if !given.into.is_null() {
        options = options.into(library(given.into));
    }
    Ok(options)
}

/// A function by its name.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    dl_value(ptr::null_mut(), || {
        // SAFETY: the caller's string.
        let name = unsafe { text(name, "symbol")? };
        let symbol = match handle as u64 {
            NEXT => {
                return Err(Failure::argument("RTLD_NEXT: modules do not interpose each other's symbols"));
            }
            0 | MARK => Library::symbol_of_all(name)?,
            _ => library(handle).symbol(name)?,
        };
        match symbol {
            Symbol::Function(code) => Ok(code as *mut c_void),
            // Which of both a name is, the library says; the program, which is going to call it, must not depend on that.
            Symbol::Object(object) => Err(Failure::argument(format!(
                "{name} is data of {} bytes, not a function: lg_dlsym_data",
                object.size
            ))),
        }
    })
}

/// A function by its prototype.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlsym_typed(handle: *mut c_void, prototype: *const c_char) -> Option<Code> {
    // SAFETY: the caller's string.
    dl_value(None, || Ok(code(library(handle).function(unsafe { text(prototype, "prototype")? })?)))
}

/// A function by its address in the library's window.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlfunc(
    handle: *mut c_void,
    address: *const c_void,
    prototype: *const c_char,
) -> Option<Code> {
    dl_value(None, || {
        let prototype = match prototype.is_null() {
            true => None,
            // SAFETY: the caller's string.
            false => Some(unsafe { text(prototype, "prototype")? }),
        };
        Ok(code(library(handle).function_at(address as u64, prototype)?))
    })
}

fn code(pointer: *const ()) -> Option<Code> {
    // SAFETY: a function of C; the caller casts it to its type.
    unsafe { std::mem::transmute::<*const (), Option<Code>>(pointer) }
}

/// An object and its size.
///
/// # Safety
/// `name` is a string or null, `size` null or the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlsym_data(
    handle: *mut c_void,
    name: *const c_char,
    size: *mut usize,
) -> *mut c_void {
    dl_value(ptr::null_mut(), || {
        // SAFETY: the caller's string.
        let object = library(handle).object(unsafe { text(name, "symbol")? })?;
        if !size.is_null() {
            // SAFETY: the caller's place.
            unsafe { put(size, object.size as usize, "size")? };
        }
        Ok(object.address as *mut c_void)
    })
}

/// Closes a library once.
pub extern "C" fn lg_dlclose(handle: *mut c_void) -> c_int {
    dl_value(-1, || {
        if handle != ALL {
            library(handle).close()?;
        }
        Ok(0)
    })
}

/// What went wrong last, once.
#[unsafe(no_mangle)]
pub extern "C" fn lg_dlerror() -> *const c_char {
    dl_text::take()
}

/// Where libraries are looked for.
///
/// # Safety
/// `folders` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlpath(folders: *const c_char) -> c_int {
    dl_value(-1, || {
        // SAFETY: the caller's string.
        dl::set_search_path(unsafe { text(folders, "folders")? });
        Ok(0)
    })
}

/// What failing calls return.
///
/// # Safety
/// `symbol` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_dlfailure(handle: *mut c_void, symbol: *const c_char, value: u64) -> c_int {
    dl_value(-1, || {
        let symbol = match symbol.is_null() {
            true => None,
            // SAFETY: the caller's string.
            false => Some(unsafe { text(symbol, "symbol")? }),
        };
        library(handle).set_failure(symbol, value)?;
        Ok(0)
    })
}

/// Who is told of failing calls.
#[unsafe(no_mangle)]
pub extern "C" fn lg_on_fault(handler: Option<Handler>, user: *mut c_void) {
    listen();
    let _still = lockgate::still();
    *HANDLER.write().unwrap_or_else(PoisonError::into_inner) =
        handler.map(|handler| (handler, user as usize));
}
