//! The ways to call into a domain that the benchmarks compare.

use lockgate::{BindError, Domain, Function, FunctionType, Policy};

/// One policy of a binding, by the name that metrics give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Last part of metric names.
    pub name: &'static str,
    /// What both sides ask for.
    pub policy: Policy,
}

/// Every preset, the least protection first.
pub const PRESETS: &[Preset] = &[
    Preset { name: "mutual_trust", policy: Policy::MUTUAL_TRUST },
    Preset { name: "server_trusted", policy: Policy::SERVER_TRUSTED },
    Preset { name: "integrity", policy: Policy::INTEGRITY },
    Preset { name: "mutual_distrust", policy: Policy::MUTUAL_DISTRUST },
];

/// The one with the most protection: what comparisons with others are made with.
pub const STRICTEST: Preset = PRESETS[PRESETS.len() - 1];

impl Preset {
    /// Binds the export `name` of `domain` under this policy.
    pub fn bind<F: FunctionType>(self, domain: &Domain, name: &str) -> Result<Function<F>, BindError> {
        domain.bind_with(name, self.policy)
    }
}
