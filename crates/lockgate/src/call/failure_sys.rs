//! What callers through raw function pointers learn of calls that failed: an error of the thread, a handler, a value.
use super::layout::{BindingHeader, first_header};
use super::reporter::Reporter;
use super::retired_sys::living;
use super::{outcome_sys, thread_sys};
use crate::error::CallError;
use crate::host::Short;
use crate::report::FaultKind;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

/// A call through a raw function pointer that did not return.
#[derive(Debug)]
pub struct Failure {
    /// The library's name.
    pub library: String,
    /// The function called.
    pub symbol: String,
    /// What happened.
    pub error: CallError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.library, self.symbol, self.error)
    }
}

type Handler = dyn Fn(&Failure) + Send + Sync;

static HANDLER: RwLock<Option<Arc<Handler>>> = RwLock::new(None);

thread_local! {
    static LAST: Cell<Option<Arc<Failure>>> = const { Cell::new(None) };
}

/// Why the last call on this thread that failed did so. It stays until another call fails, or a caller of this function takes it.
pub fn last_failure() -> Option<Arc<Failure>> {
    let look = |last: &Cell<Option<Arc<Failure>>>| {
        let failure = last.take();
        last.set(failure.clone());
        failure
    };
    LAST.try_with(look).ok().flatten()
}

/// The same, and forgets it.
pub fn take_failure() -> Option<Arc<Failure>> {
    LAST.try_with(Cell::take).ok().flatten()
}

/// Has `handler` called after every call that failed, on the caller's thread, before the caller gets its value. `None` takes the
/// handler away. The handler is not called for calls that a signal handler makes, which are all refused: what it interrupted may hold any lock.
/// Signals wait meanwhile, and a cancellation does.
pub fn on_failure(handler: Option<Box<Handler>>) {
    let handler = handler.map(Arc::from);
    let mut place = Short::new(|| HANDLER.write().unwrap_or_else(PoisonError::into_inner));
    let old = std::mem::replace(&mut *place, handler);
    drop(place);
    drop(old); // after the lock
}

/// Tells of the failure, and sets `errno`.
pub(crate) fn tell(failure: Failure) {
    let number = errno(&failure.error);
    let failure = Arc::new(failure);
    let _ = LAST.try_with(|last| last.replace(Some(failure.clone())));
    let handler = Short::new(|| HANDLER.read().unwrap_or_else(PoisonError::into_inner)).clone();
    if let Some(handler) = handler {
        handler(&failure);
    }
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = number };
}

/// `errno` after a call that failed.
fn errno(error: &CallError) -> i32 {
    match error {
        CallError::Fault(fault) => match fault.kind() {
            FaultKind::TimeOut | FaultKind::CpuTime => libc::ETIMEDOUT,
            FaultKind::Killed | FaultKind::Stopped => libc::ECANCELED,
            FaultKind::Quota => libc::ENOMEM,
            _ => libc::EFAULT,
        },
        CallError::Unloaded(_) | CallError::Revoked(_) | CallError::Restarted(_) => libc::ESTALE,
        CallError::Killed(_) | CallError::Cancelled(_) => libc::ECANCELED,
        CallError::CpuTime(_) | CallError::Deadline(_) => libc::ETIMEDOUT,
        CallError::Threads { .. } | CallError::QueueFull { .. } => libc::EAGAIN,
        CallError::Memory(_) => libc::ENOMEM,
        CallError::Busy(..) | CallError::NotBegun(_) => libc::EBUSY,
        CallError::Deadlock(_) | CallError::OwnEnd(_) => libc::EDEADLK,
        CallError::Unanswered { .. } => libc::ENOSYS,
        CallError::SignalHandler | CallError::Forked | CallError::ThreadEnding => libc::EPERM,
        _ => libc::EFAULT,
    }
}

impl Reporter {
    /// Tells of a call's failure and says what it returns: registers rax, rdx, xmm0, xmm1.
    ///
    /// # Safety
    /// For a function that returns its result in memory, rax is the address of room for it.
    unsafe fn tell(&self, error: CallError, registers: &mut [u64; 4]) {
        let number = errno(&error);
        tell(Failure { library: self.library.clone(), symbol: self.symbol.clone(), error });
        // SAFETY: the caller's promise.
        unsafe { self.answer(number, registers) };
    }

    /// What a failing call returns, and `errno`: all that a signal handler gets. Nothing is locked, allocated, freed or called.
    ///
    /// # Safety
    /// As [`tell`](Reporter::tell).
    unsafe fn answer(&self, number: i32, registers: &mut [u64; 4]) {
        // SAFETY: the calling thread's own.
        unsafe { *libc::__errno_location() = number };
        if self.memory == 0 {
            *registers = [self.value.load(Ordering::Relaxed); 4];
        } else {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::write_bytes(registers[0] as *mut u8, 0, self.memory) };
        }
    }
}

/// Called on the host's stack when a call through a raw function pointer did not return, or was refused: what the caller finds in rax,
/// rdx, xmm0, xmm1. `ended` is 1 if the thread's error is this call's, and 0 if the pointer led nowhere.
///
/// # Safety
/// Only proxies and their slow paths call it, with a header that has a reporter.
pub(super) unsafe extern "C" fn lockgate_report_failure(
    header: *const BindingHeader,
    results: *mut [u64; 4],
    ended: u32,
) {
    // SAFETY: headers with reporters, and the reporters, stay for good; the results are on the caller's stack.
    let (header, reporter, results) =
        unsafe { (&*first_header(header), &*(*header).reporter, &mut *results) };
    // A signal handler's call: what it interrupted may hold any lock, the allocator's and ours, and has a last error of its own.
    let is_handlers = match ended {
        0 => thread_sys::on_alternate_stack(),
        _ => outcome_sys::take_handlers_refusal(),
    };
    if is_handlers {
        // SAFETY: as below.
        return unsafe { reporter.answer(libc::EPERM, results) };
    }
    let error = if ended == 0 {
        None
    } else {
        // The library may have been reclaimed since the call was refused: its error is taken all the same, or the thread would wait for
        // a caller to look at it.
        living(header, outcome_sys::take_error).unwrap_or_else(outcome_sys::take_orphaned_error)
    };
    // The library's own name, and not that of the domain, which may be another's that it has joined.
    let error = match error {
        None | Some(CallError::Unloaded(_)) => CallError::Unloaded(reporter.library().to_owned()),
        Some(error) => error,
    };
    // SAFETY: the address of a result in memory is the caller's, who gave room for it.
    unsafe { reporter.tell(error, results) };
}
