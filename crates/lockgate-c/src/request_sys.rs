//! Section "Registry" of the header: what is exported, and what is asked for.
use crate::call::{freed, made};
use crate::described::Described;
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use crate::policy::{COnFailure, call_limit, on_failure, policy};
use crate::principal_sys::{CToken, number};
use crate::text_sys::text;
use lockgate::{Allow, Export, Policy, Rebind, Request, Version};
use std::ffi::{c_char, c_int};
use std::time::Duration;

/// What `lg_export` stands for.
pub type ExportObject = Described<Export>;

impl Handled for ExportObject {
    const WHAT: &'static str = "an export";
}

/// What `lg_request` stands for.
pub type RequestObject = Described<Request>;

impl Handled for RequestObject {
    const WHAT: &'static str = "a request";
}

/// An entry point to be exported.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_export_new(name: *const c_char, major: u16, minor: u16) -> Handle<ExportObject> {
    made(|| {
        // SAFETY: the caller's string.
        let name = unsafe { text(name, "name")? };
        Ok(ExportObject::new(Export::new(name, Version::new(major, minor))))
    })
}

/// Which function of the domain it is.
///
/// # Safety
/// `prototype` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_export_of(export: Handle<ExportObject>, prototype: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    export.change(|export| Ok(export.of(unsafe { text(prototype, "prototype")? })))
}

/// What the server asks for.
#[unsafe(no_mangle)]
pub extern "C" fn lg_export_policy(export: Handle<ExportObject>, word: u32) -> i32 {
    export.change(|export| Ok(export.policy(policy(word, Policy::MUTUAL_TRUST)?)))
}

/// Any principal may bind it.
#[unsafe(no_mangle)]
pub extern "C" fn lg_export_allow_everyone(export: Handle<ExportObject>) -> i32 {
    export.change(|export| Ok(export.allow(Allow::Everyone)))
}

/// A user may.
#[unsafe(no_mangle)]
pub extern "C" fn lg_export_allow_user(export: Handle<ExportObject>, user: u32) -> i32 {
    export.change(|export| Ok(export.allow(Allow::User(number("user", user)?))))
}

/// A group may.
#[unsafe(no_mangle)]
pub extern "C" fn lg_export_allow_group(export: Handle<ExportObject>, group: u32) -> i32 {
    export.change(|export| Ok(export.allow(Allow::Group(number("group", group)?))))
}

/// A domain may.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_export_allow_domain(export: Handle<ExportObject>, name: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    export.change(|export| Ok(export.allow(Allow::Domain(unsafe { text(name, "name")? }.to_owned()))))
}

/// Holders of a token may.
///
/// # Safety
/// `token` is null or leads to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_export_allow_token(export: Handle<ExportObject>, token: *const CToken) -> i32 {
    export.change(|export| {
        // SAFETY: the caller's token.
        let token = unsafe { token.as_ref() }.ok_or_else(|| Failure::argument("token is NULL"))?;
        Ok(export.allow(Allow::Token(token.token())))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_export_free(export: Handle<ExportObject>) -> i32 {
    freed(export)
}

/// A request for a version.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_request_new(
    name: *const c_char,
    major: u16,
    minor: u16,
) -> Handle<RequestObject> {
    made(|| {
        // SAFETY: the caller's string.
        let name = unsafe { text(name, "name")? };
        Ok(RequestObject::new(Request::new(name, Version::new(major, minor))))
    })
}

/// A request for the newest version.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_request_newest(name: *const c_char) -> Handle<RequestObject> {
    // SAFETY: the caller's string.
    made(|| Ok(RequestObject::new(Request::newest(unsafe { text(name, "name")? }))))
}

/// How long to wait for the name.
#[unsafe(no_mangle)]
pub extern "C" fn lg_request_wait(request: Handle<RequestObject>, milliseconds: u64) -> i32 {
    request.change(|request| Ok(request.wait(Duration::from_millis(milliseconds))))
}

/// How long calls may take, and what becomes of one that takes longer.
#[unsafe(no_mangle)]
pub extern "C" fn lg_request_within(
    request: Handle<RequestObject>,
    milliseconds: u64,
    on_expiry: c_int,
) -> i32 {
    request.change(|request| Ok(request.within(call_limit(milliseconds, on_expiry)?)))
}

/// What the client asks for.
#[unsafe(no_mangle)]
pub extern "C" fn lg_request_policy(request: Handle<RequestObject>, word: u32) -> i32 {
    request.change(|request| Ok(request.policy(policy(word, Policy::default())?)))
}

/// Whether the binding goes on after a restart.
#[unsafe(no_mangle)]
pub extern "C" fn lg_request_rebind(request: Handle<RequestObject>, rebind: c_int) -> i32 {
    request.change(|request| Ok(request.rebind(if rebind != 0 { Rebind::Yes } else { Rebind::No })))
}

/// What a domain gets when its call fails.
///
/// # Safety
/// `asked` is null or leads to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_request_on_failure(
    request: Handle<RequestObject>,
    asked: *const COnFailure,
) -> i32 {
    // SAFETY: the caller's structure.
    request.change(|request| Ok(request.on_failure(on_failure(unsafe { asked.as_ref() }))))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_request_free(request: Handle<RequestObject>) -> i32 {
    freed(request)
}
