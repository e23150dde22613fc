//! What a thread holds for calls, without the calls: which frames are left, and for how long a thread has to ask.
use super::held::{Held, Holdings};
use super::layout::Record;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
struct Loan(AtomicBool);

impl Held for Loan {
    fn let_go(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls of a thread, by their number from the outermost one.
fn record(number: usize) -> *const Record {
    std::ptr::without_provenance(0x1000 + number * size_of::<Record>())
}

fn lent(holdings: &Holdings, at: usize, rsp: u64) -> Arc<Loan> {
    let loan = Arc::<Loan>::default();
    holdings.hold(record(at), rsp, loan.clone());
    loan
}

/// Whether a frame lies within another one, where there is but one stack.
fn on_one_stack(frame: u64, rsp: u64) -> bool {
    frame <= rsp
}

/// A call of a function deeper than the one that has lent was left: who goes on cannot be told. A loan that was freed is nobody's business.
#[test]
fn a_loan_in_doubt_that_is_freed_leaves_no_doubt() {
    let holdings = Holdings::default();
    let loan = lent(&holdings, 0, 800);
    assert!(holdings.note_left(record(0), 400));
    holdings.let_go_of_left(0, on_one_stack);
    assert!(holdings.is_in_doubt() && !loan.is_over());
    loan.let_go();
    holdings.let_go_of_left(0, on_one_stack);
    assert!(!holdings.is_in_doubt());
}

#[test]
fn what_the_function_left_has_lent_is_over() {
    let holdings = Holdings::default();
    let (outer, inner) = (lent(&holdings, 0, 800), lent(&holdings, 0, 400));
    holdings.note_left(record(0), 400);
    holdings.let_go_of_left(0, on_one_stack);
    assert!(inner.is_over() && !outer.is_over());
    holdings.let_go_of_left(801, on_one_stack);
    assert!(outer.is_over() && !holdings.is_in_doubt());
}

#[test]
fn what_was_lent_in_calls_that_were_left_is_over() {
    let holdings = Holdings::default();
    let (outer, inner) = (lent(&holdings, 0, 800), lent(&holdings, 2, 400));
    assert!(holdings.note_left(record(1), 600));
    assert!(holdings.note_left(record(0), 700), "a second jump, before anybody has looked");
    holdings.let_go_of_left(0, on_one_stack);
    assert!(inner.is_over() && !outer.is_over());
}

/// A coroutine's loan, whose stack lies below, for a call that it has not made yet. A jump on another stack is none of its business.
#[test]
fn what_was_lent_on_another_stack_stays() {
    let holdings = Holdings::default();
    let (own, others) = (lent(&holdings, 0, 800), lent(&holdings, 0, 80));
    let on_two_stacks = |frame: u64, rsp: u64| (frame < 100) == (rsp < 100) && frame <= rsp;
    assert!(holdings.note_left(record(0), 850));
    holdings.let_go_of_left(900, on_two_stacks);
    assert!(own.is_over() && !others.is_over() && !holdings.is_in_doubt());
}
