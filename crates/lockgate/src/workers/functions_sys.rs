//! Functions whose calls workers make.
use super::lent_sys::lend;
use super::task::Call;
use super::{AsyncCall, Submission, spawn};
use crate::binding::{Dynamic, Value};
use crate::call::AnyDomain;
use crate::error::CallError;
use crate::function::Function;
use crate::memory::{Argument, Returned};
use std::sync::Arc;

/// Hands a call to workers that has nothing but a function and arguments.
fn spawn_plain<F: Send + Sync + 'static, R: Send + 'static>(
    domain: &Arc<dyn AnyDomain>,
    to: Submission<'_>,
    function: F,
    call: impl FnOnce(&F) -> Result<R, CallError> + Send + 'static,
) -> Result<AsyncCall<R>, CallError> {
    let (owned, lent) = lend(function);
    // SAFETY: the task runs this before its end, and lets go of the other half then.
    let work = Box::new(move || call(unsafe { lent.get() }));
    spawn(domain.clone(), to, Call { work, owned: Some(owned) })
}

impl Dynamic {
    /// Has one of `to`'s workers call the function; with a deadline: [`Workers::within`](crate::Workers::within).
    ///
    /// # Errors
    /// [`CallError::QueueFull`]. How the call itself ends, its handle tells.
    pub fn call_async<'a>(
        &self,
        to: impl Into<Submission<'a>>,
        arguments: Vec<Value>,
    ) -> Result<AsyncCall<Value>, CallError> {
        let call = |(function, arguments): &(Dynamic, Vec<Value>)| function.call(arguments);
        spawn_plain(self.binding.serving(), to.into(), (self.clone(), arguments), call)
    }
}

macro_rules! arity {
    ($($A:ident $a:ident)*) => {
        impl<R: Returned, $($A: Argument),*> Function<extern "C" fn($($A),*) -> R> {
            /// Has one of `to`'s workers call the function: `f.call_async(&workers, …)`, or, with a deadline,
            /// `f.call_async(workers.within(time), …)`.
            ///
            /// # Errors
            /// [`CallError::QueueFull`]. How the call itself ends, its handle tells.
            #[allow(clippy::too_many_arguments)]
            pub fn call_async<'a>(
                &self,
                to: impl Into<Submission<'a>>,
                $($a: $A),*
            ) -> Result<AsyncCall<R>, CallError>
            where
                R: Send,
                $($A: Send),*
            {
                let call = move |function: &Self| function.call($($a),*);
                spawn_plain(self.binding.serving(), to.into(), self.clone(), call)
            }
        }
    };
}

crate::arities!(arity);
