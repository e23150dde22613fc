//! Calls that other threads make: [`Workers`], and handles of their calls.
use crate::domain::Domain;
use crate::function::{self, Binding, Function};
use crate::scratch::Passed;
use crate::{errors, options};
use lockgate::{AsyncCall, CallError};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyTimeoutError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Wake;
use std::thread::ThreadId;
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
pub struct Workers(Mutex<Option<lockgate::Workers>>);

#[pymethods]
impl Workers {
    #[new]
    #[pyo3(signature = (threads=4, capacity=1000))]
    fn new(py: Python<'_>, threads: usize, capacity: usize) -> PyResult<Workers> {
        let workers = lockgate::Workers::new(threads, capacity).map_err(|error| errors::create(py, error))?;
        Ok(Workers(Mutex::new(Some(workers))))
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
        let binding = Function::binding(function)?;
        let mut call = function::Call::new(function.get(), &binding, arguments)?;
        let passed = call.take_passed().map(|passed| Arc::new(Mutex::new(Some(passed))));
        let live = function.get().owner().get().live(py)?;
        let task = {
            let (binding, kept) = (binding.clone(), Kept(passed.clone()));
            move || {
                let done = call.make(&binding).map(|()| call);
                drop(kept);
                done
            }
        };
        // Conversions are over, which run any Python code: they might have closed the workers.
        let handle = lock(&self.0).as_ref().map(|workers| match timeout {
            Some(timeout) => live.spawn_call(workers.within(timeout), task),
            None => live.spawn_call(workers, task),
        });
        let closed = || errors::plain(py, "Closed", &"these workers were closed; make new ones");
        let handle = handle.ok_or_else(closed)?.map_err(|error| errors::call(py, error))?;
        let call = Call {
            function: function.clone().unbind(),
            arguments: arguments.clone().unbind(),
            binding: Mutex::new(Some(binding)),
            passed: Kept(passed),
            handle,
            state: Mutex::new(State::Running),
            converted: Condvar::new(),
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
        py.detach(|| match workers {
            Some(workers) if finish => workers.finish(),
            other => drop(other),
        });
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        Python::attach(|py| self.end(py, false));
    }
}

/// What has come of a call.
enum State {
    /// Nothing yet.
    Running,
    /// A thread has the result, and converts it to Python's.
    Converting(ThreadId),
    /// An exception that is made: to hand it out runs no code of Python's.
    Ended(Result<Py<PyAny>, Py<PyBaseException>>),
}

/// A call that a worker makes. The Python half wraps it.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Call {
    function: Py<Function>,
    arguments: Py<PyTuple>,
    /// Until the result is converted: the function's own is the collector's business.
    binding: Mutex<Option<Arc<Binding>>>,
    passed: Kept,
    handle: AsyncCall<function::Call>,
    state: Mutex<State>,
    /// Notified when the state becomes [`State::Ended`].
    converted: Condvar,
    _domain: Py<Domain>,
}

impl Call {
    /// Turns what came of the call into its outcome. The runtime gives the result to one thread, which does this.
    fn settle(&self, py: Python<'_>, ended: Result<function::Call, CallError>) {
        *lock(&self.state) = State::Converting(std::thread::current().id());
        let convert = |mut call: function::Call| -> PyResult<Py<PyAny>> {
            call.put_passed(self.passed.0.as_ref().and_then(|passed| lock(passed).take()));
            let binding = lock(&self.binding).take();
            let binding = binding.expect("taken by the one thread that gets the result");
            let result = call.finish(py, &binding)?;
            let result = binding.class(self.function.bind(py), result, self.arguments.bind(py))?;
            Ok(result.unbind())
        };
        let result = ended.map_err(|error| errors::call(py, error)).and_then(convert);
        let result = result.map_err(|error| error.into_value(py));
        *lock(&self.state) = State::Ended(result);
        self.converted.notify_all();
    }

    /// Waits, at most for `time`, until another thread has converted the result. Without the interpreter's lock, which that needs.
    fn await_conversion(&self, py: Python<'_>, time: Duration) -> PyResult<()> {
        if matches!(&*lock(&self.state), State::Converting(thread) if *thread == std::thread::current().id())
        {
            return Err(PyRuntimeError::new_err(
                "this call's result is being converted here: its errcheck, or what that calls, waits for the call itself",
            ));
        }
        py.detach(|| {
            let unsettled = |state: &mut State| !matches!(state, State::Ended(_));
            drop(self.converted.wait_timeout_while(lock(&self.state), time, unsettled));
        });
        Ok(())
    }

    fn outcome(&self, py: Python<'_>) -> Option<PyResult<Py<PyAny>>> {
        let ended = match &*lock(&self.state) {
            State::Ended(Ok(result)) => Ok(result.clone_ref(py)),
            State::Ended(Err(error)) => Err(error.clone_ref(py)),
            _ => return None,
        };
        Some(ended.map_err(|error| PyErr::from_value(error.into_bound(py).into_any())))
    }
}

#[pymethods]
impl Call {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.arguments)?;
        visit.call(&self._domain)?;
        // A worker that makes the call has them, too.
        if let Some(passed) = self.passed.0.as_ref().filter(|passed| Arc::strong_count(passed) == 1)
            && let Some(passed) = &*lock(passed)
        {
            passed.traverse(&visit)?;
        }
        // Nobody allocates under this lock, nor waits for the interpreter's.
        match &*lock(&self.state) {
            State::Ended(Ok(result)) => visit.call(result),
            State::Ended(Err(error)) => visit.call(error),
            _ => Ok(()),
        }
    }

    /// True if the call has ended.
    fn done(&self) -> bool {
        self.handle.has_ended()
    }

    /// The result; raises what the call raises, and `TimeoutError` if the call goes on after `timeout` seconds. Ctrl-C interrupts
    /// the wait and cancels the call.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let end = match timeout {
            Some(timeout) => Instant::now().checked_add(options::seconds(timeout)?),
            None => None,
        };
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now())).min(LOOK);
            match py.detach(|| self.handle.wait_timeout(left)) {
                Some(ended) => self.settle(py, ended),
                None if self.handle.has_ended() && self.outcome(py).is_none() => {
                    self.await_conversion(py, left)?
                }
                None => {}
            }
            if let Some(outcome) = self.outcome(py) {
                return outcome;
            }
            if let Err(interrupt) = py.check_signals() {
                self.cancel(py);
                return Err(interrupt);
            }
            if let (Some(end), Some(timeout)) = (end, timeout)
                && end <= Instant::now()
            {
                return Err(PyTimeoutError::new_err(format!("the call goes on after {timeout} seconds")));
            }
        }
    }

    /// Takes the call back: it does not begin, or is stopped.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.handle.cancel());
    }

    /// Has `notify` called, by some thread, when the call has ended; at once if it has. Any number can ask for that.
    fn when_done(&self, py: Python<'_>, notify: Py<PyAny>) {
        let waker = Arc::new(Notify(notify)).into();
        py.detach(|| self.handle.wake_at_end(&waker));
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
