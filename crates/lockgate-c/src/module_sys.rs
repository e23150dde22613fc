//! Section "Modules" of the header.
use crate::c_string::c_string;
use crate::call::{freed, guarded, made, value};
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use crate::text_sys::{put_part, slice, text};
use lockgate::Module;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// What `lg_module` stands for.
pub struct ModuleObject {
    pub(crate) module: Arc<Module>,
    name: CString,
    exports: Vec<Entry>,
    imports: Vec<Entry>,
}

/// A name, and a prototype if there is one.
struct Entry {
    name: CString,
    prototype: Option<CString>,
}

impl Handled for ModuleObject {
    const WHAT: &'static str = "a module";
}

impl ModuleObject {
    pub(crate) fn new(module: Arc<Module>) -> ModuleObject {
        let entry = |(name, prototype): (&str, Option<&str>)| Entry {
            name: c_string(name),
            prototype: prototype.map(c_string),
        };
        let (exports, imports) =
            (module.exports().map(entry).collect(), module.imports().map(entry).collect());
        ModuleObject { name: c_string(module.name()), exports, imports, module }
    }
}

/// Reads and verifies a module.
///
/// # Safety
/// `path` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_module_open(path: *const c_char) -> Handle<ModuleObject> {
    made(|| {
        // SAFETY: the caller's string.
        let path = unsafe { text(path, "path")? };
        Ok(ModuleObject::new(Module::open(path)?))
    })
}

/// Verifies a module in memory.
///
/// # Safety
/// `bytes` leads to `size` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_module_from_bytes(bytes: *const c_void, size: usize) -> Handle<ModuleObject> {
    made(|| {
        // SAFETY: the caller's bytes.
        let bytes = unsafe { slice(bytes.cast::<u8>(), size, "bytes")? };
        Ok(ModuleObject::new(Module::from_bytes(bytes)?))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_free(module: Handle<ModuleObject>) -> i32 {
    freed(module)
}

/// Name of the module.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_name(module: Handle<ModuleObject>) -> *const c_char {
    value(ptr::null(), || Ok(module.get()?.name.as_ptr()))
}

/// Number of exports.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_export_count(module: Handle<ModuleObject>) -> usize {
    value(0, || Ok(module.get()?.exports.len()))
}

/// Name of an export.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_export_name(module: Handle<ModuleObject>, index: usize) -> *const c_char {
    value(ptr::null(), || Ok(entry(&module.get()?.exports, index)?.name.as_ptr()))
}

/// Prototype of an export.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_export_prototype(module: Handle<ModuleObject>, index: usize) -> *const c_char {
    value(ptr::null(), || Ok(prototype(entry(&module.get()?.exports, index)?)))
}

/// Number of imports.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_import_count(module: Handle<ModuleObject>) -> usize {
    value(0, || Ok(module.get()?.imports.len()))
}

/// Name of an import.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_import_name(module: Handle<ModuleObject>, index: usize) -> *const c_char {
    value(ptr::null(), || Ok(entry(&module.get()?.imports, index)?.name.as_ptr()))
}

/// Prototype of an import.
#[unsafe(no_mangle)]
pub extern "C" fn lg_module_import_prototype(module: Handle<ModuleObject>, index: usize) -> *const c_char {
    value(ptr::null(), || Ok(prototype(entry(&module.get()?.imports, index)?)))
}

/// `struct lg_report`.
#[repr(C)]
pub struct CReport {
    text_bytes: u64,
    instructions: u64,
    x87: i32,
    x87_environment: i32,
    mxcsr_write: i32,
    mxcsr_read: i32,
    evex: i32,
    mask: i32,
    ymm: i32,
    callee_saved_written: u32,
    gate_count: u32,
}

/// What the module can read or modify.
///
/// # Safety
/// `report` is null or leads to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_module_report(
    module: Handle<ModuleObject>,
    report: *mut CReport,
    size: usize,
) -> i32 {
    guarded(|| {
        let module = module.get()?;
        let found = module.module.report();
        let found = CReport {
            text_bytes: found.text_bytes,
            instructions: found.instructions,
            x87: found.x87.into(),
            x87_environment: found.x87_environment.into(),
            mxcsr_write: found.mxcsr_write.into(),
            mxcsr_read: found.mxcsr_read.into(),
            evex: found.evex.into(),
            mask: found.mask.into(),
            ymm: found.ymm.into(),
            callee_saved_written: found.callee_saved_written.into(),
            gate_count: found.gates.len() as u32,
        };
        // SAFETY: the caller's structure, of the size that its header says.
        unsafe { put_part(report, found, size, "report") }
    })
}

fn entry(entries: &[Entry], index: usize) -> Result<&Entry, Failure> {
    let beyond = || Failure::argument(format!("index {index} is beyond the {} there are", entries.len()));
    entries.get(index).ok_or_else(beyond)
}

fn prototype(entry: &Entry) -> *const c_char {
    entry.prototype.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}
