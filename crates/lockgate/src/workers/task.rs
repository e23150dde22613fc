//! One asynchronous call: what it is at, and what comes of it.
use super::lent_sys::Owned;
use crate::call::thread_sys::{self, ThreadState};
use crate::call::watch::Stopping;
use crate::call::{AnyDomain, attachment_sys, repair_sys};
use crate::error::{CallError, Panic};
use crate::host::{Owner, locked};
use crate::report::FaultKind;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Instant;

/// Why a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Cancel,
    Deadline,
}

impl Stop {
    fn error(self, domain: &str) -> CallError {
        let name = domain.to_owned();
        match self {
            Stop::Cancel => CallError::Cancelled(name),
            Stop::Deadline => CallError::Deadline(name),
        }
    }
}

/// Where a job is in the books: those that came before have lower numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub number: u64,
    pub deadline: Option<Instant>,
}

/// A call as workers see it, whatever its result.
pub(super) trait Job: Send + Sync {
    /// Number of the domain in whose queue it is, which is that domain's as long as it waits there.
    fn domain(&self) -> u32;
    /// Where it is in the books.
    fn place(&self) -> Place;
    /// Whether it has ended, as those know who wait for that.
    fn has_ended(&self) -> bool;
    /// Runs it on the calling thread, a worker, unless it was stopped before.
    fn run(&self);
    /// Its thread has ended in the midst of it, and so does the job; or of telling those who wait for its end, and this goes on to tell the others.
    fn lose(&self);
    /// Stops it: it does not begin, or ends as soon as its code is the domain's. What has ended stays so.
    fn stop(&self, why: Stop);
}

/// What a call is before it begins.
pub(super) struct Call<R> {
    pub work: Box<dyn FnOnce() -> Result<R, CallError> + Send>,
    /// What the work refers to, up to the call's end.
    pub owned: Option<Owned>,
}

/// What a call holds until it ends.
struct Holds {
    _domain: Arc<dyn AnyDomain>,
    /// A function, which holds its domain, too.
    _owned: Option<Owned>,
}

/// A call with its result.
pub(super) struct Task<R> {
    id: u32,
    name: String,
    place: Place,
    /// Until the call ends: let go of before the caller is told, which may go on to reset the domain, or to give it back to a pool.
    holds: Mutex<Option<Holds>>,
    state: Mutex<State<R>>,
    ended: Condvar,
    owner: Owner,
}

pub(super) struct State<R> {
    stage: Stage<R>,
    /// Of the task that polls the handle: the last one, as futures have it.
    polling: Option<Waker>,
    /// Of everyone else who asked to be woken at the end.
    waiting: VecDeque<Waker>,
    /// The handle is gone.
    abandoned: bool,
}

enum Stage<R> {
    Waiting(Box<dyn FnOnce() -> Result<R, CallError> + Send>),
    Running {
        thread: Arc<ThreadState>,
        stopped: Option<(Stop, Stopping)>,
    },
    /// A thread is about to say how it has ended.
    Ending,
    Ended(Result<R, CallError>),
    /// The handle has got the result.
    Taken,
}

impl<R> State<R> {
    /// The result, the first time after the end.
    pub fn take(&mut self) -> Option<Result<R, CallError>> {
        match std::mem::replace(&mut self.stage, Stage::Taken) {
            Stage::Ended(result) => Some(result),
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// The handle goes: the result that is there, if there is one. Of a later one its worker sees to the end.
    pub fn abandon(&mut self) -> Option<Result<R, CallError>> {
        self.abandoned = true;
        self.take()
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended(_) | Stage::Taken)
    }

    /// The calling thread is the worker that makes it: it ends when the thread goes on.
    pub fn is_ours(&self) -> bool {
        let Stage::Running { thread, .. } = &self.stage else { return false };
        thread_sys::current().is_some_and(|current| ptr::eq(current, Arc::as_ptr(thread)))
    }

    /// Wakes the task that polls when the call ends, and no longer the one that polled before.
    pub fn set_polling(&mut self, waker: &Waker) {
        match &mut self.polling {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Wakes this one, too, when the call ends.
    pub fn add_waiting(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push_back(waker.clone());
        }
    }
}

impl<R> Task<R> {
    pub fn new(domain: Arc<dyn AnyDomain>, call: Call<R>, place: Place) -> Task<R> {
        let state = State {
            stage: Stage::Waiting(call.work),
            polling: None,
            waiting: VecDeque::new(),
            abandoned: false,
        };
        let (id, name) = (domain.id(), domain.name().to_owned());
        let holds = Holds { _domain: domain, _owned: call.owned };
        let (holds, state, ended) = (Mutex::new(Some(holds)), Mutex::new(state), Condvar::new());
        Task { id, name, place, holds, state, ended, owner: Owner::this() }
    }

    pub fn state(&self) -> MutexGuard<'_, State<R>> {
        locked(&self.state)
    }

    /// True in a forked child: no worker is at it here.
    pub fn is_inherited(&self) -> bool {
        !self.owner.is_here()
    }

    /// What a wait for it is, on the worker that makes it.
    pub fn own_end(&self) -> CallError {
        CallError::OwnEnd(self.name.clone())
    }

    /// Woken when the call ends.
    pub fn ended(&self) -> &Condvar {
        &self.ended
    }

    /// The caller has made it [`Stage::Ending`].
    fn end(&self, result: Result<R, CallError>) {
        let holds = locked(&self.holds).take();
        drop(holds); // without any lock: it may be the last to hold the domain
        let mut state = self.state();
        state.stage = Stage::Ended(result);
        let left = if state.abandoned { state.take() } else { None };
        drop(state);
        self.ended.notify_all();
        self.wake();
        // Code of the host's, which may end the thread: last, and while the thread still has another to go on in its place.
        drop(left);
    }

    /// One by one: a function of the host's that is told may end the thread, and then another goes on.
    fn wake(&self) {
        loop {
            let next = {
                let mut state = self.state();
                state.polling.take().or_else(|| state.waiting.pop_front())
            };
            let Some(waker) = next else { return };
            waker.wake();
            if self.is_inherited() {
                return; // it has forked: the others are the parent's to tell
            }
        }
    }
}

impl<R: Send> Job for Task<R> {
    fn domain(&self) -> u32 {
        self.id
    }

    fn place(&self) -> Place {
        self.place
    }

    fn has_ended(&self) -> bool {
        self.state().has_ended()
    }

    fn run(&self) {
        let thread = attachment_sys::attach();
        let mut state = self.state();
        let work = match std::mem::replace(&mut state.stage, Stage::Ending) {
            Stage::Waiting(work) => work,
            other => {
                state.stage = other;
                return;
            }
        };
        let thread = match thread {
            Ok(thread) => thread,
            Err(error) => {
                drop(state);
                return self.end(Err(error)); // (and then goes what the work has of the host's, which may wait for that)
            }
        };
        // (No frame keeps the thread: a function of the host's may end it out of all of them.)
        state.stage = Stage::Running { thread, stopped: None };
        drop(state);
        let result = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|payload| Err(CallError::Panic(Panic::new(payload))));
        if self.is_inherited() {
            return; // the call has forked: the thread that waits is in the parent, and so may be the one that has the lock
        }
        repair_sys::drop_what_functions_left();
        let mut state = self.state();
        let stopped = match std::mem::replace(&mut state.stage, Stage::Ending) {
            Stage::Running { thread, stopped } => {
                // Under the lock: no other thread stops what this thread does next.
                thread.stop.store(false, Ordering::Release);
                stopped.map(|(why, _)| why)
            }
            _ => None,
        };
        drop(state);
        // What has come to its end although it was stopped was stopped all the same. What went wrong says more.
        let result = match (stopped, result) {
            (Some(why), Err(error)) if is_stop(&error) => Err(why.error(&self.name)),
            (Some(why), Ok(_)) => Err(why.error(&self.name)),
            (_, result) => result,
        };
        self.end(result);
    }

    fn lose(&self) {
        let mut state = self.state();
        let is_lost = matches!(state.stage, Stage::Running { .. } | Stage::Ending);
        let before = is_lost.then(|| std::mem::replace(&mut state.stage, Stage::Ending));
        let has_ended = state.has_ended();
        drop(state);
        if before.is_some() {
            let why = "it ended the worker's thread".to_owned();
            self.end(Err(CallError::Panic(Panic::new(Box::new(why)))));
        } else if has_ended {
            self.wake();
        }
    }

    fn stop(&self, why: Stop) {
        let mut state = self.state();
        match &mut state.stage {
            waiting @ Stage::Waiting(_) => {
                let before = std::mem::replace(waiting, Stage::Ending);
                drop(state);
                self.end(Err(why.error(&self.name)));
                drop(before); // last, as in `run`
            }
            Stage::Running { thread, stopped: stopped @ None } => {
                thread.stop.store(true, Ordering::Release);
                *stopped = Some((why, Stopping::new()));
            }
            _ => {}
        }
    }
}

/// True if a call failed because it was stopped.
fn is_stop(error: &CallError) -> bool {
    matches!(error, CallError::Busy(..))
        || error.fault().is_some_and(|fault| fault.kind() == FaultKind::Stopped)
}
