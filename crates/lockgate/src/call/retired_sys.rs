//! Bindings that threads may come to by stale pointers: whether they are there still.
use super::info::Info;
use super::layout::BindingHeader;
use crate::host::PerProcess;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

/// Held while the Rust side of a header is looked at by threads that may come through a stale pointer.
static RETIRING: PerProcess<RwLock<()>> = PerProcess::new(|| RwLock::new(()));

/// What `look` finds in the binding with this header; `None` if that is gone.
pub(super) fn living<T>(header: &BindingHeader, look: impl FnOnce(&Info) -> T) -> Option<T> {
    let _guard = RETIRING.read().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the information of a header that is not retired lives as long as the lock is held.
    (!header.retired.load(Ordering::Acquire)).then(|| look(unsafe { &*header.info }))
}

/// As long as this is held no thread looks: a header is being retired, or used again.
pub(crate) fn retiring() -> RwLockWriteGuard<'static, ()> {
    RETIRING.write().unwrap_or_else(PoisonError::into_inner)
}
