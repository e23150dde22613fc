//! Functions of the host, as domains' tables have them.
use crate::call::layout::{GateEntry, RESULT_RAX, RESULT_RDX, RESULT_XMM0, RESULT_XMM1};
use crate::call::{Gate, call_abi};
use crate::signature::{Place, Plan, PrototypeError, Signature, Type};
use std::any::Any;
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
    stack_masks: Option<&'static [u64]>,
    small: u32,
    results: u64,
    signature: Signature,
}

impl HostFunction {
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
            stack_masks: None,
            small: 0,
            results: RESULT_RAX | RESULT_RDX | RESULT_XMM0 | RESULT_XMM1,
            signature: Signature { name: String::new(), result: Type::Void, parameters: Vec::new() },
        }
    }

    /// A function of C with this signature, called as it is: the quickest kind, for bindings of other languages. In it,
    /// [`user_data`](crate::user_data) returns `user`.
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
            stack_masks: call_abi::stack_masks(signature, &plan),
            small: call_abi::small_arguments(signature, &plan),
            results: call_abi::results(signature, &plan),
            signature: signature.clone(),
        })
    }

    /// The signature, without a name.
    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn entry(&self) -> GateEntry {
        let function = self.function as *const ();
        let (words, masks) = (self.stack_words, self.stack_masks);
        GateEntry::host(function, self.context, words, masks, self.small, self.results)
    }

    /// For a domain's tables.
    pub(crate) fn gate(&self) -> Gate {
        Gate { entry: self.entry(), keeps: self.captured.clone(), is_binding: false }
    }

    pub(crate) fn make(
        function: usize,
        signature: Signature,
        captured: Option<Arc<dyn Any + Send + Sync>>,
    ) -> HostFunction {
        let plan = Plan::new(&signature).expect("small structures only: checked when made");
        let context = captured.as_ref().map_or(0, |c| Arc::as_ptr(c).cast::<()>() as usize);
        let (small, results) =
            (call_abi::small_arguments(&signature, &plan), call_abi::results(&signature, &plan));
        let (stack_words, stack_masks) = (plan.stack_words, call_abi::stack_masks(&signature, &plan));
        HostFunction { function, captured, context, stack_words, stack_masks, small, results, signature }
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
