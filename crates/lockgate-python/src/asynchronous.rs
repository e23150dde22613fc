//! Calls that other threads make: [`Workers`], and handles of their calls.
use crate::binding::Binding;
use crate::changes::Changes;
use crate::domain::Domain;
use crate::function::{self, Function};
use crate::interpreter_sys::{self, attach, detach};
use crate::scratch::Passed;
use crate::{errors, values};
use lockgate::{AsyncCall, CallError};
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyTimeoutError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex};
use std::task::Wake;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// How often a thread that waits looks whether the user has interrupted it.
const LOOK: Duration = Duration::from_millis(50);

/// What a call passes by reference, kept by its handle and by the call. A thread that lets go of it without the GIL leaves that
/// to the next one that has it.
#[pyclass(frozen, module = "lockgate._native")]
struct Lent(Mutex<Option<Passed>>);

#[pymethods]
impl Lent {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        locked(&self.0).as_ref().map_or(Ok(()), |passed| passed.traverse(&visit))
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
        locked(&self.0).as_ref().map_or(0, |workers| workers.pending())
    }

    /// Has a worker call the function.
    #[pyo3(signature = (class, function, arguments, timeout=None))]
    fn _submit<'py>(
        slf: &Bound<'py, Self>,
        class: &Bound<'py, PyAny>,
        function: &Bound<'py, Function>,
        arguments: &Bound<'py, PyTuple>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let timeout = timeout.map(values::seconds).transpose()?;
        let binding = Function::binding(function)?;
        let mut call = function::Call::new(function.get(), &binding, arguments)?;
        let lent =
            call.take_passed().map(|passed| Py::new(py, Lent(Mutex::new(Some(passed))))).transpose()?;
        let wanted = Arc::new(());
        let live = function.get().owner().get().live(py)?;
        let task = {
            let (binding, wanted) = (binding.clone(), wanted.clone());
            let lent = lent.as_ref().map(|lent| lent.clone_ref(py));
            move || {
                let done = call.make(&binding).map(|()| call);
                if let (Err(CallError::Detached { .. }), Some(lent)) = (&done, &lent)
                    && let Some(passed) = &mut *locked(&lent.get().0)
                {
                    passed.leave();
                }
                if lent.is_some() && Arc::strong_count(&wanted) == 1 {
                    // The program no longer waits for the result: what was lent goes back now.
                    attach(|_| drop(lent));
                }
                done
            }
        };
        // Conversions are over, which run any Python code: they might have closed the workers.
        let handle = locked(&slf.get().0).as_ref().map(|workers| match timeout {
            Some(timeout) => live.spawn_call(workers.within(timeout), task),
            None => live.spawn_call(workers, task),
        });
        let closed = || errors::plain(py, "Closed", &"these workers were closed; make new ones");
        let handle = handle.ok_or_else(closed)?.map_err(|error| errors::call(py, error))?;
        let call = Call {
            function: function.clone().unbind(),
            arguments: arguments.clone().unbind(),
            binding: Mutex::new(Some(binding)),
            lent,
            _wanted: wanted,
            handle,
            state: Mutex::new(State::Running),
            converted: Changes::default(),
            _domain: function.get().owner().clone_ref(py),
            workers: slf.clone().unbind(),
        };
        interpreter_sys::call(class, (Bound::new(py, call)?,), None)
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
        let workers = locked(&self.0).take();
        if interpreter_sys::has_ended(py) {
            std::mem::forget(workers); // a worker that is in Python stays there
            return;
        }
        // Callbacks that are in progress need the interpreter.
        detach(py, || match workers {
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
    lent: Option<Py<Lent>>,
    /// The call has the other one: it sees whether the program has the handle.
    _wanted: Arc<()>,
    handle: AsyncCall<function::Call>,
    /// Only taken with the GIL.
    state: Mutex<State>,
    /// Told when the state becomes [`State::Ended`].
    converted: Changes,
    _domain: Py<Domain>,
    /// They make the call as long as the program has the handle.
    workers: Py<Workers>,
}

impl Call {
    /// Turns what came of the call into its outcome. The runtime gives the result to one thread, which does this.
    fn settle(&self, py: Python<'_>, ended: Result<function::Call, CallError>) {
        *locked(&self.state) = State::Converting(std::thread::current().id());
        let convert = |mut call: function::Call| -> PyResult<Py<PyAny>> {
            call.put_passed(self.lent.as_ref().and_then(|lent| locked(&lent.get().0).take()));
            let binding = locked(&self.binding).take();
            let binding = binding.expect("taken by the one thread that gets the result");
            let result = call.finish(py, self.function.get(), &binding)?;
            let result =
                binding.class(self.function.bind(py), call.generation(), result, self.arguments.bind(py))?;
            Ok(result.unbind())
        };
        let binding = locked(&self.binding).clone();
        let error = |error| match &binding {
            Some(binding) => self.function.get().error(py, binding, error),
            None => self._domain.get().error(py, error),
        };
        let result = ended.map_err(error).and_then(convert);
        let result = result.map_err(|error| error.into_value(py));
        *locked(&self.state) = State::Ended(result);
        self.converted.tell();
    }

    /// Waits, at most for `time`, until another thread has converted the result. Without the GIL, which that needs.
    fn await_conversion(&self, py: Python<'_>, time: Duration) -> PyResult<()> {
        let seen = self.converted.count();
        if matches!(&*locked(&self.state), State::Converting(thread) if *thread == std::thread::current().id())
        {
            return Err(PyRuntimeError::new_err(
                "this call's result is being converted here: its errcheck, or what that calls, waits for the call itself",
            ));
        }
        if !matches!(&*locked(&self.state), State::Ended(_)) {
            detach(py, || self.converted.wait(seen, time));
        }
        Ok(())
    }

    fn outcome(&self, py: Python<'_>) -> Option<PyResult<Py<PyAny>>> {
        let ended = match &*locked(&self.state) {
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
        visit.call(&self.workers)?;
        visit.call(&self.lent)?;
        // No thread allocates under this lock, or waits for the interpreter's.
        match &*locked(&self.state) {
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
            Some(timeout) => Instant::now().checked_add(values::seconds(timeout)?),
            None => match self.handle.own_end() {
                Some(error) => return Err(errors::call(py, error)),
                None => None,
            },
        };
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now())).min(LOOK);
            match detach(py, || self.handle.wait_timeout(left)) {
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
        detach(py, || self.handle.cancel());
    }

    /// Has `notify` called, by some thread, when the call has ended; at once if it has. Any number can ask for that.
    fn when_done(&self, py: Python<'_>, notify: Py<PyAny>) {
        let waker = Arc::new(Notify(notify)).into();
        detach(py, || self.handle.wake_at_end(&waker));
    }
}

/// Tells Python that a call has ended.
struct Notify(Py<PyAny>);

impl Wake for Notify {
    fn wake(self: Arc<Self>) {
        attach(|py| {
            if let Err(error) = interpreter_sys::call(self.0.bind(py), (), None) {
                interpreter_sys::unraisable(py, error, None);
            }
        });
    }
}
