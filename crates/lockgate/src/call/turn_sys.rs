//! The turns of domains that give them up in system calls ([`DomainOptions::serialize`](crate::DomainOptions::serialize)).
//!
//! A thread has the domain while it runs the module's code. It gives it up when it sleeps in a system call, or, where others wait, at the end of
//! one in which it waits for events or for time, even if it need not sleep there ([`ends_turn`](lockgate_syscall::ends_turn)): then they go first.
//! At the end of the system call it has the domain again, or the call ends. What ends it there ends it as at any gate: a proxy sets free only what
//! its thread has.
//!
//! A system call that has nothing to drop may give up, and take what is free. To wait takes the threads' lock, undisturbed.
use super::block_sys::block;
use super::exclusive_sys;
use super::gate_sys::{called_by, end_call, end_with, entry};
use super::layout::{EntryRecord, GIVEN, GIVES_UP, GateRecord, OWNED};
use super::must_end_sys::{may_detach, why_stop};
use super::repair_sys::{self, Found};
use super::thread_sys::{self, AnyDomain, ThreadState};
use super::turns::Turns;
use super::undisturbed_sys::{Disturbed, KeptErrno, asleep, undisturbed};
use crate::error::CallError;
use crate::report::Cause;
use crate::space;
use lockgate_syscall::Sleep;
use rustix::event::{PollFd, Timespec};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long a thread that has woken others waits at most until one of them has had the domain: a handler of the host's may have that one jump
/// away.
const LONGEST: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Whether the innermost call takes turns in a domain that gives them up, and is in none of its handlers: what that has interrupted may be in the
/// middle of anything.
///
/// # Safety
/// For a gate, with its record.
#[inline]
pub(super) unsafe fn gives_up(gate: *const GateRecord) -> bool {
    // SAFETY: a live entry has a live binding.
    unsafe {
        let entry = entry(gate);
        (*(*entry).binding).flags & GIVES_UP != 0 && (*entry).interruption == 0
    }
}

/// How a thread sleeps in a system call of a domain's: without the domain, where that gives its turns up.
pub(super) struct Resting<'a> {
    word: Option<&'a AtomicU32>,
    turns: &'a Turns,
}

impl Resting<'_> {
    /// # Safety
    /// For a gate, with its record, while its function runs.
    pub unsafe fn in_gate<'a>(gate: *const GateRecord) -> Resting<'a> {
        // SAFETY: a live entry's binding keeps its domain.
        unsafe {
            let domain = &*(*(*entry(gate)).binding).domain;
            Resting { word: gives_up(gate).then(|| domain.owner()), turns: domain.turns() }
        }
    }
}

impl Sleep for Resting<'_> {
    fn rests(&self) {
        // SAFETY: our own block.
        let tid = unsafe { (*block()).tid };
        // The first turn is over before another thread's begins.
        self.turns.rest(tid);
        if let Some(word) = self.word {
            exclusive_sys::release(word, tid);
        }
    }

    /// A program has begun, whether the processor has left it time to sleep or not. (Those who wait for its turns have one behind the system call.)
    fn has_waited(&self) {
        // SAFETY: our own block.
        self.turns.rest(unsafe { (*block()).tid });
    }

    fn wait(&self, word: &AtomicU32, value: u32, left: Option<&Timespec>) {
        self.rests();
        Disturbed.wait(word, value, left);
    }

    fn wait_shared(&self, address: u64, value: u32, left: Option<&Timespec>) -> Result<(), Errno> {
        self.rests();
        Disturbed.wait_shared(address, value, left)
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno> {
        self.rests();
        Disturbed.poll(descriptors, timeout)
    }

    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
        self.rests();
        Disturbed.read(fd, into)
    }

    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8], blocked: &[i32]) -> Result<usize, Errno> {
        self.rests();
        Disturbed.write(fd, bytes, blocked)
    }
}

/// At the end of a system call of such a domain: the thread has it, after those that wait if the call `ends_turn`; or the call ends.
///
/// # Safety
/// For a gate, with its record, and the place of its mark in its entry's frame.
pub(super) unsafe fn take_again(gate: *mut GateRecord, own: *const u64, ends_turn: bool) {
    // SAFETY: the caller's; a live entry has a live binding, which keeps the domain. (If the record is another's by now, the gate ends this call.)
    unsafe {
        if !repair_sys::is_own(gate, own) {
            return;
        }
        let (word, tid) = ((*(*(*entry(gate)).binding).domain).owner(), (*block()).tid);
        // (If another call of the thread's is in the way, the turn may be that one's.)
        let has = ptr::addr_eq((*block()).top, gate)
            && (is_kept(word.load(Ordering::Acquire), tid, ends_turn)
                || word.compare_exchange(0, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        if !has {
            undisturbed(lockgate_take_again as *const (), [gate as usize, own as usize, ends_turn.into()]);
        }
    }
}

/// Whether the thread of this kernel id has the domain, by its word, and goes on in its turn also if others wait.
fn is_kept(word: u32, tid: u32, ends_turn: bool) -> bool {
    word == tid || !ends_turn && word & OWNED == tid && word & GIVEN == 0
}

/// # Safety
/// As [`take_again`].
unsafe extern "C" fn lockgate_take_again(gate: *mut GateRecord, own: *const u64, ends_turn: usize) -> usize {
    let _errno = KeptErrno::new();
    // SAFETY: the caller's; the thread's own state; live records if the gate's is the innermost one.
    unsafe {
        let Some(state) = (*block()).state.as_ref() else { return 0 };
        if repair_sys::find(state, gate, own) != Found::Innermost {
            state.has_no_turn(*own);
            return 0;
        }
        // (If the call ends in any case, its proxy sets free what the thread has.)
        let entry: *const EntryRecord = entry(gate);
        if state.ending_of((*entry).control).is_some() {
            return 0;
        }
        if space::is_inherited((*entry).control) {
            end_call(Cause::Forked);
            return 0;
        }
        let domain = called_by(gate);
        let word = domain.owner();
        if ends_turn != 0 && word.load(Ordering::Relaxed) & OWNED == state.tid as u32 {
            let_others(state, word, domain.turns());
        }
        let taken = exclusive_sys::take_again(state, domain.clone());
        // (It may have slept, and a handler of the host's have jumped, or switched stacks.)
        if let Err(error) = taken {
            if repair_sys::find(state, gate, own) != Found::Innermost {
                state.has_no_turn(*own);
                return 0;
            }
            match why_stop(state, entry) {
                // (Who goes on with it waits for the turn.)
                Some(Cause::TimeLimit(_)) if may_detach(state, entry, (*gate).control) => {
                    (*state.block).pending = 1;
                }
                Some(cause) => end_call(cause),
                None => end_with(error),
            }
        }
    }
    0
}

/// The turn of one of a program's own threads, from before its first instruction until what its end means for the program is settled: no call is let in
/// to what a crash in the middle of a turn has left.
pub(crate) struct OwnTurn(Option<Arc<dyn AnyDomain>>);

impl OwnTurn {
    /// Waits for the first turn of the calling thread, which is attached, if `domain` is one that gives turns up.
    ///
    /// # Errors
    /// Why the domain takes no calls.
    pub fn take(domain: Arc<dyn AnyDomain>) -> Result<OwnTurn, CallError> {
        if !domain.terms().gives_up {
            return Ok(OwnTurn(None));
        }
        let Some(state) = thread_sys::current() else { return Err(CallError::ThreadEnding) };
        let mut taken = Ok(());
        let mut work = Work { state, domain: &domain, taken: &mut taken };
        // SAFETY: the function's argument, which outlives it.
        unsafe { undisturbed(lockgate_take_own as *const (), [ptr::from_mut(&mut work) as usize, 0, 0]) };
        taken.map(|()| OwnTurn(Some(domain)))
    }
}

impl Drop for OwnTurn {
    fn drop(&mut self) {
        if let Some(domain) = self.0.take() {
            // SAFETY: our own block.
            exclusive_sys::release(domain.owner(), unsafe { (*block()).tid });
        }
    }
}

struct Work<'a> {
    state: &'a ThreadState,
    domain: &'a Arc<dyn AnyDomain>,
    taken: &'a mut Result<(), CallError>,
}

unsafe extern "C" fn lockgate_take_own(work: *mut Work<'_>) {
    // SAFETY: the caller's.
    let Work { state, domain, taken } = unsafe { &mut *work };
    **taken = exclusive_sys::take_again(state, domain.clone());
}

/// Gives the domain up, and waits until one of those that wait has had it.
fn let_others(state: &ThreadState, word: &AtomicU32, turns: &Turns) {
    let (settled, seen) = turns.listen();
    if exclusive_sys::release(word, state.tid as u32) > 0 {
        asleep(settled, seen, Some(&LONGEST));
    }
    turns.heard();
}
