//! The functions in progress, as unwinders get them.
use crate::guest::Guest;
use lockgate_syscall::{Fault, Outcome, Thread};
use rustix::io::Errno;

/// Its number.
const LG_FUNCTIONS: i64 = 400;

#[test]
fn rows_begin_behind_those_skipped_and_end_with_the_room() {
    let guest = Guest::bare();
    let rows = guest.room(5 * 16);
    assert_eq!(guest.ok(LG_FUNCTIONS, &[rows, 4, 7]), 4);
    let words: Vec<u64> = (0..10).map(|n| guest.word(rows + 8 * n)).collect();
    assert_eq!(words, [7, 56, 8, 64, 9, 72, 10, 80, 0, 0]);
    assert_eq!(guest.ok(LG_FUNCTIONS, &[rows, 4, 1_999_998]), 2);
    assert_eq!(guest.ok(LG_FUNCTIONS, &[rows, 4, u64::MAX]), 0);
    assert_eq!(guest.ok(LG_FUNCTIONS, &[rows, 0, 0]), 0);
}

#[test]
fn rows_that_are_no_memory_of_the_module_are_refused() {
    let guest = Guest::bare();
    for at in [0, u64::MAX, u64::MAX - 15] {
        assert_eq!(guest.err(LG_FUNCTIONS, &[at, 4, 0]), Errno::FAULT);
    }
    // Far more than there is room for: the rows before are written, and nothing behind.
    let rows = guest.on_own_page(&[]);
    assert_eq!(guest.err(LG_FUNCTIONS, &[rows, u64::MAX, 0]), Errno::FAULT);
}

#[test]
fn a_call_that_is_to_end_ends_among_many_functions() {
    static LOOKS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let stopped = || LOOKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 5;
    let guest = Guest::bare();
    let rows = guest.room(16);
    let outcome = guest.call_as(
        LG_FUNCTIONS,
        &[rows, 1, 1_999_999],
        Thread { slot: 0, deadline: None, stopped, detaches: false },
    );
    assert_eq!(outcome, Outcome::Fault(Fault::Stopped));
    assert_eq!(LOOKS.load(std::sync::atomic::Ordering::Relaxed), 6);
}
