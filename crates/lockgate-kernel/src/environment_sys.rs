//! What a program believes of its environment: who starts a program with more rights than their own must not choose its files.
use std::ffi::OsString;

/// True for a program that has more rights than its caller (set-user-ID and the like): its environment is not to be trusted.
#[must_use]
pub fn is_privileged() -> bool {
    // SAFETY: a query.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The value of an environment variable; none for a program with [more rights](is_privileged) than its caller.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !is_privileged())
}
