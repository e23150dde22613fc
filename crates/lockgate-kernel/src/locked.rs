//! Locks that outlive a panic of their holder.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic under its lock: what the library keeps behind it is right between any two of its steps, and a panic must not
/// end all later calls. (Files that models compile say the same by themselves.)
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
