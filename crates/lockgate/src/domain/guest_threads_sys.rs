//! Threads that a module starts itself: host threads that live in its domain (docs/limits.md).
use super::core::Core;
use crate::binding::{Binding, Internal, Results};
use crate::call::thread_sys::ThreadState;
use crate::call::{OwnTurn, attachment_sys, mask_sys, signals_sys, thread_sys, waiting_sys};
use crate::error::{CallError, Panic};
use crate::host::threads_sys;
use crate::report::FaultKind;
use lockgate_abi::symbol;
use lockgate_syscall::{ThreadStart, Threads};
use rustix::io::Errno;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};

thread_local! {
    /// Of a thread that a module has started: made by `Box`, and given back when the thread ends, wherever that is.
    static LIFE: Cell<*const Life> = const { Cell::new(ptr::null()) };
}

/// What a thread of a module's own has. In no frame, since a function of the host's may end the thread out of all of them.
struct Life {
    running: Running,
    entry: Binding,
    start: ThreadStart,
    /// The module's clean-up runs, behind a function of the host's that has ended the thread.
    is_cleaning: Cell<bool>,
}

/// Counts a thread until it is dropped.
struct Running {
    core: Arc<Core>,
    /// Its place under the limit was given back.
    uncounted: Cell<bool>,
}

impl Running {
    fn new(core: Arc<Core>) -> Result<Running, Errno> {
        let limit = core.options().limits.max_guest_threads;
        {
            let mut books = core.guest_threads().books();
            if books.closed || books.counted >= limit {
                books.refused += 1;
                return Err(Errno::AGAIN);
            }
            books.running += 1;
            books.counted += 1;
        }
        Ok(Running { core, uncounted: Cell::new(false) })
    }

    /// Gives its place under the limit back: who has joined all threads can start as many again.
    fn uncount(&self) {
        if !self.uncounted.replace(true) {
            self.core.guest_threads().books().counted -= 1;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.uncount();
        let own = self.core.guest_threads();
        own.books().running -= 1;
        own.ended.notify_all();
    }
}

impl Threads for Core {
    fn has(&self, slot: u32) -> bool {
        self.has_thread(slot)
    }

    fn waits(&self, begins: bool) {
        waiting_sys::waits(self.base(), begins);
    }

    fn all_wait(&self) -> bool {
        waiting_sys::all_wait(self.base())
    }

    fn start(&self, start: ThreadStart) -> Result<u64, Errno> {
        // SAFETY: cores are always inside an Arc; a thread in the domain, which is what asks, keeps it.
        let core = unsafe {
            Arc::increment_strong_count(self);
            Arc::from_raw(self)
        };
        let running = Running::new(core)?;
        let entry = Binding::internal(running.core.clone(), symbol::THREAD_START, Internal::in_turn());
        let entry = entry.ok_or(Errno::NOSYS)?;
        let entry = entry.map_err(|_| Errno::AGAIN)?;
        let (tell, told) = channel();
        let name = format!("lockgate-{}", self.name());
        let mask = mask_sys::seen();
        let life = Life { running, entry, start, is_cleaning: Cell::new(false) };
        let live = move || {
            mask_sys::serve(mask);
            live(life, tell);
        };
        signals_sys::starting_a_thread(|| threads_sys::start(&name, live)).map_err(|_| Errno::AGAIN)?;
        // No answer comes if the thread found no place.
        told.recv().unwrap_or(Err(Errno::AGAIN))
    }
}

/// The thread's life.
fn live(life: Life, tell: Sender<Result<u64, Errno>>) {
    thread_sys::set_starter(life.running.core.base());
    LIFE.set(Box::into_raw(Box::new(life)));
    // SAFETY: there until the thread's end, or the end of this function.
    let Life { running: Running { core, .. }, entry, start, .. } = unsafe { &*LIFE.get() };
    let Some(slot) = begin(core, *start, &tell) else { return end_life() };
    drop(tell);
    let turn = OwnTurn::take(core.clone());
    if let Some(state) = thread_sys::current() {
        state.lives_in.store(core.base(), Ordering::SeqCst);
    }
    let (turn, end) = match turn {
        Ok(turn) => (Some(turn), entry.invoke(&[start.argument])),
        Err(error) => (None, Err(error)),
    };
    if core.here().is_err() {
        // A function of the host's has forked, and this is the child's only thread but for what it has started: no other one would end the child.
        std::process::exit(0);
    }
    core.judge(slot, end);
    drop(turn);
    if let Some(state) = thread_sys::current() {
        core.release(state, slot);
    }
    core.own_thread_ended();
}

fn end_life() {
    thread_sys::set_starter(0);
    if let Some(state) = thread_sys::current() {
        state.lives_in.store(0, Ordering::SeqCst);
    }
    // SAFETY: made by `Box`, and taken out.
    drop(unsafe { Box::from_raw(LIFE.replace(ptr::null()).cast_mut()) });
}

/// Takes a place, and tells the thread that has asked for this one its number.
fn begin(core: &Arc<Core>, start: ThreadStart, tell: &Sender<Result<u64, Errno>>) -> Option<usize> {
    let (state, slot) = core.lodge().ok()?;
    let begun = core.process().thread_begins(&core.services(), slot as u32, start);
    if tell.send(begun).is_err() || begun.is_err() {
        core.release(&state, slot);
        return None;
    }
    Some(slot)
}

impl Core {
    /// A place for the calling thread, which has started in the domain: without the storage that host threads get.
    fn lodge(self: &Arc<Core>) -> Result<(Arc<thread_sys::ThreadState>, usize), CallError> {
        if self.is_killed() {
            return Err(self.ended());
        }
        let state = attachment_sys::attach()?;
        thread_sys::publish(&state);
        let (slot, rsp, _) = self.claim(state.tid, false)?;
        state.set_slot(self.id(), rsp);
        state.remember(self.weak());
        Ok((state, slot))
    }

    /// The calling thread has ended with `end`; it has the domain's `slot` still.
    fn judge(&self, slot: usize, end: Result<Results, CallError>) {
        if let Err(error) = end
            && (!exited(&error) || self.process().take_group_exit(slot as u32))
        {
            self.ends_by(error);
        }
    }

    /// As a process ends with any of its threads. (One that ends with the domain is not the cause.)
    fn ends_by(&self, error: CallError) {
        if !killed(&error) {
            self.note_end_by_thread(&error);
            self.guest_threads().books().error.get_or_insert(error);
        }
        self.kill();
    }

    /// The host has ended the thread where the module cannot clean up.
    fn ends_by_host(&self, why: &str) {
        self.ends_by(CallError::Panic(Panic::new(Box::new(why.to_owned()))));
    }

    /// What the calling thread has of this domain, whose module has started it.
    fn life(&self) -> Option<&'static Life> {
        // SAFETY: the thread's own; those who ask let go of it before it goes.
        unsafe { LIFE.get().as_ref() }.filter(|life| ptr::eq(&*life.running.core, self))
    }

    /// Where the calling thread is the module's and a function of the host's has ended it, libc cleans up behind it, as if it had been
    /// cancelled, and tells the thread that waits for it. False if the thread is not the module's.
    pub(super) fn cancel_own_thread(&self, thread: &ThreadState, slot: usize) -> bool {
        let Some(life) = self.life() else { return false };
        if thread.ended_in_code.get() {
            // What the module has to clean up lies in frames, which a call of its own might write over.
            self.ends_by_host(
                "a signal handler of the host ended the thread in the middle of the module's code",
            );
            return true;
        }
        // (The turn is over when the end is judged.)
        let turn = OwnTurn::take(life.running.core.clone());
        life.is_cleaning.set(true);
        let (_turn, end) = match turn {
            Ok(turn) => (Some(turn), life.entry.invoke(&[0])),
            Err(error) => (None, Err(error)),
        };
        life.is_cleaning.set(false);
        self.judge(slot, end);
        true
    }

    /// Nothing of the domain is in use by the calling thread any more: the thread that waits for its end is told, if the module has started it.
    pub(super) fn own_thread_ended(&self) {
        if let Some(life) = self.life() {
            // Only libc's clean-up tells those that wait for the thread in the module.
            if life.is_cleaning.get() {
                self.ends_by_host("it ended the thread once more, in the module's clean-up");
            }
            life.running.uncount();
            self.process().thread_ended(&self.services(), life.start);
            end_life();
        }
    }

    /// Whether the end of a program's first thread is that of the program.
    pub(super) fn is_over<T>(end: &Result<T, CallError>, group: bool) -> bool {
        group || !end.as_ref().is_err_and(exited)
    }

    /// After a program's first thread has ended with `end`: the others end, too, unless it left by `pthread_exit`, which ends no
    /// `group`. Returns how the program ended.
    pub(super) fn end_guest_threads<T>(
        &self,
        end: Result<T, CallError>,
        group: bool,
    ) -> Result<T, CallError> {
        let kills = self.guest_threads().running() > 0 && Core::is_over(&end, group);
        if kills {
            self.kill();
        }
        self.guest_threads().wait();
        match end {
            // The first thread left before, or because of, another that ended the program. What it did wrong itself is the cause.
            Err(error) if !group && (exited(&error) || killed(&error)) => {
                // (Or the host has ended it, after the first thread had left.)
                let is_cut_short = !kills && exited(&error) && self.is_killed();
                let cause = self.guest_threads().take_error();
                Err(cause.unwrap_or_else(|| if is_cut_short { self.ended() } else { error }))
            }
            end => end,
        }
    }
}

/// True if a thread ended by its own will.
fn exited(error: &CallError) -> bool {
    matches!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Exit(_)))
}

/// True if a thread ended because the domain did.
fn killed(error: &CallError) -> bool {
    let fault = error.fault().map(|fault| fault.kind());
    matches!(error, CallError::Killed(_)) || matches!(fault, Some(FaultKind::Killed))
}
