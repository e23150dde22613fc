//! A thread's alternate signal stack (rule R12): the library's, as large as the host's own, if the thread had one.
//!
//! All handlers of the process are asked to run there (rule R11), also those that the program has not asked that of, and which natively have all of
//! their thread's own stack. So a thread that has called no domain, but has a small alternate stack of its own, as each thread of Rust's std has, gets a
//! larger one in its place ([`change`]), and is told of its own.
//!
//! The kernel keeps in each signal's frame which alternate stack the thread has, and gives it that one again when the handler returns: what
//! was set in a handler, or by code that its handler has switched to, is undone then. So a stack that was set while such a frame may be there
//! ([`signal_frames_sys`](super::signal_frames_sys)) is not known to *stay*, and the thread's next call looks again.
use super::kernel_signals_sys::kernel_sigaltstack;
use super::mapping_sys::Mapping;
use lockgate_abi::{PAGE, stack};
use rustix::io::Errno;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The library's alternate stacks of one thread. Its own handlers read where the last one is.
pub(super) struct AlternateStack {
    /// The last one is in use. Frames of signals may name the others.
    all: RefCell<Vec<Mapping>>,
    low: Cell<u64>,
    size: Cell<u64>,
    guard: Cell<u64>,
    stays: Cell<bool>,
}

impl AlternateStack {
    /// One of `least` bytes; the kernel does not know of it yet.
    pub(super) fn new(least: usize) -> Result<AlternateStack, Errno> {
        let cell = || Cell::new(0);
        let (low, size, guard) = (cell(), cell(), cell());
        let new = AlternateStack { all: RefCell::default(), low, size, guard, stays: Cell::new(false) };
        new.make(least)?;
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
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let now = in_use().ss_sp;
        if self.all.borrow().iter().any(|mapping| mapping.start() == now) {
            // SAFETY: switches off our own.
            unsafe { kernel_sigaltstack(&none, ptr::null_mut()) };
        }
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

/// Frames of the kernel's on an alternate stack: all signals may come at once, each above the one before.
const SIGNALS: usize = 64;
/// What handlers need beyond these frames: ours, and the ones they are chained to.
const HANDLER_NEED: usize = 64 << 10;

/// How large one is at least, whole pages.
pub(super) fn least() -> usize {
    // SAFETY: a plain query.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let frames = SIGNALS * frame.max(libc::MINSIGSTKSZ);
    (frames + HANDLER_NEED).next_multiple_of(PAGE as usize)
}

/// In place of a smaller one that a thread has set itself. It lies at the end of a mapping that stays, behind a guard, above the stack.
struct StandIn {
    /// The one that was made before.
    next: *const StandIn,
    /// Process and thread that have it. Frames of signals may name it until that thread is gone.
    owner: AtomicU64,
    low: *mut libc::c_void,
    size: usize,
    /// What the thread has set: its own affair.
    hosts: UnsafeCell<libc::stack_t>,
}

/// All of the process. (No lock: handlers may set stacks.)
static STAND_INS: AtomicPtr<StandIn> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The calling thread's. (In a forked child the parent's, which is a copy.)
    static OWN: Cell<*const StandIn> = const { Cell::new(ptr::null()) };
}

impl StandIn {
    /// The calling thread's, for good; [`None`]: there is no memory. Async-signal-safe.
    fn own() -> Option<&'static StandIn> {
        /// How many are asked whether their threads are gone, at most.
        const LOOKS: usize = 16;
        // SAFETY: what was made stays.
        if let Some(own) = unsafe { OWN.get().as_ref() } {
            return Some(own);
        }
        // SAFETY: plain queries.
        let (process, thread) = unsafe { (libc::getpid() as u64, libc::gettid() as u64) };
        let owner = process << 32 | thread;
        // SAFETY: as above.
        let first = unsafe { STAND_INS.load(Ordering::Acquire).as_ref() };
        // SAFETY: as above.
        let all = std::iter::successors(first, |one| unsafe { one.next.as_ref() });
        let is_taken = |one: &&StandIn| {
            let was = one.owner.load(Ordering::Acquire);
            // (One of the parent's may be what this child's only thread has.)
            was >> 32 == process
                && is_gone(process, was & 0xffff_ffff)
                && one.owner.compare_exchange(was, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let own = all.take(LOOKS).find(is_taken).or_else(|| StandIn::make(owner))?;
        OWN.set(own);
        Some(own)
    }

    fn make(owner: u64) -> Option<&'static StandIn> {
        let size = least();
        let mapping = Mapping::behind(stack::GUARD as usize, size + PAGE as usize).ok()?;
        let low = mapping.start();
        let at = low.wrapping_byte_add(size).cast::<StandIn>();
        std::mem::forget(mapping);
        let first = STAND_INS.load(Ordering::Acquire);
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let (owner, hosts) = (AtomicU64::new(owner), UnsafeCell::new(none));
        // SAFETY: a page of the mapping, which stays.
        unsafe {
            at.write(StandIn { next: first, owner, low, size, hosts });
            while let Err(first) =
                STAND_INS.compare_exchange((*at).next.cast_mut(), at, Ordering::AcqRel, Ordering::Acquire)
            {
                (*at).next = first;
            }
            Some(&*at)
        }
    }
}

/// Whether a thread of this process has ended. Leaves `errno` as it was.
fn is_gone(process: u64, thread: u64) -> bool {
    // SAFETY: no signal, only the question whether it could be sent; the thread's own word.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let is_gone = libc::syscall(libc::SYS_tgkill, process, thread, 0) != 0 && *errno == libc::ESRCH;
        *errno = before;
        is_gone
    }
}

/// What `sigaltstack` is: a stack that is too small for any handler has another one in its place, and the thread is told of its own. Where there is no
/// memory for that, it has its own. Async-signal-safe.
///
/// # Safety
/// As for that.
pub(super) unsafe fn change(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: the caller's pointers, which the kernel has used without an error before they are used here; the calling thread's own stand-in, which
    // nothing else has.
    unsafe {
        // (Both may be one structure: the kernel reads it first.)
        let aside = ptr::eq(new, old).then(|| new.as_ref().copied()).flatten();
        let done = kernel_sigaltstack(new, old);
        if done != 0 {
            return done; // errno is set
        }
        if let (Some(old), Some(own)) = (old.as_mut(), OWN.get().as_ref())
            && old.ss_sp == own.low
        {
            let flags = old.ss_flags;
            *old = libc::stack_t { ss_flags: flags, ..*own.hosts.get() };
        }
        if let Some(new) = aside.as_ref().or(new.as_ref())
            && new.ss_flags & !libc::SS_ONSTACK == 0
            && new.ss_size < least()
            && let Some(own) = StandIn::own()
        {
            *own.hosts.get() = *new;
            let larger = libc::stack_t { ss_sp: own.low, ss_flags: 0, ss_size: own.size };
            kernel_sigaltstack(&larger, ptr::null_mut());
        }
        0
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
