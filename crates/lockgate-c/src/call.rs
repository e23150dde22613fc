//! What every function of the library does around its work: errors are kept for the thread, panics stay inside, and
//! cancellation outside.
use crate::error::{self, Failure, Status};
use crate::handle::{Handle, Handled};
use lockgate::Uncancelled;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `body` returns, or `failed`; the reason is the thread's last error then.
pub(crate) fn value<R>(failed: R, body: impl FnOnce() -> Result<R, Failure>) -> R {
    match catch(body) {
        Ok(value) => value,
        Err(failure) => {
            error::keep(failure);
            failed
        }
    }
}

/// The status of `body`.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    match catch(body) {
        Ok(()) => Status::Ok as i32,
        Err(failure) => error::keep(failure) as i32,
    }
}

/// A handle of what `body` makes, or `NULL`.
pub(crate) fn made<T: Handled>(body: impl FnOnce() -> Result<T, Failure>) -> Handle<T> {
    value(Handle::NULL, || body().map(Handle::new))
}

/// Ends a handle. `NULL` is none, and no error, as for `free`.
pub(crate) fn freed<T: Handled>(handle: Handle<T>) -> i32 {
    guarded(|| match handle.is_null() {
        true => Ok(()),
        false => handle.take().map(drop),
    })
}

pub(crate) fn catch<R>(body: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    let _uncancelled = Uncancelled::new();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(of_panic(payload.as_ref())))
}

/// A panic of the library's own.
fn of_panic(payload: &(dyn Any + Send)) -> Failure {
    let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    Failure::new(
        Status::Internal,
        format!("the library is at fault, please report: {}", text.unwrap_or_default()),
    )
}
