//! The ways to call into a domain that the benchmarks compare.

use lockgate::{BindError, Domain, Function, FunctionType};

/// One policy of a binding, by the name that metrics give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Last part of metric names.
    pub name: &'static str,
}

/// Every preset, the least protection first.
pub const PRESETS: &[Preset] = &[Preset { name: "integrity" }];

/// The one with the most protection: what comparisons with others are made with.
pub const STRICTEST: Preset = PRESETS[PRESETS.len() - 1];

impl Preset {
    /// Binds the export `name` of `domain` under this policy.
    pub fn bind<F: FunctionType>(self, domain: &Domain, name: &str) -> Result<Function<F>, BindError> {
        domain.bind(name)
    }
}
