//! What a program's user may ask the library for through the environment (docs/debugging.md). Programs with more rights than
//! their user are not asked: nothing counts there.
use super::Once;
use std::ffi::CStr;

/// `LOCKGATE_MEASURE=1`: every domain's CPU time is measured, and every binding's calls are counted and timed.
pub(crate) fn measures() -> bool {
    static SET: Once<bool> = Once::new();
    *SET.get(|| is_set(c"LOCKGATE_MEASURE"))
}

/// `LOCKGATE_PERF_MAP=1`: code is listed for profilers.
pub(crate) fn perf_map() -> bool {
    static SET: Once<bool> = Once::new();
    *SET.get(|| is_set(c"LOCKGATE_PERF_MAP"))
}

fn is_set(name: &CStr) -> bool {
    // SAFETY: the value is read at once; who changes the environment meanwhile breaks every reader of it.
    unsafe {
        let value = secure_getenv(name.as_ptr());
        !value.is_null() && !matches!(CStr::from_ptr(value).to_bytes(), b"" | b"0")
    }
}

unsafe extern "C" {
    /// NULL in a program with more rights than its user (glibc 2.17, musl 1.1.22).
    fn secure_getenv(name: *const std::ffi::c_char) -> *const std::ffi::c_char;
}
