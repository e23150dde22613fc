//! What a domain has of something of which there is no more than so much.
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Room for one of the host's descriptors, until it is dropped. A description may outlive its number for as long as a call uses it: what
/// is counted is what the host has open.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicI32>);

impl Place {
    /// One of at most `limit` that `open` counts.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn new(open: &Arc<AtomicI32>, limit: i32) -> Result<Place, Errno> {
        let more = |open| (open < limit).then_some(open + 1);
        open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| Errno::MFILE)?;
        Ok(Place(Arc::clone(open)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
