//! Nothing stops a call in these models.
use super::thread_sys::ThreadState;

pub(super) unsafe fn outer_must_stop(_: &ThreadState, _: *const ()) -> bool {
    false
}

pub(super) unsafe fn innermost_must_stop(_: &ThreadState, _: *const ()) -> bool {
    false
}
