//! Where the calling thread's block is: through `fs`, at the same distance in every thread.
use super::layout::{Record, ThreadBlock};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

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

/// The thread is in transit from here on ([`ThreadBlock::transit`]), by the address `at`; false if something is already. One instruction asks and
/// says so, as in proxies and gates: what comes between two is a handler, which may switch to another stack, whose call does both.
pub(super) fn begin_transit(at: u64) -> bool {
    replace_transit(0, at)
}

/// It is no more, unless what is in transit is something else.
pub(super) fn end_transit(at: u64) {
    replace_transit(at, 0);
}

/// Whether it is `at` that is in transit.
pub(super) fn is_in_transit(at: u64) -> bool {
    // SAFETY: a word of the thread's own block, which its handlers change.
    unsafe { AtomicU64::from_ptr(&raw mut (*block()).transit) }.load(Ordering::Relaxed) == at
}

fn replace_transit(from: u64, to: u64) -> bool {
    let replaced: u8;
    // SAFETY: a word of the thread's own block. (No other thread has it: the bus need not be locked.)
    unsafe {
        core::arch::asm!(
            "cmpxchg qword ptr [{word}], {to}",
            "sete {replaced}",
            word = in(reg) &raw mut (*block()).transit,
            to = in(reg) to,
            replaced = out(reg_byte) replaced,
            inout("rax") from => _,
            options(nostack)
        );
    }
    replaced != 0
}
