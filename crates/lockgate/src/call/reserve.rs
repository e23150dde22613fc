//! What a stack keeps for handlers of its overflow (`sigaltstack`; [decision
//! 0116](../../../../docs/decisions/0116-a-stack-keeps-room-for-its-overflow.md)): its lower end, on both stacks, is closed until such a handler
//! begins, and is closed again when that has been left, or at the thread's next call. All that is told of stacks holds of one whose lower
//! end is closed: it is a smaller one.
use super::instance::Instance;
use super::layout::RED_ZONE;
use lockgate_abi::{PAGE, code, stack, window};
use lockgate_syscall::Protection;
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// In a slot's word, beside the number of bytes: they are closed.
const CLOSED: u64 = 1;

/// Bytes that are kept of a stack of `size` for handlers that ask for `wanted` bytes and begin with `used`; 0: the stack is too small.
fn bytes(size: u64, used: u64, wanted: u64) -> u64 {
    // (rsp is below what is open by no more than one move, where nothing is amiss.)
    let needed = used + u64::from(code::MAX_MOVE);
    match (size / 2).checked_sub(needed) {
        Some(room) if room >= libc::MINSIGSTKSZ as u64 => (needed + wanted.min(room)).next_multiple_of(PAGE),
        _ => 0,
    }
}

impl Instance {
    /// Bytes at the lower end of the stack that `control` lies on which are closed. Async-signal-safe.
    pub(super) fn closed_at(&self, control: u64) -> u64 {
        match self.reserve_of(self.slot_of(control)).map_or(0, |word| word.load(Ordering::SeqCst)) {
            word if word & CLOSED != 0 => word & !CLOSED,
            _ => 0,
        }
    }

    /// Whether the slot's stack keeps something.
    pub fn has_reserve(&self, slot: u32) -> bool {
        self.reserve_of(slot).is_some_and(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// Whether that is open. Async-signal-safe.
    pub(super) fn has_open_reserve(&self, slot: u32) -> bool {
        let is_open = |word: u64| word != 0 && word & CLOSED == 0;
        self.reserve_of(slot).is_some_and(|word| is_open(word.load(Ordering::SeqCst)))
    }

    /// The stack that a gate at `control` is called from, a thread's, keeps room for handlers that ask for `wanted` bytes and begin with `used`;
    /// or nothing, with [`None`]. (A context's keeps nothing.) Whether that is closed, and not in use.
    ///
    /// # Errors
    /// The kernel refuses. The stack keeps what it did, which may be open.
    pub(super) fn keep_reserve(&self, control: u64, used: u64, wanted: Option<u64>) -> Result<bool, Errno> {
        let slot = self.slot_of(control);
        let is_threads = self.contexts().size(slot).is_none();
        let Some(word) = self.reserve_of(slot).filter(|_| is_threads) else { return Ok(true) };
        if !self.open(slot) {
            return Err(Errno::NOMEM);
        }
        let bytes = wanted.map_or(0, |wanted| bytes(self.stack_size_at(control), used, wanted));
        let before = word.swap(bytes, Ordering::SeqCst);
        let closed = self.try_to_close(control - RED_ZONE);
        if closed.is_err() {
            word.store(before, Ordering::SeqCst);
        }
        closed
    }

    /// The slot's stack keeps nothing any more.
    pub fn drop_reserve(&self, slot: u32) {
        if let Some(word) = self.reserve_of(slot)
            && self.open(slot)
        {
            word.store(0, Ordering::SeqCst);
        }
    }

    /// The same of a slot that has been unmapped.
    pub fn forget_reserve(&self, slot: u32) {
        if let Some(word) = self.reserve_of(slot) {
            word.store(0, Ordering::SeqCst);
        }
    }

    /// Opens what the stack that `control` lies on keeps, if that is closed: whether it was, and is open. Async-signal-safe.
    pub(super) fn open_reserve(&self, control: u64) -> bool {
        self.closed_at(control) != 0 && self.open(self.slot_of(control))
    }

    /// False if it is closed still, of which the kernel has its reasons.
    fn open(&self, slot: u32) -> bool {
        let Some(word) = self.reserve_of(slot) else { return false };
        let bytes = word.load(Ordering::SeqCst);
        let opened = bytes & CLOSED == 0 || self.protect(slot, bytes & !CLOSED, Protection::ReadWrite);
        if opened {
            word.store(bytes & !CLOSED, Ordering::SeqCst);
        }
        opened
    }

    /// Closes what the stack that `lowest` lies on keeps, if that lies below `lowest`, below which nothing is in use. Whether nothing is open.
    /// Async-signal-safe.
    pub fn close_reserve(&self, lowest: u64) -> bool {
        self.try_to_close(lowest) == Ok(true)
    }

    /// The same; an error if the kernel refuses.
    fn try_to_close(&self, lowest: u64) -> Result<bool, Errno> {
        let slot = self.slot_of(lowest);
        let Some(word) = self.reserve_of(slot) else { return Ok(true) };
        let bytes = word.load(Ordering::SeqCst);
        if bytes == 0 || bytes & CLOSED != 0 {
            return Ok(true);
        }
        if lowest % stack::SLOT < stack::TOP - self.stack_size_at(lowest) + bytes {
            return Ok(false);
        }
        // Before it is, since who finds it so opens it; and behind that, since a handler of the host's may have made a call meanwhile that did.
        word.store(bytes | CLOSED, Ordering::SeqCst);
        let closed = self.protect(slot, bytes, Protection::None);
        word.store(bytes | CLOSED, Ordering::SeqCst);
        if closed {
            return Ok(true);
        }
        self.open(slot);
        Err(Errno::NOMEM)
    }

    /// A data page is accessible only if its control page is (rule R2).
    fn protect(&self, slot: u32, bytes: u64, access: Protection) -> bool {
        let start = u64::from(slot) * stack::SLOT + stack::TOP
            - self.stack_size_at(self.base() + window::CONTROL + u64::from(slot) * stack::SLOT);
        let both = match access {
            Protection::None => [window::STACKS, window::CONTROL],
            _ => [window::CONTROL, window::STACKS],
        };
        // (A child has no window.)
        !self.is_inherited()
            && both.iter().all(|stacks| self.stride().protect(stacks + start, bytes, access).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_stack_is_the_modules_at_least() {
        assert_eq!(bytes(1 << 20, 0xc000, 8192), 0x1_0000 + 0xc000 + 8192);
        assert_eq!(bytes(1 << 20, 0xc000, u64::MAX / 2), 1 << 19);
        assert_eq!(bytes(128 << 10, 0xc000, 8192), 0);
    }
}
