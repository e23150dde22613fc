//! Futexes between threads of one domain.
use crate::guest::Guest;
use lockgate::syscall::{Memory, Outcome, Thread};
use rustix::io::Errno;
use std::time::{Duration, Instant};

const WAIT: u64 = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
const WAKE: u64 = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;

fn waiter(guest: &Guest, word: u64, slot: u32) -> Outcome {
    guest.call_as(libc::SYS_futex, &[word, WAIT, 0, 0], Thread { slot, deadline: None, stopped: || false })
}

/// Wakes until `wanted` sleepers have been woken in all: they may arrive late.
fn wake(guest: &Guest, word: u64, wanted: u64) {
    let mut woken = 0;
    while woken < wanted {
        woken += guest.ok(libc::SYS_futex, &[word, WAKE, wanted - woken]);
        std::thread::yield_now();
    }
}

#[test]
fn sleepers_are_woken() {
    let guest = Guest::bare();
    let word = guest.words(&[0]);
    std::thread::scope(|scope| {
        let sleepers: Vec<_> = (1..5)
            .map(|slot| {
                scope.spawn({
                    let guest = &guest;
                    move || waiter(guest, word, slot)
                })
            })
            .collect();
        wake(&guest, word, 4);
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Outcome::Return(0));
        }
    });
    assert_eq!(guest.ok(libc::SYS_futex, &[word, WAKE, 9]), 0, "nobody is left");
}

#[test]
fn a_changed_word_is_not_waited_for() {
    let guest = Guest::bare();
    let word = guest.words(&[7]);
    assert_eq!(guest.err(libc::SYS_futex, &[word, WAIT, 8, 0]), Errno::AGAIN);
    assert_eq!(guest.err(libc::SYS_futex, &[word + 1, WAIT, 7, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_futex, &[0, WAIT, 0, 0]), Errno::FAULT);
    assert_eq!(guest.err(libc::SYS_futex, &[0, WAKE, 1, 0]), Errno::FAULT);
    let compare = libc::FUTEX_CMP_REQUEUE as u64;
    assert_eq!(guest.err(libc::SYS_futex, &[word, compare, 1, 1, word, 8]), Errno::AGAIN);
}

#[test]
fn waits_time_out() {
    let guest = Guest::bare();
    let word = guest.words(&[0]);
    let relative = guest.words(&[0, 20_000_000]);
    let start = Instant::now();
    assert_eq!(guest.err(libc::SYS_futex, &[word, WAIT, 0, relative]), Errno::TIMEDOUT);
    assert!(start.elapsed() >= Duration::from_millis(20));
    // Absolute times of the past: on the monotonic clock and on the real one.
    let bitset = (libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG) as u64;
    let past = guest.words(&[1, 0]);
    let any = u64::from(u32::MAX);
    for operation in [bitset, bitset | libc::FUTEX_CLOCK_REALTIME as u64] {
        assert_eq!(guest.err(libc::SYS_futex, &[word, operation, 0, past, 0, any]), Errno::TIMEDOUT);
    }
    assert_eq!(guest.err(libc::SYS_futex, &[word, bitset, 0, past, 0, 1]), Errno::INVAL);
}

#[test]
fn sleepers_move_to_another_word() {
    let guest = Guest::bare();
    let (from, to) = (guest.words(&[0]), guest.words(&[0]));
    let requeue = (libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as u64;
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| waiter(&guest, from, 1));
        // Requeue until the sleeper is on the second word, where one wake finds it.
        loop {
            guest.ok(libc::SYS_futex, &[from, requeue, 0, 1, to]);
            if guest.ok(libc::SYS_futex, &[to, WAKE, 1]) == 1 {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(sleeper.join().unwrap(), Outcome::Return(0));
    });
}

/// A mutex made of futexes keeps a count right: no wake-up is lost.
#[test]
fn no_wake_up_is_lost() {
    let guest = Guest::bare();
    let word = guest.words(&[0]);
    let turns = 500u32;
    std::thread::scope(|scope| {
        // Two threads hand the word back and forth: each waits for its own parity.
        for parity in 0..2 {
            let guest = &guest;
            scope.spawn(move || {
                let thread = Thread { slot: parity, deadline: None, stopped: || false };
                for _ in 0..turns {
                    loop {
                        let now = guest.window.load_u32(word).unwrap();
                        if now % 2 == parity {
                            guest.window.write(word, &(now + 1).to_le_bytes()).unwrap();
                            guest.call_as(libc::SYS_futex, &[word, WAKE, 1], thread);
                            break;
                        }
                        guest.call_as(libc::SYS_futex, &[word, WAIT, now.into(), 0], thread);
                    }
                }
            });
        }
    });
    assert_eq!(guest.window.load_u32(word).unwrap(), 2 * turns);
}

#[test]
fn unknown_operations_are_unknown() {
    let guest = Guest::bare();
    let word = guest.words(&[0]);
    for operation in [libc::FUTEX_LOCK_PI, libc::FUTEX_UNLOCK_PI, libc::FUTEX_WAKE_OP, 99] {
        assert_eq!(guest.err(libc::SYS_futex, &[word, operation as u64, 0, 0]), Errno::NOSYS);
    }
}
