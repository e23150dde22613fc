//! What the models need of a domain.
use crate::error::CallError;
use loom::sync::atomic::AtomicU32;

/// What calls read of a domain.
pub(crate) struct Instance {
    owner: AtomicU32,
}

impl Instance {
    pub(crate) fn new() -> Instance {
        Instance { owner: AtomicU32::new(0) }
    }

    pub(crate) fn owner(&self) -> &AtomicU32 {
        &self.owner
    }

    pub(crate) fn name(&self) -> &str {
        "modelled"
    }

    pub(crate) fn is_killed(&self) -> bool {
        false
    }

    pub(crate) fn ended(&self) -> CallError {
        CallError::Killed(self.name().to_owned())
    }
}
