//! Domains that take one caller at a time: a lock word per domain, and who waits for which.
//!
//! A free word is taken by the proxy itself; everything else happens here. A thread that waits says so in its
//! state, so that a circle of owners and waiters is found before it closes.
use super::instance::{AnyDomain, Instance};
use super::signals_sys::outer_must_stop;
use super::thread_sys::{THREADS, ThreadState};
use super::undisturbed_sys::asleep;
use crate::error::CallError;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::futex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bit of the word: somebody waits.
const WAITED_FOR: u32 = 1 << 31;

/// What proxies do ([`lockgate_wake`](super::proxy_asm)) that found the bit in the word they set free.
pub(super) fn wake(word: &AtomicU32) {
    // All of them: proxies take a free word without the bit, so the one that gets it would wake nobody after it. A word that
    // is not mapped cannot be: the call would have no binding.
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}

/// Sets the word free after a call that the host jumped out of.
pub(super) fn release(word: &AtomicU32, tid: u32) {
    if word.load(Ordering::Relaxed) & !WAITED_FOR == tid && word.swap(0, Ordering::Release) & WAITED_FOR != 0
    {
        wake(word);
    }
}

/// Waits until `domain` may be free. The proxy then tries again.
///
/// # Errors
/// [`CallError::Deadlock`] if the thread would wait for itself, [`CallError::Busy`] after `timeout`, or when a call that
/// this one is nested in must end.
pub(super) fn wait(
    state: &ThreadState,
    domain: Arc<dyn AnyDomain>,
    timeout: Option<Duration>,
) -> Result<(), CallError> {
    // The thread's state has it, and not this frame, which a jump may skip.
    let domain = state.await_domain(domain);
    let waited = wait_for(state, domain, timeout);
    stop_waiting(state);
    waited
}

/// The thread waits for no domain any more.
pub(super) fn stop_waiting(state: &ThreadState) {
    {
        // Nobody looks at the word any more when the lock is free again.
        let _threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
        state.waits_for.store(std::ptr::null_mut(), Ordering::SeqCst);
    }
    state.await_none();
}

fn wait_for(state: &ThreadState, domain: &Instance, timeout: Option<Duration>) -> Result<(), CallError> {
    let word = domain.owner();
    // A timeout that no clock gets to is for ever.
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen & !WAITED_FOR == 0 {
            return Ok(());
        }
        state.waits_for.store(std::ptr::from_ref(word).cast_mut(), Ordering::SeqCst);
        wait_once(state, domain, word, seen, end)?;
        if domain.is_killed() {
            return Err(domain.ended());
        }
        // SAFETY: the thread's own block; its top record is always valid.
        if state.stop.load(Ordering::Acquire) || unsafe { outer_must_stop(state, (*state.block).top) } {
            return Err(CallError::Busy(domain.name().to_owned()));
        }
    }
}

fn wait_once(
    state: &ThreadState,
    domain: &Instance,
    word: &AtomicU32,
    seen: u32,
    end: Option<Instant>,
) -> Result<(), CallError> {
    if is_circle(state.tid as u32, word) {
        return Err(CallError::Deadlock(domain.name().to_owned()));
    }
    let busy = || CallError::Busy(domain.name().to_owned());
    let left = match end {
        Some(end) => Some(end.checked_duration_since(Instant::now()).ok_or_else(busy)?),
        None => None,
    };
    let marked = seen | WAITED_FOR;
    if seen != marked && word.compare_exchange(seen, marked, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return Ok(());
    }
    let left = left.and_then(|left| futex::Timespec::try_from(left).ok());
    // Woken, changed, timed out, interrupted by a kick: the loop looks again in any case.
    asleep(word, marked, left.as_ref());
    Ok(())
}

/// True if the owner of `word` waits, perhaps through others, for `tid`.
fn is_circle(tid: u32, mut word: *const AtomicU32) -> bool {
    let threads = THREADS.lock().unwrap_or_else(|e| e.into_inner());
    for _ in 0..=threads.len() {
        // SAFETY: a thread that waits for a word keeps its domain alive, and says that it has stopped under the lock
        // that we hold.
        let owner = unsafe { (*word).load(Ordering::SeqCst) } & !WAITED_FOR;
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
