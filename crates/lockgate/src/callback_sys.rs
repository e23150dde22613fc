//! Host functions that domains call: imports and function pointers.
use crate::binding::Binding;
use crate::call::{self, Gate, OnFailure, thunks};
use crate::domain::{Core, Domain};
use crate::error::{BindError, LinkError};
use crate::function::FunctionType;
use crate::host;
use crate::host_function::HostFunction;
use crate::memory::{Argument, Pointer, Returned};
use crate::policy::Policy;
use crate::signature::Asked;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl HostFunction {
    /// Makes a host function of a closure that takes the calling domain and up to twelve [`Argument`]s.
    ///
    /// A panic in it becomes the error of the domain's call: [`CallError::Panic`](crate::CallError::Panic).
    pub fn new<M, F: HostClosure<M>>(closure: F) -> HostFunction {
        closure.into_host_function()
    }
}

/// A closure that can be a [`HostFunction`]; `M` tells the arities apart.
pub trait HostClosure<M>: Send + Sync + 'static {
    /// The host function.
    fn into_host_function(self) -> HostFunction;
}

/// True while the calling thread runs a function that a domain called, and not a signal handler.
///
/// (Told by how deep the thread's stack is, so this and what asks it for a host have no frames of their own: after a jump out of such a
/// function the host's next call could be as deep.)
#[inline(always)]
fn is_called() -> bool {
    call::repair_sys::in_living_gate(host::frame_address())
}

/// In a function that a domain called, what it was made with ([`HostFunction::from_c`]); `None` elsewhere.
#[inline(always)]
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
    unsafe {
        ManuallyDrop::new(Domain::from_core(Arc::from_raw(std::ptr::from_ref(Core::of(call::caller())))))
    }
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
                            // SAFETY: any bits are an R; no code will look at it.
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
/// A closure's captures stay until the domain is gone or reset: a thread may still be in it. So a closure that captures a
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
        Pointer::from_address(self.core.base() + thunks::callback_thunk(self.number))
    }
}

impl Domain {
    /// Makes `server`'s export `name` callable by this domain through a function pointer, as long as the result lives.
    ///
    /// # Errors
    /// [`LinkError`]; [`LinkError::NoPrototype`] for a name alone.
    pub fn function_pointer(
        &self,
        server: &Domain,
        prototype: &str,
        policy: Policy,
        on_failure: OnFailure,
    ) -> Result<Callback, LinkError> {
        let forked = |_| BindError::Forked(self.name().to_owned());
        self.core().here().map_err(forked)?;
        let signature = match Asked::parse(prototype).map_err(BindError::from)? {
            Asked::Name(name) => return Err(LinkError::NoPrototype(name.to_owned())),
            Asked::Prototype(signature) => signature,
        };
        let (callee, image) = (server.core().clone(), server.core().image());
        let binding = Binding::for_domain(callee, &image, signature, self.core(), policy, on_failure)?;
        let full = || LinkError::Pointers(self.name().to_owned());
        Callback::new(self.core(), Arc::new(binding).gate()).ok_or_else(full)
    }

    /// Makes a host function callable by the module through a function pointer, as long as the result lives.
    ///
    /// # Errors
    /// `None` if all of the domain's callbacks are in use.
    pub fn callback(&self, function: impl Into<HostFunction>) -> Option<Callback> {
        Callback::new(self.core(), function.into().gate())
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if !self.core.is_inherited() && self.core.gates().remove_callback(self.number) {
            crate::domain::release_functions(&self.core);
        }
    }
}
