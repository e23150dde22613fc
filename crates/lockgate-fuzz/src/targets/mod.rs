//! The oracles.

use crate::Target;

pub mod annotation;
pub mod code;
pub mod dwarf;
pub mod link;
pub mod marshal;
pub mod module;
pub mod proxy;
pub mod rewriter;
pub mod sharing;
pub mod signature;
pub mod split_text;
pub mod stubs;
pub mod syscalls;
pub mod verifier;

/// All oracles.
pub const TARGETS: &[Target] = &[
    verifier::TARGET,
    module::TARGET,
    rewriter::OBJECT,
    rewriter::ARCHIVE,
    code::TARGET,
    proxy::TARGET,
    syscalls::TARGET,
    dwarf::TARGET,
    signature::TARGET,
    annotation::TARGET,
    stubs::TARGET,
    marshal::TARGET,
    split_text::TARGET,
    link::TARGET,
    sharing::MESSAGES,
    sharing::MEMORY,
];

impl Target {
    /// The oracle of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }
}
