//! Futexes between threads of one domain.
use crate::guest::Guest;
use lockgate_syscall::{Fault, Memory, Outcome, Thread};
use rustix::io::Errno;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const WAIT: u64 = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
const WAKE: u64 = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;

fn waiter(guest: &Guest, word: u64, slot: u32) -> Outcome {
    guest.call_as(
        libc::SYS_futex,
        &[word, WAIT, 0, 0],
        Thread { slot, deadline: None, stopped: || false, detaches: false },
    )
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
    assert_eq!(guest.ok(libc::SYS_futex, &[word, WAKE, 9]), 0, "no waiter is left");
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
    assert_eq!(
        guest.err(libc::SYS_futex, &[word, bitset, 0, past, 0, 0]),
        Errno::INVAL,
        "no thread could wake it"
    );
}

const WAIT_BITS: u64 = (libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG) as u64;
const WAKE_BITS: u64 = (libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG) as u64;

/// A wait until an absolute time is woken as any other: on both clocks, by those who name one of its bits.
#[test]
fn absolute_waits_are_woken_by_their_bits() {
    let guest = Guest::bare();
    let word = guest.words(&[0]);
    for (flag, clock) in [(0, libc::CLOCK_MONOTONIC), (libc::FUTEX_CLOCK_REALTIME, libc::CLOCK_REALTIME)] {
        let now = guest.room(16);
        guest.ok(libc::SYS_clock_gettime, &[clock as u64, now]);
        let later = guest.words(&[guest.word(now) + 60, 0]);
        std::thread::scope(|scope| {
            let sleeper = |slot, bits| {
                let (guest, operation) = (&guest, WAIT_BITS | flag as u64);
                scope.spawn(move || {
                    let thread = Thread { slot, deadline: None, stopped: || false, detaches: false };
                    guest.call_as(libc::SYS_futex, &[word, operation, 0, later, 0, bits], thread)
                })
            };
            let (one, two) = (sleeper(1, 0b0110), sleeper(2, 0b1000));
            let wake = |bits| loop {
                assert_eq!(
                    guest.ok(libc::SYS_futex, &[word, WAKE_BITS, 9, 0, 0, 0b0001]),
                    0,
                    "no waiter's bit"
                );
                match guest.ok(libc::SYS_futex, &[word, WAKE_BITS, 9, 0, 0, bits]) {
                    0 => std::thread::yield_now(),
                    woken => break assert_eq!(woken, 1),
                }
            };
            wake(0b0010);
            assert_eq!(one.join().unwrap(), Outcome::Return(0));
            // A call that names no bits wakes any thread.
            wake_all(&guest, word);
            assert_eq!(two.join().unwrap(), Outcome::Return(0));
        });
    }
    assert_eq!(guest.err(libc::SYS_futex, &[word, WAKE_BITS, 1, 0, 0, 0]), Errno::INVAL);
}

fn wake_all(guest: &Guest, word: u64) {
    wake(guest, word, 1);
}

/// One who is asked to let sleepers go to another word says how many it woke and moved, and compares first if asked to.
#[test]
fn requeueing_counts_and_compares() {
    let guest = Guest::bare();
    let (from, to) = (guest.words(&[5]), guest.words(&[0]));
    let [plain, compare] = [libc::FUTEX_REQUEUE, libc::FUTEX_CMP_REQUEUE].map(|operation| operation as u64);
    assert_eq!(guest.err(libc::SYS_futex, &[from, compare, 1, 1, to, 6]), Errno::AGAIN);
    for bad in [0, to + 1] {
        assert_eq!(guest.err(libc::SYS_futex, &[from, compare, 1, 1, bad, 5]), Errno::INVAL);
    }
    for negative in [[-1i32 as u64, 1], [1, -1i32 as u64]] {
        let [wake, move_] = negative;
        assert_eq!(guest.err(libc::SYS_futex, &[from, plain, wake, move_, to, 5]), Errno::INVAL);
    }
    std::thread::scope(|scope| {
        let sleepers: Vec<_> = (1..4)
            .map(|slot| {
                let guest = &guest;
                scope.spawn(move || {
                    let thread = Thread { slot, deadline: None, stopped: || false, detaches: false };
                    guest.call_as(libc::SYS_futex, &[from, WAIT, 5, 0], thread)
                })
            })
            .collect();
        let mut moved = 0;
        while moved < 3 {
            moved += guest.ok(libc::SYS_futex, &[from, compare, 0, 9, to, 5]);
            std::thread::yield_now();
        }
        assert_eq!(moved, 3);
        assert_eq!(guest.ok(libc::SYS_futex, &[from, WAKE, 9]), 0, "no waiter is left there");
        assert_eq!(guest.ok(libc::SYS_futex, &[to, plain, 1, 9, from]), 1, "only who was woken counts");
        assert_eq!(guest.ok(libc::SYS_futex, &[from, WAKE, 9]), 2);
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Outcome::Return(0));
        }
    });
}

/// What a thread holds when it leaves is marked as a dead owner's, and who waits for it wakes. Hostile lists end, and reach nothing else.
#[test]
fn robust_futexes_outlive_their_owner() {
    let guest = Guest::bare();
    let tid = guest.ok(libc::SYS_gettid, &[]);
    let words =
        |values: &[u32]| guest.put(&values.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    // Two entries with their futex 8 bytes behind, and one that is being changed.
    let (first, second, pending) = (guest.room(16), guest.room(16), guest.room(16));
    let head = guest.words(&[first, 8, pending]);
    let fill = |at: u64, next: u64, word: u32| {
        guest.window.write(at, &next.to_le_bytes()).unwrap();
        guest.window.write(at + 8, &word.to_le_bytes()).unwrap();
    };
    fill(first, second, tid as u32);
    fill(second, head, 7);
    fill(pending, 0, tid as u32 | libc::FUTEX_WAITERS);
    assert_eq!(guest.err(libc::SYS_set_robust_list, &[head, 23]), Errno::INVAL);
    guest.ok(libc::SYS_set_robust_list, &[head, 24]);
    let (at, length) = (guest.room(8), guest.room(8));
    let word = |at: u64| u64::from(guest.window.load_u32(at).unwrap());
    for own in [0, tid] {
        guest.ok(libc::SYS_get_robust_list, &[own, at, length]);
        assert_eq!((word(at), word(length)), (head & 0xffff_ffff, 24));
    }
    assert_eq!(guest.err(libc::SYS_get_robust_list, &[tid + 1, at, length]), Errno::PERM);
    assert_eq!(guest.err(libc::SYS_get_robust_list, &[0, 8, length]), Errno::FAULT);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let timeout = Some(Instant::now() + Duration::from_secs(60));
            let thread = Thread { slot: 1, deadline: timeout, stopped: || false, detaches: false };
            guest.call_as(libc::SYS_futex, &[first + 8, WAIT, tid, 0], thread)
        });
        // Its wait ends at once if it comes late: the word has changed.
        guest.process.thread_leaves(&guest.window, 0);
        let late = Outcome::Return(-i64::from(Errno::AGAIN.raw_os_error()));
        assert!([Outcome::Return(0), late].contains(&sleeper.join().unwrap()));
    });
    let dead = libc::FUTEX_OWNER_DIED | libc::FUTEX_WAITERS;
    let found = [first, second, pending].map(|entry| guest.window.load_u32(entry + 8).unwrap());
    assert_eq!(found, [dead, 7, dead], "the second was another thread's");
    // The next thread in that place has no list.
    fill(first, head, tid as u32);
    guest.process.thread_leaves(&guest.window, 0);
    assert_eq!(guest.window.load_u32(first + 8).unwrap(), tid as u32);
    let circle = words(&[0, 0, 0, 0]);
    fill(circle, circle, 0);
    let wild = guest.words(&[u64::MAX - 7, 1 << 63, u64::MAX]);
    for hostile in [guest.words(&[circle, 8, 0]), wild, 8, u64::MAX] {
        guest.ok(libc::SYS_set_robust_list, &[hostile, 24]);
        guest.process.thread_leaves(&guest.window, 0);
    }
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
                let thread = Thread { slot: parity, deadline: None, stopped: || false, detaches: false };
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

/// A thread that holds one of libc's locks is inside, and gives it back: a wait for one ends when all who are inside wait.
#[test]
fn a_wait_for_a_lock_that_nobody_holds_any_more_ends() {
    let guest = Guest::bare();
    let word = guest.words(&[2]);
    let wait = |what: u64| guest.call(libc::SYS_futex, &[word, WAIT, 2, 0, 0, what]);
    // Once it has told others of it, it waits on.
    let is_woken = |what: u64| {
        guest.threads.said.store(0, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let one = scope.spawn(|| wait(what));
            while guest.threads.said.load(Ordering::SeqCst) < 2 {
                assert!(!one.is_finished(), "no thread has woken it");
                std::thread::yield_now();
            }
            assert_eq!(guest.ok(libc::SYS_futex, &[word, WAKE, 1]), 1);
            assert_eq!(one.join().unwrap(), Outcome::Return(0));
        });
    };
    is_woken(lockgate_abi::FUTEX_LOCK);
    guest.threads.all_wait.store(true, Ordering::SeqCst);
    assert_eq!(wait(lockgate_abi::FUTEX_LOCK), Outcome::Fault(Fault::LostLock));
    // What is no lock has been left by no call.
    is_woken(lockgate_abi::FUTEX_PEERS);
}
