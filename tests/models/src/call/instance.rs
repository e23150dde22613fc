//! What the models need of a domain.
use crate::error::CallError;
use loom::sync::atomic::AtomicU32;

/// Nobody listens in these models.
#[derive(Default)]
pub(crate) struct Turns;

impl Turns {
    pub(crate) fn settle(&self) {}
}

/// What calls read of a domain.
pub(crate) struct Instance {
    owner: AtomicU32,
    turns: Turns,
}

impl Instance {
    pub(crate) fn new() -> Instance {
        Instance { owner: AtomicU32::new(0), turns: Turns }
    }

    pub(crate) fn owner(&self) -> &AtomicU32 {
        &self.owner
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
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
