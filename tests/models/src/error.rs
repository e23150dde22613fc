//! Errors that the modelled files make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    Busy(String, Holder),
    Deadlock(String),
    Killed(String),
    Interrupted(String),
}

/// Who had a domain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Holder(u32);

impl Holder {
    pub(crate) fn of(thread: u32) -> Holder {
        Holder(thread)
    }
}
