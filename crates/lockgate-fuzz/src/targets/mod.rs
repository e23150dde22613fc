//! The oracles.

pub mod annotation;
pub mod code;
pub mod dwarf;
pub mod link;
pub mod marshal;
pub mod module;
pub mod proxy;
pub mod rewriter;
pub mod signature;
pub mod split_text;
pub mod stubs;
pub mod syscalls;
pub mod verifier;
