//! A domain that exports, and how often it was restarted.
use super::RegistryError;
use crate::domain::Core;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

thread_local! {
    /// Goes when the thread ends, in whatever way.
    static ALIVE: Arc<()> = Arc::new(());
}

/// A domain that exports.
pub(super) struct Instance {
    pub(super) core: Arc<Core>,
    /// When it was restarted, oldest first; as many as the limit asks about.
    restarts: Vec<Instant>,
    pub(super) most: usize,
    pub(super) within: Duration,
    /// The thread that is at it. A function of the host's that constructors call may end it, out of all frames that say so.
    restarting: Weak<()>,
    /// What is to take its place, while its constructors run.
    pub(super) starting: Weak<Core>,
}

impl Instance {
    pub(super) fn new(core: Arc<Core>) -> Instance {
        let within = Duration::from_secs(60);
        Instance {
            core,
            restarts: Vec::new(),
            most: 3,
            within,
            restarting: Weak::new(),
            starting: Weak::new(),
        }
    }

    /// It has no place any more: nor has what is to take it.
    pub(super) fn end_starting(&self) {
        if let Some(starting) = self.starting.upgrade() {
            starting.kill();
        }
    }

    /// Whatever has been started has its place now, or is gone.
    pub(super) fn end_restart(&mut self) {
        (self.restarting, self.starting) = (Weak::new(), Weak::new());
    }

    /// # Errors
    /// [`RegistryError::TooOften`], [`RegistryError::Restarting`].
    pub(super) fn begin(&mut self, name: &str) -> Result<(), RegistryError> {
        if self.restarting.strong_count() > 0 {
            return Err(RegistryError::Restarting(name.to_owned()));
        }
        let now = Instant::now();
        self.restarts.retain(|at| now.duration_since(*at) < self.within);
        if self.restarts.len() >= self.most {
            let (most, within) = (self.most, self.within);
            return Err(RegistryError::TooOften { domain: name.to_owned(), most, within });
        }
        self.restarts.push(now);
        self.restarting = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        Ok(())
    }
}
