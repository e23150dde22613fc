//! Clocks and sleeping.
use crate::guest::Guest;
use rustix::io::Errno;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[test]
fn clocks_are_the_hosts() {
    let guest = Guest::bare();
    let at = guest.room(16);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    guest.ok(libc::SYS_clock_gettime, &[libc::CLOCK_REALTIME as u64, at]);
    assert!((now..now + 60).contains(&guest.word(at)));
    guest.ok(libc::SYS_gettimeofday, &[at, 0]);
    assert!((now..now + 60).contains(&guest.word(at)) && guest.word(at + 8) < 1_000_000);
    let time = guest.ok(libc::SYS_time, &[at]);
    assert!((now..now + 60).contains(&time) && guest.word(at) == time);
    guest.ok(libc::SYS_clock_getres, &[libc::CLOCK_MONOTONIC as u64, at]);
    assert_eq!(guest.word(at), 0);
    guest.ok(libc::SYS_clock_getres, &[libc::CLOCK_MONOTONIC as u64, 0]);
}

#[test]
fn monotonic_ascends() {
    let guest = Guest::bare();
    let at = guest.room(16);
    let read = || {
        guest.ok(libc::SYS_clock_gettime, &[libc::CLOCK_MONOTONIC as u64, at]);
        Duration::new(guest.word(at), guest.word(at + 8) as u32)
    };
    let (first, second) = (read(), read());
    assert!(first <= second);
}

#[test]
fn foreign_clocks_are_unknown() {
    let guest = Guest::bare();
    let at = guest.room(16);
    // Dynamic clocks name other processes (`~pid << 3 | 2`) and host descriptors (`~fd << 3 | 3`).
    let of_init = (!1i32 << 3) | 2;
    let of_descriptor = !3i32 << 3 | 3;
    for clock in [of_init, of_descriptor, 100, -1] {
        assert_eq!(guest.err(libc::SYS_clock_gettime, &[clock as u64, at]), Errno::INVAL, "clock {clock}");
    }
}

#[test]
fn sleeps_last_as_long_as_asked() {
    let guest = Guest::bare();
    let span = Duration::from_millis(20);
    let asked = guest.words(&[0, span.as_nanos() as u64]);
    let start = Instant::now();
    guest.ok(libc::SYS_nanosleep, &[asked, 0]);
    assert!(start.elapsed() >= span);
    let at = guest.room(16);
    let now = || {
        guest.ok(libc::SYS_clock_gettime, &[libc::CLOCK_MONOTONIC as u64, at]);
        Duration::new(guest.word(at), guest.word(at + 8) as u32)
    };
    let target = now() + span;
    let asked = guest.words(&[target.as_secs(), target.subsec_nanos().into()]);
    let absolute = libc::TIMER_ABSTIME as u64;
    guest.ok(libc::SYS_clock_nanosleep, &[libc::CLOCK_MONOTONIC as u64, absolute, asked, 0]);
    assert!(now() >= target);
}

#[test]
fn bad_times_are_refused() {
    let guest = Guest::bare();
    for time in [[-1i64 as u64, 0], [0, 1_000_000_000], [0, u64::MAX]] {
        assert_eq!(guest.err(libc::SYS_nanosleep, &[guest.words(&time), 0]), Errno::INVAL, "{time:?}");
    }
}
