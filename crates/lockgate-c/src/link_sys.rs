//! Section "Calls between domains" of the header.
use crate::call::{guarded, made};
use crate::callback_sys::CallbackObject;
use crate::domain_sys::DomainObject;
use crate::handle::Handle;
use crate::policy::{COnFailure, on_failure, policy};
use crate::text_sys::text;
use lockgate::Policy;
use std::ffi::c_char;

/// Answers an import with another domain's export.
///
/// # Safety
/// `import` and `name` are strings or null, `asked` is null or leads to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_domain_link(
    domain: Handle<DomainObject>,
    import: *const c_char,
    server: Handle<DomainObject>,
    name: *const c_char,
    word: u32,
    asked: *const COnFailure,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's strings and structure.
        let (import, name, failure) =
            unsafe { (text(import, "import")?, text(name, "name")?, on_failure(asked.as_ref())) };
        let policy = policy(word, Policy::default())?;
        domain.with(|domain| server.with(|server| Ok(domain.link(import, server, name, policy, failure)?)))
    })
}

/// Makes a function of another domain callable through a pointer.
///
/// # Safety
/// `prototype` is a string or null, `asked` is null or leads to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_callback_to(
    domain: Handle<DomainObject>,
    server: Handle<DomainObject>,
    prototype: *const c_char,
    word: u32,
    asked: *const COnFailure,
) -> Handle<CallbackObject> {
    made(|| {
        // SAFETY: the caller's string and structure.
        let (prototype, failure) = unsafe { (text(prototype, "prototype")?, on_failure(asked.as_ref())) };
        let policy = policy(word, Policy::default())?;
        domain.with(|domain| {
            server.with(|server| {
                Ok(CallbackObject::new(domain.function_pointer(server, prototype, policy, failure)?))
            })
        })
    })
}
