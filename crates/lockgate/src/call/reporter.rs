//! What callers through a raw function pointer get of a call that failed.
use crate::signature::{Signature, Type};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a raw function pointer's caller gets when the call fails. Stays as long as the pointer: for good.
pub(crate) struct Reporter {
    pub(super) library: String,
    pub(super) symbol: String,
    pub(super) value: AtomicU64,
    /// The type of the result, if it is known: as which the value is returned.
    result: Option<Type>,
    /// Size of a result in memory, bytes; 0 if it travels in registers.
    pub(super) memory: usize,
}

impl Reporter {
    /// For a function that returns its result in `memory` bytes, or in registers if that is 0.
    pub(crate) fn new(
        library: &str,
        symbol: &str,
        memory: u32,
        signature: Option<&Signature>,
        value: u64,
    ) -> Reporter {
        let (library, symbol) = (library.to_owned(), symbol.to_owned());
        let result = signature.map(|signature| signature.result.clone());
        let reporter =
            Reporter { library, symbol, value: AtomicU64::new(0), result, memory: memory as usize };
        reporter.set_value(value);
        reporter
    }

    pub(super) fn library(&self) -> &str {
        &self.library
    }

    /// From now on failing calls return `value`.
    pub(crate) fn set_value(&self, value: u64) {
        self.value.store(as_result(value, self.result.as_ref()), Ordering::Relaxed);
    }
}

/// What a failing call of such a function returns if no value was chosen: a null pointer, or all bits set, which is -1 and not a
/// number. (A `bool` gets 0.)
pub(crate) fn value_by_type(signature: Option<&Signature>) -> u64 {
    match signature.map(|signature| &signature.result) {
        Some(Type::Pointer | Type::Bool) => 0,
        _ => u64::MAX,
    }
}

/// A failure's value as a function with such a result returns it: compilers index by small results, and take a `bool` for 0 or 1.
fn as_result(value: u64, result: Option<&Type>) -> u64 {
    match result {
        Some(Type::Bool) => (value != 0).into(),
        Some(&Type::Integer { bytes, signed }) if bytes < 8 => {
            let shift = 64 - 8 * u32::from(bytes);
            if signed { ((value << shift) as i64 >> shift) as u64 } else { value << shift >> shift }
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_values_of_their_type() {
        let integer = |bytes, signed| Type::Integer { bytes, signed };
        for (result, value, expected) in [
            (Type::Bool, u64::MAX, 1),
            (Type::Bool, 0, 0),
            (Type::Bool, 0x100, 1),
            (integer(1, false), u64::MAX, 0xff),
            (integer(1, true), 0xff, u64::MAX),
            (integer(2, false), 0x1_2345, 0x2345),
            (integer(2, true), 0x8000, 0xffff_ffff_ffff_8000),
            (integer(4, false), u64::MAX, 0xffff_ffff),
            (integer(4, true), 0xffff_ffff, u64::MAX),
            (integer(8, false), 0x1234_5678_9abc_def0, 0x1234_5678_9abc_def0),
            (Type::Pointer, 8, 8),
        ] {
            assert_eq!(as_result(value, Some(&result)), expected, "{result:?}");
        }
        assert_eq!(as_result(u64::MAX, None), u64::MAX);
    }
}
