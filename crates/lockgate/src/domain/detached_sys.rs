//! Threads that go on with calls whose callers do not wait any more (docs/limits.md). Each belongs to its domain as a thread of the module's own does, and
//! has the stacks that its call has had.
use super::core::Core;
use crate::binding::Binding;
use crate::call::interruptions_sys::Left;
use crate::call::thread_sys::ThreadState;
use crate::call::{AnyDomain, attachment_sys, handover_sys, mask_sys, signals_sys, thread_sys};
use crate::error::CallError;
use crate::host::threads_sys;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

thread_local! {
    /// Of such a thread: made by `Box`, and given back when the thread ends, wherever that is.
    static LIFE: Cell<*const Life> = const { Cell::new(ptr::null()) };
}

/// What such a thread has. In no frame, since a function of the host's may end the thread out of all of them.
struct Life {
    core: Arc<Core>,
    entry: Binding,
    /// Its call's number in the books, from when that has begun until they say how it has ended.
    at: Cell<Option<u64>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.tell(None);
        self.core.guest_threads().thread_ends();
    }
}

impl Life {
    fn new(core: Arc<Core>, entry: Binding) -> Life {
        core.guest_threads().thread_begins();
        Life { core, entry, at: Cell::new(None) }
    }

    /// The call has ended so; [`None`]: by its thread's end.
    fn tell(&self, end: Option<Result<(), CallError>>) {
        if let Some(number) = self.at.take() {
            self.core.guest_threads().detached_ends(number, end);
        }
    }
}

impl Core {
    /// How long a call of the domain's may go on whose caller has waited so many milliseconds; [`None`]: not at all.
    fn left_of(&self, waited: u32) -> Option<Duration> {
        let rest = |limit: Duration| limit.checked_sub(Duration::from_millis(waited.into()));
        let own = match self.terms().time_limit {
            Some(limit) => Some(rest(limit)?),
            None => None,
        };
        let left = own.into_iter().chain([self.options().limits.detached]).min()?;
        (!left.is_zero()).then_some(left)
    }

    /// [`AnyDomain::adopt`].
    pub(super) fn go_on_with(self: Arc<Core>, thread: &ThreadState, left: Left) -> bool {
        let (slot, limit) = (self.slot_of_thread(thread), self.left_of(left.limit));
        let (Some(slot), Some(limit)) = (slot, limit) else { return false };
        if self.is_killed() || self.slot_of(left.entered) as usize != slot {
            return false;
        }
        let Ok(entry) = Binding::going_on(self.clone(), &left, limit) else { return false };
        let life = Life::new(self.clone(), entry);
        let name = format!("lockgate-{}", self.name());
        let ((tell, told), (send, come)) = (channel(), channel());
        let mask = mask_sys::seen();
        let live = move || {
            mask_sys::serve(mask);
            live(life, tell, come);
        };
        let started = signals_sys::starting_a_thread(|| threads_sys::start(&name, live));
        let Some(tid) = started.ok().and_then(|_| told.recv().ok()) else { return false };
        {
            let mut slots = self.slots();
            slots.owners[slot] = Some(tid);
        }
        handover_sys::pass_turn_on(self.owner(), thread.tid as u32, tid as u32);
        thread.gives_away(self.id(), self.base());
        let number = self.guest_threads().detached_begins();
        // (The thread waits for it.)
        let _ = send.send((Box::new(left), number));
        true
    }

    /// The calling thread ends, wherever it is.
    pub(super) fn detached_thread_ended(&self) {
        // SAFETY: the thread's own; nothing refers to it any more where a function of the host's has ended the thread.
        if unsafe { LIFE.get().as_ref() }.is_some_and(|life| ptr::eq(&*life.core, self)) {
            end_life();
        }
    }
}

/// The thread's life, from when another has something for it until that is over.
fn live(life: Life, tell: Sender<i32>, come: Receiver<(Box<Left>, u64)>) {
    let Ok(state) = attachment_sys::attach() else { return };
    thread_sys::publish(&state);
    thread_sys::set_goes_on();
    // From here on it counts as one that may give back what others wait for.
    state.lives_in.store(life.core.base(), Ordering::SeqCst);
    let left = tell.send(state.tid).ok().and_then(|()| come.recv().ok());
    drop((tell, come));
    LIFE.set(Box::into_raw(Box::new(life)));
    // SAFETY: there until the thread's end, or the end of this function.
    let Life { core, entry, at } = unsafe { &*LIFE.get() };
    if let Some((left, number)) = left {
        at.set(Some(number));
        state.set_slot(core.id(), left.below());
        state.remember(core.weak());
        state.will_adopt(left);
        drop(state);
        go_on(core, entry);
    }
    end_life();
}

/// Makes the call, by a system call that asks for nothing: its gate goes on with what was left.
fn go_on(core: &Arc<Core>, entry: &Binding) {
    let end = entry.invoke(&[u64::MAX]).map(drop);
    if core.here().is_err() {
        // A function of the host's has forked, and this is the child's only thread but for what it has started: no other one would end the child.
        std::process::exit(0);
    }
    let Some(state) = thread_sys::current() else { return };
    let lost = state.not_adopted().is_some() && end.is_ok();
    // SAFETY: the thread's own, as in `live`.
    if let Some(life) = unsafe { LIFE.get().as_ref() } {
        life.tell(if lost { None } else { Some(end) });
    }
    handover_sys::end_turn(core.owner(), state.tid as u32);
    core.clone().clean_up(state);
    state.lives_in.store(0, Ordering::SeqCst);
    if let Some(slot) = core.slot_of_thread(state) {
        core.release(state, slot);
    }
}

fn end_life() {
    if let Some(state) = thread_sys::current() {
        state.lives_in.store(0, Ordering::SeqCst);
    }
    // SAFETY: made by `Box`, and taken out.
    drop(unsafe { Box::from_raw(LIFE.replace(ptr::null()).cast_mut()) });
}
