//! The threads that a module has started itself, counted.
use crate::error::CallError;
use crate::host::locked;
use crate::report::Fault;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The threads that a domain has started and that have not ended.
#[derive(Default)]
pub(super) struct GuestThreads {
    books: Mutex<Books>,
    pub ended: Condvar,
}

#[derive(Default)]
pub(super) struct Books {
    pub running: u32,
    /// The domain's handle is gone: the module starts none any more.
    pub closed: bool,
    /// Those of them that count against the limit: all but the one that is about to tell the thread that waits for its end.
    pub counted: u32,
    /// How often one more was asked for.
    pub refused: u64,
    /// Why the first of them ended the whole domain.
    pub error: Option<CallError>,
    pub detached: Detached,
}

/// Calls that went on without their callers.
#[derive(Default)]
pub(super) struct Detached {
    /// How many there have been.
    begun: u64,
    /// Those in progress, each by how many there had been before it.
    in_progress: BTreeSet<u64>,
    /// That have ended, one way or another.
    pub ended: u64,
    /// Those of them that did not return.
    pub failed: u64,
    /// What the last of those did wrong.
    pub fault: Option<Box<Fault>>,
}

impl Detached {
    pub fn running(&self) -> u32 {
        self.in_progress.len() as u32
    }

    /// So many of them, counted from the first, have all ended.
    pub fn settled(&self) -> u64 {
        self.in_progress.first().copied().unwrap_or(self.begun)
    }
}

impl GuestThreads {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    pub fn running(&self) -> u32 {
        self.books().running
    }

    /// How often the module has asked for a thread more than it may have.
    pub fn refused(&self) -> u64 {
        self.books().refused
    }

    /// Waits until the last one has ended.
    pub fn wait(&self) {
        let mut books = self.books();
        while books.running > 0 {
            books = self.ended.wait(books).unwrap_or_else(|e| e.into_inner());
        }
    }

    /// The module starts none from now on. True if there are any, of whatever kind.
    pub fn close(&self) -> bool {
        let mut books = self.books();
        books.closed = true;
        books.running > 0
    }

    /// A thread of the library's begins that is to go on with a call: as long as that may, and so with no handle, too.
    pub fn thread_begins(&self) {
        self.books().running += 1;
    }

    /// It has one: how many there have been before it.
    pub fn detached_begins(&self) -> u64 {
        let detached = &mut self.books().detached;
        let number = detached.begun;
        detached.begun += 1;
        detached.in_progress.insert(number);
        number
    }

    /// That call has ended so; [`None`]: by its thread's end.
    pub fn detached_ends(&self, number: u64, end: Option<Result<(), CallError>>) {
        let mut books = self.books();
        let detached = &mut books.detached;
        detached.in_progress.remove(&number);
        detached.ended += 1;
        if !matches!(end, Some(Ok(()))) {
            detached.failed += 1;
        }
        if let Some(Err(error)) = end
            && let Some(fault) = error.fault()
        {
            detached.fault = Some(Box::new(fault.clone()));
        }
    }

    /// The thread has nothing of the domain any more.
    pub fn thread_ends(&self) {
        self.books().running -= 1;
        self.ended.notify_all();
    }

    /// What a thread did wrong that ended the domain.
    pub fn fault(&self) -> Option<Fault> {
        self.books().error.as_ref().and_then(CallError::fault).cloned()
    }

    /// What `look` makes of why a thread ended the domain, if one did.
    pub fn error<R>(&self, look: impl FnOnce(&CallError) -> R) -> Option<R> {
        self.books().error.as_ref().map(look)
    }

    /// What ended the domain, if a thread of its own did.
    pub fn take_error(&self) -> Option<CallError> {
        self.books().error.take()
    }
}
