//! Section "Exports of a process" of the header.
use crate::c_string::c_string;
use crate::call::{freed, made, value};
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use lockgate::registry::{ObservedBinding, ObservedExport, observe};
use std::ffi::{CString, c_char};
use std::ptr;

/// `struct lg_observed_binding`.
#[repr(C)]
pub struct CBinding {
    client: *const c_char,
    policy: *const c_char,
    is_counted: i32,
    is_timed: i32,
    calls: u64,
    mean_ns: u64,
}

/// `struct lg_observed_export`.
#[repr(C)]
pub struct CExport {
    name: *const c_char,
    version: *const c_char,
    server: *const c_char,
    signature: *const c_char,
    policy: *const c_char,
    allowed: *const c_char,
    bindings: *const CBinding,
    binding_count: usize,
}

/// What `lg_observed` stands for: structures for C, and what they point to.
pub struct ObservedObject {
    exports: Vec<CExport>,
    _bindings: Vec<Vec<CBinding>>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead to what the object itself keeps, and nothing changes it.
unsafe impl Send for ObservedObject {}
// SAFETY: as above.
unsafe impl Sync for ObservedObject {}

impl Handled for ObservedObject {
    const WHAT: &'static str = "what was observed of a process";
}

impl ObservedObject {
    fn new(found: &[ObservedExport]) -> ObservedObject {
        let mut texts = Vec::new();
        let mut text = |text: &str| {
            let text = c_string(text);
            let at = text.as_ptr();
            texts.push(text);
            at
        };
        let mut bindings: Vec<Vec<CBinding>> = Vec::new();
        let mut exports = Vec::new();
        for export in found {
            let mut of_export = Vec::new();
            for ObservedBinding { client, policy, counts } in &export.bindings {
                let mean = counts.and_then(|counts| counts.mean);
                of_export.push(CBinding {
                    client: text(client),
                    policy: text(policy),
                    is_counted: counts.is_some().into(),
                    is_timed: mean.is_some().into(),
                    calls: counts.map_or(0, |counts| counts.calls),
                    mean_ns: mean.map_or(0, |mean| mean.as_nanos() as u64),
                });
            }
            exports.push(CExport {
                name: text(&export.name),
                version: text(&export.version),
                server: text(&export.server),
                signature: text(&export.signature),
                policy: text(&export.policy),
                allowed: text(&export.allowed),
                bindings: of_export.as_ptr(),
                binding_count: of_export.len(),
            });
            bindings.push(of_export);
        }
        ObservedObject { exports, _bindings: bindings, _texts: texts }
    }
}

/// What a process exports now.
#[unsafe(no_mangle)]
pub extern "C" fn lg_observe(pid: u32) -> Handle<ObservedObject> {
    made(|| Ok(ObservedObject::new(&observe(pid)?)))
}

/// Number of exports.
#[unsafe(no_mangle)]
pub extern "C" fn lg_observed_count(observed: Handle<ObservedObject>) -> usize {
    value(0, || Ok(observed.get()?.exports.len()))
}

/// One of them.
#[unsafe(no_mangle)]
pub extern "C" fn lg_observed_get(observed: Handle<ObservedObject>, index: usize) -> *const CExport {
    value(ptr::null(), || {
        let observed = observed.get()?;
        let count = observed.exports.len();
        let beyond = || Failure::argument(format!("index {index} is beyond the {count} there are"));
        Ok(ptr::from_ref(observed.exports.get(index).ok_or_else(beyond)?))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_observed_free(observed: Handle<ObservedObject>) -> i32 {
    freed(observed)
}
