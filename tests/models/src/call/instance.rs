//! What the models need of a domain.
use crate::error::CallError;
use loom::sync::atomic::AtomicU32;
use std::ops::Deref;
use std::sync::Arc;

/// What calls read of a domain.
pub(crate) struct Instance {
    owner: AtomicU32,
}

impl Instance {
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

/// A domain, as calls keep it.
pub(crate) trait AnyDomain: Deref<Target = Instance> + Send + Sync {}

struct Modelled(Instance);

impl Deref for Modelled {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.0
    }
}

impl AnyDomain for Modelled {}

/// A domain.
pub(crate) fn domain() -> Arc<dyn AnyDomain> {
    Arc::new(Modelled(Instance { owner: AtomicU32::new(0) }))
}
