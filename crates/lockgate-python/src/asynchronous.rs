//! Calls that other threads make: [`Workers`], and handles of their calls.
use crate::domain::Domain;
use crate::function::{self, Binding, Function};
use crate::scratch::Passed;
use crate::{errors, options};
use lockgate::{AsyncCall, CallError, Frame};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

/// How often a thread that waits looks whether the user has interrupted it.
const LOOK: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// What a call passes by reference, kept by its handle and by the call, and let go with the interpreter's lock by the last.
struct Kept(Option<Arc<Mutex<Option<Passed>>>>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(passed) = self.0.take().and_then(Arc::into_inner) {
            Python::attach(|_| drop(passed));
        }
    }
}

/// Threads that make calls for others. The Python half derives `lockgate.Workers` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Workers(Mutex<Option<Arc<lockgate::Workers>>>);

#[pymethods]
impl Workers {
    #[new]
    #[pyo3(signature = (threads=4, capacity=1000))]
    fn new(py: Python<'_>, threads: usize, capacity: usize) -> PyResult<Workers> {
        let workers = lockgate::Workers::new(threads, capacity).map_err(|error| errors::create(py, error))?;
        Ok(Workers(Mutex::new(Some(Arc::new(workers)))))
    }

    /// Calls that have not ended.
    #[getter]
    fn pending(&self) -> usize {
        lock(&self.0).as_ref().map_or(0, |workers| workers.pending())
    }

    /// Has a worker call the function.
    #[pyo3(signature = (class, function, arguments, timeout=None))]
    fn _submit<'py>(
        &self,
        class: &Bound<'py, PyAny>,
        function: &Bound<'py, Function>,
        arguments: &Bound<'py, PyTuple>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let timeout = timeout.map(options::seconds).transpose()?;
        let workers = lock(&self.0).clone();
        let Some(workers) = workers else {
            return Err(errors::plain(py, "Closed", &"these workers were closed; make new ones"));
        };
        let binding = Function::binding(function)?;
        let (mut frame, passed) = function::Call::new(function.get(), &binding, arguments)?.into_parts();
        let passed = passed.map(|passed| Arc::new(Mutex::new(Some(passed))));
        let live = function.get().owner().get().live(py)?;
        let task = {
            let (binding, kept) = (binding.clone(), Kept(passed.clone()));
            move || {
                let done = binding.dynamic().call_frame(&mut frame).map(|()| frame);
                drop(kept);
                done
            }
        };
        let call = match timeout {
            Some(timeout) => live.spawn_call(workers.within(timeout), task),
            None => live.spawn_call(&*workers, task),
        };
        let state = State::Running(call.map_err(|error| errors::call(py, error))?);
        let call = Call {
            function: function.clone().unbind(),
            arguments: arguments.clone().unbind(),
            binding,
            passed: Kept(passed),
            state: Mutex::new(state),
            turn: Mutex::default(),
            _domain: function.get().owner().clone_ref(py),
        };
        class.call1((Bound::new(py, call)?,))
    }

    /// Waits for all calls, and ends the threads. Calls that are made later raise `Closed`.
    fn finish(&self, py: Python<'_>) {
        self.end(py, true);
    }

    /// Cancels what has not ended, and ends the threads.
    fn close(&self, py: Python<'_>) {
        self.end(py, false);
    }
}

impl Workers {
    fn end(&self, py: Python<'_>, finish: bool) {
        let workers = lock(&self.0).take();
        // Callbacks that are in progress need the interpreter.
        py.detach(|| match workers.map(Arc::try_unwrap) {
            Some(Ok(workers)) if finish => workers.finish(),
            other => drop(other),
        });
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        Python::attach(|py| self.end(py, false));
    }
}

enum State {
    Running(AsyncCall<Frame>),
    Ended(Result<Py<PyAny>, PyErr>),
    /// Its result is being converted.
    Between,
}

/// A call that a worker makes. The Python half wraps it.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Call {
    function: Py<Function>,
    arguments: Py<PyTuple>,
    binding: Arc<Binding>,
    passed: Kept,
    state: Mutex<State>,
    /// Held by the thread that has the runtime's handle.
    turn: Mutex<()>,
    _domain: Py<Domain>,
}

impl Call {
    /// Turns what came of the call into the result.
    fn settle(&self, py: Python<'_>, ended: Result<Frame, CallError>) {
        let convert = |frame: Frame| -> PyResult<Py<PyAny>> {
            let passed = self.passed.0.as_ref().and_then(|passed| lock(passed).take());
            let mut call = function::Call::from_parts(frame, passed);
            let result = call.finish(py, &self.binding)?;
            let result = self.binding.class(self.function.bind(py), result, self.arguments.bind(py))?;
            Ok(result.unbind())
        };
        let result = ended.map_err(|error| errors::call(py, error)).and_then(convert);
        *lock(&self.state) = State::Ended(result);
    }

    /// Waits, without the interpreter's lock, until no other thread has the runtime's handle.
    fn turn(&self, py: Python<'_>) -> MutexGuard<'_, ()> {
        loop {
            if let Ok(turn) = self.turn.try_lock() {
                return turn;
            }
            py.detach(|| drop(lock(&self.turn)));
        }
    }

    /// Does something with the runtime's handle, without the interpreter's lock; settles the call if that says how it ended.
    fn with(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut AsyncCall<Frame>) -> Option<Result<Frame, CallError>> + Send,
    ) {
        let _turn = self.turn(py);
        let state = std::mem::replace(&mut *lock(&self.state), State::Between);
        let State::Running(mut call) = state else {
            *lock(&self.state) = state;
            return;
        };
        let (call, ended) = py.detach(move || {
            let ended = act(&mut call);
            (call, ended)
        });
        *lock(&self.state) = State::Running(call);
        if let Some(ended) = ended {
            self.settle(py, ended);
        }
    }

    fn outcome(&self, py: Python<'_>) -> Option<PyResult<Py<PyAny>>> {
        match &*lock(&self.state) {
            State::Ended(Ok(result)) => Some(Ok(result.clone_ref(py))),
            State::Ended(Err(error)) => Some(Err(error.clone_ref(py))),
            _ => None,
        }
    }
}

#[pymethods]
impl Call {
    /// True if the call has ended.
    fn done(&self) -> bool {
        match &*lock(&self.state) {
            State::Running(call) => call.has_ended(),
            State::Ended(_) => true,
            State::Between => false,
        }
    }

    /// The result, or None if the call goes on after `timeout` seconds; raises what the call raises. Ctrl-C interrupts the wait
    /// and cancels the call.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        let end =
            timeout.map(options::seconds).transpose()?.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
            self.with(py, |call| call.wait_timeout(left.min(LOOK)));
            if let Some(outcome) = self.outcome(py) {
                return outcome.map(Some);
            }
            if let Err(interrupt) = py.check_signals() {
                self.cancel(py);
                return Err(interrupt);
            }
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(None);
            }
        }
    }

    /// Takes the call back: it does not begin, or is stopped.
    fn cancel(&self, py: Python<'_>) {
        self.with(py, |call| {
            call.cancel();
            None
        });
    }

    /// Has `notify` called, by some thread, when the call has ended; at once if it has.
    fn when_done(&self, py: Python<'_>, notify: Py<PyAny>) -> PyResult<()> {
        let waker = Arc::new(Notify(notify.clone_ref(py))).into();
        self.with(py, |call| match Pin::new(call).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(ended) => Some(ended),
            Poll::Pending => None,
        });
        if self.outcome(py).is_none() {
            return Ok(());
        }
        notify.call0(py).map(drop)
    }
}

/// Tells Python that a call has ended.
struct Notify(Py<PyAny>);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        Python::attach(|py| {
            if let Err(error) = self.0.call0(py) {
                error.write_unraisable(py, None);
            }
        });
    }
}
