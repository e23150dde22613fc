//! Signals of the system's C library: what programs have natively.
use std::sync::atomic::{AtomicU32, Ordering};

static HANDLED: AtomicU32 = AtomicU32::new(0);

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
