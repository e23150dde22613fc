//! What a call's frames only refer to: a function of the host's may end the thread out of all of them, and then nothing that they own goes.
use std::any::Any;
use std::ptr::NonNull;

/// The owner's half.
pub(super) type Owned = Box<dyn Any + Send + Sync>;

/// The half of those frames.
pub(super) struct Lent<T>(NonNull<T>);

// SAFETY: a reference to what may be shared.
unsafe impl<T: Sync> Send for Lent<T> {}

/// Both halves of `value`.
pub(super) fn lend<T: Send + Sync + 'static>(value: T) -> (Owned, Lent<T>) {
    let lent = NonNull::from(Box::leak(Box::new(value)));
    // SAFETY: the box that has been taken apart, once.
    (unsafe { Box::from_raw(lent.as_ptr()) }, Lent(lent))
}

impl<T> Lent<T> {
    /// # Safety
    /// The owner's half lives as long as the reference is used.
    pub unsafe fn get(&self) -> &T {
        // SAFETY: what the caller promises.
        unsafe { self.0.as_ref() }
    }
}
