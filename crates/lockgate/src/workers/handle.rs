//! What the caller of an asynchronous call holds.
use super::Shared;
use super::task::{Job, Stop, Task};
use crate::error::CallError;
use crate::host::end_after;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// An asynchronous call: wait for it, or await it in any runtime. Dropping it lets the call go on; its
/// result is lost then.
#[must_use = "the result comes here; dropping this lets the call go on"]
pub struct AsyncCall<R> {
    task: Arc<Task<R>>,
    shared: Weak<Shared>,
}

impl<R: Send + 'static> AsyncCall<R> {
    pub(super) fn new(task: Arc<Task<R>>, shared: Weak<Shared>) -> Self {
        AsyncCall { task, shared }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// What happened instead of a return: [`CallError::Cancelled`] and [`CallError::Deadline`] among others. [`CallError::OwnEnd`] in the call
    /// itself, on its worker.
    ///
    /// # Panics
    /// If the result has been taken already.
    pub fn wait(self) -> Result<R, CallError> {
        if self.task.is_inherited() {
            return Err(CallError::Forked);
        }
        self.wait_timeout(Duration::MAX).expect("the result of an asynchronous call is taken once")
    }

    /// Waits for the end, at most for `time`; `None` if the call goes on, or its result has been taken. In the call itself, on its worker,
    /// [`CallError::OwnEnd`] at once, if `time` has no end.
    pub fn wait_timeout(&self, time: Duration) -> Option<Result<R, CallError>> {
        if self.task.is_inherited() {
            return Some(Err(CallError::Forked));
        }
        let end = end_after(time);
        let mut state = self.task.state();
        while !state.has_ended() {
            let ended = self.task.ended();
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => return None,
                Some(left) => ended.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0,
                None if state.is_ours() => return Some(Err(self.task.own_end())),
                None => ended.wait(state).unwrap_or_else(|e| e.into_inner()),
            };
        }
        state.take()
    }

    /// The result, if the call has ended and it has not been taken.
    pub fn try_get(&self) -> Option<Result<R, CallError>> {
        if self.task.is_inherited() {
            return Some(Err(CallError::Forked));
        }
        self.task.state().take()
    }

    /// True if the call has ended.
    pub fn has_ended(&self) -> bool {
        self.task.is_inherited() || self.task.state().has_ended()
    }

    /// What a wait without end would get here, in the call itself, on the worker that makes it: [`CallError::OwnEnd`].
    pub fn own_end(&self) -> Option<CallError> {
        let is_ours = !self.task.is_inherited() && self.task.state().is_ours();
        is_ours.then(|| self.task.own_end())
    }

    /// Wakes `waker` when the call has ended: at once, if it has. Any number of wakers can wait.
    pub fn wake_at_end(&self, waker: &Waker) {
        if self.task.is_inherited() {
            return waker.wake_by_ref();
        }
        let mut state = self.task.state();
        match state.has_ended() {
            true => drop(state),
            false => return state.add_waiting(waker),
        }
        waker.wake_by_ref();
    }

    /// Takes the call back: one that has not begun does not begin; one in progress is stopped as by a time limit, and no other
    /// call with it. A result that is there already stays.
    pub fn cancel(&self) {
        if self.task.is_inherited() {
            return;
        }
        let job: Arc<dyn Job> = self.task.clone();
        match self.shared.upgrade() {
            Some(shared) => shared.stop(&job, Stop::Cancel),
            None => job.stop(Stop::Cancel),
        }
    }
}

impl<R: Send + 'static> Future for AsyncCall<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.task.is_inherited() {
            return Poll::Ready(Err(CallError::Forked));
        }
        let mut state = self.task.state();
        match state.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.set_polling(context.waker());
                Poll::Pending
            }
        }
    }
}

impl<R> Drop for AsyncCall<R> {
    fn drop(&mut self) {
        if self.task.is_inherited() {
            return; // its lock may be held by a thread of the parent's
        }
        let left = self.task.state().abandon();
        drop(left); // without the lock
    }
}

impl<R> std::fmt::Debug for AsyncCall<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AsyncCall")
    }
}
