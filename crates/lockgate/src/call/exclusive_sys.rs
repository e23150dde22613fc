//! Domains that take one caller at a time: a lock word per domain, and who waits for which.
//!
//! A free word is taken by the proxy itself; everything else happens here. A thread that waits says so in its
//! state, so that a circle of owners and waiters is found before it closes.
//!
//! Who has waited has the word when it goes back to its proxy ([`GIVEN`]): else a thread that gives the domain up for those who wait, and
//! takes it again after them, might be quicker than all of them, again and again, where they share a processor.
//!
//! Proxies that find the word free take it, before those that sleep have woken: calls are many times quicker than a thread wakes. So that no thread
//! waits for ever, a thread is *overdue* at once where it has had its turn before, in a call that goes on, and else when it has waited for
//! [`OVERDUE_AFTER`]. It says so in the word ([`GOES_FIRST`]), and who sets that free keeps it for such a thread: proxies do not take it, and others that
//! wait do so only when they are overdue, too. (So a thread that never comes for it delays the others, and does no more.)
use super::instance::Instance;
use super::layout::{GIVEN, GOES_FIRST, OWNED, WAITED_FOR};
use super::must_end_sys::{innermost_must_stop, outer_must_stop};
use super::thread_sys::{AnyDomain, THREADS, ThreadState};
use super::undisturbed_sys::asleep;
use crate::error::{CallError, Holder};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Instant, futex};
use std::sync::Arc;
use std::time::Duration;

/// How long a call waits to begin before it goes first.
const OVERDUE_AFTER: Duration = Duration::from_millis(1);

/// What proxies do that found the bit in the word `was` they set free. Returns how many slept. ([`lockgate_wake`](super::proxy_asm) is the same in
/// assembly, and changes with this: no test compares them.)
/// Async-signal-safe.
pub(super) fn set_free(word: &AtomicU32, was: u32) -> usize {
    if was & GOES_FIRST != 0 {
        // (A thread that has taken it in between sets it free as well. One that was overdue may have come and gone by then: see `wait_for`.)
        let _ = word.compare_exchange(0, GOES_FIRST, Ordering::AcqRel, Ordering::Relaxed);
    }
    wake(word)
}

/// Wakes all that wait for the word, and returns how many those were.
fn wake(word: &AtomicU32) -> usize {
    // All of them: proxies take a free word without the bit, so the one that gets it would wake no other after it. A word that
    // is not mapped cannot be: the call would have no binding.
    futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32).unwrap_or_default()
}

/// The domain was killed, which is written down: threads that wait, or are about to, look again.
pub(super) fn wake_all(word: &AtomicU32) {
    // (Who is about to sleep finds another word than expected, or, if it has not marked that yet, the kill.)
    word.fetch_and(!WAITED_FOR, Ordering::AcqRel);
    wake(word);
}

/// Sets the word free, if the thread has it: after a call that the host jumped out of, and where a thread gives its turn up. Returns how many
/// slept who wait for it. Async-signal-safe.
pub(super) fn release(word: &AtomicU32, tid: u32) -> usize {
    if word.load(Ordering::Relaxed) & OWNED != tid {
        return 0;
    }
    let was = word.swap(0, Ordering::AcqRel);
    if was & WAITED_FOR != 0 { set_free(word, was) } else { 0 }
}

/// The thread with kernel id `to` has the turn that `from` has, if it does: the call that it is for goes on there.
pub(super) fn pass_on(word: &AtomicU32, from: u32, to: u32) {
    let passed = |seen: u32| (seen & OWNED == from).then_some(seen & !OWNED | to);
    let _ = word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, passed);
}

/// Waits until `domain` may be free. The proxy then tries again: if the thread had to sleep, it has the word by then, as
/// [`ThreadBlock::turn`](super::layout::ThreadBlock::turn) tells the proxy.
///
/// # Errors
/// [`CallError::Deadlock`] if the thread would wait for itself, [`CallError::Busy`] after `timeout`, or when a call that
/// this one is nested in must end; [`CallError::Interrupted`] when the domain's host says so.
pub(super) fn wait(
    state: &ThreadState,
    domain: Arc<dyn AnyDomain>,
    timeout: Option<Duration>,
) -> Result<(), CallError> {
    if domain.owner().load(Ordering::Relaxed) == 0 {
        // SAFETY: the thread's own block. What an earlier call of the thread's was given is over.
        unsafe { (*state.block).turn = 0 };
        return Ok(());
    }
    take(state, domain, timeout)
}

/// Waits until `domain` is free, and has it for the thread's next proxy of it.
///
/// # Errors
/// As [`wait`].
pub(super) fn take(
    state: &ThreadState,
    domain: Arc<dyn AnyDomain>,
    timeout: Option<Duration>,
) -> Result<(), CallError> {
    let (word, given) = (domain.owner(), GIVEN | state.tid as u32);
    // SAFETY: the thread's own block.
    let turn = unsafe { &mut (*state.block).turn };
    if word.load(Ordering::Relaxed) & (OWNED | GIVEN) == given {
        // Others wait, which the proxy does not expect: they say so again.
        if word.swap(given, Ordering::AcqRel) & WAITED_FOR != 0 {
            wake(word);
        }
        *turn = given;
        return Ok(());
    }
    // As above.
    *turn = 0;
    await_turn(state, domain, timeout, false, given)?;
    *turn = given;
    Ok(())
}

/// The slow path has refused a call: what it was given for the call's proxy is free.
pub(super) fn give_back(state: &ThreadState, word: &AtomicU32) {
    // SAFETY: the thread's own block.
    let turn = unsafe { &mut (*state.block).turn };
    if std::mem::take(turn) != 0 && word.load(Ordering::Relaxed) & GIVEN != 0 {
        release(word, state.tid as u32);
    }
}

/// Takes `domain` for the thread again, which has given it up in a call that goes on.
///
/// # Errors
/// As [`wait`].
pub(super) fn take_again(state: &ThreadState, domain: Arc<dyn AnyDomain>) -> Result<(), CallError> {
    let (word, tid) = (domain.owner(), state.tid as u32);
    let seen = word.load(Ordering::Relaxed);
    if seen & OWNED == tid {
        // A handler of the host's that has called meanwhile, and has left that by a jump, has left it taken: as for a proxy, perhaps.
        word.fetch_and(!GIVEN, Ordering::AcqRel);
        return Ok(());
    }
    await_turn(state, domain, None, true, tid)
}

/// Waits until the word is free, and sets it to `taken`. `goes_on`: for a call in progress, which has had it.
fn await_turn(
    state: &ThreadState,
    domain: Arc<dyn AnyDomain>,
    timeout: Option<Duration>,
    goes_on: bool,
    taken: u32,
) -> Result<(), CallError> {
    // The thread's state has it, and not this frame, which a jump may skip.
    let domain = state.await_domain(domain);
    let waited = wait_for(state, domain, timeout, goes_on, taken);
    domain.turns().settle();
    stop_waiting(state);
    waited
}

/// The thread waits for no domain any more.
pub(super) fn stop_waiting(state: &ThreadState) {
    {
        // No thread looks at the word any more when the lock is free again.
        let _threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
        state.waits_for.store(std::ptr::null_mut(), Ordering::SeqCst);
    }
    state.await_none();
}

fn wait_for(
    state: &ThreadState,
    domain: &Instance,
    timeout: Option<Duration>,
    goes_on: bool,
    taken: u32,
) -> Result<(), CallError> {
    let word = domain.owner();
    // A timeout that no clock gets to is for ever.
    let begun = Instant::now();
    let end = timeout.and_then(|timeout| begun.checked_add(timeout));
    // (None once it is.)
    let mut overdue = begun.checked_add(if goes_on { Duration::ZERO } else { OVERDUE_AFTER });
    let mut begins = true;
    loop {
        let seen = word.load(Ordering::Acquire);
        overdue = overdue.filter(|overdue| *overdue > Instant::now());
        if seen & OWNED == 0 && (seen & GOES_FIRST == 0 || overdue.is_none()) {
            // (Others sleep for as long as a word may be kept at most. They need not, if the one it was kept for is quicker.)
            let taken = taken | seen & WAITED_FOR;
            match word.compare_exchange(seen, taken, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(_) => continue,
            }
        }
        if !may_wait(state, word) {
            return Err(CallError::Deadlock(domain.name().to_owned()));
        }
        // (What has an end ends by itself.)
        if end.is_none() {
            state.looks_for_turn(std::mem::take(&mut begins));
        }
        wait_once(domain, seen, end, overdue)?;
        if domain.is_killed() {
            return Err(domain.ended());
        }
        if !goes_on && domain.must_stop() {
            return Err(CallError::Interrupted(domain.name().to_owned()));
        }
        // What is in progress has the time that a kill of its caller leaves it; what has not begun has none.
        let must_stop = if goes_on { innermost_must_stop } else { outer_must_stop };
        // SAFETY: the thread's own block; its top record is always valid.
        if state.stop.load(Ordering::Acquire) || unsafe { must_stop(state, (*state.block).top) } {
            return Err(busy(domain));
        }
    }
}

/// The error of a call whose turn does not come, with who has the domain.
fn busy(domain: &Instance) -> CallError {
    CallError::Busy(domain.name().to_owned(), Holder::of(domain.owner().load(Ordering::Relaxed) & OWNED))
}

fn wait_once(
    domain: &Instance,
    seen: u32,
    end: Option<Instant>,
    overdue: Option<Instant>,
) -> Result<(), CallError> {
    let word = domain.owner();
    let now = Instant::now();
    // (A free word that is kept is not busy: whom it is kept for may have given up. It has until this thread is overdue as well.)
    let end = end.filter(|end| *end > now || seen & OWNED != 0);
    if end.is_some_and(|end| end <= now) {
        return Err(busy(domain));
    }
    let left = end.into_iter().chain(overdue).map(|end| end.saturating_duration_since(now)).min();
    let marked = seen | WAITED_FOR | if overdue.is_none() { GOES_FIRST } else { 0 };
    if seen != marked && word.compare_exchange(seen, marked, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return Ok(());
    }
    let left = left.and_then(|left| futex::Timespec::try_from(left).ok());
    // A kill that has found no mark has woken no thread: it is looked for behind the mark, which goes again, because another may be about to sleep
    // on it. Woken, changed, timed out, interrupted by a kick: the loop looks again in any case.
    if domain.is_killed() {
        wake_all(word);
    } else {
        asleep(word, marked, left.as_ref());
    }
    Ok(())
}

/// Says that the thread waits for `word`, unless the word's owner waits, perhaps through others, for the thread: what closes a circle does not wait,
/// and the others of the circle go on.
fn may_wait(state: &ThreadState, word: &AtomicU32) -> bool {
    // One thread at a time looks and says: of those that close a circle together the last one finds it.
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    let closes = closes_circle(state.tid as u32, word, &threads);
    let waits_for = if closes { std::ptr::null_mut() } else { std::ptr::from_ref(word).cast_mut() };
    state.waits_for.store(waits_for, Ordering::SeqCst);
    !closes
}

/// True if the owner of `word` waits, perhaps through others, for `tid`, or is `tid`. The caller holds the lock of `threads`.
fn closes_circle(tid: u32, mut word: *const AtomicU32, threads: &[Arc<ThreadState>]) -> bool {
    for _ in 0..=threads.len() {
        // SAFETY: a thread that waits for a word keeps its domain alive, and says that it has stopped under the lock
        // that the caller holds.
        let owner = unsafe { (*word).load(Ordering::SeqCst) } & OWNED;
        if owner == tid {
            return true;
        }
        let Some(thread) = threads.iter().find(|thread| thread.tid as u32 == owner) else { return false };
        word = thread.waits_for.load(Ordering::SeqCst);
        if word.is_null() {
            return false;
        }
    }
    false
}
