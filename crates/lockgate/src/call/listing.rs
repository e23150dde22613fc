//! Proxies to be read: by people (`lockgate inspect --proxy`) and by tests.
use super::block_sys;
use super::call_abi::{CallAbi, Caller, StateUsage};
use super::emit::{self, Emitted};
use super::layout::*;
use super::proxies::ProxyListing;
use crate::error::BindError;
use crate::module::Module;
use crate::policy::Policy;
use crate::signature::{Plan, PrototypeError, Signature};
use std::mem::offset_of;

/// The code that a binding would have, made without a domain: nothing of the modules runs.
#[derive(Clone)]
pub struct ProxyCode {
    emitted: Emitted,
    block: i32,
}

impl ProxyCode {
    /// The proxy for calls of `callee`'s `signature` from `caller`'s code, or from the host if that is `None`, where both sides
    /// together ask for `policy`, and for neither time limit nor exclusive access.
    ///
    /// # Errors
    /// [`BindError::Prototype`] for signatures that cannot be called.
    pub fn new(
        callee: &Module,
        caller: Option<&Module>,
        signature: &Signature,
        policy: Policy,
    ) -> Result<ProxyCode, BindError> {
        let plan = Plan::new(signature).map_err(|what| PrototypeError {
            prototype: signature.to_string(),
            what,
            at: 1,
        })?;
        let usage = StateUsage::of(callee.report());
        let (caller, usage) = match (caller, callee.export(&signature.name)) {
            (Some(module), _) => (Caller::Domain(StateUsage::of(module.report())), usage),
            (None, Some(export)) => {
                (Caller::Host, StateUsage::of_function(callee, export.address).unwrap_or(usage))
            }
            (None, None) => (Caller::Host, usage),
        };
        let abi = CallAbi::new(caller, usage, policy, signature, &plan);
        Ok(ProxyCode { emitted: emit::proxy(&abi), block: block_sys::block_offset() })
    }

    /// The code, as if it lay at address 0.
    pub fn listing(&self) -> ProxyListing<'_> {
        let Emitted { bytes, leave, parts, .. } = &self.emitted;
        ProxyListing { address: 0, bytes, parts, leave: *leave }
    }

    /// The field that an instruction of `part` accesses at `displacement` from a base, and how much further it is than its
    /// offset in its structure; `None` if the proxy knows none there.
    pub fn field(&self, part: &str, base: Base, displacement: i64) -> Option<(&'static str, i64)> {
        let at = |fields: &[(usize, &'static str)], further: i64| {
            let offset = usize::try_from(displacement - further).ok()?;
            fields.iter().find(|(at, _)| *at == offset).map(|(_, name)| (*name, further))
        };
        match base {
            Base::Thread => at(&THREAD, i64::from(self.block)),
            // Until it finds its binding, a crossing has what the gate has found.
            Base::Binding if part == "caller's gate" => at(&GATE_ENTRY, 0),
            Base::Binding => at(&BINDING, 0),
            Base::Record => {
                let records = displacement.div_euclid(RECORD as i64);
                // Nested calls start at a gate's record; else the base is an entry's.
                let is_gate = (records % 2 != 0) != (part == "admission of nested calls");
                at(if is_gate { &GATE_RECORD } else { &ENTRY_RECORD }, records * RECORD as i64)
            }
        }
    }
}

/// What a register points to in proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// fs: the thread's data, with the library's block among them.
    Thread,
    /// r11: the binding.
    Binding,
    /// r10: a record of the thread.
    Record,
}

/// Offsets and names of fields.
macro_rules! fields {
    ($($list:ident = $type:ident as $shown:literal: $($field:ident)*;)*) => { $(
        const $list: [(usize, &str); [$(stringify!($field)),*].len()] =
            [$((offset_of!($type, $field), concat!($shown, ".", stringify!($field)))),*];
    )* };
}

fields! {
    THREAD = ThreadBlock as "thread":
        top first slots alternate_low alternate_size stack_floor records_end pending sequence tid status transit exit slow
        cross_slow cross_failed wake copy coroutine_floor coroutine_end;
    BINDING = BindingHeader as "binding":
        window target leave slot admission stack_words result_size result_room limit owner traffic;
    ENTRY_RECORD = EntryRecord as "entry":
        kind binding control host mxcsr x87_control result sequence limit started;
    GATE_RECORD = GateRecord as "gate":
        mark control slot entry rbx;
    GATE_ENTRY = GateEntry as "function":
        function context;
}
