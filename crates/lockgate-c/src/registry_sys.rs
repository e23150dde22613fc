//! Section "Registry" of the header.
use crate::c_string::c_string;
use crate::call::{freed, guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::error::Failure;
use crate::function_sys::FunctionObject;
use crate::handle::{Handle, Handled};
use crate::host_function_sys::{Code, host_function};
use crate::options_sys::OptionsObject;
use crate::principal_sys::PrincipalObject;
use crate::request_sys::{ExportObject, RequestObject};
use crate::text_sys::text;
use lockgate::{Registry, Revoke};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;

/// What `lg_registry` stands for.
pub struct RegistryObject(Registry);

impl Handled for RegistryObject {
    const WHAT: &'static str = "a registry";
}

impl Handle<RegistryObject> {
    /// `LG_PROCESS_REGISTRY` of the header.
    const PROCESS: usize = 2;

    /// The registry. What a constructor that failed has returned is none.
    pub(crate) fn registry(self) -> Result<Registry, Failure> {
        match self.bits() {
            Self::PROCESS => Ok(Registry::process().clone()),
            _ => Ok(self.get()?.0.clone()),
        }
    }
}

/// An empty registry.
#[unsafe(no_mangle)]
pub extern "C" fn lg_registry_new() -> Handle<RegistryObject> {
    made(|| Ok(RegistryObject(Registry::new())))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_registry_free(registry: Handle<RegistryObject>) -> i32 {
    freed(registry)
}

/// Finds imports in a registry.
#[unsafe(no_mangle)]
pub extern "C" fn lg_options_registry(
    options: Handle<OptionsObject>,
    registry: Handle<RegistryObject>,
    principal: Handle<PrincipalObject>,
) -> i32 {
    options.change(|options| Ok(options.registry(&registry.registry()?, principal.principal()?)))
}

/// Exports a function of a domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_registry_export(
    registry: Handle<RegistryObject>,
    domain: Handle<DomainObject>,
    export: Handle<ExportObject>,
) -> i32 {
    guarded(|| {
        let (registry, export) = (registry.registry()?, export.described()?);
        domain.with(|domain| Ok(registry.export(domain, export)?))
    })
}

/// Exports a function of the host.
///
/// # Safety
/// As [`host_function`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_export_host(
    registry: Handle<RegistryObject>,
    prototype: *const c_char,
    function: Option<Code>,
    user: *mut c_void,
    export: Handle<ExportObject>,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promises.
        let (_, function) = unsafe { host_function(prototype, function, user)? };
        Ok(registry.registry()?.export_host(function, export.described()?)?)
    })
}

/// Takes a name back.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_unexport(registry: Handle<RegistryObject>, name: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    guarded(|| Ok(registry.registry()?.unexport(unsafe { text(name, "name")? })?))
}

/// Takes a name and its bindings back.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_revoke(
    registry: Handle<RegistryObject>,
    name: *const c_char,
    stop: c_int,
) -> i32 {
    guarded(|| {
        let calls = if stop != 0 { Revoke::Stop } else { Revoke::Finish };
        // SAFETY: the caller's string.
        Ok(registry.registry()?.revoke(unsafe { text(name, "name")? }, calls)?)
    })
}

/// Ends a domain that exports.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_remove(registry: Handle<RegistryObject>, name: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    guarded(|| Ok(registry.registry()?.remove(unsafe { text(name, "name")? })?))
}

/// Binds for the host.
#[unsafe(no_mangle)]
pub extern "C" fn lg_registry_bind(
    registry: Handle<RegistryObject>,
    principal: Handle<PrincipalObject>,
    request: Handle<RequestObject>,
) -> Handle<FunctionObject> {
    made(|| {
        let (registry, principal, request) =
            (registry.registry()?, principal.principal()?, request.described()?);
        Ok(FunctionObject::new(registry.bind_dynamic(&principal, &request)?))
    })
}

/// Binds for the host, by the client's own prototype.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_bind_as(
    registry: Handle<RegistryObject>,
    principal: Handle<PrincipalObject>,
    request: Handle<RequestObject>,
    prototype: *const c_char,
) -> Handle<FunctionObject> {
    made(|| {
        // SAFETY: the caller's string.
        let signature = unsafe { text(prototype, "prototype")? }.parse()?;
        let (registry, principal, request) =
            (registry.registry()?, principal.principal()?, request.described()?);
        Ok(FunctionObject::new(registry.bind_signature(&principal, &request, &signature)?))
    })
}

/// Answers an import.
///
/// # Safety
/// `import` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_link(
    registry: Handle<RegistryObject>,
    domain: Handle<DomainObject>,
    import: *const c_char,
    principal: Handle<PrincipalObject>,
    request: Handle<RequestObject>,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's string.
        let import = unsafe { text(import, "import")? };
        let (registry, principal, request) =
            (registry.registry()?, principal.principal()?, request.described()?);
        domain.with(|domain| Ok(registry.link(domain, import, &principal, &request)?))
    })
}

/// Puts a new domain in the place of one that exports.
///
/// # Safety
/// `name` is a string or null.
pub unsafe extern "C" fn lg_registry_restart(
    registry: Handle<RegistryObject>,
    name: *const c_char,
) -> Handle<DomainObject> {
    // SAFETY: the caller's string.
    made(|| Ok(DomainObject::new(registry.registry()?.restart(unsafe { text(name, "name")? })?)))
}

/// How often a domain may be restarted.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_limit_restarts(
    registry: Handle<RegistryObject>,
    name: *const c_char,
    most: usize,
    within_ms: u64,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's string.
        let name = unsafe { text(name, "name")? };
        Ok(registry.registry()?.limit_restarts(name, most, Duration::from_millis(within_ms))?)
    })
}

/// What `lg_names` stands for.
pub struct NamesObject(Vec<(CString, u16, u16)>);

impl Handled for NamesObject {
    const WHAT: &'static str = "a list of names";
}

/// What is exported now.
#[unsafe(no_mangle)]
pub extern "C" fn lg_registry_names(registry: Handle<RegistryObject>) -> Handle<NamesObject> {
    made(|| {
        let names = registry.registry()?.names().into_iter();
        Ok(NamesObject(
            names.map(|(name, version)| (c_string(&name), version.major, version.minor)).collect(),
        ))
    })
}

/// Frees the list.
#[unsafe(no_mangle)]
pub extern "C" fn lg_names_free(names: Handle<NamesObject>) -> i32 {
    freed(names)
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn lg_names_count(names: Handle<NamesObject>) -> usize {
    value(0, || Ok(names.get()?.0.len()))
}

/// One of them.
///
/// # Safety
/// `major` and `minor` are null or to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_names_get(
    names: Handle<NamesObject>,
    index: usize,
    major: *mut u16,
    minor: *mut u16,
) -> *const c_char {
    value(ptr::null(), || {
        let names = names.get()?;
        let count = names.0.len();
        let beyond = || Failure::argument(format!("index {index} is beyond the {count} there are"));
        let (name, found_major, found_minor) = names.0.get(index).ok_or_else(beyond)?;
        // SAFETY: the caller's places, if they are any.
        unsafe {
            if let Some(major) = major.as_mut() {
                *major = *found_major;
            }
            if let Some(minor) = minor.as_mut() {
                *minor = *found_minor;
            }
        }
        Ok(name.as_ptr())
    })
}
