//! How threads come into a domain, and leave it: what calls ask of it on their slow paths.
use super::core::Core;
use super::rest;
use crate::binding::{Binding, Internal};
use crate::call::interruptions_sys::Left;
use crate::call::layout::GateEntry;
use crate::call::thread_sys::{self, ThreadState};
use crate::call::{AnyDomain, attachment_sys, repair_sys};
use crate::error::CallError;
use crate::host::frame_address;
use lockgate_abi::symbol;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Time that a module without a time limit has for what a thread that ends has left in it: no call is in progress whose own would count.
const LEAVING: Duration = Duration::from_secs(5);

/// The set of all signals, as the kernel takes it.
const ALL_SIGNALS: u64 = u64::MAX;

impl Core {
    /// Has the calling thread, which is attached, leave this domain when it ends.
    pub fn remember(self: &Arc<Core>) {
        if let Some(thread) = thread_sys::current() {
            thread.remember(self.weak());
            rest::enlist(self, thread.tid);
        }
    }

    /// Attaches the calling thread ahead of its first call. `queue`: see [`AnyDomain::attach`].
    ///
    /// # Errors
    /// Why it cannot enter.
    pub fn enter_early(self: &Arc<Core>, queue: Option<Duration>) -> Result<(), CallError> {
        let state = attachment_sys::attach()?;
        thread_sys::publish(&state);
        // (Where a function of C has not done so before: as far as can be told from here.)
        repair_sys::repair(&state, frame_address());
        if thread_sys::is_inside(&state) {
            return Err(CallError::SignalHandler);
        }
        thread_sys::may_call(&state)?;
        // Before this, an interruption found no thread to mark.
        if self.must_stop() {
            return Err(CallError::Interrupted(self.name().to_owned()));
        }
        self.clone().attach(&state, queue)
    }

    /// Has the module forget what was in progress on the calling thread when its last call was ended in its midst. `queue`: see
    /// [`AnyDomain::attach`].
    fn repair(
        self: Arc<Core>,
        thread: &ThreadState,
        slot: usize,
        queue: Option<Duration>,
    ) -> Result<(), CallError> {
        if !self.take_broken(slot as u32) {
            return Ok(());
        }
        let Some(forget) = Binding::internal(self.clone(), symbol::THREAD_MEND, Internal::within(queue))
        else {
            return Ok(());
        };
        let repaired = forget.map_err(CallError::Memory).and_then(|forget| forget.invoke_unseen());
        let said = repaired.inspect_err(|_| {
            if self.note_broken(slot as u32) {
                thread.has_broken_off();
            }
        })?;
        if said as i32 == 0 {
            self.says_that_nothing_breaks();
        }
        Ok(())
    }
}

impl AnyDomain for Core {
    fn attach(self: Arc<Core>, thread: &ThreadState, queue: Option<Duration>) -> Result<(), CallError> {
        if self.is_killed() {
            return Err(self.ended());
        }
        // The module's own beginnings come first: its library is not ready for others' calls before.
        if !self.turns().admit(thread.tid as u32) {
            return Err(CallError::NotBegun(self.name().to_owned()));
        }
        let mut claimed = self.claim(thread.tid, true)?;
        // A jump has left the module's code for a new thread: that begins anew.
        if let (slot, _, true) = claimed
            && self.has_not_begun(slot as u32)
            && !thread.has_calls_in(self.base())
        {
            self.release(thread, slot);
            claimed = self.claim(thread.tid, true)?;
        }
        let (slot, rsp, known) = claimed;
        thread.set_slot(self.id(), rsp);
        if !thread.has_calls_in(self.base()) {
            self.close_reserve(rsp);
        }
        if !known {
            thread.remember(self.weak());
        }
        if !known && slot == 0 {
            rest::enlist(&self, thread.tid);
        }
        // (The first slot's storage is the next thread's.)
        if known || slot == 0 {
            return self.repair(thread, slot, queue);
        }
        let Some(init) = Binding::internal(self.clone(), symbol::THREAD_INIT, Internal::within(queue)) else {
            return Ok(());
        };
        // The module's own code. It has locks of the module's libc, for which all other threads wait: no handler leaves it.
        // It may call the host's functions, which may leave. The domain's own handlers would find no thread-local storage.
        self.process().set_signal_mask(slot as u32, ALL_SIGNALS);
        self.begin(slot as u32);
        let status = init.map_err(CallError::Memory).and_then(|init| init.invoke_unseen());
        self.has_begun(slot as u32);
        self.process().set_signal_mask(slot as u32, 0);
        let failed = match status {
            Ok(status) if status as i32 == 0 => return Ok(()),
            Ok(status) => CallError::ThreadInit { domain: self.name().to_owned(), status: status as i32 },
            Err(error) => error,
        };
        self.release(thread, slot);
        Err(failed)
    }

    fn clean_up(self: Arc<Core>, thread: &ThreadState) {
        let Some(slot) = self.slot_of_thread(thread).filter(|_| !self.is_killed()) else { return };
        if self.cancel_own_thread(thread, slot) {
            return;
        }
        let name = if slot == 0 { symbol::THREAD_RENEW } else { symbol::THREAD_EXIT };
        let limit = self.terms().time_limit.unwrap_or(LEAVING);
        if let Some(Ok(exit)) = Binding::internal(self.clone(), name, Internal::within(limit)) {
            // What the module makes of it is its own affair: the slot goes either way. So does the storage, while signals wait.
            self.process().set_signal_mask(slot as u32, ALL_SIGNALS);
            thread.leaves_within(limit);
            if exit.invoke(&[1]).is_err() && slot == 0 {
                // The next thread does not find what its predecessor has left.
                thread.leaves_within(limit);
                drop(exit.invoke(&[0]));
            }
            thread.has_left();
        }
    }

    fn detach(self: Arc<Core>, thread: &ThreadState) {
        if let Some(slot) = self.slot_of_thread(thread) {
            self.release(thread, slot);
        }
        self.own_thread_ended();
        self.detached_thread_ended();
    }

    fn resolve(self: Arc<Core>, slot: u16) -> Result<*const GateEntry, CallError> {
        let Some(resolver) = &self.resolver else { return Ok(GateEntry::none()) };
        resolver(&(self.clone() as Arc<dyn AnyDomain>), slot)?;
        Ok(self.gates().import(slot))
    }

    fn create_context(&self, label: u64, stack: Range<u64>) -> Result<u64, Errno> {
        self.begin_context(label, stack)
    }

    fn adopt(self: Arc<Core>, thread: &ThreadState, left: Left) -> bool {
        self.go_on_with(thread, left)
    }
}
