//! What `lg_dlerror` says: once, and of the calling thread.
use crate::c_string::c_string;
use crate::call;
use crate::error::{self, Failure};
use lockgate::AtThreadEnd;
use std::cell::RefCell;
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
    /// Dropped as [`AtThreadEnd`] says.
    static TEXT: RefCell<Option<ManuallyDrop<Text>>> = const { RefCell::new(None) };
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
    TEXT.with_borrow_mut(|place| place.get_or_insert_default().pending = Some(text));
    error::keep(failure);
    failed
}

/// The message of the thread's last failure, if nobody has asked for it.
pub(crate) fn take() -> *const c_char {
    TEXT.with_borrow_mut(|place| {
        let text = place.as_mut()?;
        text.given = text.pending.take()?;
        Some(text.given.as_ptr())
    })
    .unwrap_or(std::ptr::null())
}
