//! One interpreter: classes and callbacks belong to the one that loaded the library first.
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering};

/// No interpreter's number.
const NONE: i64 = -1;

/// Refuses all interpreters of the process but the first that asks.
///
/// # Errors
/// `ImportError`.
pub fn only_one(_: Python<'_>) -> PyResult<()> {
    static FIRST: AtomicI64 = AtomicI64::new(NONE);
    // SAFETY: the caller is attached to an interpreter.
    let current = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(NONE, current, Ordering::AcqRel, Ordering::Acquire) {
        Err(first) if first != current => {
            let text =
                "lockgate is loaded in another interpreter of this process: use it there, or start a process";
            Err(PyImportError::new_err(text))
        }
        _ => Ok(()),
    }
}
