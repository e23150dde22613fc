//! Signals: remembered, never delivered; deadly ones end the call.
use crate::guest::Guest;
use lockgate_syscall::{Fault, Outcome};
use rustix::io::Errno;

fn ids(guest: &Guest) -> (u64, u64) {
    (guest.ok(libc::SYS_getpid, &[]), guest.ok(libc::SYS_gettid, &[]))
}

/// What musl's `abort` does: `raise(SIGABRT)`, which is `tkill` of itself.
#[test]
fn abort_is_a_fault() {
    let guest = Guest::bare();
    let (pid, tid) = ids(&guest);
    let abort = libc::SIGABRT as u64;
    for (number, arguments) in [
        (libc::SYS_tkill, vec![tid, abort]),
        (libc::SYS_tgkill, vec![pid, tid, abort]),
        (libc::SYS_kill, vec![pid, abort]),
        (libc::SYS_kill, vec![0, abort]),
    ] {
        assert_eq!(guest.call(number, &arguments), Outcome::Fault(Fault::Abort));
    }
}

#[test]
fn default_actions() {
    let guest = Guest::bare();
    let (pid, _) = ids(&guest);
    for (signal, outcome) in [
        (0, Outcome::Return(0)),
        (libc::SIGTERM, Outcome::Fault(Fault::Signal(libc::SIGTERM as u8))),
        (libc::SIGSEGV, Outcome::Fault(Fault::Signal(libc::SIGSEGV as u8))),
        (libc::SIGKILL, Outcome::Fault(Fault::Signal(libc::SIGKILL as u8))),
        (libc::SIGCHLD, Outcome::Return(0)),
        (65, Outcome::Return(-i64::from(Errno::INVAL.raw_os_error()))),
    ] {
        assert_eq!(guest.call(libc::SYS_kill, &[pid, signal as u64]), outcome, "signal {signal}");
    }
}

/// The host's processes and threads cannot be named.
#[test]
fn nobody_else_can_be_signalled() {
    let guest = Guest::bare();
    let (pid, tid) = ids(&guest);
    let host = u64::from(std::process::id());
    let group = -(host as i64) as u64;
    for process in [1, host, group, pid + 1] {
        assert_eq!(guest.err(libc::SYS_kill, &[process, libc::SIGTERM as u64]), Errno::SRCH);
        assert_eq!(guest.err(libc::SYS_tkill, &[process, libc::SIGTERM as u64]), Errno::SRCH);
        assert_eq!(guest.err(libc::SYS_tgkill, &[process, tid, libc::SIGTERM as u64]), Errno::SRCH);
    }
}

#[test]
fn actions_and_masks_are_remembered() {
    let guest = Guest::bare();
    let (new, old) = (guest.words(&[libc::SIG_IGN as u64, 0x0400_0000, 0x1234, 0xff]), guest.room(32));
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGTERM as u64, new, old, 8]);
    assert_eq!(guest.get(old, 32), [0; 32]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGTERM as u64, 0, old, 8]);
    assert_eq!(guest.get(old, 32), guest.get(new, 32));
    let (pid, _) = ids(&guest);
    assert_eq!(guest.call(libc::SYS_kill, &[pid, libc::SIGTERM as u64]), Outcome::Return(0), "ignored");
    let handler = guest.words(&[0x1000, 0, 0, 0]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGUSR1 as u64, handler, 0, 8]);
    let handled = Outcome::Fault(Fault::Handler(libc::SIGUSR1 as u8));
    assert_eq!(guest.call(libc::SYS_kill, &[pid, libc::SIGUSR1 as u64]), handled, "no handler runs");
    let set = guest.words(&[0b1010]);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as u64, set, old, 8]);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_UNBLOCK as u64, guest.words(&[0b10]), old, 8]);
    assert_eq!(guest.word(old), 0b1010);
    guest.ok(libc::SYS_rt_sigprocmask, &[0, 0, old, 8]);
    assert_eq!(guest.word(old), 0b1000);
    for (signal, size) in [(0, 8), (65, 8), (libc::SIGKILL as u64, 8), (1, 16)] {
        assert_eq!(guest.err(libc::SYS_rt_sigaction, &[signal, new, 0, size]), Errno::INVAL);
    }
}

/// A handler of a signal that comes of what the program does could never keep its promise: it is refused. What is true stays: the
/// default, to ignore, and handlers of what only others send.
#[test]
fn handlers_that_would_be_waited_for_are_refused() {
    let guest = Guest::bare();
    let action = |handler: u64| guest.words(&[handler, 0x0400_0000, 0x1234, 0]);
    let set = |signal: i32, handler: usize| {
        guest.call(libc::SYS_rt_sigaction, &[signal as u64, action(handler as u64), 0, 8])
    };
    let refused = Outcome::Return(-i64::from(Errno::NOSYS.raw_os_error()));
    for signal in [libc::SIGALRM, libc::SIGSEGV, libc::SIGFPE, libc::SIGABRT, libc::SIGPIPE, libc::SIGPROF] {
        assert_eq!(set(signal, 0x1000), refused, "{signal}");
        let old = guest.room(32);
        guest.ok(libc::SYS_rt_sigaction, &[signal as u64, 0, old, 8]);
        assert_eq!(guest.get(old, 32), [0; 32], "nothing was remembered");
        for harmless in [libc::SIG_DFL, libc::SIG_IGN] {
            assert_eq!(set(signal, harmless), Outcome::Return(0), "{signal}");
        }
    }
    // 33 is libc's own, for cancellation.
    for signal in
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD, libc::SIGUSR1, libc::SIGWINCH, 33]
    {
        assert_eq!(set(signal, 0x1000), Outcome::Return(0), "{signal}");
    }
}

/// Who asks for a signal with a call that cannot fail, or would wait for one for ever, is told so by the end of the call.
#[test]
fn nobody_waits_for_a_signal() {
    let guest = Guest::bare();
    let set = guest.words(&[u64::MAX]);
    for (number, arguments, call) in [
        (libc::SYS_alarm, vec![1], "alarm"),
        (libc::SYS_pause, vec![], "pause"),
        (libc::SYS_rt_sigsuspend, vec![set, 8], "sigsuspend"),
        (libc::SYS_rt_sigtimedwait, vec![set, 0, 0, 8], "sigwait"),
    ] {
        assert_eq!(guest.call(number, &arguments), Outcome::Fault(Fault::Undeliverable(call)));
    }
    assert_eq!(guest.ok(libc::SYS_alarm, &[0]), 0, "nothing to take back");
    let timers = [libc::SYS_setitimer, libc::SYS_timer_create, libc::SYS_timerfd_create, libc::SYS_signalfd4];
    for number in timers {
        assert_eq!(guest.err(number, &[0, 0, 0, 0]), Errno::NOSYS);
    }
    let soon = guest.words(&[0, 5_000_000]);
    let start = std::time::Instant::now();
    assert_eq!(guest.err(libc::SYS_rt_sigtimedwait, &[set, 0, soon, 8]), Errno::AGAIN);
    assert!(start.elapsed() >= std::time::Duration::from_millis(5));
    guest.ok(libc::SYS_rt_sigpending, &[set, 8]);
    assert_eq!(guest.word(set), 0);
}

/// The host's own dispositions do not move.
#[test]
fn the_hosts_actions_stay() {
    let current = || {
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("SigIgn") || line.starts_with("SigCgt"))
            .collect::<String>()
    };
    let before = current();
    let guest = Guest::bare();
    let ignore = guest.words(&[libc::SIG_IGN as u64, 0, 0, 0]);
    guest.ok(libc::SYS_rt_sigaction, &[libc::SIGUSR2 as u64, ignore, 0, 8]);
    assert_eq!(current(), before);
}
