//! What `lg_dlerror` says: once, and of the calling thread.
use crate::c_string::c_string;
use crate::call;
use crate::error::{self, Failure};
use lockgate::AtThreadEnd;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;

#[derive(Default)]
struct Text {
    /// Not asked for yet.
    pending: Option<CString>,
    /// What the program has been given: good until it asks again.
    given: CString,
}

thread_local! {
    /// Dropped as [`AtThreadEnd`] says. (In a box, since static thread-local storage is scarce.)
    static TEXT: Cell<Option<ManuallyDrop<Box<Text>>>> = const { Cell::new(None) };
}

static END: AtThreadEnd = AtThreadEnd::new(forget);

extern "C" fn forget(_: *mut c_void) {
    drop(TEXT.take().map(ManuallyDrop::into_inner));
}

/// What `body` returns, or `failed`; then the reason is the thread's last error, and what `lg_dlerror` says next.
pub(crate) fn dl_value<R>(failed: R, body: impl FnOnce() -> Result<R, Failure>) -> R {
    let failure = match call::catch(body) {
        Ok(value) => return value,
        Err(failure) => failure,
    };
    let text = c_string(&failure.message);
    END.arm();
    let mut place = TEXT.take().unwrap_or_default();
    place.pending = Some(text);
    TEXT.set(Some(place));
    error::keep(failure);
    failed
}

/// The message of the thread's last failure, if the program has not asked for it.
pub(crate) fn take() -> *const c_char {
    let Some(mut text) = TEXT.take() else { return std::ptr::null() };
    let pending = text.pending.take().map(|pending| {
        text.given = pending;
        text.given.as_ptr()
    });
    TEXT.set(Some(text));
    pending.unwrap_or(std::ptr::null())
}
