//! Structures that gates read.
use loom::sync::atomic::{AtomicPtr, AtomicU64};

/// As in the runtime, a place in slot tables that is nobody's.
pub(crate) const NO_DOMAIN: u32 = u32::MAX;

/// As in the runtime, of owner words.
pub(crate) const WAITED_FOR: u32 = 1 << 31;
pub(crate) const GIVEN: u32 = 1 << 30;
pub(crate) const GOES_FIRST: u32 = 1 << 29;
pub(crate) const OWNED: u32 = !(WAITED_FOR | GIVEN | GOES_FIRST);

/// As in the runtime, of a call or a gate; only where it lies counts here.
pub(crate) struct Record(u64);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GateEntry {
    pub function: usize,
    pub context: usize,
    pub stack_distance: u64,
}

static NONE: GateEntry = GateEntry { function: 0, context: 0, stack_distance: 0 };

impl GateEntry {
    pub(crate) fn lazy(slot: u16) -> GateEntry {
        GateEntry { context: slot.into(), ..NONE }
    }

    pub(crate) fn none() -> &'static GateEntry {
        &NONE
    }
}

pub(crate) struct Gates {
    pub imports: *const *const GateEntry,
    pub import_count: u64,
    pub callbacks: AtomicPtr<*const GateEntry>,
    pub callback_count: AtomicU64,
    pub xsave_mask: u64,
}
