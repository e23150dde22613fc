//! Signal dispositions and masks that a module sets. They are remembered, never acted upon: no signal is
//! delivered into a domain.
use std::collections::BTreeMap;

/// `SIG_DFL` and `SIG_IGN`.
pub(super) const DEFAULT: u64 = 0;
pub(super) const IGNORE: u64 = 1;

/// Bytes of the kernel's `struct sigaction`: handler, flags, restorer, mask.
pub(super) const ACTION: usize = 32;

/// What one domain has asked for.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// By signal number; absent is the default action.
    actions: BTreeMap<u32, [u8; ACTION]>,
    /// Blocked signals by thread slot.
    masks: BTreeMap<u32, u64>,
}

impl Signals {
    pub(super) fn action(&self, signal: u32) -> [u8; ACTION] {
        self.actions.get(&signal).copied().unwrap_or([0; ACTION])
    }

    pub(super) fn set_action(&mut self, signal: u32, action: [u8; ACTION]) {
        self.actions.insert(signal, action);
    }

    /// Address of the handler, or [`DEFAULT`], or [`IGNORE`].
    pub(super) fn handler(&self, signal: u32) -> u64 {
        super::wire::word(&self.action(signal), 0)
    }

    /// Forgets a thread.
    pub(super) fn forget(&mut self, thread: u32) {
        self.masks.remove(&thread);
    }

    pub(super) fn mask(&mut self, thread: u32) -> &mut u64 {
        self.masks.entry(thread).or_default()
    }
}
