//! Signals are no part of the models: what waits does so as it is.
pub(crate) fn disturbed<T>(wait: impl FnOnce() -> T) -> T {
    wait()
}
