//! Signals to a thread, again and again, whose handler calls a domain.

use lockgate::{CallError, Function};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

const SIGNAL: libc::c_int = libc::SIGALRM;

/// What handlers call, in vain.
type Probe = Function<extern "C" fn(u64) -> u64>;

static PROBE: OnceLock<Probe> = OnceLock::new();
static REFUSED: AtomicU64 = AtomicU64::new(0);
static ADMITTED: AtomicU64 = AtomicU64::new(0);

/// From now on every handler calls `probe`; the first one stays.
pub fn call_from_handlers(probe: Probe) {
    PROBE.get_or_init(|| probe);
}

/// Calls by handlers, all threads together: those that were refused as rule R13 demands, and those that came to anything else.
pub fn called() -> (u64, u64) {
    (REFUSED.load(Ordering::Relaxed), ADMITTED.load(Ordering::Relaxed))
}

/// Sends a signal to the thread that made it, again and again until dropped.
#[derive(Debug)]
pub struct Timer(libc::timer_t);

impl Timer {
    /// A timer for the calling thread.
    pub fn every(interval: Duration) -> io::Result<Self> {
        install_handler();
        // SAFETY: all zero is a value of this plain structure.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut id = std::ptr::null_mut();
        // SAFETY: both pointers are valid; the kernel only reads the first and only writes the second.
        check(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut id) })?;
        let timer = Timer(id);
        let interval = libc::timespec {
            tv_sec: interval.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(interval.subsec_nanos()),
        };
        let times = libc::itimerspec { it_interval: interval, it_value: interval };
        // SAFETY: the timer exists; the old times are not asked for.
        check(unsafe { libc::timer_settime(timer.0, 0, &raw const times, std::ptr::null_mut()) })?;
        Ok(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and is not used afterwards.
        unsafe { libc::timer_delete(self.0) };
    }
}

extern "C" fn receive(_: libc::c_int) {
    let Some(probe) = PROBE.get() else { return };
    let count = match probe.call(1) {
        Err(CallError::SignalHandler) => &REFUSED,
        _ => &ADMITTED,
    };
    count.fetch_add(1, Ordering::Relaxed);
}

/// On the alternate stack, as every handler of a process with domains (rule R11).
fn install_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all zero is a value of this plain structure: no flags, empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = receive as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: the action is valid, and its handler does what a signal handler may: it calls
        // through a function pointer of Lockgate's, which neither allocates nor locks where it is refused, and adds to an atomic.
        let result = unsafe { libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) };
        assert_eq!(result, 0, "a handler can be installed for SIGALRM");
    });
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
