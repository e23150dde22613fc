//! Locks that outlive a panic of their holder.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`; data behind it stay consistent even if a holder panicked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
