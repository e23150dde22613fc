//! The calling thread's own stack.
use super::frame_address;
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

thread_local! {
    /// What [`own`] has said last.
    static OWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The calling thread's own stack, as libc knows it; the first thread's within its limit. libc allocates to tell.
pub(crate) fn own() -> Range<u64> {
    // SAFETY: the attribute object is initialised by pthread_getattr_np and destroyed once.
    let stack = unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0..0;
        }
        let (mut low, mut size) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        low as u64..low as u64 + size as u64
    };
    OWN.set((stack.start, stack.end));
    stack
}

/// The same as it was when it was last asked for: empty if it never was.
pub(crate) fn known() -> Range<u64> {
    OWN.get().0..OWN.get().1
}

/// The same; asks libc if it never was.
pub(crate) fn known_or_own() -> Range<u64> {
    Some(known()).filter(|stack| !stack.is_empty()).unwrap_or_else(own)
}

/// Bytes that are left of it, as far as that is known: 0 on the stack of a coroutine of the host's.
pub(crate) fn left() -> usize {
    let stack = known_or_own();
    let here = frame_address();
    if stack.contains(&here) { (here - stack.start) as usize } else { 0 }
}
