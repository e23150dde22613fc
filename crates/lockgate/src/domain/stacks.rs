//! Stacks of a domain's threads: who gets which slot, where it lies, and when it is mapped.
use super::core::Core;
use super::rest;
use super::slots::{LOST, READ_WRITE, Slots};
use crate::call::thread_sys::ThreadState;
use crate::error::CallError;
use crate::space::Backing;
use lockgate_abi::{PAGE, stack, window};
use rustix::io::Errno;
use std::ops::Range;

impl Core {
    pub(super) fn slot_of_thread(&self, thread: &ThreadState) -> Option<usize> {
        self.slots().owners.iter().position(|owner| *owner == Some(thread.tid))
    }

    /// The thread's slot, mapped: its own or the first free one. Also the control address where its outermost calls start, and
    /// whether it was the thread's already: it rested. The domain's first slot, with the first thread's storage, only if `first`.
    pub(super) fn claim(&self, tid: i32, first: bool) -> Result<(usize, u64, bool), CallError> {
        let mut slots = self.slots();
        self.wake_slots(&mut slots).map_err(CallError::memory)?;
        if let Some(own) = slots.owners.iter().position(|owner| *owner == Some(tid)) {
            return Ok((own, self.entry_rsp(&slots, own), true));
        }
        let parked = slots.first_parked && first;
        let limit = self.options().limits.threads;
        let known = slots.owners.iter().flatten().count();
        let is_free = |slot: &usize| {
            let is_another = slots.owners.get(*slot).is_some_and(Option::is_some);
            !is_another && (*slot > 0 || parked || slots.owners.is_empty()) && !self.contexts().holds(*slot)
        };
        let find = || (0..stack::SLOTS as usize).find(is_free).filter(|_| known < limit as usize);
        let slot = find().or_else(|| {
            self.drop_lost_of_idle(&slots);
            find()
        });
        let slot = slot.ok_or_else(|| CallError::Threads { domain: self.name().to_owned(), limit })?;
        self.empty_context_slot(slot).map_err(CallError::memory)?;
        if slots.owners.len() <= slot {
            slots.owners.resize(slot + 1, None);
        }
        if slot == 0 && parked {
            slots.first_parked = false;
        } else {
            self.map_stacks_for(slot, self.stack_size()).map_err(CallError::memory)?;
        }
        slots.owners[slot] = Some(tid);
        self.publish_threads(&slots);
        Ok((slot, self.entry_rsp(&slots, slot), false))
    }

    /// A thread's stacks: both zeroed, the first slot's storage kept for the next thread (rules R10, R22), which finds in it what
    /// `_lg_thread_renew` has left.
    pub(super) fn release(&self, thread: &ThreadState, slot: usize) {
        thread.set_slot(self.id(), 0);
        if slot != 0 {
            self.take_broken(slot as u32);
        }
        self.has_begun(slot as u32);
        self.contexts().drop_lost(slot as u32, |_| false);
        self.process().thread_leaves(&self.services(), slot as u32);
        if let (0, Some((_, start))) = (slot, &self.snapshot) {
            self.process().thread_begins_as(0, start);
        }
        let mut slots = self.slots();
        slots.owners[slot] = None;
        self.publish_threads(&slots);
        if slot == 0 {
            rest::orphan(self.id());
        }
        self.drop_reserve(slot as u32);
        let (data, length) = self.stack_range(slot);
        if slot == 0 && slots.resting.is_some() {
            slots.first_parked = true;
        } else if slot == 0 {
            // Whole pages go back; what lies on the storage's own page, below it, is overwritten.
            let storage = self.storage(&slots).start;
            let page = storage / PAGE * PAGE;
            let control = data - window::STACKS + window::CONTROL;
            let emptied = self.stride().discard(data, page - data).and_then(|()| {
                self.stride().write(page, &vec![0; (storage - page) as usize])?;
                self.stride().discard(control, length)
            });
            slots.first_parked = emptied.is_ok() && !self.has_reserve(0);
        } else {
            // If the kernel refuses, the slot is lost: never handed out with old contents.
            match self.unmap_stacks(slot, self.stack_size()) {
                Ok(()) => {
                    self.forget_reserve(slot as u32);
                    self.books.refund(2 * self.stack_size());
                }
                Err(_) => slots.owners[slot] = Some(LOST),
            }
        }
    }

    /// Whether a thread has a stack slot.
    pub(super) fn has_thread(&self, slot: u32) -> bool {
        self.slots().owners.get(slot as usize).is_some_and(Option::is_some)
    }

    fn publish_threads(&self, slots: &Slots) {
        if let Some(row) = self.row() {
            row.set_threads(false, slots.threads());
        }
    }

    /// Window offset and length of the usable part of a data-stack slot. The control slot's is the same, `OFF`
    /// higher: the mirror rule (R2).
    pub(super) fn stack_range(&self, slot: usize) -> (u64, u64) {
        (stack_start(slot, self.stack_size()), self.stack_size())
    }

    /// Window offsets of what the first thread's data stack keeps between calls: the start block, the thread header.
    pub(super) fn storage(&self, slots: &Slots) -> Range<u64> {
        let (data, length) = self.stack_range(0);
        let end = data + length;
        end - (stack::TOP - stack::THREAD_HEADER + slots.start_block)..end
    }

    /// Maps a slot's stacks, of so many usable bytes each.
    pub(super) fn map_stacks(&self, slot: usize, size: u64) -> Result<(), Errno> {
        self.books.charge(2 * size)?;
        let mapped = rest::with_room(|| self.map_both_stacks(slot, size));
        if mapped.is_err() {
            self.books.refund(2 * size);
        }
        mapped
    }

    pub(super) fn map_both_stacks(&self, slot: usize, length: u64) -> Result<(), Errno> {
        let data = stack_start(slot, length);
        // Control first: a data page is accessible only if its control page is (rule R2).
        let control = data - window::STACKS + window::CONTROL;
        self.stride().map(control, length, READ_WRITE, Backing::Anonymous)?;
        self.stride().wipe_in_children(control, length)?;
        self.stride().map(data, length, READ_WRITE, Backing::Anonymous)
    }

    pub(super) fn unmap_stacks(&self, slot: usize, length: u64) -> Result<(), Errno> {
        let data = stack_start(slot, length);
        let control = data - window::STACKS + window::CONTROL;
        self.stride().clear(data, length)?;
        self.stride().keep_in_children(control, length)?;
        self.stride().clear(control, length)
    }

    /// Control address right above the exit return address of an outermost call.
    pub(super) fn entry_rsp(&self, slots: &Slots, slot: usize) -> u64 {
        let below = if slot == 0 { slots.start_block } else { 0 };
        self.base() + window::CONTROL + slot as u64 * stack::SLOT + stack::EXIT_RETURN + 8 - below
    }

    /// Puts `block` at the top of the first thread's data stack and lets calls start below it. Returns its
    /// address.
    pub fn place_start_block(&self, thread: &ThreadState, block: &[u8]) -> Result<u64, CallError> {
        let mut slots = self.slots();
        slots.start_block = (block.len() as u64).next_multiple_of(64);
        let at = window::STACKS + stack::THREAD_HEADER - slots.start_block;
        self.stride().write(at, block).map_err(CallError::memory)?;
        thread.set_slot(self.id(), self.entry_rsp(&slots, 0));
        Ok(self.base() + at)
    }
}

/// Window offset of the usable part of a data-stack slot.
fn stack_start(slot: usize, size: u64) -> u64 {
    window::STACKS + slot as u64 * stack::SLOT + stack::TOP - size
}
