//! Which of our handlers is in front says what is behind it.
//!
//! A handler that comes behind our back takes ours for its predecessor, and puts that back when it goes: by a plain system call, as it
//! came. So ours has many addresses. Each one stands for what was behind when it was put in front, and whoever puts one back brings
//! that back, too (all of them lead to `lockgate_on_fault`): without it, signals would go on to a handler that is not there any more,
//! which returns, for ever.
use super::signals_sys::Action;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Addresses of the handler. Who needs more shares the last one, which then stands for what it stood for last.
const FRONTS: usize = 64;
/// Bytes from one to the next.
const SIZE: usize = 8;

unsafe extern "C" {
    fn lockgate_fronts();
}

core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_fronts
    .hidden lockgate_fronts
    .type lockgate_fronts,@function
lockgate_fronts:
    .rept {FRONTS}
    .p2align 3
    jmp lockgate_on_fault
    .endr
    .p2align 3
    .size lockgate_fronts,.-lockgate_fronts
    "#,
    FRONTS = const FRONTS,
    options(att_syntax)
);

/// For one signal. Read in handlers.
pub(super) struct Fronts {
    /// The one that was put in front last.
    current: AtomicUsize,
    /// How many stand for something.
    used: AtomicUsize,
    /// What is behind each: the host's handler.
    behind: [AtomicPtr<Action>; FRONTS],
}

/// Address of the front `number`.
pub(super) fn address(number: usize) -> usize {
    lockgate_fronts as *const () as usize + number * SIZE
}

/// The front at an address.
pub(super) fn at(handler: usize) -> Option<usize> {
    let offset = handler.checked_sub(address(0))?;
    (offset < FRONTS * SIZE && offset % SIZE == 0).then_some(offset / SIZE)
}

impl Fronts {
    pub(super) const fn new() -> Fronts {
        Fronts {
            current: AtomicUsize::new(0),
            used: AtomicUsize::new(1),
            behind: [const { AtomicPtr::new(ptr::null_mut()) }; FRONTS],
        }
    }

    /// The one that was put in front last.
    pub(super) fn current(&self) -> usize {
        self.current.load(Ordering::Acquire)
    }

    /// What `number` stands for; it is in front.
    pub(super) fn put(&self, number: usize) -> *mut Action {
        self.current.store(number, Ordering::Release);
        self.behind[number].load(Ordering::Acquire)
    }

    /// From now on, `number` stands for this.
    pub(super) fn note(&self, number: usize, behind: *mut Action) {
        self.behind[number].store(behind, Ordering::Release);
    }

    /// One that stands for this. One caller at a time.
    pub(super) fn of(&self, behind: *mut Action) -> usize {
        let used = self.used.load(Ordering::Acquire);
        let stands = |number: &usize| self.behind[*number].load(Ordering::Acquire) == behind;
        if let Some(known) = (0..used).find(stands) {
            return known;
        }
        let new = used.min(FRONTS - 1);
        self.note(new, behind);
        self.used.store((used + 1).min(FRONTS), Ordering::Release);
        new
    }
}
