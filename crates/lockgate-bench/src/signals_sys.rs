//! Signals of the system's C library: what programs have natively.
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

static HANDLED: AtomicU32 = AtomicU32::new(0);
static BEGUN: AtomicI64 = AtomicI64::new(0);

extern "C" fn handle(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread sends itself so many, each of which a handler counts; how many those are.
pub fn raise_many(count: u32) -> u32 {
    let signal = libc::SIGUSR1;
    HANDLED.store(0, Ordering::Relaxed);
    // SAFETY: a handler of one argument that only counts; nothing else in this program uses the signal.
    unsafe {
        let before = libc::signal(signal, handle as *const () as libc::sighandler_t);
        for _ in 0..count {
            libc::raise(signal);
        }
        libc::signal(signal, before);
    }
    HANDLED.load(Ordering::Relaxed)
}

/// How long before it is due a timer is set, nanoseconds.
const DUE: i64 = 1_000_000;

/// Nanoseconds of the monotonic clock.
pub fn now() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

extern "C" fn begin(_: libc::c_int) {
    BEGUN.store(now(), Ordering::Release);
}

/// Nanoseconds from when a timer is due until its handler begins, which interrupts a loop.
pub fn timer_delay() -> i64 {
    let signal = libc::SIGALRM;
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval { tv_sec: 0, tv_usec: DUE / 1000 };
    let timer = libc::itimerval { it_interval: zero, it_value: value };
    BEGUN.store(0, Ordering::Release);
    // SAFETY: a handler of one argument that reads the clock and writes a word; nothing else in this program uses the signal.
    unsafe {
        let before = libc::signal(signal, begin as *const () as libc::sighandler_t);
        let due = now() + DUE;
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        while BEGUN.load(Ordering::Acquire) == 0 {}
        libc::signal(signal, before);
        BEGUN.load(Ordering::Acquire) - due
    }
}
