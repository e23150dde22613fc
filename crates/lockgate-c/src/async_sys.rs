//! Section "Asynchronous calls" of the header.
use crate::call::{freed, guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::error::{Failure, Status};
use crate::function_sys::FunctionObject;
use crate::handle::{Handle, Handled};
use crate::program_asm::lockgate_call_program;
use crate::text_sys::slice;
use crate::value_sys::{CValue, read_values, result_place};
use lockgate::signature::{Signature, Type};
use lockgate::{AsyncCall, CallError, Submission, Value, Workers};
use lockgate_kernel::locked;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

/// What `lg_workers` stands for. Those that finish are gone.
pub struct WorkersObject(Mutex<Option<Workers>>);

impl Handled for WorkersObject {
    const WHAT: &'static str = "workers";
}

impl WorkersObject {
    fn with<R>(&self, body: impl FnOnce(&Workers) -> Result<R, Failure>) -> Result<R, Failure> {
        let _still = lockgate::still();
        let workers = locked(&self.0);
        let gone = || Failure::argument("these workers are finishing and take no more calls");
        body(workers.as_ref().ok_or_else(gone)?)
    }

    /// What `submit` makes of a submission to these workers, with a deadline if there is one.
    fn submit(
        &self,
        deadline_ms: u64,
        signature: Option<Signature>,
        submit: impl FnOnce(Submission<'_>) -> Result<AsyncCall<Value>, CallError>,
    ) -> Result<AsyncObject, Failure> {
        self.with(|workers| {
            let submission = match deadline_ms {
                0 => workers.into(),
                limit => workers.within(Duration::from_millis(limit)),
            };
            Ok(AsyncObject { call: submit(submission)?, signature, owner: lockgate::Owner::this() })
        })
    }
}

/// What `lg_async` stands for.
pub struct AsyncObject {
    call: AsyncCall<Value>,
    /// `None` for a function of the program's.
    signature: Option<Signature>,
    /// Whose it is.
    owner: lockgate::Owner,
}

impl AsyncObject {
    /// # Errors
    /// [`Status::Forked`].
    fn here(&self) -> Result<(), Failure> {
        match self.owner.is_here() {
            true => Ok(()),
            false => Err(CallError::Forked.into()),
        }
    }
}

impl Handled for AsyncObject {
    const WHAT: &'static str = "an asynchronous call";
}

/// Threads that make calls for others.
#[unsafe(no_mangle)]
pub extern "C" fn lg_workers_new(threads: usize, capacity: usize) -> Handle<WorkersObject> {
    made(|| Ok(WorkersObject(Mutex::new(Some(Workers::new(threads, capacity)?)))))
}

/// Calls that have not ended.
#[unsafe(no_mangle)]
pub extern "C" fn lg_workers_pending(workers: Handle<WorkersObject>) -> usize {
    value(0, || workers.get()?.with(|workers| Ok(workers.pending())))
}

/// Waits until every call has ended, and frees the handle.
pub extern "C" fn lg_workers_finish(workers: Handle<WorkersObject>) -> i32 {
    guarded(|| {
        let object = workers.take()?;
        let taken = {
            let _still = lockgate::still();
            locked(&object.0).take()
        };
        if let Some(workers) = taken {
            workers.finish();
        }
        Ok(())
    })
}

/// Cancels what has not ended, waits for the threads, and frees the handle.
pub extern "C" fn lg_workers_free(workers: Handle<WorkersObject>) -> i32 {
    freed(workers)
}

/// Has a worker call a function.
///
/// # Safety
/// `arguments` leads to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_call_async(
    function: Handle<FunctionObject>,
    workers: Handle<WorkersObject>,
    deadline_ms: u64,
    arguments: *const CValue,
    count: usize,
) -> Handle<AsyncObject> {
    made(|| {
        let (function, workers) = (function.get()?, workers.get()?);
        // SAFETY: the caller's array; structures among them lead to their bytes.
        let arguments = unsafe { read_values(slice(arguments, count, "arguments")?)? };
        let signature = function.dynamic.signature().clone();
        workers.submit(deadline_ms, Some(signature), |to| function.dynamic.call_async(to, arguments))
    })
}

/// What a function of the program's returns.
const WORK: Type = Type::Integer { bytes: 4, signed: true };

/// `lg_work`: a function of the program's, called once by a worker.
pub type Work = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What a program passes through the library, for itself.
struct User(*mut c_void);

// SAFETY: the library only hands it back; the program says that it may be used on another thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

/// Has a worker run a function of the program's that calls a domain.
///
/// # Safety
/// `work` may be called with `user` on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_spawn(
    domain: Handle<DomainObject>,
    workers: Handle<WorkersObject>,
    deadline_ms: u64,
    work: Option<Work>,
    user: *mut c_void,
) -> Handle<AsyncObject> {
    made(|| {
        let work = work.ok_or_else(|| Failure::argument("work is NULL"))?;
        let (workers, user) = (workers.get()?, User(user));
        let run = move || {
            let User(user) = { user };
            // SAFETY: the caller's promise; of `int` the lower half of rax counts.
            let result = unsafe { lockgate_call_program(work as *const (), user, ptr::null(), ptr::null()) };
            Ok(Value::Signed((result as i32).into()))
        };
        domain.with(|domain| workers.submit(deadline_ms, None, |to| domain.spawn_call(to, run)))
    })
}

/// Waits for the end, for so many milliseconds at most, or without end if the number is negative.
///
/// # Safety
/// As `lg_call`'s result.
pub unsafe extern "C" fn lg_async_wait(
    call: Handle<AsyncObject>,
    milliseconds: i64,
    result: *mut CValue,
) -> i32 {
    guarded(|| {
        let call = call.get()?;
        let returned = call.signature.as_ref().map_or(&WORK, |signature| &signature.result);
        // SAFETY: the caller's place for the result.
        let place = unsafe { result_place(result, returned, call.signature.as_ref())? };
        let timeout = u64::try_from(milliseconds).map_or(Duration::MAX, Duration::from_millis);
        let Some(outcome) = call.call.wait_timeout(timeout) else {
            return Err(match call.call.has_ended() {
                true => Failure::argument("the result of this asynchronous call has been taken already"),
                false => Failure::new(Status::Pending, "the asynchronous call has not ended yet"),
            });
        };
        // SAFETY: as above.
        unsafe { place.put(outcome?) }
    })
}

/// Whether the call has ended.
#[unsafe(no_mangle)]
pub extern "C" fn lg_async_has_ended(call: Handle<AsyncObject>) -> c_int {
    value(0, || Ok(call.get()?.call.has_ended().into()))
}

/// Takes the call back.
#[unsafe(no_mangle)]
pub extern "C" fn lg_async_cancel(call: Handle<AsyncObject>) -> i32 {
    guarded(|| {
        let call = call.get()?;
        call.here()?;
        call.call.cancel();
        Ok(())
    })
}

/// `lg_notify`: a function of the program's, called when a call has ended.
pub type Notify = unsafe extern "C" fn(*mut c_void);

struct Notification {
    notify: Notify,
    user: User,
}

impl Wake for Notification {
    fn wake(self: Arc<Self>) {
        let (notify, user) = (self.notify, self.user.0);
        drop(self);
        // SAFETY: the promise of `lg_async_notify`'s caller.
        unsafe { lockgate_call_program(notify as *const (), user, ptr::null(), ptr::null()) };
    }
}

/// Calls a function when the call has ended.
///
/// # Safety
/// `notify` may be called with `user` on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_async_notify(
    call: Handle<AsyncObject>,
    notify: Option<Notify>,
    user: *mut c_void,
) -> i32 {
    guarded(|| {
        let notify = notify.ok_or_else(|| Failure::argument("notify is NULL"))?;
        let call = call.get()?;
        call.here()?;
        let waker = Waker::from(Arc::new(Notification { notify, user: User(user) }));
        call.call.wake_at_end(&waker);
        Ok(())
    })
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_async_free(call: Handle<AsyncObject>) -> i32 {
    freed(call)
}
