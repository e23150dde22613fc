//! What `lg_dlerror` says: once, and of the calling thread.
use crate::call;
use crate::error::{self, Failure, c_string};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Default)]
struct Text {
    /// Not asked for yet.
    pending: Option<CString>,
    /// What the program has been given: good until it asks again.
    given: CString,
}

thread_local! {
    static TEXT: RefCell<Text> = RefCell::default();
}

/// What `body` returns, or `failed`; then the reason is the thread's last error, and what `lg_dlerror` says next.
pub(crate) fn dl_value<R>(failed: R, body: impl FnOnce() -> Result<R, Failure>) -> R {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let failure = match outcome {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(payload) => call::of_panic(payload.as_ref()),
    };
    let text = c_string(&failure.message);
    // A thread that ends has nobody who would ask.
    let _ = TEXT.try_with(|place| place.borrow_mut().pending = Some(text));
    error::keep(failure);
    failed
}

/// The message of the thread's last failure, if nobody has asked for it.
pub(crate) fn take() -> *const c_char {
    let give = |place: &RefCell<Text>| {
        let mut text = place.borrow_mut();
        match text.pending.take() {
            Some(pending) => {
                text.given = pending;
                text.given.as_ptr()
            }
            None => std::ptr::null(),
        }
    };
    TEXT.try_with(give).unwrap_or(std::ptr::null())
}
