//! What the registry remembers of those to whom it gave an entry.
use super::request::Rebind;
use crate::binding::Binding;
use crate::domain::Core;
use crate::host_function::HostFunction;
use crate::stats::Row;
use std::sync::{Arc, Weak};

/// Who was given an entry.
pub(super) enum Bound {
    /// A domain's function, for the host, or for an import of another domain.
    Domain { binding: Weak<Binding>, client: Option<(Weak<Core>, u16)>, rebind: Rebind },
    /// A function of the host, for an import of a domain.
    Host { client: Weak<Core>, slot: u16, function: HostFunction, _row: Option<Arc<Row>> },
}

impl Bound {
    /// Whether it is a function of the host's, given to this import.
    pub(super) fn is_hosts_for(&self, core: &Arc<Core>, import: u16) -> bool {
        matches!(self, Bound::Host { client, slot, .. } if *slot == import && client.as_ptr() == Arc::as_ptr(core))
    }

    /// A function of the host's that an import leads to still gives way to one that refuses. The domain whose import it is, whose functions
    /// are to be released without the registry's lock.
    pub(super) fn take_back(&self, refused: &HostFunction) -> Option<Arc<Core>> {
        let Bound::Host { client, slot, function, .. } = self else { return None };
        let client = client.upgrade()?;
        client.gates().replace_import(*slot, &function.entry(), refused.gate());
        Some(client)
    }

    pub(super) fn is_alive(&self) -> bool {
        match self {
            Bound::Domain { binding, .. } => binding.strong_count() > 0,
            Bound::Host { client, .. } => client.strong_count() > 0,
        }
    }
}
