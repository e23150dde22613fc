//! Host functions that domains call: imports and function pointers.
use crate::call::layout::{GateEntry, RESULT_RAX, RESULT_RDX, RESULT_XMM0, RESULT_XMM1};
use crate::call::{self, stubs};
use crate::domain::{Core, Domain, Gate};
use crate::function::FunctionType;
use crate::memory::{Argument, Pointer, Returned};
use crate::signature::{Place, Plan, PrototypeError, Signature, Type};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A host function as a domain sees it: code, and what it captured.
///
/// Made from a closure by [`HostFunction::new`], or from an `extern "C" fn` by `into()`, which is the quicker one to
/// call. Arguments come from the domain: any value of their type is possible.
///
/// ```compile_fail,E0080
/// lockgate::structure! { struct Big { a: u64, b: u64, c: u64 } }
/// // A result in memory would be written where the domain says.
/// lockgate::HostFunction::new(|_: &lockgate::Domain| Big { a: 1, b: 2, c: 3 });
/// ```
///
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(0);
/// // Any thread may call it, for as long as the domain lives.
/// lockgate::HostFunction::new(move |_: &lockgate::Domain| count.set(count.get() + 1));
/// ```
#[derive(Clone)]
pub struct HostFunction {
    function: usize,
    captured: Option<Arc<dyn Any + Send + Sync>>,
    context: usize,
    stack_words: u32,
    small: u32,
    results: u64,
    signature: Signature,
}

impl HostFunction {
    /// Makes a host function of a closure that takes the calling domain and up to twelve [`Argument`]s.
    ///
    /// A panic in it becomes the error of the domain's call: [`CallError::Panic`](crate::CallError::Panic).
    pub fn new<M, F: HostClosure<M>>(closure: F) -> HostFunction {
        closure.into_host_function()
    }

    /// A C function that gets all argument registers as they are, and may use all result registers.
    ///
    /// # Safety
    /// As [`from_c`](HostFunction::from_c), for whatever is in the registers.
    pub(crate) unsafe fn without_signature(function: *const (), user: usize) -> HostFunction {
        HostFunction {
            function: function as usize,
            captured: None,
            context: user,
            stack_words: 0,
            small: 0,
            results: RESULT_RAX | RESULT_RDX | RESULT_XMM0 | RESULT_XMM1,
            signature: Signature { name: String::new(), result: Type::Void, parameters: Vec::new() },
        }
    }

    /// A function of C with this signature, called as it is: the quickest kind, for bindings of other languages. In it,
    /// [`user_data`] returns `user`.
    ///
    /// # Errors
    /// A structure in memory as the result: the domain would choose where it is written. What is too large for the stack.
    ///
    /// # Safety
    /// `function` is a function of this signature that any thread may call for as long as any domain lives that it is given to.
    pub unsafe fn from_c(
        function: *const (),
        signature: &Signature,
        user: usize,
    ) -> Result<HostFunction, PrototypeError> {
        let error = |what| PrototypeError { prototype: signature.to_string(), what, at: 1 };
        let plan = Plan::new(signature).map_err(error)?;
        if plan.result == Place::Memory {
            let what = "a host function cannot return a structure in memory: let it write through a pointer";
            return Err(error(what.to_owned()));
        }
        Ok(HostFunction {
            function: function as usize,
            captured: None,
            context: user,
            stack_words: plan.stack_words,
            small: call::shape::small_arguments(signature, &plan),
            results: call::shape::results(signature, &plan),
            signature: signature.clone(),
        })
    }

    /// The signature, without a name.
    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn entry(&self) -> GateEntry {
        GateEntry::host(self.function as *const (), self.context, self.stack_words, self.small, self.results)
    }

    pub(crate) fn make(
        function: usize,
        signature: Signature,
        captured: Option<Arc<dyn Any + Send + Sync>>,
    ) -> HostFunction {
        let plan = Plan::new(&signature).expect("small structures only: checked when made");
        let context = captured.as_ref().map_or(0, |c| Arc::as_ptr(c).cast::<()>() as usize);
        let (small, results) =
            (call::shape::small_arguments(&signature, &plan), call::shape::results(&signature, &plan));
        HostFunction { function, captured, context, stack_words: plan.stack_words, small, results, signature }
    }
}

impl std::fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "HostFunction({}{})",
            self.signature,
            if self.captured.is_some() { ", closure" } else { "" }
        )
    }
}

/// A closure that can be a [`HostFunction`]; `M` tells the arities apart.
pub trait HostClosure<M>: Send + Sync + 'static {
    /// The host function.
    fn into_host_function(self) -> HostFunction;
}

/// True while the calling thread runs a function that a domain called, and not a signal handler.
fn is_called() -> bool {
    let here = 0_u8;
    call::thread_sys::in_living_gate(&raw const here as u64)
}

/// In a function that a domain called, what it was made with ([`HostFunction::from_c`]); `None` elsewhere.
pub fn user_data() -> Option<usize> {
    is_called().then(call::context)
}

/// In a function that a domain called, what `f` makes of that domain; `None` elsewhere, and where the function was freed that the domain was
/// called through.
pub fn with_caller<R>(f: impl FnOnce(&Domain) -> R) -> Option<R> {
    // SAFETY: a gate called the function that runs.
    let domain = (is_called() && call::has_caller()).then(|| unsafe { caller() })?;
    Some(f(&domain))
}

/// In a function that a domain called: ends the domain's call with [`CallError::Panic`](crate::CallError::Panic) as soon as the
/// function returns, whatever it returns; until then calls of domains are refused with that error. False elsewhere.
pub fn end_call(message: impl Into<String>) -> bool {
    let called = is_called();
    if called {
        call::end_when_it_returns(Box::new(message.into()));
    }
    called
}

/// The domain that calls a closure, for the time of the call.
///
/// # Safety
/// Only in a function that a gate called.
pub(crate) unsafe fn caller() -> ManuallyDrop<Domain> {
    // SAFETY: a live entry's binding keeps its domain's core in an Arc; ManuallyDrop leaves the count alone.
    unsafe { ManuallyDrop::new(Domain::from_core(Arc::from_raw(std::ptr::from_ref::<Core>(call::caller())))) }
}

macro_rules! arity {
    ($($A:ident $a:ident)*) => {
        impl<Z, R, $($A),*> HostClosure<fn($($A),*) -> R> for Z
        where
            Z: Fn(&Domain, $($A),*) -> R + Send + Sync + 'static,
            R: Returned,
            $($A: Argument),*
        {
            fn into_host_function(self) -> HostFunction {
                extern "C" fn run<Z: Fn(&Domain, $($A),*) -> R, R: Returned, $($A: Argument),*>($($a: $A),*) -> R {
                    // SAFETY: the gate's context is the closure, which its domain keeps; the caller is in the gate.
                    let (closure, domain) = unsafe { (&*(call::context() as *const Z), caller()) };
                    // SAFETY: the gate has called this just now.
                    let gate = unsafe { call::OwnGate::here() };
                    match catch_unwind(AssertUnwindSafe(|| closure(&domain, $($a),*))) {
                        Ok(result) => result,
                        Err(payload) => {
                            gate.end_with_panic(payload);
                            // SAFETY: any bits are an R; nobody will look at it.
                            unsafe { std::mem::zeroed() }
                        }
                    }
                }
                const { assert!(size_of::<R>() <= 16, "a host function cannot return a structure in memory: the domain would choose where it is written") };
                let signature = <extern "C" fn($($A),*) -> R as FunctionType>::signature("");
                let code: extern "C" fn($($A),*) -> R = run::<Z, R, $($A),*>;
                HostFunction::make(code as usize, signature, Some(Arc::new(self)))
            }
        }

        impl<R: Returned, $($A: Argument),*> From<extern "C" fn($($A),*) -> R> for HostFunction {
            fn from(function: extern "C" fn($($A),*) -> R) -> HostFunction {
                const { assert!(size_of::<R>() <= 16, "a host function cannot return a structure in memory: the domain would choose where it is written") };
                let signature = <extern "C" fn($($A),*) -> R as FunctionType>::signature("");
                HostFunction::make(function as usize, signature, None)
            }
        }
    };
}

crate::arities!(arity);

/// A host function, or another domain's, that the module can call through a function pointer, until this is dropped. After that, a call
/// through the pointer ends the domain's call with [`FaultKind::Gate`](crate::FaultKind::Gate).
/// The place of the pointer that has been free the longest is given out first: an old pointer leads to another function after a thousand
/// more callbacks at the earliest.
///
/// What a closure captured stays until the domain is gone or reset: a thread may still be in it. So a closure that captures a
/// [`Function`](crate::Function) of the same domain keeps the domain, and itself, for ever; let it use the domain
/// that it is given.
pub struct Callback {
    core: Arc<Core>,
    number: u64,
}

impl Callback {
    pub(crate) fn new(core: &Arc<Core>, gate: Gate) -> Option<Callback> {
        let number = core.here().ok()?.gates().add_callback(gate)?;
        Some(Callback { core: core.clone(), number })
    }

    /// The function pointer, for the module.
    pub fn pointer<T>(&self) -> Pointer<T> {
        Pointer::from_address(self.core.base() + stubs::callback_stub(self.number))
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if !self.core.is_inherited() && self.core.gates().remove_callback(self.number) {
            crate::domain::release_functions(&self.core);
        }
    }
}
