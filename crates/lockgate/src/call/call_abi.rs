//! What a proxy's code depends on. Bindings of the same call ABI share their code.
use super::layout::{
    RESULT_BOOL, RESULT_LOW_XMM0, RESULT_LOW_XMM1, RESULT_RAX, RESULT_RDX, RESULT_SHIFT_RAX,
    RESULT_SHIFT_RDX, RESULT_SIGNED, RESULT_TRIMS, RESULT_XMM0, RESULT_XMM1,
};
use crate::copy_asm::BOOL_MASK;
pub(crate) use crate::host::Processor;
use crate::host::{Short, locked};
use crate::module::Module;
use crate::policy::Policy;
use crate::signature::{Place, Plan, Register, Signature, Type};
use lockgate_verify::Report;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;

/// Processor state that a module can read or change, from the verifier's report (rule V6). It holds for the whole window, or for one function
/// ([`StateUsage::of_function`]): a proxy does nothing for state that no code of the call can touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct StateUsage {
    pub x87: bool,
    /// Reads the x87 environment (rule R18).
    pub x87_environment: bool,
    pub mxcsr_write: bool,
    pub mxcsr_read: bool,
    /// Upper halves of ymm0–15.
    pub upper: bool,
    /// zmm16–31.
    pub evex: bool,
    /// k0–k7.
    pub mask: bool,
    /// Any vector register. All windows are taken to have code that does, single functions are not.
    pub vector: bool,
}

impl StateUsage {
    /// All state that a module may name.
    pub fn all() -> StateUsage {
        StateUsage {
            x87: true,
            x87_environment: true,
            mxcsr_write: true,
            mxcsr_read: true,
            upper: true,
            evex: true,
            mask: true,
            vector: true,
        }
    }

    /// Without state that the processor lacks: instructions that keep or clear it would trap. (A module may name it all the same, and
    /// ask the processor before it uses it.)
    pub fn on(self, processor: Processor) -> StateUsage {
        StateUsage { evex: self.evex && processor.avx512, mask: self.mask && processor.avx512, ..self }
    }

    /// The state in words.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (self.x87, "x87 and MMX registers"),
            (self.x87_environment, "the x87 environment"),
            (self.mxcsr_write || self.mxcsr_read, "MXCSR"),
            (self.upper, "ymm registers"),
            (self.evex, "zmm registers"),
            (self.mask, "mask registers"),
        ];
        all.into_iter().filter_map(|(is, name)| is.then_some(name)).collect()
    }

    pub fn of(report: &Report) -> StateUsage {
        StateUsage {
            x87: report.x87 || report.x87_environment,
            x87_environment: report.x87_environment,
            mxcsr_write: report.mxcsr_write,
            mxcsr_read: report.mxcsr_read,
            upper: report.ymm || report.evex,
            evex: report.evex,
            mask: report.mask || report.evex,
            vector: true,
        }
    }

    /// State that a call of the function at an image-relative address can read or change, if nothing else than the function and what
    /// it calls directly can run in the call.
    pub fn of_function(module: &Module, address: u64) -> Option<StateUsage> {
        let report = module.function(address)?;
        Some(StateUsage { vector: report.vector, ..StateUsage::of(&report) })
    }

    /// What `self` can touch and `other` cannot.
    pub fn beyond(self, other: StateUsage) -> StateUsage {
        StateUsage {
            x87: self.x87 && !other.x87,
            x87_environment: self.x87_environment && !other.x87_environment,
            mxcsr_write: self.mxcsr_write && !other.mxcsr_write,
            mxcsr_read: self.mxcsr_read && !other.mxcsr_read,
            upper: self.upper && !other.upper,
            evex: self.evex && !other.evex,
            mask: self.mask && !other.mask,
            vector: self.vector && !other.vector,
        }
    }

    /// The usage, if `wanted`, else none.
    pub fn only_if(self, wanted: bool) -> StateUsage {
        if wanted { self } else { StateUsage::default() }
    }

    /// What either can touch.
    pub fn or(self, other: StateUsage) -> StateUsage {
        StateUsage {
            x87: self.x87 || other.x87,
            x87_environment: self.x87_environment || other.x87_environment,
            mxcsr_write: self.mxcsr_write || other.mxcsr_write,
            mxcsr_read: self.mxcsr_read || other.mxcsr_read,
            upper: self.upper || other.upper,
            evex: self.evex || other.evex,
            mask: self.mask || other.mask,
            vector: self.vector || other.vector,
        }
    }
}

/// How much of a register a value fills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Fill {
    /// No value is in it.
    #[default]
    Nothing,
    /// 0 or 1, in the low byte.
    Bool,
    /// The low byte, zero- or sign-extended.
    Unsigned8,
    Signed8,
    Unsigned16,
    Signed16,
    /// The low half of a general register or the low quarter of a vector register.
    Low32,
    /// So many bytes of a general register, 3, 5, 6 or 7: the end of a structure.
    Bytes(u8),
    /// All of a general register, or the low half of a vector register.
    Low64,
    /// All 128 bits of a vector register's part that every processor has.
    Low128,
}

impl Fill {
    /// Less than compilers take to be well-defined in a register that holds a value of an integer type.
    pub fn is_small(self) -> bool {
        matches!(self, Fill::Bool | Fill::Unsigned8 | Fill::Signed8 | Fill::Unsigned16 | Fill::Signed16)
    }

    /// A number for each.
    fn code(self) -> u8 {
        match self {
            Fill::Nothing => 0,
            Fill::Bool => 1,
            Fill::Unsigned8 => 2,
            Fill::Signed8 => 3,
            Fill::Unsigned16 => 4,
            Fill::Signed16 => 5,
            Fill::Low32 => 6,
            Fill::Low64 => 7,
            Fill::Low128 => 8,
            Fill::Bytes(bytes) => 8 + bytes,
        }
    }
}

/// Registers that hold values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Values {
    /// Arguments: rdi rsi rdx rcx r8 r9. Results: rax rdx.
    pub integers: [Fill; 6],
    /// From xmm0 on.
    pub vectors: [Fill; 8],
}

/// All at once: a derived one hashes 8 bytes for each register, which is a third of what a bind takes.
impl Hash for Values {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut codes = [0; 14];
        for (code, fill) in codes.iter_mut().zip(self.integers.into_iter().chain(self.vectors)) {
            *code = fill.code();
        }
        state.write(&codes);
    }
}

impl Values {
    fn of_arguments(signature: &Signature, plan: &Plan) -> Values {
        let mut values = Values::default();
        for (kind, place) in signature.parameters.iter().zip(&plan.parameters) {
            values.place(kind, place);
        }
        values
    }

    fn of_result(signature: &Signature, plan: &Plan) -> Values {
        let mut values = Values::default();
        if plan.result == Place::Memory {
            values.integers[0] = Fill::Low64;
        }
        values.place(&signature.result, &plan.result);
        values
    }

    fn place(&mut self, kind: &Type, place: &Place) {
        let Place::Registers(registers) = place else { return };
        for (number, register) in registers.iter().enumerate() {
            let bytes = (kind.size() - 8 * number).min(8) as u8;
            match register {
                Register::Integer(n) => self.integers[usize::from(*n)] = integer_fill(kind, bytes),
                Register::Vector(n) => self.vectors[usize::from(*n)] = vector_fill(bytes),
            }
        }
    }
}

/// Of a register with `bytes` bytes of a value of this type.
fn integer_fill(kind: &Type, bytes: u8) -> Fill {
    if matches!(kind, Type::Bool) {
        return Fill::Bool;
    }
    let signed = matches!(kind, Type::Integer { signed: true, .. });
    match (bytes, signed) {
        (1, false) => Fill::Unsigned8,
        (1, true) => Fill::Signed8,
        (2, false) => Fill::Unsigned16,
        (2, true) => Fill::Signed16,
        (4, _) => Fill::Low32,
        (8.., _) => Fill::Low64,
        (bytes, _) => Fill::Bytes(bytes),
    }
}

fn vector_fill(bytes: u8) -> Fill {
    if bytes == 4 { Fill::Low32 } else { Fill::Low64 }
}

/// How a gate extends a host function's small arguments: [`GateEntry::small`](super::layout::GateEntry::small).
pub(crate) fn small_arguments(signature: &Signature, plan: &Plan) -> u32 {
    let values = Values::of_arguments(signature, plan);
    let bit = |fill| match fill {
        Fill::Bool => 3,
        Fill::Unsigned8 => 1,
        Fill::Signed8 => 2,
        Fill::Unsigned16 => 4,
        Fill::Signed16 => 8,
        _ => 0,
    };
    (0..).zip(values.integers).map(|(number, fill)| bit(fill) << (4 * number)).sum()
}

/// The bits of each word of stack arguments that belong to a value, if some do not: what a small argument or the end of a structure leaves
/// unused is what the caller's compiler has left there, an address of the caller's perhaps. Tables are kept for good, as proxies are.
pub(crate) fn stack_masks(signature: &Signature, plan: &Plan) -> Option<&'static [u64]> {
    static TABLES: Mutex<Option<HashSet<&'static [u64]>>> = Mutex::new(None);
    let mut masks = vec![u64::MAX; plan.stack_words as usize];
    for (kind, place) in signature.parameters.iter().zip(&plan.parameters) {
        let Place::Stack(start) = place else { continue };
        let last = *start as usize + kind.size() / 8;
        match (kind, kind.size() % 8) {
            (Type::Bool, _) => masks[last] = BOOL_MASK,
            (_, 0) => {}
            (_, bytes) => masks[last] = (1 << (8 * bytes)) - 1,
        }
    }
    if masks.iter().all(|mask| *mask == u64::MAX) {
        return None;
    }
    let mut tables = Short::new(|| locked(&TABLES));
    let tables = tables.get_or_insert_default();
    if let Some(known) = tables.get(masks.as_slice()) {
        return Some(known);
    }
    let new: &'static [u64] = masks.leak();
    tables.insert(new);
    Some(new)
}

/// What a gate leaves of the registers that a host function's result may be in: [`GateEntry::results`](super::layout::GateEntry::results).
pub(crate) fn results(signature: &Signature, plan: &Plan) -> u64 {
    let values = Values::of_result(signature, plan);
    let integer = |fill, whole: u64, place: u32| {
        let (bits, more) = match fill {
            Fill::Nothing => return 0,
            Fill::Low64 | Fill::Low128 => return whole,
            Fill::Bool => (8, RESULT_BOOL),
            Fill::Unsigned8 => (8, 0),
            Fill::Signed8 => (8, RESULT_SIGNED),
            Fill::Unsigned16 => (16, 0),
            Fill::Signed16 => (16, RESULT_SIGNED),
            Fill::Low32 => (32, 0),
            Fill::Bytes(bytes) => (8 * u64::from(bytes), 0),
        };
        whole | RESULT_TRIMS | more | (64 - bits) << place
    };
    let vector = |fill, whole: u64, low: u64| match fill {
        Fill::Nothing => 0,
        Fill::Low32 => whole | RESULT_TRIMS | low,
        _ => whole,
    };
    integer(values.integers[0], RESULT_RAX, RESULT_SHIFT_RAX)
        | integer(values.integers[1], RESULT_RDX, RESULT_SHIFT_RDX)
        | vector(values.vectors[0], RESULT_XMM0, RESULT_LOW_XMM0)
        | vector(values.vectors[1], RESULT_XMM1, RESULT_LOW_XMM1)
}

/// Who calls through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    Host,
    /// A domain whose module uses this state.
    Domain(StateUsage),
}

/// Everything that a proxy's code depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallAbi {
    pub caller: Caller,
    /// Of what can run in a call: the callee's window, or, in calls from the host, the function if that can be told.
    pub callee: StateUsage,
    pub processor: Processor,
    pub policy: Policy,
    pub arguments: Values,
    pub results: Values,
    /// There are stack arguments.
    pub stack: bool,
    /// Which bits of them are values, if not all are: [`stack_masks`].
    pub masks: Option<&'static [u64]>,
    /// The result is returned in memory.
    pub memory: bool,
    /// The calls have a time limit.
    pub limited: bool,
    /// The domain says how deep calls of it may nest.
    pub depth: bool,
    /// The domain takes one caller at a time.
    pub exclusive: bool,
    /// The signature is not known: every register that may carry an argument or a result does.
    pub generic: bool,
    /// A reporter is told at once when a call does not return: [`BindingHeader::reporter`](super::layout::BindingHeader).
    pub reports: bool,
}

impl fmt::Display for CallAbi {
    /// Who calls, under which policy, with how many registers of arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caller = if self.caller == Caller::Host { "host" } else { "domain" };
        let used = |fills: &[Fill]| fills.iter().filter(|fill| **fill != Fill::Nothing).count();
        let (integers, vectors) = (used(&self.arguments.integers), used(&self.arguments.vectors));
        write!(f, "{caller} to domain, {}, {integers}+{vectors} registers", self.policy)?;
        let more = [
            (self.stack, "stack arguments"),
            (self.memory, "result in memory"),
            (self.limited, "time limit"),
            (self.depth, "depth limit"),
            (self.exclusive, "exclusive"),
        ];
        more.iter().filter(|(is_so, _)| *is_so).try_for_each(|(_, what)| write!(f, ", {what}"))
    }
}

impl CallAbi {
    pub fn new(
        caller: Caller,
        callee: StateUsage,
        policy: Policy,
        signature: &Signature,
        plan: &Plan,
    ) -> CallAbi {
        let (mut arguments, results) =
            (Values::of_arguments(signature, plan), Values::of_result(signature, plan));
        if plan.result == Place::Memory {
            arguments.integers[0] = Fill::Low64;
        }
        let processor = Processor::here();
        CallAbi {
            caller: match caller {
                Caller::Host => Caller::Host,
                Caller::Domain(usage) => Caller::Domain(usage.on(processor)),
            },
            callee: callee.on(processor),
            processor,
            policy,
            arguments,
            results,
            stack: plan.stack_words > 0,
            masks: stack_masks(signature, plan),
            memory: plan.result == Place::Memory,
            limited: false,
            depth: false,
            exclusive: false,
            generic: false,
            reports: false,
        }
    }

    /// For a function whose signature is not known.
    pub fn without_signature(self) -> CallAbi {
        let (mut arguments, mut results) = (Values::default(), Values::default());
        arguments.integers = [Fill::Low64; 6];
        arguments.vectors = [Fill::Low128; 8];
        results.integers[..2].fill(Fill::Low64);
        results.vectors[..2].fill(Fill::Low128);
        CallAbi { arguments, results, masks: None, generic: true, ..self }
    }
}
