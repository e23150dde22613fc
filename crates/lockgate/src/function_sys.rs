//! Typed functions: a binding as a Rust value with a `call` method of the right arity.
use crate::binding::Binding;
use crate::call::outcome_sys;
use crate::call::proxies::ProxyListing;
use crate::error::CallError;
use crate::memory::{Argument, Returned};
use crate::policy::Policy;
use crate::signature::Signature;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, transmute};
use std::sync::Arc;

/// The type of a procedure: `extern "C" fn(A, B) -> R` of up to twelve [`Argument`]s, with a [`Returned`] result.
///
/// ```compile_fail,E0277
/// # fn f(domain: &lockgate::Domain) {
/// domain.bind::<fn(i32) -> i32>("f"); // only functions of C can be bound
/// # }
/// ```
///
/// # Safety
/// Implemented by this crate only: [`signature`](FunctionType::signature) must be the type's own.
pub unsafe trait FunctionType: Copy + 'static {
    /// The signature in C of a function of this type.
    fn signature(name: &str) -> Signature;
}

/// An entry point of a domain, bound as a function of type `F`.
///
/// Calling it costs a few nanoseconds more than a function pointer. It can be shared between threads; the first
/// call on a thread gives the thread stacks in the domain.
///
/// ```compile_fail,E0061
/// # fn f(f: lockgate::Function<extern "C" fn(i32) -> i32>) {
/// f.call(1, 2); // one argument too many
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # fn f(f: lockgate::Function<extern "C" fn(f64) -> f64>) {
/// f.call(1_i64); // not a double
/// # }
/// ```
pub struct Function<F> {
    code: usize,
    pub(crate) binding: Arc<Binding>,
    kind: PhantomData<F>,
}

impl<F: FunctionType> Function<F> {
    pub(crate) fn new(binding: Arc<Binding>) -> Self {
        Function { code: binding.code() as usize, binding, kind: PhantomData }
    }

    /// Name of the entry point.
    pub fn name(&self) -> &str {
        self.binding.name()
    }

    /// The thunk: a function of C with the bound signature, for code that cannot use [`Function`].
    ///
    /// A call through it that does not return normally returns anything; only [`Function::take_error`] and
    /// [`take_call_error`](crate::take_call_error) tell. It may be called as long as this function, or a clone of it, lives.
    pub fn as_ptr(&self) -> *const () {
        self.binding.lend()
    }

    /// What is enforced: the union of what the caller and the domain asked for.
    pub fn policy(&self) -> Policy {
        self.binding.policy()
    }

    /// The proxy's code.
    pub fn proxy(&self) -> ProxyListing<'_> {
        self.binding.proxy().listing()
    }

    /// The error of the last call through [`as_ptr`](Function::as_ptr) on this thread, if it had one.
    pub fn take_error(&self) -> Option<CallError> {
        outcome_sys::failed().then(|| outcome_sys::take_raw_error(self.binding.info())).flatten()
    }
}

impl<F> Clone for Function<F> {
    fn clone(&self) -> Self {
        Function { code: self.code, binding: self.binding.clone(), kind: PhantomData }
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} of {})", self.binding.name(), self.binding.domain().name())
    }
}

macro_rules! arity {
    ($($A:ident $a:ident)*) => {
        // SAFETY: the signature is built from the type's own parts.
        unsafe impl<R: Returned, $($A: Argument),*> FunctionType for extern "C" fn($($A),*) -> R {
            fn signature(name: &str) -> Signature {
                Signature { name: name.to_owned(), result: R::c_type(), parameters: vec![$($A::c_type()),*] }
            }
        }

        impl<R: Returned, $($A: Argument),*> Function<extern "C" fn($($A),*) -> R> {
            /// Calls the function.
            ///
            /// # Errors
            /// [`CallError`] says what happened instead of a return. The thread and the process go on.
            #[inline]
            #[allow(clippy::too_many_arguments)]
            pub fn call(&self, $($a: $A),*) -> Result<R, CallError> {
                // SAFETY: the thunk is a function of this type: its signature was compared when it was bound.
                // A call that fails leaves the result undefined, hence MaybeUninit, which has R's ABI.
                let code: extern "C" fn($($A),*) -> MaybeUninit<R> = unsafe { transmute(self.code) };
                let result = code($($a),*);
                if outcome_sys::failed()
                    && let Some(error) = outcome_sys::take_error(self.binding.info())
                {
                    return Err(error);
                }
                // SAFETY: the call returned: registers and result memory hold a value of R, whatever its bits.
                Ok(unsafe { result.assume_init() })
            }
        }
    };
}

crate::arities!(arity);
