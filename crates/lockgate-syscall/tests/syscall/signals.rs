//! A domain's own signals, as far as system calls go: what they say, what waits, and what ends the call.
use crate::guest::Guest;
use lockgate_syscall::{Asked, Fault, Grants, Next, Outcome};
use rustix::io::Errno;
use std::time::{Duration, Instant};

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

/// What is ignored waits where it is blocked, and comes to nothing where it is not, as on Linux: a wait that unblocks it goes on, and what the
/// program wants done later is done about later ones.
#[test]
fn what_is_ignored_ends_no_wait() {
    let guest = Guest::bare();
    let (pid, _) = ids(&guest);
    let signal = libc::SIGUSR1 as u64;
    let (ignore, set, none) =
        (guest.words(&[libc::SIG_IGN as u64, 0, 0, 0]), guest.words(&[1 << (signal - 1)]), guest.words(&[0]));
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as u64, set, 0, 8]);
    guest.ok(libc::SYS_rt_sigaction, &[signal, ignore, 0, 8]);
    let brief = guest.words(&[0, 1000]);
    let waits: [(_, &[u64]); 2] = [
        (libc::SYS_ppoll, &[set, 0, brief, none, 8]),
        (libc::SYS_pselect6, &[0, 0, 0, 0, brief, guest.words(&[none, 8])]),
    ];
    for (number, arguments) in waits {
        assert_eq!(guest.call(libc::SYS_kill, &[pid, signal]), Outcome::Return(0));
        assert_eq!(guest.ok(number, arguments), 0, "its time is over");
    }
    let (now, pending) = (guest.words(&[0, 0]), guest.room(8));
    assert_eq!(guest.err(libc::SYS_rt_sigtimedwait, &[set, 0, now, 8]), Errno::AGAIN, "it came to nothing");
    assert_eq!(guest.call(libc::SYS_kill, &[pid, signal]), Outcome::Return(0));
    assert_eq!(guest.ok(libc::SYS_rt_sigtimedwait, &[set, 0, now, 8]), signal, "this one waits");
    assert_eq!(guest.call(libc::SYS_kill, &[pid, signal]), Outcome::Return(0));
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, none, 0, 8]);
    guest.ok(libc::SYS_rt_sigaction, &[signal, guest.words(&[0, 0, 0, 0]), 0, 8]);
    guest.ok(libc::SYS_rt_sigpending, &[pending, 8]);
    assert_eq!(guest.word(pending), 0);
}

/// The host's processes and threads cannot be named.
#[test]
fn nobody_else_can_be_signalled() {
    let guest = Guest::bare();
    let (pid, tid) = ids(&guest);
    let parent = u64::from(std::os::unix::process::parent_id());
    let group = -(parent as i64) as u64;
    for process in [1, parent, group, pid + 1, tid + 1] {
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
    assert_eq!(guest.call(libc::SYS_kill, &[pid, libc::SIGUSR1 as u64]), Outcome::Return(0), "it waits");
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

/// What is sent waits while it is blocked, one of each but for real-time signals, and is taken in Linux's order.
#[test]
fn blocked_signals_wait() {
    let guest = Guest::bare();
    let (pid, tid) = ids(&guest);
    let handler = guest.words(&[0x1000, 0, 0, 0]);
    for signal in [libc::SIGUSR1, libc::SIGUSR2, 40] {
        guest.ok(libc::SYS_rt_sigaction, &[signal as u64, handler, 0, 8]);
    }
    let all = guest.words(&[u64::MAX]);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, all, 0, 8]);
    for signal in [40, libc::SIGUSR2, 40, libc::SIGUSR1, libc::SIGUSR1] {
        guest.ok(libc::SYS_tkill, &[tid, signal as u64]);
    }
    let set = guest.room(8);
    guest.ok(libc::SYS_rt_sigpending, &[set, 8]);
    let bit = |signal: i32| 1_u64 << (signal - 1);
    assert_eq!(guest.word(set), bit(libc::SIGUSR1) | bit(libc::SIGUSR2) | bit(40));
    let (info, soon) = (guest.room(128), guest.words(&[0, 1_000_000]));
    for signal in [libc::SIGUSR1, libc::SIGUSR2, 40, 40] {
        assert_eq!(guest.ok(libc::SYS_rt_sigtimedwait, &[all, info, soon, 8]), signal as u64);
        assert_eq!(guest.get(info, 4), (signal as u32).to_le_bytes());
    }
    assert_eq!(guest.err(libc::SYS_rt_sigtimedwait, &[all, 0, soon, 8]), Errno::AGAIN);
    guest.ok(libc::SYS_kill, &[pid, libc::SIGHUP as u64]);
    guest.ok(libc::SYS_kill, &[pid, libc::SIGSEGV as u64]);
    guest.ok(libc::SYS_tkill, &[tid, libc::SIGUSR1 as u64]);
    guest.ok(libc::SYS_tkill, &[tid, libc::SIGSYS as u64]);
    for signal in [libc::SIGSYS, libc::SIGUSR1, libc::SIGSEGV, libc::SIGHUP] {
        assert_eq!(guest.ok(libc::SYS_rt_sigtimedwait, &[all, info, soon, 8]), signal as u64);
    }
    // A module cannot fill the host's memory with them.
    let sent =
        (0..10_000).take_while(|_| guest.call(libc::SYS_kill, &[pid, 40]) == Outcome::Return(0)).count();
    assert!((200..1000).contains(&sent), "{sent}");
    assert_eq!(guest.err(libc::SYS_kill, &[pid, 40]), Errno::AGAIN);
}

/// What was put off for want of room stays so while its thread blocks it for a moment, as libc's `raise` does, even if a look of the watcher's asks for
/// signals then. Red if that look forgets it: the mask that comes back would let it come, without room, which ends the call.
#[test]
fn what_is_put_off_stays_so_while_it_is_blocked() {
    let guest = Guest::bare();
    let (_, tid) = ids(&guest);
    let signal = libc::SIGUSR1 as u64;
    guest.ok(libc::SYS_rt_sigaction, &[signal, guest.words(&[0x1000, 0, 0, 0]), 0, 8]);
    guest.ok(libc::SYS_tkill, &[tid, signal]);
    guest.process.put_signals_off(0);
    let (all, none) = (guest.words(&[u64::MAX]), guest.words(&[0]));
    let next = |asked| guest.process.next_signal(0, asked);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, all, 0, 8]);
    assert!(next(Asked::Only(0)).is_none());
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, none, 0, 8]);
    assert!(next(Asked::LetCome).is_none());
    assert!(
        matches!(next(Asked::All), Some(Next::Handler(handler)) if u64::from(handler.info.signal) == signal)
    );
}

/// A thread has the mask of a wait for as long as that: also where time ends it.
#[test]
fn a_wait_with_a_mask_gives_it_back() {
    let guest = Guest::bare();
    let (own, of_wait, before) = (guest.words(&[0xa00]), guest.words(&[0x5500]), guest.room(8));
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, own, 0, 8]);
    assert_eq!(guest.ok(libc::SYS_ppoll, &[before, 0, guest.words(&[0, 1000]), of_wait, 8]), 0);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as u64, 0, before, 8]);
    assert_eq!(guest.word(before), 0xa00);
    assert!(!guest.process.is_suspended(0));
}

/// As on Linux, which asks for signals only before it waits.
#[test]
fn epoll_without_time_lets_no_signal_in() {
    let guest = Guest::new(Grants::default().connect("127.0.0.1:*").unwrap());
    let (_, tid) = ids(&guest);
    let signal = libc::SIGUSR1 as u64;
    guest.ok(libc::SYS_rt_sigaction, &[signal, guest.words(&[0x1000, 0, 0, 0]), 0, 8]);
    block_all(&guest);
    guest.ok(libc::SYS_tkill, &[tid, signal]);
    let set = guest.ok(libc::SYS_epoll_create1, &[0]);
    let wait = [set, guest.room(16), 1, 0, guest.words(&[0]), 8];
    assert_eq!(guest.ok(libc::SYS_epoll_pwait, &wait), 0);
    assert!(!guest.process.wakes(0));
    let wait = [set, guest.room(16), 1, 60_000, guest.words(&[0]), 8];
    assert_eq!(guest.err(libc::SYS_epoll_pwait, &wait), Errno::INTR);
}

/// Nobody can say that an instruction has raised what he sends.
#[test]
fn what_is_sent_says_so() {
    let guest = Guest::bare();
    let (pid, _) = ids(&guest);
    for (code, error) in [(0, Errno::PERM), (1, Errno::PERM), (0x80, Errno::PERM)] {
        let info = guest.words(&[libc::SIGUSR1 as u64, code, 0, 0, 0]);
        assert_eq!(guest.err(libc::SYS_rt_sigqueueinfo, &[pid, libc::SIGUSR1 as u64, info]), error);
    }
}

/// Timers say what is left of them, and are counted.
#[test]
fn timers_are_set_and_taken_back() {
    let guest = Guest::bare();
    let (setting, old) = (guest.words(&[0, 0, 100, 0]), guest.room(32));
    guest.ok(libc::SYS_setitimer, &[0, setting, 0]);
    guest.ok(libc::SYS_getitimer, &[0, old]);
    assert!((98..100).contains(&guest.word(old + 16)));
    assert_eq!(guest.ok(libc::SYS_alarm, &[0]), 100);
    assert_eq!(guest.ok(libc::SYS_alarm, &[0]), 0);
    // One that is due, and has yet to be looked after, is set still.
    guest.ok(libc::SYS_setitimer, &[0, guest.words(&[0, 0, 0, 1]), 0]);
    guest.ok(libc::SYS_getitimer, &[0, old]);
    assert_eq!((guest.word(old + 16), guest.word(old + 24)), (0, 1));
    assert_eq!(guest.err(libc::SYS_setitimer, &[3, setting, 0]), Errno::INVAL);
    let number = guest.room(8);
    let made = (0..1000).take_while(|_| {
        guest.call(libc::SYS_timer_create, &[libc::CLOCK_MONOTONIC as u64, 0, number]) == Outcome::Return(0)
    });
    assert_eq!(made.count(), 32);
    guest.ok(libc::SYS_timer_settime, &[5, 0, setting, old]);
    guest.ok(libc::SYS_timer_gettime, &[5, old]);
    assert!((98..100).contains(&guest.word(old + 16)));
    for call in [libc::SYS_timer_delete, libc::SYS_timer_getoverrun] {
        assert_eq!(guest.err(call, &[32]), Errno::INVAL);
    }
    guest.ok(libc::SYS_timer_delete, &[5]);
    assert_eq!(guest.err(libc::SYS_timer_gettime, &[5, old]), Errno::INVAL);
}

/// Everything that is blocked, and the address of a set of all signals.
fn block_all(guest: &Guest) -> u64 {
    let all = guest.words(&[u64::MAX]);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as u64, all, 0, 8]);
    all
}

/// A timer that sends this signal, to the thread with this number if there is one, each nanosecond.
fn restless_timer(guest: &Guest, signal: u64, thread: Option<u64>) -> u64 {
    const SIGNAL: u64 = 0;
    const THREAD: u64 = 4;
    let how = if thread.is_some() { THREAD } else { SIGNAL };
    let (event, number) = (guest.words(&[7, signal | how << 32, thread.unwrap_or(0)]), guest.room(8));
    guest.ok(libc::SYS_timer_create, &[libc::CLOCK_MONOTONIC as u64, event, number]);
    let number = u64::from(u32::from_le_bytes(*guest.get(number, 4).first_chunk().unwrap()));
    guest.ok(libc::SYS_timer_settime, &[number, 0, guest.words(&[0, 1, 0, 1]), 0]);
    number
}

/// Looks at timers, as often as whoever runs the domain may.
fn look(guest: &Guest) {
    for _ in 0..1000 {
        guest.process.look_at_timers();
    }
}

/// A timer has one signal that waits, and tells how often it was due meanwhile. Red if each time sends
/// one more, which others find no room behind, or is lost.
#[test]
fn a_timer_whose_signal_waits_counts() {
    let guest = Guest::bare();
    let (all, now, info) = (block_all(&guest), guest.words(&[0, 0]), guest.room(128));
    let timer = restless_timer(&guest, 40, None);
    let taken = || guest.call(libc::SYS_rt_sigtimedwait, &[all, info, now, 8]);
    for _ in 0..3 {
        assert!(guest.process.next_timer().is_some());
        look(&guest);
        assert_eq!(taken(), Outcome::Return(40));
        let overrun = guest.ok(libc::SYS_timer_getoverrun, &[timer]);
        assert!(overrun > 0);
        assert_eq!(guest.word(info + 16), timer | overrun << 32);
        assert_eq!(guest.word(info + 24), 7);
        assert_eq!(taken(), Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error())));
    }
    // One that is set anew, or is no more, has sent nothing.
    look(&guest);
    guest.ok(libc::SYS_timer_settime, &[timer, 0, guest.words(&[0, 0, 0, 0]), 0]);
    assert_eq!(taken(), Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error())));
    let timer = restless_timer(&guest, 40, None);
    look(&guest);
    guest.ok(libc::SYS_timer_delete, &[timer]);
    assert_eq!(taken(), Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error())));
    // `ITIMER_REAL` sends as `kill` does.
    let (pid, _) = ids(&guest);
    for _ in 0..3 {
        guest.ok(libc::SYS_setitimer, &[0, guest.words(&[0, 1, 0, 1]), 0]);
        look(&guest);
        guest.ok(libc::SYS_kill, &[pid, libc::SIGALRM as u64]);
    }
    assert_eq!(taken(), Outcome::Return(libc::SIGALRM.into()));
    assert_eq!(taken(), Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error())));
    assert!(guest.process.next_timer().is_some());
}

/// Threads are told of what waits as often as the timer is due, for they may have come meanwhile; but not all the time. Red if they are told once: one
/// that makes no system call never hears of it.
#[test]
fn what_a_timer_has_sent_is_told_again() {
    let guest = Guest::bare();
    block_all(&guest);
    restless_timer(&guest, 40, None);
    look(&guest);
    for _ in 0..3 {
        guest.process.tells_of_signals();
        let (next, now) = (guest.process.next_timer().expect("a next time"), Instant::now());
        assert!(next < now + Duration::from_millis(2));
        std::thread::sleep(next.saturating_duration_since(now));
        guest.process.look_at_timers();
        assert!(guest.process.tells_of_signals());
    }
    let begun = Instant::now();
    let told =
        (0..1000).filter(|_| (guest.process.look_at_timers(), guest.process.tells_of_signals()).1).count();
    assert!(told as u128 <= 1 + begun.elapsed().as_millis(), "{told} times");
}

/// What is ignored is not looked at, until it is not ignored any more.
#[test]
fn a_timer_whose_signal_is_ignored_rests() {
    let guest = Guest::bare();
    let action = |handler: u64| {
        let action = guest.words(&[handler, 0, 0, 0]);
        guest.ok(libc::SYS_rt_sigaction, &[40, action, 0, 8]);
    };
    action(libc::SIG_IGN as u64);
    restless_timer(&guest, 40, None);
    look(&guest);
    assert_eq!(guest.process.next_timer(), None);
    action(0x1000);
    assert!(guest.process.next_timer().is_some());
    look(&guest);
    assert!(guest.process.has_signals());
    action(libc::SIG_IGN as u64);
    assert!(!guest.process.has_signals());
    action(0x1000);
    assert!(guest.process.next_timer().is_some());
    // Once is once, and what comes later is waited for.
    action(libc::SIG_IGN as u64);
    guest.ok(
        libc::SYS_rt_sigaction,
        &[libc::SIGALRM as u64, guest.words(&[libc::SIG_IGN as u64, 0, 0, 0]), 0, 8],
    );
    let soon = guest.words(&[0, 0, 0, 1]);
    guest.ok(libc::SYS_setitimer, &[0, soon, 0]);
    std::iter::repeat_with(|| guest.process.look_at_timers()).find(Option::is_none);
    block_all(&guest);
    guest.ok(libc::SYS_setitimer, &[0, soon, 0]);
    std::iter::repeat_with(|| guest.process.look_at_timers()).find(Option::is_none);
    assert!(guest.process.has_signals());
}

/// A thread's timer ends with it. Red if the next one in its place gets its signals.
#[test]
fn a_threads_timers_send_nothing_to_the_next_one() {
    let guest = Guest::bare();
    let (_, tid) = ids(&guest);
    block_all(&guest);
    restless_timer(&guest, 40, Some(tid));
    look(&guest);
    assert!(guest.process.has_signals());
    guest.process.thread_leaves(&guest.window, 0);
    look(&guest);
    assert!(!guest.process.has_signals());
    assert_eq!(guest.process.next_timer(), None);
}

/// Timers of CPU time go on as whoever runs the domain says that its threads have used it, since they were set, and by nothing else. Red if they
/// count what was used before, or what another thread, or the next one in its place, has.
#[test]
fn timers_of_cpu_time_count_what_threads_use() {
    const MILLISECOND: Duration = Duration::from_millis(1);
    let guest = Guest::bare();
    let (all, no_time, info, left) =
        (block_all(&guest), guest.words(&[0, 0]), guest.room(128), guest.room(32));
    let taken = || guest.call(libc::SYS_rt_sigtimedwait, &[all, info, no_time, 8]);
    let nothing = Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error()));
    let number = guest.room(8);
    guest.ok(libc::SYS_timer_create, &[libc::CLOCK_THREAD_CPUTIME_ID as u64, 0, number]);
    assert!(!guest.process.counts_time());
    let before = Instant::now();
    let ten_of_ten = [0, 10_000, 0, 10_000];
    for which in [1, 2] {
        guest.ok(libc::SYS_setitimer, &[which, guest.words(&ten_of_ten), 0]);
    }
    guest.ok(libc::SYS_timer_settime, &[0, 0, guest.words(&[0, 0, 0, 10_000_000]), 0]);
    assert!(guest.process.counts_time());
    assert_eq!(guest.process.next_timer(), None);
    let uses = |since, spent: &[(u32, Duration)]| {
        guest.process.count_time(since, spent);
        guest.process.look_at_timers();
    };
    uses(before, &[(0, 100 * MILLISECOND)]);
    assert_eq!(taken(), nothing);
    let now = Instant::now();
    uses(now, &[(0, 4 * MILLISECOND), (3, 4 * MILLISECOND)]);
    guest.ok(libc::SYS_getitimer, &[2, left]);
    assert_eq!([0, 8, 16, 24].map(|at| guest.word(left + at)), [0, 10_000, 0, 2_000]);
    guest.ok(libc::SYS_timer_gettime, &[0, left]);
    assert_eq!(guest.word(left + 24), 6_000_000);
    assert_eq!(taken(), nothing);
    uses(now, &[(0, 2 * MILLISECOND)]);
    for signal in [libc::SIGVTALRM, libc::SIGPROF] {
        assert_eq!(taken(), Outcome::Return(signal.into()));
    }
    assert_eq!(taken(), nothing);
    // What a timer was due meanwhile is one signal, and the next comes when it would.
    uses(now, &[(3, 35 * MILLISECOND)]);
    for signal in [libc::SIGVTALRM, libc::SIGPROF] {
        assert_eq!(taken(), Outcome::Return(signal.into()));
    }
    guest.ok(libc::SYS_getitimer, &[1, left]);
    assert_eq!([16, 24].map(|at| guest.word(left + at)), [0, 5_000]);
    uses(now, &[(0, 4 * MILLISECOND)]);
    assert_eq!(taken(), Outcome::Return(libc::SIGALRM.into()));
    // That was its thread's; its next time is not the next thread's.
    guest.ok(libc::SYS_timer_settime, &[0, 0, guest.words(&[0, 0, 0, 10_000_000]), 0]);
    guest.process.thread_leaves(&guest.window, 0);
    for which in [1, 2] {
        guest.ok(libc::SYS_setitimer, &[which, 0, 0]);
    }
    assert!(!guest.process.counts_time());
    uses(Instant::now(), &[(0, 20 * MILLISECOND)]);
    assert!(!guest.process.has_signals());
}

/// Nothing is looked at of a timer that sends nothing: what it says of itself goes by the clock.
#[test]
fn a_timer_that_sends_nothing_is_not_looked_at() {
    const NONE: u64 = 1;
    let guest = Guest::bare();
    let (event, number, setting) = (guest.words(&[0, NONE << 32, 0]), guest.room(8), guest.room(32));
    guest.ok(libc::SYS_timer_create, &[libc::CLOCK_MONOTONIC as u64, event, number]);
    guest.ok(libc::SYS_timer_settime, &[0, 0, guest.words(&[100, 0, 0, 1]), 0]);
    assert_eq!(guest.process.next_timer(), None);
    guest.ok(libc::SYS_timer_gettime, &[0, setting]);
    assert!((98..100).contains(&guest.word(setting + 16)));
    guest.ok(libc::SYS_timer_settime, &[0, 0, guest.words(&[0, 0, 0, 1]), 0]);
    guest.ok(libc::SYS_timer_gettime, &[0, setting]);
    assert_eq!(guest.get(setting, 32), [0; 32]);
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

/// A signal from outside goes to who has a handler or waits for it, as threaded servers do: blocked by all threads, it waits for `sigwait`. Red if
/// only handlers count: the program is ended.
#[test]
fn a_signal_from_outside_waits_for_who_takes_it() {
    const TERMINATION: u32 = libc::SIGTERM as u32;
    let guest = Guest::bare();
    assert!(!guest.process.signal(TERMINATION), "it ends a process");
    let set = guest.words(&[1 << (TERMINATION - 1)]);
    guest.ok(libc::SYS_rt_sigprocmask, &[libc::SIG_BLOCK as u64, set, 0, 8]);
    assert!(guest.process.signal(TERMINATION));
    assert!(!guest.process.signal(libc::SIGHUP as u32), "which nobody blocks");
    assert_eq!(guest.ok(libc::SYS_rt_sigtimedwait, &[set, 0, 0, 8]), u64::from(TERMINATION));
    // A thread that does not block it would be ended by it, and all with it.
    guest.process.set_signal_mask(1, 0);
    assert!(!guest.process.signal(TERMINATION));
}
