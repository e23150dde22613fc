//! One interpreter, the main one: classes and callbacks belong to it. And its end.
//!
//! Once the interpreter ends, CPython (before 3.14) ends every other thread that wants its lock, by `pthread_exit`: that unwinds the
//! thread's stack, and neither Rust's frames nor a domain's can be unwound. Such threads stay where they are instead, as CPython 3.14
//! has it:
//!
//! - Who comes from native code and wants the lock passes a gate. It is closed before the end begins, when no thread is on the way any more;
//!   who comes later stays.
//! - Who is in code of Python's that native code has called may lose the lock there and be ended when it wants that back: [`call`]
//!   meets the unwinding, and stays.
use lockgate::PerProcess;
use lockgate_kernel::locked;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::Cell;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::ThreadId;

/// Refuses all interpreters of the process but the main one. (The Python half has asked before.)
///
/// # Errors
/// `ImportError`.
pub fn only_main(_: Python<'_>) -> PyResult<()> {
    /// CPython numbers them in the order in which they begin.
    const MAIN: i64 = 0;
    // SAFETY: the caller is attached to an interpreter.
    match unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } {
        MAIN => Ok(()),
        _ => Err(PyImportError::new_err("lockgate works in the main interpreter of a process only")),
    }
}

/// The gate is closed.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Threads that have passed the gate and have not got the GIL yet.
static PASSING: AtomicUsize = AtomicUsize::new(0);
/// Who ends the interpreter, for whom the gate is always open.
static ENDER: OnceLock<ThreadId> = OnceLock::new();
/// Where threads wait before a closed gate: it opens again while the one that ends the interpreter waits for them. They have this lock
/// without the interpreter's, so a child may not find it as its parent left it.
static WAITING: PerProcess<(Mutex<()>, Condvar)> = PerProcess::new(Default::default);

thread_local! {
    /// This thread is in a domain with the GIL in hand.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

fn waiting() -> MutexGuard<'static, ()> {
    locked(&WAITING.0)
}

fn is_ender() -> bool {
    ENDER.get().is_some_and(|ender| *ender == std::thread::current().id())
}

/// A thread on its way to the GIL, which does not end meanwhile.
struct Pass;

impl Pass {
    /// Does not return once the interpreter is about to end.
    fn take() -> Pass {
        loop {
            PASSING.fetch_add(1, Ordering::SeqCst);
            let pass = Pass;
            if !CLOSED.load(Ordering::SeqCst) || is_ender() {
                return pass;
            }
            drop(pass);
            let closed = |_: &mut ()| CLOSED.load(Ordering::SeqCst);
            drop(WAITING.1.wait_while(waiting(), closed));
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        PASSING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Closes the gate, without the GIL, which those need who have passed.
fn close() {
    CLOSED.store(true, Ordering::SeqCst);
    while PASSING.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
}

/// `atexit` calls it: the interpreter is about to end.
#[pyfunction]
pub fn ending(py: Python<'_>) {
    let _ = ENDER.set(std::thread::current().id());
    py.detach(close);
}

/// `os.register_at_fork` calls it in the child, where the forking thread is alone.
#[pyfunction]
pub fn forked() {
    PASSING.store(0, Ordering::SeqCst);
}

/// True once the interpreter is ending, for the thread that ends it: others do not come back to Python.
pub fn has_ended(py: Python<'_>) -> bool {
    let ending = || py.import("sys")?.call_method0("is_finalizing")?.is_truthy();
    is_ender() && ending().unwrap_or(true)
}

/// Lets go of the GIL meanwhile.
#[inline]
pub fn detach<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let held = HOLDS.replace(false);
    let opens = CLOSED.load(Ordering::SeqCst) && is_ender() && !has_ended(py);
    let (done, pass) = py.detach(|| {
        if opens {
            // The end does not begin while its thread is here; it may wait for others.
            let waiting = waiting();
            CLOSED.store(false, Ordering::SeqCst);
            drop(waiting);
            WAITING.1.notify_all();
        }
        let done = work();
        if opens {
            close();
        }
        (done, Pass::take())
    });
    drop(pass);
    HOLDS.set(held);
    done
}

/// Calls a domain without letting go of the GIL.
#[inline]
pub fn hold<T>(work: impl FnOnce() -> T) -> T {
    let held = HOLDS.replace(true);
    let done = work();
    HOLDS.set(held);
    done
}

/// Does something with the GIL, on a thread that has let go of it or never had it.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    if HOLDS.get() {
        return Python::attach(work);
    }
    let pass = Pass::take();
    Python::attach(|py| {
        drop(pass);
        work(py)
    })
}

/// A thread whose stack is unwound here goes no further.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

unsafe extern "C-unwind" {
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        arguments: *mut ffi::PyObject,
        named: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyErr_WriteUnraisable(object: *mut ffi::PyObject);
}

/// PyO3 declares these as functions that do not unwind. Where code of its own that calls one lies in the same unit, the compiler takes a call by name
/// for such a one as well, and leaves [`Stay`] out; of a call through a word that is read each time, it knows nothing.
static CALL: unsafe extern "C-unwind" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject = PyObject_Call;
static WRITE_UNRAISABLE: unsafe extern "C-unwind" fn(*mut ffi::PyObject) = PyErr_WriteUnraisable;

/// Calls code of Python's.
///
/// # Errors
/// What it raises.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let arguments = arguments.into_pyobject(py).map_err(Into::into)?;
    let named = named.map_or(ptr::null_mut(), |named| named.as_ptr());
    let stay = Stay;
    // SAFETY: live objects, a tuple and perhaps a dictionary; the result is the caller's.
    let result = unsafe { (&raw const CALL).read_volatile()(callable.as_ptr(), arguments.as_ptr(), named) };
    mem::forget(stay);
    // SAFETY: as above; null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }
}

/// Reports an exception that no caller can catch.
pub fn unraisable(py: Python<'_>, error: PyErr, object: Option<&Bound<'_, PyAny>>) {
    error.restore(py);
    let stay = Stay;
    let object = object.map_or(ptr::null_mut(), |object| object.as_ptr());
    // SAFETY: an exception is set; a live object or none.
    unsafe { (&raw const WRITE_UNRAISABLE).read_volatile()(object) };
    mem::forget(stay);
}
