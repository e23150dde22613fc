//! Functions whose calls workers make.
use super::{AsyncCall, Submission, spawn};
use crate::binding::{Dynamic, Value};
use crate::error::CallError;
use crate::function::Function;
use crate::memory::{Argument, Returned};

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
        spawn(self.binding.serving().clone(), to.into(), move || function.call(&arguments))
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
                spawn(self.binding.serving().clone(), to.into(), move || function.call($($a),*))
            }
        }
    };
}

crate::arities!(arity);
