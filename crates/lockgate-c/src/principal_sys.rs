//! Section "Registry" of the header: who asks, and who may.
use crate::call::{freed, guarded, made};
use crate::described::Described;
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use crate::text_sys::{put, text};
use lockgate::{Principal, Token};
use std::ffi::c_char;

/// What `lg_principal` stands for.
pub type PrincipalObject = Described<Principal>;

impl Handled for PrincipalObject {
    const WHAT: &'static str = "a principal";
}

/// `struct lg_token`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CToken {
    bits: [u8; 16],
}

impl CToken {
    pub(crate) fn token(self) -> Token {
        Token::from_bytes(self.bits)
    }
}

/// A user or group as the program names it.
///
/// # Errors
/// The number that the kernel's calls take for none.
pub(crate) fn number(what: &str, number: u32) -> Result<u32, Failure> {
    match number {
        u32::MAX => Err(Failure::argument(format!("{number} is no {what}"))),
        _ => Ok(number),
    }
}

impl Handle<PrincipalObject> {
    /// `LG_PROCESS` of the header.
    const PROCESS: usize = 3;

    /// The principal. What a constructor that failed has returned is none: least of all the process.
    pub(crate) fn principal(self) -> Result<Principal, Failure> {
        match self.bits() {
            Self::PROCESS => Ok(Principal::process()),
            _ => self.described(),
        }
    }
}

/// A new token.
///
/// # Safety
/// `token` is null or to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_token_new(token: *mut CToken) -> i32 {
    // SAFETY: the caller's place.
    guarded(|| unsafe { put(token, CToken { bits: Token::new()?.to_bytes() }, "token") })
}

/// A principal without user, group or domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_principal_nobody() -> Handle<PrincipalObject> {
    made(|| Ok(PrincipalObject::new(Principal::nobody())))
}

/// The user and groups that the process runs as.
#[unsafe(no_mangle)]
pub extern "C" fn lg_principal_process() -> Handle<PrincipalObject> {
    made(|| Ok(PrincipalObject::new(Principal::process())))
}

/// A user.
#[unsafe(no_mangle)]
pub extern "C" fn lg_principal_user(user: u32) -> Handle<PrincipalObject> {
    made(|| Ok(PrincipalObject::new(Principal::user(number("user", user)?))))
}

/// A domain.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_principal_domain(name: *const c_char) -> Handle<PrincipalObject> {
    // SAFETY: the caller's string.
    made(|| Ok(PrincipalObject::new(Principal::domain(unsafe { text(name, "name")? }))))
}

/// In a group, too.
#[unsafe(no_mangle)]
pub extern "C" fn lg_principal_in_group(principal: Handle<PrincipalObject>, group: u32) -> i32 {
    principal.change(|principal| Ok(principal.in_group(number("group", group)?)))
}

/// With a token.
///
/// # Safety
/// `token` is null or leads to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_principal_with(principal: Handle<PrincipalObject>, token: *const CToken) -> i32 {
    principal.change(|principal| {
        // SAFETY: the caller's token.
        let token = unsafe { token.as_ref() }.ok_or_else(|| Failure::argument("token is NULL"))?;
        Ok(principal.with(&token.token()))
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_principal_free(principal: Handle<PrincipalObject>) -> i32 {
    freed(principal)
}
