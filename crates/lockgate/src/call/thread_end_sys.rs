//! A thread that ends, behind which modules clean up: no call is in progress whose limit would count. A timer of the thread's own kicks it when
//! that takes too long: a watcher for it would be a thread that stays, in a process that may have no limits at all.
use super::clock_sys::now;
use super::kernel_signals_sys::kick_signal;
use super::signals_sys::is_kicked_by;
use super::thread_sys::ThreadState;
use std::mem;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two kicks: one may find the thread in the middle of a proxy.
const AGAIN: Duration = Duration::from_millis(10);

impl ThreadState {
    /// What the calling thread does next in a domain, as it ends, ends after `limit`. (A frame that would take that back may be left: the next
    /// one that sets it does, and the thread's end.)
    pub(crate) fn leaves_within(&self, limit: Duration) {
        self.stop.store(false, Ordering::Release);
        let signal = kick_signal();
        if signal == 0 || !is_kicked_by(signal) {
            return;
        }
        if self.leaving.get().is_none() {
            self.leaving.set(timer(signal, self.tid));
        }
        if let Some(timer) = self.leaving.get() {
            let until = now().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)).max(1);
            self.leaves_by.store(until, Ordering::Release);
            set(timer, limit.max(AGAIN), AGAIN);
        }
    }

    /// It has done that.
    pub(crate) fn has_left(&self) {
        self.leaves_by.store(0, Ordering::Release);
        if let Some(timer) = self.leaving.get() {
            set(timer, Duration::ZERO, Duration::ZERO);
        }
        self.stop.store(false, Ordering::Release);
    }

    /// The thread goes.
    pub(super) fn forget_leaving(&self) {
        self.leaves_by.store(0, Ordering::Release);
        if let Some(timer) = self.leaving.take() {
            // SAFETY: the thread's own timer.
            unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
        }
    }
}

/// A timer that kicks a thread; [`None`] if the kernel gives none: then nothing ends what computes.
fn timer(signal: libc::c_int, thread: i32) -> Option<i32> {
    // SAFETY: zeroed is a valid event, and the kernel's has the same layout.
    unsafe {
        let mut event: libc::sigevent = mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread;
        let mut timer = 0_i32;
        let made =
            libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw const event, &raw mut timer);
        (made == 0).then_some(timer)
    }
}

fn set(timer: i32, first: Duration, again: Duration) {
    let time = |time: Duration| libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let times = libc::itimerspec { it_value: time(first), it_interval: time(again) };
    // SAFETY: the kernel copies the times.
    unsafe {
        libc::syscall(
            libc::SYS_timer_settime,
            timer,
            0,
            &raw const times,
            ptr::null_mut::<libc::itimerspec>(),
        )
    };
}
