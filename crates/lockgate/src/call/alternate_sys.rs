//! A thread's alternate signal stack (rule R12): the library's, as large as the host's own, if the thread had one.
//!
//! The kernel keeps in each signal's frame which alternate stack the thread has, and gives it that one again when the handler returns: what
//! was set in a handler, or by code that its handler has switched to, is undone then. So a stack that was set while such a frame may be there
//! ([`signal_frames_sys`](super::signal_frames_sys)) is not known to *stay*, and the thread's next call looks again.
use super::kernel_signals_sys::kernel_sigaltstack;
use super::mapping_sys::Mapping;
use lockgate_abi::{PAGE, stack};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::ptr;

/// Frames of the kernel's on an alternate stack: all signals may come at once, each above the one before.
const SIGNALS: usize = 64;
/// What handlers need beyond these frames: ours, and the ones they are chained to.
const HANDLER_NEED: usize = 64 << 10;

/// The library's alternate stacks of one thread. Its own handlers read where the last one is.
pub(super) struct AlternateStack {
    /// The last one is in use. Frames of signals may name the others.
    all: RefCell<Vec<Mapping>>,
    low: Cell<u64>,
    size: Cell<u64>,
    guard: Cell<u64>,
    stays: Cell<bool>,
    /// The one that the thread had instead, or none.
    hosts: Cell<libc::stack_t>,
}

const NONE: libc::stack_t = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };

/// Bytes that a handler has at the least on one of the library's, where all signals come at once.
pub(super) fn least() -> usize {
    // SAFETY: a plain query.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    (SIGNALS * frame.max(libc::MINSIGSTKSZ) + HANDLER_NEED).next_multiple_of(PAGE as usize)
}

impl AlternateStack {
    /// The kernel does not know of it yet.
    pub(super) fn new() -> Result<AlternateStack, Errno> {
        let cell = || Cell::new(0);
        let (low, size, guard) = (cell(), cell(), cell());
        let hosts = Cell::new(NONE);
        let new =
            AlternateStack { all: RefCell::default(), low, size, guard, stays: Cell::new(false), hosts };
        new.make(least())?;
        Ok(new)
    }

    fn make(&self, size: usize) -> Result<(), Errno> {
        let size = size.checked_next_multiple_of(PAGE as usize).ok_or(Errno::NOMEM)?;
        let mapping = Mapping::behind(stack::GUARD as usize, size)?;
        // A handler of the library's finds the thread on neither meanwhile, as it is.
        self.size.set(0);
        self.low.set(mapping.start() as u64);
        self.guard.set(mapping.guard() as u64);
        self.size.set(mapping.size() as u64);
        self.all.borrow_mut().push(mapping);
        Ok(())
    }

    /// Has the kernel use it, for a thread that has `now` and is on no alternate stack. Where it did not, it is not known to stay.
    pub(super) fn install(&self, now: &libc::stack_t) -> Result<(), Errno> {
        let is_ours = |now: &libc::stack_t| {
            (now.ss_sp as u64, now.ss_size as u64, now.ss_flags) == (self.low(), self.size(), 0)
        };
        if is_ours(now) {
            return Ok(());
        }
        self.stays.set(false);
        if !self.is_one(now) {
            self.hosts.set(*now);
        }
        // The host's handlers find the room that it has given them.
        if now.ss_flags & libc::SS_DISABLE == 0 && now.ss_size as u64 > self.size() {
            self.make(now.ss_size)?;
        }
        let stack = libc::stack_t { ss_sp: self.low() as *mut _, ss_flags: 0, ss_size: self.size() as usize };
        // SAFETY: the stack lives until the thread has another, or none.
        match unsafe { kernel_sigaltstack(&stack, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(Errno::INVAL),
        }
    }

    /// Before it goes.
    pub(super) fn remove(&self) {
        if self.is_one(&in_use()) {
            // SAFETY: switches off our own.
            unsafe { kernel_sigaltstack(&NONE, ptr::null_mut()) };
        }
    }

    /// Whether a stack is one of these. (A handler may ask while another is made: the kernel has one of the host's then.)
    fn is_one(&self, stack: &libc::stack_t) -> bool {
        self.all.try_borrow().is_ok_and(|all| all.iter().any(|mapping| mapping.start() == stack.ss_sp))
    }

    /// What the host is told of the stack that the kernel has: its own, if it is one of these, which stand in for that. It may free what it is told of.
    pub(super) fn as_asked(&self, kernels: libc::stack_t) -> libc::stack_t {
        if !self.is_one(&kernels) {
            return kernels;
        }
        let hosts = self.hosts.get();
        let is_there =
            if hosts.ss_flags & libc::SS_DISABLE == 0 { kernels.ss_flags & libc::SS_ONSTACK } else { 0 };
        libc::stack_t { ss_flags: hosts.ss_flags | is_there, ..hosts }
    }

    pub(super) fn low(&self) -> u64 {
        self.low.get()
    }

    pub(super) fn size(&self) -> u64 {
        self.size.get()
    }

    /// Where nothing is, for as long as the thread has it.
    pub(super) fn guard(&self) -> u64 {
        self.guard.get()
    }

    pub(super) fn contains(&self, rsp: u64) -> bool {
        rsp.wrapping_sub(self.low()) < self.size()
    }

    /// No return of a handler takes it away.
    pub(super) fn stays(&self) -> bool {
        self.stays.get()
    }

    pub(super) fn set_stays(&self, stays: bool) {
        self.stays.set(stays);
    }
}

/// The calling thread's, as the kernel has it.
pub(super) fn in_use() -> libc::stack_t {
    let mut now = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: a query.
    unsafe { kernel_sigaltstack(ptr::null(), &mut now) };
    now
}

/// Whether a thread that has `now` runs on it (rule R13).
pub(super) fn is_on(now: &libc::stack_t) -> bool {
    now.ss_flags & libc::SS_ONSTACK != 0
}
