//! Waits that no thread ends: of threads that wait for each other, in whichever domains, where an ended call has left a lock of libc's
//! (docs/limits.md).
use super::exclusive_sys;
use super::layout::OWNED;
use super::thread_sys::{self, ThreadState, listed};
use super::waiting::For;
use crate::host::locked;
use crate::space;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The calling thread waits in the domain at `base`, for what threads inside do: for the first time if the wait `begins`.
pub(crate) fn waits(base: u64, begins: bool) {
    if let Some(state) = thread_sys::current() {
        locked(&state.waiting).says(For::Threads(base), begins);
    }
}

/// Whether the calling thread's wait in the domain at `base` is for ever: threads that could end it wait themselves, each for such a wait to end,
/// and this one is among those that they wait for. (Where it is not, one of theirs ends first.) They are asked to speak.
pub(crate) fn all_wait(base: u64) -> bool {
    let Some(state) = thread_sys::current() else { return false };
    let threads = listed();
    let Some(others) = circle(state, base, &threads) else { return false };
    let waits = others.iter().map(|other| locked(&other.waiting).said().1).collect();
    let are_in_them = locked(&state.waiting).sees(waits);
    if !are_in_them {
        // SAFETY: a thread that waits for a word keeps its domain alive, and says that it has stopped under the lock that we hold.
        others.iter().filter_map(|other| unsafe { awaited(other) }).for_each(exclusive_sys::wake_all);
    }
    are_in_them
}

/// The word that the thread waits for, if it waits for a turn.
///
/// # Safety
/// Only while the list of all threads is held ([`listed`]).
unsafe fn awaited(thread: &ThreadState) -> Option<&AtomicU32> {
    // SAFETY: as in `all_wait`.
    unsafe { thread.waits_for.load(Ordering::SeqCst).as_ref() }
}

/// Whether a time limit of one of the thread's calls lets it go on where it may do what is awaited: with the call of the domain in which that call was
/// made; or with what gives the turn up.
fn is_limited(thread: &ThreadState, awaited: For) -> bool {
    let entries = thread.entries();
    let outermost = match awaited {
        For::Threads(base) => entries.iter().position(|entry| space::base_of(entry.control) == base),
        For::Nothing | For::Turn => None,
    };
    let made_there = outermost.map_or(0, |outermost| outermost + 1);
    entries[made_there..].iter().any(|entry| entry.limit.is_some())
}

/// Those that could end the calling thread's wait, and those that could end theirs, and so on, if each of them has said that it waits, and could
/// go on at last if this one did.
fn circle<'a>(own: &ThreadState, base: u64, threads: &'a [Arc<ThreadState>]) -> Option<Vec<&'a ThreadState>> {
    let own = threads.iter().position(|thread| ptr::eq(&raw const **thread, own))?;
    let mut found = vec![own];
    let mut waits = Vec::new();
    while let Some(&one) = found.get(waits.len()) {
        let what = if one == own { For::Threads(base) } else { locked(&threads[one].waiting).said().0 };
        let enders: Vec<usize> = match what {
            For::Nothing => return None,
            For::Threads(base) => {
                (0..threads.len()).filter(|&index| threads[index].may_hold_in(base)).collect()
            }
            For::Turn => {
                // SAFETY: the caller holds the lock.
                let owner = unsafe { awaited(&threads[one]) }?.load(Ordering::SeqCst) & OWNED;
                vec![threads.iter().position(|thread| thread.tid as u32 == owner)?]
            }
        };
        // (A time limit brings it back, whatever it waits for.)
        if enders.iter().any(|&index| index != own && is_limited(&threads[index], what)) {
            return None;
        }
        let new: Vec<usize> = enders.iter().copied().filter(|index| !found.contains(index)).collect();
        found.extend(new);
        waits.push(enders);
    }
    // Which of them could go on if the calling one did.
    let mut back = vec![own];
    let mut seen = 0;
    while let Some(&one) = back.get(seen) {
        seen += 1;
        let awaits_it = |(&other, enders): (&usize, &Vec<usize>)| {
            (enders.contains(&one) && !back.contains(&other)).then_some(other)
        };
        let more: Vec<usize> = found.iter().zip(&waits).filter_map(awaits_it).collect();
        back.extend(more);
    }
    (back.len() == found.len()).then(|| found[1..].iter().map(|&index| &*threads[index]).collect())
}
