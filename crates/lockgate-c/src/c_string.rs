//! Strings for C.
use std::ffi::CString;

/// `text` for C: up to a zero byte in it, which nothing of ours has.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
