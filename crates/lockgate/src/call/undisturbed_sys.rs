//! Work of the library's that no handler of the host's interrupts ([decision 0069](../../../../docs/decisions/0069-no-handler-interrupts-a-service.md)).
//!
//! A handler that interrupts a call may leave it by `siglongjmp`, over all frames in between. Those of proxies and gates hold nothing that the
//! records do not tell of; those of services hold locks, memory, and books that are half written. So while a service runs that has any of
//! these, signals wait: all but those that the library lives by, whose handlers are its own. A thread that is cancelled finds out
//! later, too. What waits for others is [`disturbed`], and holds no lock then.
use super::mask_sys;
use crate::host::cancellation;
use libc::c_int;
use std::cell::Cell;
use std::marker::PhantomData;

/// What the calling thread had before.
#[derive(Clone, Copy)]
struct Before {
    mask: u64,
    cancellation: c_int,
}

// (Handlers read these: they have no destructors, and need no memory.)
thread_local! {
    /// How many [`Undisturbed`] the thread has.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Of the outermost.
    static BEFORE: Cell<Before> = const { Cell::new(Before { mask: 0, cancellation: 0 }) };
    /// Signals of faults that somebody has sent meanwhile, and which the kernel cannot hold back: a copy of a module's memory may fault.
    static POSTPONED: Cell<u64> = const { Cell::new(0) };
}

/// While it lives, no handler of the host's runs on the calling thread, and a `pthread_cancel` of it waits.
pub(crate) struct Undisturbed {
    /// The thread's own.
    _here: PhantomData<*const ()>,
}

impl Undisturbed {
    /// From now on.
    #[must_use]
    pub fn new() -> Undisturbed {
        if DEPTH.get() == 0 {
            hold();
        }
        DEPTH.set(DEPTH.get() + 1);
        Undisturbed { _here: PhantomData }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            let_go();
        }
    }
}

fn hold() {
    // Signals first: a handler before that finds nothing begun, and none comes after.
    let mask = mask_sys::hold_hosts();
    BEFORE.set(Before { mask, cancellation: cancellation::forbid() });
}

fn let_go() {
    let before = BEFORE.get();
    cancellation::restore(before.cancellation);
    let postponed = POSTPONED.take();
    mask_sys::let_hosts(before.mask);
    // From here on a handler may leave.
    if postponed != 0 {
        mask_sys::send_again(postponed);
    }
}

/// Runs `wait`, which waits for others, with the host's handlers let in, which may leave it by a jump: what lies between the gate and here is
/// lost then, so it has no lock, and what must not be lost is where [`repair`](super::thread_sys::repair) finds it. Within work that is itself
/// part of other work (a domain's start, when an import is bound), signals go on waiting.
pub(crate) fn disturbed<T>(wait: impl FnOnce() -> T) -> T {
    /// Also if `wait` panics.
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            hold();
            DEPTH.set(1);
        }
    }
    if DEPTH.get() != 1 {
        return wait();
    }
    DEPTH.set(0);
    let _again = Again;
    let_go();
    wait()
}

/// The calling thread's mask as it was before signals were held back; [`None`] if they are not.
pub(super) fn mask_before() -> Option<u64> {
    (DEPTH.get() > 0).then(|| BEFORE.get().mask)
}

/// True if `signal`, which somebody has sent, is kept for later.
pub(super) fn postpones(signal: c_int) -> bool {
    let held = DEPTH.get() > 0;
    if held {
        POSTPONED.set(POSTPONED.get() | mask_sys::bit(signal));
    }
    held
}
