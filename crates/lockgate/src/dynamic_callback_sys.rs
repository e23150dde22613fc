//! Host functions whose signature is known at run time only: one entry in assembly for all of them, which saves the
//! registers that carry arguments and loads those that carry results.
use crate::binding::{Registers, Value, value, words};
use crate::call;
use crate::callback::caller;
use crate::domain::Domain;
use crate::error::BindError;
use crate::host_function::HostFunction;
use crate::signature::{Place, Plan, PrototypeError, Signature};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::slice;
use std::sync::Arc;

core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_dynamic_callback
    .hidden lockgate_dynamic_callback
    .type lockgate_dynamic_callback,@function
lockgate_dynamic_callback:"#,
    crate::call_registers!(
        r#"
    mov %rsp,%rdi
    lea 16(%rbp),%rsi
    call {run}"#
    ),
    r#"
    .size lockgate_dynamic_callback,.-lockgate_dynamic_callback
    "#,
    REGISTERS = const size_of::<Registers>(),
    run = sym run,
    options(att_syntax)
);

unsafe extern "C" {
    fn lockgate_dynamic_callback();
}

/// What ends the domain's call if the function fails: the payload of [`CallError::Panic`](crate::CallError::Panic).
type Payload = Box<dyn Any + Send>;

type Body = dyn Fn(&Domain, &[Value]) -> Result<Value, Payload> + Send + Sync;

/// What a gate's context leads to.
struct Dynamic {
    signature: Signature,
    plan: Plan,
    body: Box<Body>,
}

impl HostFunction {
    /// Makes a host function of `signature`, whose name does not count, for bindings of other languages. Arguments
    /// come from the domain: any value of their type is possible.
    ///
    /// An error of the closure, or a panic in it, ends the domain's call with [`CallError::Panic`](crate::CallError::Panic).
    ///
    /// # Errors
    /// [`BindError::Prototype`] if the result does not travel in registers (the domain would choose where it is written), or
    /// something is too large to be passed by value.
    pub fn dynamic(
        signature: Signature,
        body: impl Fn(&Domain, &[Value]) -> Result<Value, Payload> + Send + Sync + 'static,
    ) -> Result<HostFunction, BindError> {
        let prototype = |what| PrototypeError { prototype: signature.to_string(), what, at: 1 };
        let plan = Plan::new(&signature).map_err(prototype)?;
        if plan.result == Place::Memory {
            let what = "a host function cannot return a structure in memory: take a pointer and write there";
            return Err(prototype(what.to_owned()).into());
        }
        let captured = Dynamic { signature: signature.clone(), plan, body: Box::new(body) };
        let function = lockgate_dynamic_callback as *const () as usize;
        Ok(HostFunction::make(function, signature, Some(Arc::new(captured))))
    }
}

/// Called by the entry above, on the host's stack.
///
/// # Safety
/// Only in a function that a gate called for a [`Dynamic`], with its registers and stack arguments.
unsafe extern "C" fn run(registers: &mut Registers, stack: *const u64) {
    // SAFETY: the gate's context is what `HostFunction::dynamic` captured, which its domain keeps; the caller is in the gate.
    let (dynamic, domain) = unsafe { (&*(call::context() as *const Dynamic), caller()) };
    // SAFETY: the gate has called this just now.
    let gate = unsafe { call::OwnGate::here() };
    // SAFETY: the gate has copied as many words as the plan says.
    let stack = unsafe { slice::from_raw_parts(stack, dynamic.plan.stack_words as usize) };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let arguments: Vec<Value> = dynamic
            .signature
            .parameters
            .iter()
            .zip(&dynamic.plan.parameters)
            .map(|(kind, place)| value(&registers.taken(stack, place, kind.size()), kind))
            .collect();
        let result = (dynamic.body)(&domain, &arguments).unwrap_or_else(|payload| resume_unwind(payload));
        words(&result, &dynamic.signature.result).unwrap_or_else(|| {
            panic!("{result:?} is no result of {}", dynamic.signature);
        })
    }));
    *registers = Registers::default();
    match result {
        Ok(words) => match &dynamic.plan.result {
            Place::Registers(places) => registers.put(places, &words),
            _ => unreachable!("results travel in registers: checked when made"),
        },
        Err(payload) => gate.end_with_panic(payload),
    }
}
