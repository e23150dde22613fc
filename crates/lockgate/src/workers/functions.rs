//! Functions whose calls workers make.
use super::task::Call;
use super::{AsyncCall, Submission, spawn};
use crate::binding::{Dynamic, Value};
use crate::call::AnyDomain;
use crate::error::CallError;
use crate::function::Function;
use crate::memory::{Argument, Returned};
use std::sync::Arc;

/// Hands a call to workers that has nothing but a function and arguments.
fn spawn_plain<R: Send + 'static>(
    domain: &Arc<dyn AnyDomain>,
    to: Submission<'_>,
    call: impl FnOnce() -> Result<R, CallError> + Send + 'static,
) -> Result<AsyncCall<R>, CallError> {
    spawn(domain.clone(), to, Call { work: Box::new(call), is_plain: true })
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
        let function = self.clone();
        spawn_plain(self.binding.serving(), to.into(), move || function.call(&arguments))
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
                let function = self.clone();
                spawn_plain(self.binding.serving(), to.into(), move || function.call($($a),*))
            }
        }
    };
}

crate::arities!(arity);
