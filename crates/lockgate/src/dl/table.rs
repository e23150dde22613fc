//! Which libraries are open, how often, and who needs whom.
use super::loaded::{Loaded, NEXT};
use super::{DlError, Mode};
use crate::host::PerProcess;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

/// An open library.
pub(super) struct Row {
    pub loaded: Arc<Loaded>,
    /// How often it was opened and not closed.
    pub count: usize,
    /// Others' imports find it.
    pub global: bool,
    /// It stays.
    pub keep: bool,
    /// It was opened for a library that joins, not by the host.
    pub private: bool,
}

/// In the order in which they were opened.
static OPEN: PerProcess<Mutex<Vec<Row>>> = PerProcess::new(Mutex::default);

/// The first library of this process: a forked child does not know its parent's.
static FIRST: PerProcess<u64> = PerProcess::new(|| NEXT.load(Ordering::Relaxed));

pub(super) fn rows() -> MutexGuard<'static, Vec<Row>> {
    FIRST.get();
    OPEN.lock().unwrap_or_else(|e| e.into_inner())
}

/// The library with this number is not open.
pub(super) fn strike(id: u64) {
    rows().retain(|row| row.loaded.id() != id);
}

/// Opens a library once more that is in the table already, if there is such a one. Returns its number.
pub(super) fn open_again(mode: Mode, is_it: impl Fn(&Row) -> bool) -> Option<u64> {
    let mut rows = rows();
    let row = rows.iter_mut().find(|row| is_it(row))?;
    row.count += 1;
    row.global |= mode.global;
    row.keep |= mode.keep;
    Some(row.loaded.id())
}

/// The library with this number.
///
/// # Errors
/// [`DlError::Handle`].
pub(super) fn find(id: u64) -> Result<Arc<Loaded>, DlError> {
    let rows = rows();
    rows.iter().find(|row| row.loaded.id() == id).map(|row| row.loaded.clone()).ok_or_else(|| unknown(id))
}

fn unknown(id: u64) -> DlError {
    if (1..*FIRST).contains(&id) { DlError::Forked } else { DlError::Handle }
}

/// Libraries that others' imports find, in the order in which they were opened.
pub(super) fn global() -> Vec<Arc<Loaded>> {
    rows().iter().filter(|row| row.global).map(|row| row.loaded.clone()).collect()
}

/// One open less. Returns the libraries that nobody needs any more, the last opened first, which are not in the table then.
///
/// # Errors
/// [`DlError::Handle`].
pub(super) fn release(id: u64) -> Result<Vec<Arc<Loaded>>, DlError> {
    let mut rows = rows();
    let row =
        rows.iter_mut().find(|row| row.loaded.id() == id && row.count > 0).ok_or_else(|| unknown(id))?;
    row.count -= 1;
    let mut needed = HashSet::new();
    let mut ahead: Vec<Arc<Loaded>> =
        rows.iter().filter(|row| row.count > 0 || row.keep).map(|row| row.loaded.clone()).collect();
    while let Some(loaded) = ahead.pop() {
        if needed.insert(loaded.id()) {
            ahead.extend(loaded.dependencies());
        }
    }
    let mut gone: Vec<_> =
        rows.extract_if(.., |row| !needed.contains(&row.loaded.id())).map(|row| row.loaded).collect();
    gone.reverse();
    Ok(gone)
}
