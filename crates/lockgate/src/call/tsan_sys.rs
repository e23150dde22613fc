//! Order between threads that ThreadSanitizer cannot see: bindings go from thread to thread through words that assembly reads, behind the
//! release stores of Rust's side (x86 orders loads). Calls of these tell it; without the sanitizer they are nothing.

use super::layout::BindingHeader;

#[cfg(lockgate_sanitized)]
unsafe extern "C" {
    fn __tsan_acquire(address: *mut std::ffi::c_void);
    fn __tsan_release(address: *mut std::ffi::c_void);
}

/// The binding is made: from now on threads find it.
pub(crate) fn released(binding: &BindingHeader) {
    let _ = binding;
    #[cfg(lockgate_sanitized)]
    // SAFETY: the address is a key, nothing is read or written there.
    unsafe {
        __tsan_release(std::ptr::from_ref(binding).cast_mut().cast());
    }
}

/// The calling thread's proxy has found it.
pub(crate) fn acquired(binding: &BindingHeader) {
    let _ = binding;
    #[cfg(lockgate_sanitized)]
    // SAFETY: as above.
    unsafe {
        __tsan_acquire(std::ptr::from_ref(binding).cast_mut().cast());
    }
}
