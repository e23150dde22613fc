//! Pointers that were given out, for good.
use super::Reporter;
use super::verdicts::Hash;
use crate::binding::Front;
use crate::host::{PerProcess, locked};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// What a pointer means: two libraries with this in common may have the same pointer, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Meaning {
    pub module: Hash,
    /// The library's name in reports.
    pub library: String,
    /// Name, or where a function without one is.
    pub symbol: String,
    /// Its signature, or how many words of stack arguments it has without one.
    pub abi: String,
}

/// A pointer, and who is told when a call through it fails.
#[derive(Clone)]
pub(super) struct Pointer {
    pub front: Front,
    pub reporter: Arc<Reporter>,
}

/// Pointers of libraries that were closed.
static IDLE: PerProcess<Mutex<HashMap<Meaning, Vec<Pointer>>>> = PerProcess::new(Mutex::default);
/// Every pointer: nothing takes one out.
static ALL: PerProcess<Mutex<Vec<Pointer>>> = PerProcess::new(Mutex::default);

fn idle() -> MutexGuard<'static, HashMap<Meaning, Vec<Pointer>>> {
    locked(&IDLE)
}

/// A pointer of this meaning whose library was closed.
pub(super) fn take(meaning: &Meaning) -> Option<Pointer> {
    idle().get_mut(meaning)?.pop()
}

/// Keeps a new pointer for good.
pub(super) fn enlist(pointer: Pointer) {
    locked(&ALL).push(pointer);
}

/// The pointer's library was closed, and its front retired.
pub(super) fn give_back(meaning: Meaning, pointer: Pointer) {
    idle().entry(meaning).or_default().push(pointer);
}
