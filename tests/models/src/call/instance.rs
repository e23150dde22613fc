//! What the models need of a domain.
use super::exclusive_sys;
use crate::error::CallError;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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
    killed: AtomicBool,
}

impl Instance {
    pub(crate) fn new() -> Instance {
        Instance { owner: AtomicU32::new(0), turns: Turns, killed: AtomicBool::new(false) }
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
        self.killed.load(Ordering::Acquire)
    }

    /// The host of none asks calls to end.
    #[allow(clippy::unused_self, reason = "the runtime's asks its host")]
    pub(crate) fn must_stop(&self) -> bool {
        false
    }

    /// Those that wait are told, as by the runtime's.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        exclusive_sys::wake_all(&self.owner);
    }

    pub(crate) fn ended(&self) -> CallError {
        CallError::Killed(self.name().to_owned())
    }
}
