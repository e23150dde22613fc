//! Where a thread's next call of a domain starts.
use crate::call::thread_sys::ThreadState;
use crate::space::MAX_STRIDES;

/// The control address at which the next call of domain `id` by `thread`, the calling thread, starts; 0 if the thread has no slot
/// there. It lies lower while calls of the thread are in progress.
pub(super) fn next_call(thread: &ThreadState, id: u32) -> u64 {
    assert!((id as usize) < MAX_STRIDES);
    // SAFETY: the thread's own block and, inside it, its own table, which has an entry for every number.
    unsafe { (*thread.block).slots.add(id as usize).read_volatile() }
}
