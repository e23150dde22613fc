//! A value that threads use without a lock and without anything to drop, by a count of its users.
use crate::sync::atomic::{AtomicU32, Ordering};
use std::cell::UnsafeCell;
use std::fmt;

/// The state's highest bit: there is a value, and it may be used. The rest is the number of users, who keep it there when that bit is gone.
const OPEN: u32 = 1 << 31;
/// There is no value, and no thread gives or takes one.
const FREE: u32 = 1 << 30;
/// A thread gives or takes it.
const BUSY: u32 = 1 << 29;
/// The last user of a value that was closed meanwhile has gone: it waits for [`Counted::reap`].
const LEFT: u32 = 0;
/// Most users at once. Those that a jump has taken away count for ever.
const MOST: u32 = 1 << 16;

/// A place for a value, used over and over again, which stays where it is: a thread that finds it may ask it, whatever is in it by then.
///
/// A use may be left by a jump at any instruction: no more is lost than that the place is not free again before it is dropped.
pub struct Counted<T> {
    state: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: users have the value shared, between the states OPEN and LEFT; who is BUSY has it alone, and may be any thread.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

/// What came of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use<R> {
    /// There was nothing to use.
    Gone,
    /// The value is there still.
    Done(R),
    /// The value was closed meanwhile, and no other thread uses it: it waits for [`Counted::reap`].
    Last(R),
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Counted { state: AtomicU32::new(FREE), value: UnsafeCell::new(None) }
    }
}

impl<T> Counted<T> {
    /// Puts `value` into a place that is free; gives it back where it is not.
    ///
    /// # Errors
    /// The value.
    pub fn fill(&self, value: T) -> Result<(), T> {
        if self.state.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(value);
        }
        // SAFETY: ours alone while it is BUSY.
        unsafe { *self.value.get() = Some(value) };
        self.state.store(OPEN, Ordering::Release);
        Ok(())
    }

    /// No thread begins to use the value any more. It is given back at once if none uses it, else by [`reap`](Counted::reap).
    pub fn close(&self) -> Option<T> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & OPEN != 0 {
            let next = if state == OPEN { BUSY } else { state & !OPEN };
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if next == BUSY => return self.take(),
                Ok(_) => return None,
                Err(other) => state = other,
            }
        }
        None
    }

    /// Takes what its last user has left, if that is so.
    pub fn reap(&self) -> Option<T> {
        let left = self.state.compare_exchange(LEFT, BUSY, Ordering::Acquire, Ordering::Relaxed);
        if left.is_ok() { self.take() } else { None }
    }

    fn take(&self) -> Option<T> {
        // SAFETY: ours alone while it is BUSY.
        let value = unsafe { (*self.value.get()).take() };
        self.state.store(FREE, Ordering::Release);
        value
    }

    /// Runs `used` with the value. It neither locks nor allocates, and has nothing to drop.
    pub fn with<R: Copy>(&self, used: impl FnOnce(&T) -> R) -> Use<R> {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & OPEN == 0 || state & !OPEN >= MOST {
                return Use::Gone;
            }
            let entered =
                self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed);
            match entered {
                Ok(_) => break,
                Err(other) => state = other,
            }
        }
        // SAFETY: no thread takes or changes the value before we have left.
        let value = unsafe { (*self.value.get()).as_ref() };
        let Some(value) = value else { return Use::Gone }; // (which is not so)
        let result = used(value);
        // What was done with the value is done.
        if self.state.fetch_sub(1, Ordering::AcqRel) == LEFT + 1 {
            Use::Last(result)
        } else {
            Use::Done(result)
        }
    }
}

impl<T> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({:#x})", self.state.load(Ordering::Relaxed))
    }
}
