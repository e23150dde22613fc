//! The stacks of contexts: slots of the domain's that threads do not have. What is known of contexts is in `call/contexts.rs`.
use super::core::Core;
use super::slots::Slots;
use crate::call::thread_sys;
use lockgate_abi::{PAGE, context, stack, window};
use rustix::io::Errno;
use std::ops::Range;

/// rsp, from the slot's start, of what a context begins with: its label's address lies there, and above it is the word that the outermost
/// function would return by, which leads nowhere.
const BEGIN: u64 = stack::EXIT_RETURN - 8;

impl Core {
    /// [`AnyDomain::create_context`](crate::call::AnyDomain::create_context).
    pub(super) fn begin_context(&self, label: u64, stack: Range<u64>) -> Result<u64, Errno> {
        // Whatever a module says: nothing is rounded before this.
        if stack.end - stack.start > stack::MAX_SIZE {
            return Err(Errno::NOMEM);
        }
        let wanted = (stack.end - stack.start).next_multiple_of(PAGE).max(context::MIN_SIZE);
        // The header at the top is part of the slot.
        let size = (wanted + PAGE).min(stack::MAX_SIZE);
        // A thread holds this while it gives a slot away.
        let slots = self.slots();
        self.contexts().drop_overlaid(&stack);
        let is_threads = |slot: usize| slot == 0 || slots.owners.get(slot).is_some_and(Option::is_some);
        let slot = self.context_slot(is_threads, size).or_else(|_| {
            self.drop_lost_of_idle(&slots);
            self.context_slot(is_threads, size)
        })?;
        let start = window::CONTROL + slot as u64 * stack::SLOT;
        self.stride().begin_stack(start + BEGIN, [label, 0])?;
        Ok(self.contexts().begin(slot, self.base() + start + BEGIN, &stack))
    }

    /// Drops contexts that threads have lost which are in no call now. For a lack of slots.
    pub(super) fn drop_lost_of_idle(&self, slots: &Slots) {
        let owner = |home: u32| slots.owners.get(home as usize).copied().flatten();
        self.contexts().drop_lost_of(|home| owner(home).is_some_and(thread_sys::is_idle));
    }

    /// A slot for a context that is mapped and free: from the last one down, since threads get theirs from the first one up.
    fn context_slot(&self, is_threads: impl Fn(usize) -> bool, size: u64) -> Result<usize, Errno> {
        let find = |matches: &dyn Fn(u64) -> bool| {
            self.contexts().last_free(|slot, mapped| !is_threads(slot) && matches(mapped))
        };
        if let Some(slot) = find(&|mapped| mapped == size) {
            return Ok(slot);
        }
        let slot = find(&|mapped| mapped == 0).or_else(|| find(&|_| true)).ok_or(Errno::NOMEM)?;
        self.empty_context_slot(slot)?;
        self.map_stacks_for(slot, size)?;
        self.contexts().set_size(slot, size);
        Ok(slot)
    }

    /// Maps a slot's stacks, if need be with the memory of contexts that are over. The domain's slots are locked.
    ///
    /// # Errors
    /// The quota's, the kernel's.
    pub(super) fn map_stacks_for(&self, slot: usize, size: u64) -> Result<(), Errno> {
        self.map_stacks(slot, size).or_else(|_| {
            for (other, _) in self.contexts().mapped() {
                // (Those that are contexts still are not emptied.)
                let _ = self.empty_context_slot(other);
            }
            self.map_stacks(slot, size)
        })
    }

    /// Unmaps a slot that was a context's.
    ///
    /// # Errors
    /// `ENOMEM`: it is one still. The kernel's.
    pub(super) fn empty_context_slot(&self, slot: usize) -> Result<(), Errno> {
        if self.contexts().holds(slot) {
            return Err(Errno::NOMEM);
        }
        if let Some(size) = self.contexts().size(slot as u32) {
            self.unmap_stacks(slot, size)?;
            self.books.refund(2 * size);
            self.contexts().set_size(slot, 0);
        }
        Ok(())
    }
}
