//! The host's own reasons to end calls: a stop predicate that domains are made with.
use std::fmt;
use std::sync::Arc;

/// Asks the host whether calls in progress are to end.
#[derive(Clone)]
pub(crate) struct StopIf(Arc<dyn Fn() -> bool + Send + Sync>);

impl StopIf {
    pub fn new(predicate: impl Fn() -> bool + Send + Sync + 'static) -> StopIf {
        StopIf(Arc::new(predicate))
    }

    pub fn ask(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for StopIf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("StopIf")
    }
}
