//! Which libraries are open, how often, who needs whom, and on which threads constructors and destructors run.
//!
//! The table's lock is held for a moment only. While constructors run, their library is in the table, and who opens it on another thread
//! waits for them alone, within a timeout of his own. While destructors run, their library is not in the table any more, but what it
//! needs stays. A function of the host's that these call may end the thread, out of all frames that say so: then what was about to be open,
//! or over, is over, and what was held open for it is let go of.
use super::loaded::{Loaded, NEXT};
use super::{DlError, Library, Mode};
use crate::host::{AtThreadEnd, PerProcess, locked};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// An open library.
pub(super) struct Row {
    pub loaded: Arc<Loaded>,
    /// How often it was opened and not closed.
    count: usize,
    /// Others' imports find it.
    global: bool,
    /// It stays.
    keep: bool,
    /// It was opened for a library that joins, not by the host.
    pub private: bool,
    /// The thread that runs its constructors.
    starts_on: Option<i32>,
}

#[derive(Default)]
struct Table {
    /// In the order in which they were opened.
    rows: Vec<Row>,
    /// Libraries that a thread needs for what it is about to open.
    pins: Vec<(i32, u64)>,
    /// Libraries whose destructors a thread runs.
    ending: Vec<(i32, Arc<Loaded>)>,
    /// Threads that wait for the constructors of a library.
    waiting: Vec<(i32, u64)>,
}

static TABLE: PerProcess<Mutex<Table>> = PerProcess::new(Mutex::default);
/// Constructors have run.
static STARTED: PerProcess<Condvar> = PerProcess::new(Condvar::new);
static END: AtThreadEnd = AtThreadEnd::new(leave);

/// The first library of this process: a forked child does not know its parent's.
static FIRST: PerProcess<u64> = PerProcess::new(|| NEXT.load(Ordering::Relaxed));

fn table() -> MutexGuard<'static, Table> {
    FIRST.get();
    locked(&TABLE)
}

/// One thread at a time looks whether a library is open, makes its domain, and enters it. No file is read meanwhile, and no code of a
/// library runs.
pub(super) fn turn() -> MutexGuard<'static, ()> {
    static TURN: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);
    locked(&TURN)
}

/// The calling thread's kernel id.
fn me() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn unknown(id: u64) -> DlError {
    if (1..*FIRST).contains(&id) { DlError::Forked } else { DlError::Handle }
}

/// How a library is held open.
#[derive(Clone, Copy)]
pub(super) enum Hold {
    /// By the host, once more.
    Host(Mode),
    /// For another one that the thread opens: see [`Pin`].
    Pin,
}

/// What came of a look for a library.
pub(super) enum Look {
    /// It is open, once more now.
    Open(Arc<Loaded>),
    /// Another thread runs its constructors: [`wait`].
    Starts(u64),
    None,
}

impl Table {
    fn row(&self, id: u64) -> Option<&Row> {
        self.rows.iter().find(|row| row.loaded.id() == id)
    }

    /// Libraries that the calling thread knows: the open ones, and those whose destructors it runs, which may ask for themselves in services.
    fn known(&self) -> impl Iterator<Item = &Arc<Loaded>> {
        let me = me();
        let ending = self.ending.iter().filter(move |(thread, _)| *thread == me).map(|(_, loaded)| loaded);
        self.rows.iter().map(|row| &row.loaded).chain(ending)
    }

    fn hold(&mut self, at: usize, how: Hold) {
        let row = &mut self.rows[at];
        match how {
            Hold::Host(mode) => {
                row.count += 1;
                row.global |= mode.global;
                row.keep |= mode.keep;
            }
            Hold::Pin => {
                self.pins.push((me(), row.loaded.id()));
                END.arm();
            }
        }
    }

    /// Whether who runs the constructors of this library waits for the calling thread.
    fn waits_for_me(&self, id: u64) -> bool {
        let (me, mut next) = (me(), Some(id));
        while let Some(thread) = next.and_then(|id| self.row(id)?.starts_on) {
            if thread == me {
                return true;
            }
            next = self.waiting.iter().find(|(waits, _)| *waits == thread).map(|(_, id)| *id);
        }
        false
    }

    fn starts_elsewhere(&self, id: u64) -> bool {
        self.row(id).is_some_and(|row| row.starts_on.is_some_and(|thread| thread != me()))
    }
}

/// Enters a new library, whose constructors the calling thread is going to run: [`started`] or [`strike`] follows.
pub(super) fn enter(loaded: &Arc<Loaded>, private: bool, how: Hold) {
    let row =
        Row { loaded: loaded.clone(), count: 0, global: false, keep: false, private, starts_on: Some(me()) };
    let mut table = table();
    table.rows.push(row);
    let last = table.rows.len() - 1;
    table.hold(last, how);
    END.arm();
}

/// The constructors have run.
pub(super) fn started(id: u64) {
    table().rows.iter_mut().filter(|row| row.loaded.id() == id).for_each(|row| row.starts_on = None);
    STARTED.notify_all();
}

/// The constructors have failed: the library ends.
pub(super) fn strike(id: u64) {
    let mut table = table();
    let gone: Vec<_> = table.rows.extract_if(.., |row| row.loaded.id() == id).map(|row| row.loaded).collect();
    table.pins.retain(|(_, pinned)| *pinned != id);
    // What it needs stays until it has ended.
    table.ending.extend(gone.iter().map(|loaded| (me(), loaded.clone())));
    drop(table);
    STARTED.notify_all();
    end(gone);
    end_unneeded();
}

/// Holds a library open that is in the table already, if there is such a one.
pub(super) fn look(how: Hold, is_it: impl Fn(&Row) -> bool) -> Look {
    let mut table = table();
    let Some(at) = table.rows.iter().position(is_it) else { return Look::None };
    let loaded = table.rows[at].loaded.clone();
    if table.starts_elsewhere(loaded.id()) {
        return Look::Starts(loaded.id());
    }
    table.hold(at, how);
    Look::Open(loaded)
}

/// Waits until the constructors of this library, which another thread runs, have ended in whatever way.
///
/// # Errors
/// [`DlError::Busy`] if that takes until then, [`DlError::Ring`] if that thread waits for this one.
pub(super) fn wait(id: u64, until: Option<Instant>) -> Result<(), DlError> {
    let mut table = table();
    let Some(name) = table.row(id).map(|row| row.loaded.name.clone()) else { return Ok(()) };
    if table.waits_for_me(id) {
        return Err(DlError::Ring(name));
    }
    table.waiting.push((me(), id));
    let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
    let waited = STARTED.wait_timeout_while(table, left, |table| table.starts_elsewhere(id));
    let (mut table, result) = waited.unwrap_or_else(|e| e.into_inner());
    table.waiting.retain(|(thread, _)| *thread != me());
    if result.timed_out() { Err(DlError::Busy(name)) } else { Ok(()) }
}

/// The library with this number.
///
/// # Errors
/// [`DlError::Handle`].
pub(super) fn find(id: u64) -> Result<Arc<Loaded>, DlError> {
    table().known().find(|loaded| loaded.id() == id).cloned().ok_or_else(|| unknown(id))
}

impl Library {
    pub(super) fn loaded(self) -> Result<Arc<Loaded>, DlError> {
        find(self.number())
    }
}

/// Whether there is such a library.
pub(super) fn any(is_it: impl FnMut(&Row) -> bool) -> bool {
    table().rows.iter().any(is_it)
}

/// Libraries that others' imports find, in the order in which they were opened. One whose constructors run is there for the thread that runs
/// them alone: its libc may not have begun.
pub(super) fn global() -> Vec<Arc<Loaded>> {
    let (me, table) = (me(), table());
    let has_started = |row: &&Row| row.starts_on.is_none_or(|thread| thread == me);
    table.rows.iter().filter(|row| row.global).filter(has_started).map(|row| row.loaded.clone()).collect()
}

/// The library that the thread knows for which this is least.
pub(super) fn least<K: Ord>(key: impl Fn(&Loaded) -> Option<K>) -> Option<u64> {
    let table = table();
    let keys = table.known().filter_map(|loaded| Some((key(loaded)?, loaded.id())));
    keys.min().map(|(_, id)| id)
}

/// A library that is held open for another one, which the thread opens.
pub(super) struct Pin(u64);

impl Pin {
    /// Of one that [`look`] or [`enter`] has pinned.
    pub fn of(id: u64) -> Pin {
        Pin(id)
    }

    /// Pins the library with this number.
    ///
    /// # Errors
    /// [`DlError::Handle`].
    pub fn new(id: u64) -> Result<Pin, DlError> {
        let mut table = table();
        let at = table.rows.iter().position(|row| row.loaded.id() == id).ok_or_else(|| unknown(id))?;
        table.hold(at, Hold::Pin);
        Ok(Pin(id))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut table = table();
        let pin = (me(), self.0);
        if let Some(at) = table.pins.iter().position(|one| *one == pin) {
            table.pins.swap_remove(at);
        }
        drop(table);
        end_unneeded();
    }
}

/// One open less.
///
/// # Errors
/// [`DlError::Handle`].
pub(super) fn release(id: u64) -> Result<(), DlError> {
    let mut table = table();
    let row = table.rows.iter_mut().find(|row| row.loaded.id() == id && row.count > 0);
    row.ok_or_else(|| unknown(id))?.count -= 1;
    Ok(())
}

/// Runs the destructors of libraries that are not needed any more, on the calling thread, the last opened first, and ends them.
pub(super) fn end_unneeded() {
    loop {
        let gone = collect();
        if gone.is_empty() {
            return;
        }
        gone.iter().for_each(|loaded| loaded.finish());
        end(gone);
    }
}

/// The libraries that are not needed any more, the last opened first, which are not in the table then, but among those that end.
fn collect() -> Vec<Arc<Loaded>> {
    let mut table = table();
    let is_held = |row: &&Row| {
        let is_pinned = || table.pins.iter().any(|(_, id)| *id == row.loaded.id());
        row.count > 0 || row.keep || row.starts_on.is_some() || is_pinned()
    };
    let mut needed = HashSet::new();
    let mut ahead: Vec<_> = table.rows.iter().filter(is_held).map(|row| row.loaded.clone()).collect();
    ahead.extend(table.ending.iter().map(|(_, loaded)| loaded.clone()));
    while let Some(loaded) = ahead.pop() {
        if needed.insert(loaded.id()) {
            ahead.extend(loaded.dependencies());
        }
    }
    let gone = table.rows.extract_if(.., |row| !needed.contains(&row.loaded.id()));
    let mut gone: Vec<_> = gone.map(|row| row.loaded).collect();
    gone.reverse();
    table.ending.extend(gone.iter().map(|loaded| (me(), loaded.clone())));
    if !gone.is_empty() {
        END.arm();
    }
    gone
}

fn end(gone: Vec<Arc<Loaded>>) {
    for loaded in gone {
        let id = loaded.id();
        loaded.end();
        let mut table = table();
        let ended: Vec<_> = table.ending.extract_if(.., |(_, loaded)| loaded.id() == id).collect();
        drop(table);
        drop(ended);
    }
}

/// The thread ends, in code of a library perhaps.
extern "C" fn leave(_: *mut c_void) {
    let (me, mut table) = (me(), table());
    table.pins.retain(|(thread, _)| *thread != me);
    table.waiting.retain(|(thread, _)| *thread != me);
    let begun = table.rows.extract_if(.., |row| row.starts_on == Some(me));
    let begun: Vec<_> = begun.map(|row| (me, row.loaded)).collect();
    // What they need stays until they have ended: the last first.
    table.ending.extend(begun.into_iter().rev());
    let ending = table.ending.iter().filter(|(thread, _)| *thread == me);
    let gone: Vec<_> = ending.map(|(_, loaded)| loaded.clone()).collect();
    drop(table);
    STARTED.notify_all();
    end(gone);
    end_unneeded();
}
