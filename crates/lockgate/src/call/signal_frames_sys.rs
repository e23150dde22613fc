//! Frames of signals on a thread's stacks: when the handler of one returns, the thread has the alternate stack again that it had before.
//!
//! The kernel makes all of them alike, so they are found without unwinding, which a handler cannot do. What is left of one in memory that a
//! later frame has not written looks the same: to find one means that it may be there. Stacks of coroutines other than the one that runs are
//! not known, and not looked at.
use crate::copy_asm::lockgate_copy;
use crate::host::maps;
use lockgate_abi::PAGE;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ops::Range;

const WORD: usize = size_of::<u64>();
/// Words of a page.
const WORDS: usize = PAGE as usize / WORD;
/// Where a context has what must be as the kernel makes it, in words.
const LINK: usize = offset_of!(libc::ucontext_t, uc_link) / WORD;
const STACK: usize = offset_of!(libc::ucontext_t, uc_stack) / WORD;
const SEGMENTS: usize = offset_of!(libc::ucontext_t, uc_mcontext) / WORD + libc::REG_CSGSFS as usize;
/// `UC_FP_XSTATE`, `UC_SIGCONTEXT_SS`, `UC_STRICT_RESTORE_SS`.
const FLAGS: u64 = 7;
/// How far to look on a stack whose end is not known.
const FAR: u64 = 1 << 20;

/// Whether a frame may lie above `rsp`, where the calling thread runs, on its own stack or on a coroutine's, that has another alternate stack
/// than the one at `ours`, or none.
pub(super) fn may_be_above(rsp: u64, own: &Range<u64>, ours: Option<u64>) -> bool {
    if own.contains(&rsp) {
        return any_in(rsp..own.end, ours);
    }
    // Of its own stack what was ever used, since it is not known where that goes on; and what of this one lies in its mapping.
    let mapping = |at: u64| maps::mapping_at(at).ok().flatten().map(|mapping| mapping.range);
    let (Some(here), Some(owns)) = (mapping(rsp), mapping(own.end.wrapping_sub(1))) else { return true };
    any_in(rsp..here.end.min(rsp.saturating_add(FAR)), ours)
        || used(owns.start.max(own.start)..own.end).any(|page| any_in(page..page + PAGE + CONTEXT, ours))
}

/// Bytes of a context, as far as it is looked at, beyond its first word.
const CONTEXT: u64 = (SEGMENTS * WORD) as u64;

/// The pages of a stack that are there.
fn used(stack: Range<u64>) -> impl Iterator<Item = u64> {
    let first = stack.start.next_multiple_of(PAGE);
    let count = stack.end.saturating_sub(first).div_ceil(PAGE) as usize;
    let mut there = vec![0_u8; count];
    // SAFETY: a query of as many pages as there is room for answers.
    let known =
        unsafe { libc::mincore(first as *mut c_void, count * PAGE as usize, there.as_mut_ptr()) } == 0;
    let is_used =
        move |(index, there): (usize, u8)| (!known || there & 1 != 0).then_some(first + index as u64 * PAGE);
    there.into_iter().enumerate().filter_map(is_used)
}

fn any_in(range: Range<u64>, ours: Option<u64>) -> bool {
    let selectors = selectors();
    let mut words = [0_u64; WORDS + SEGMENTS];
    let mut at = range.start.next_multiple_of(WORD as u64);
    while at < range.end {
        let count = words.len().min((range.end - at) as usize / WORD);
        // SAFETY: to our own words; a fault ends the copy.
        let left = unsafe { lockgate_copy(words.as_mut_ptr().cast(), at as *const c_void, count * WORD) };
        let found = words[..count - left.div_ceil(WORD)].windows(SEGMENTS + 1).any(|context| {
            context[SEGMENTS] == selectors
                && context[0] & !FLAGS == 0
                && context[LINK] == 0
                && Some(context[STACK]) != ours
        });
        if found {
            return true;
        }
        at += PAGE;
    }
    false
}

/// The segments as a context has them: code, gs, fs, stack. (gs and fs are 0. A lone 51 in zeros, which is the code segment on Linux, is on
/// many a stack.)
fn selectors() -> u64 {
    let (code, stack): (u16, u16);
    // SAFETY: reads the selectors.
    unsafe {
        core::arch::asm!("mov {:x}, cs", "mov {:x}, ss", out(reg) code, out(reg) stack, options(nomem, nostack, preserves_flags));
    }
    u64::from(code) | u64::from(stack) << 48
}
