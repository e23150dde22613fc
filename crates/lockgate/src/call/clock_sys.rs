//! Clocks, as signal handlers may read them.

/// CPU time that a thread has used so far, nanoseconds; `None` if it has ended.
pub(crate) fn processor_time(tid: i32) -> Option<u64> {
    // The clock of one thread (4) while it is scheduled (2): linux/posix-timers.h, CPUCLOCK_*.
    nanoseconds(!tid << 3 | 6)
}

/// Nanoseconds of the monotonic clock. For handlers, too.
pub(super) fn now() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

fn nanoseconds(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes `time`; a clock that does not exist is an error.
    let read = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    read.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
