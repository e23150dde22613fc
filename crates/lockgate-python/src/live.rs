//! The runtime's domain behind one of Python's.
use lockgate::{Domain, KeptDomain, Pool, PooledDomain};
use std::ops::Deref;
use std::sync::Arc;

/// Whose domain it is.
pub enum Live {
    Own(Domain),
    /// It goes back to its pool when it is dropped.
    Pooled(PooledDomain<Arc<Pool>>, Arc<Pool>),
    /// Another object's, for the time of a call of the host.
    Lent(KeptDomain),
}

impl Live {
    /// Ends it; one of a pool does not go back.
    pub fn close(self) {
        match self {
            Live::Own(domain) => domain.close(),
            Live::Pooled(domain, _) => domain.into_domain().close(),
            Live::Lent(domain) => domain.kill(),
        }
    }

    /// True if it is another object's.
    pub fn is_lent(&self) -> bool {
        matches!(self, Live::Lent(_))
    }
}

impl Deref for Live {
    type Target = Domain;

    fn deref(&self) -> &Domain {
        match self {
            Live::Own(domain) => domain,
            Live::Pooled(domain, _) => domain,
            Live::Lent(domain) => domain,
        }
    }
}
