//! Errors that the modelled files make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    Busy(String),
    Deadlock(String),
    Killed(String),
}
