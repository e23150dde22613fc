//! Where the calling thread's block is: through `fs`, at the same distance in every thread.
use super::layout::{Record, ThreadBlock};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The calling thread's block.
#[inline(always)]
pub(crate) fn block() -> *mut ThreadBlock {
    let block: *mut ThreadBlock;
    // SAFETY: computes an address from fs.
    unsafe {
        core::arch::asm!(
            "mov {block}, qword ptr fs:[0]",
            "add {block}, qword ptr [rip + lockgate_thread@GOTTPOFF]",
            block = out(reg) block,
            options(nostack, readonly)
        );
    }
    block
}

/// Offset of every thread's block from `fs`: static thread-local storage, the same in all threads.
pub(crate) fn block_offset() -> i32 {
    let base: u64;
    // SAFETY: reads the thread pointer, which the x86-64 ABI keeps at fs:0.
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags)) };
    i32::try_from(block() as i64 - base as i64).expect("static thread-local storage lies near fs")
}

/// Makes `record` the top one, which other threads may read meanwhile ([`ThreadState::records`](super::thread_sys::ThreadState::records)).
///
/// # Safety
/// The calling thread's own block, and a record of its array.
pub(super) unsafe fn set_top(block: *mut ThreadBlock, record: *mut Record) {
    // SAFETY: an aligned word of the block.
    unsafe { AtomicPtr::from_ptr(&raw mut (*block).top) }.store(record, Ordering::Relaxed);
}
