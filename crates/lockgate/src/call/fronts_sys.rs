//! Which of our handlers is in front says what is behind it.
//!
//! A handler that comes behind our back takes ours for its predecessor, and puts that back when it goes: by a plain system call, as it
//! came. So ours has many addresses. Each one stands for what was behind when it was put in front, and code that puts one back brings
//! that back, too (all of them lead to `lockgate_on_fault`): without it, signals would go on to a handler that is not there any more,
//! which returns, for ever.
//!
//! Such a handler also calls ours, with what it does not take for its own. Then the signal goes on to what was there at the very first, and not
//! to what is behind the front, which is that handler: there is no ring. That it has been handed on before is written on the frame that
//! the kernel has made for it ([`Delivery`]), so a handler that leaves by a jump leaves nothing of it behind.
//!
//! Another copy of the library in the process is known by what stands before its fronts. A signal goes from one copy to the next
//! by the order in which they came to the front, and none goes before one that leads to it anyway.
use super::kernel_signals_sys::{Action, FAULTS, kernel_action};
use libc::{c_int, ucontext_t};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Addresses of the handler. Who needs more shares the last one, which then stands for what it stood for last.
const FRONTS: usize = 64;
/// Bytes from one to the next.
const SIZE: usize = 16;
/// What stands before the fronts of each copy of the library whose tables are laid out as these: 16 bytes, then how far they are from here.
const MARK: [u8; 16] = *b"Lockgate fronts2";
const HEAD: usize = MARK.len() + size_of::<i64>() * 2;
/// How a front begins: `mov $number,%eax`.
const FIRST_BYTE: u8 = 0xb8;
/// What returns from a signal: `mov $15,%rax; syscall`.
const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
/// What follows it where the signal has been handed on.
const HANDED_ON: [u8; 16] = *b"Lockgate passed1";

unsafe extern "C" {
    fn lockgate_fronts();
    fn lockgate_handed_on();
}

/// A function that returns from a signal, by the very instructions by which debuggers, and what unwinds, know the frame of one. What follows
/// belongs to it; `SIGRETURN` is the system call's number.
macro_rules! returns_from_signals {
    ($name:literal) => {
        concat!(
            "
    .text
    .p2align 4
    nop
    .globl ",
            $name,
            "
    .hidden ",
            $name,
            "
    .type ",
            $name,
            ",@function
",
            $name,
            ":
    movq ${SIGRETURN},%rax
    syscall
"
        )
    };
}
pub(super) use returns_from_signals;

core::arch::global_asm!(
    returns_from_signals!("lockgate_handed_on"),
    r#"
    .ascii "Lockgate passed1"
    .size lockgate_handed_on,.-lockgate_handed_on

    .p2align 4
    .ascii "Lockgate fronts2"
1:
    .quad {TABLES}-1b
    .quad 0
    .globl lockgate_fronts
    .hidden lockgate_fronts
    .type lockgate_fronts,@function
lockgate_fronts:
    .set lockgate_front,0
    .rept {FRONTS}
    .p2align 4
    mov $lockgate_front,%eax
    jmp lockgate_on_fault
    .set lockgate_front,lockgate_front+1
    .endr
    .p2align 4
    .size lockgate_fronts,.-lockgate_fronts
    "#,
    FRONTS = const FRONTS,
    SIGRETURN = const libc::SYS_rt_sigreturn,
    TABLES = sym BEHIND,
    options(att_syntax)
);

/// Of each signal's fronts, what is behind each: the host's handler. Other copies of the library read it.
static BEHIND: [[AtomicPtr<Action>; FRONTS]; FAULTS.len()] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; FRONTS] }; FAULTS.len()];

/// What lies at an address, if anything does: neither handlers nor contexts that others have handed us are known to be what they seem.
/// (In a handler, where a fault is the end.)
fn look<T: Copy>(at: usize) -> Option<T> {
    const { assert!(size_of::<T>() >= size_of::<u64>() && size_of::<T>() < 4096) };
    // The kernel reads a mask, and then finds that there is no such way to change one.
    // SAFETY: a query.
    let is_there = |at: usize| unsafe {
        let errno = *libc::__errno_location();
        libc::syscall(libc::SYS_rt_sigprocmask, -1_isize, at, ptr::null_mut::<u64>(), size_of::<u64>());
        std::mem::replace(&mut *libc::__errno_location(), errno) != libc::EFAULT
    };
    let last = at.checked_add(size_of::<T>() - size_of::<u64>())?;
    // SAFETY: it is there, from its first word to its last one; plain bytes.
    (at != 0 && is_there(at) && is_there(last)).then(|| unsafe { (at as *const T).read_unaligned() })
}

/// What is behind a front of another copy of the library, for the signal of this index.
fn behind_anothers(handler: usize, index: usize) -> Option<usize> {
    let front: [u8; 8] = look(handler)?;
    let number = usize::from(front[1]);
    if front[0] != FIRST_BYTE || front[2..5] != [0; 3] || number >= FRONTS {
        return None;
    }
    let head = handler.checked_sub(number * SIZE + HEAD)?;
    let (mark, tables): ([u8; 16], i64) = (look(head)?, look::<i64>(head + MARK.len())?);
    if mark != MARK {
        return None;
    }
    let tables = (head + MARK.len()).wrapping_add_signed(tables as isize);
    let action: usize = look(tables + (index * FRONTS + number) * size_of::<usize>())?;
    look::<Action>(action).map(|action| action.handler)
}

/// The front of ours that gets the signal `signal`, of this index: the kernel calls it, or hands the signal to other copies of the library which
/// hand it on.
pub(super) fn reached(index: usize, signal: c_int) -> Option<usize> {
    let mut handler = kernel_action(signal, None).handler;
    for _ in 0..FRONTS {
        if let Some(front) = at(handler) {
            return Some(front);
        }
        handler = behind_anothers(handler, index)?;
    }
    None
}

/// A signal, and how far it has come.
pub(super) struct Delivery {
    /// Where its frame says what returns from it.
    word: *mut usize,
    /// Ours are the first, or other copies of the library have handed it to us.
    is_first: bool,
}

impl Delivery {
    /// # Safety
    /// The context is the kernel's, or what another handler has made of it.
    pub(super) unsafe fn of(context: *const ucontext_t) -> Delivery {
        let word = context.cast::<usize>().cast_mut().wrapping_sub(1);
        let is_first = look::<usize>(word.addr()).is_some_and(|returns| {
            look(returns) == Some(SIGRETURN)
                && look(returns + SIGRETURN.len()).is_none_or(|mark: [u8; 16]| mark != HANDED_ON)
        });
        Delivery { word, is_first }
    }

    /// The front that says what a signal goes on to which has come to `front`.
    pub(super) fn stands_for(&self, front: usize) -> usize {
        if self.is_first { front } else { 0 }
    }

    /// It goes on, from `front`, to a handler.
    ///
    /// # Safety
    /// As for [`Delivery::of`]; the frame is still there.
    pub(super) unsafe fn hand_on(&self, index: usize, front: usize, handler: usize) {
        // (What the last one stands for may have changed since others took it for their predecessor.)
        let goes_to_a_copy = || front + 1 < FRONTS && behind_anothers(handler, index).is_some();
        if self.is_first && !goes_to_a_copy() {
            // SAFETY: the frame of a signal, which returns as before.
            unsafe { self.word.write(lockgate_handed_on as *const () as usize) };
        }
    }
}

/// For one signal. Read in handlers.
pub(super) struct Fronts {
    /// Its index among [`FAULTS`].
    index: usize,
    /// The one that was put in front last.
    current: AtomicUsize,
    /// How many stand for something.
    used: AtomicUsize,
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
    pub(super) const fn new(index: usize) -> Fronts {
        Fronts { index, current: AtomicUsize::new(0), used: AtomicUsize::new(1) }
    }

    /// The one that was put in front last.
    pub(super) fn current(&self) -> usize {
        self.current.load(Ordering::Acquire)
    }

    /// `number` is in front.
    pub(super) fn put(&self, number: usize) {
        self.current.store(number, Ordering::Release);
    }

    /// What `number` stands for.
    pub(super) fn behind(&self, number: usize) -> *mut Action {
        BEHIND[self.index][number].load(Ordering::Acquire)
    }

    /// From now on, `number` stands for this.
    pub(super) fn note(&self, number: usize, behind: *mut Action) {
        BEHIND[self.index][number].store(behind, Ordering::Release);
    }

    /// The same; what it stood for.
    pub(super) fn replace(&self, number: usize, behind: *mut Action) -> *mut Action {
        BEHIND[self.index][number].swap(behind, Ordering::AcqRel)
    }

    /// One that stands for this. One caller at a time.
    pub(super) fn of(&self, behind: *mut Action) -> usize {
        let used = self.used.load(Ordering::Acquire);
        let stands = |number: &usize| self.behind(*number) == behind;
        if let Some(known) = (0..used).find(stands) {
            return known;
        }
        let new = used.min(FRONTS - 1);
        self.note(new, behind);
        self.used.store((used + 1).min(FRONTS), Ordering::Release);
        new
    }
}
