//! What the host holds for calls that it is about to make, memory that it has lent for them: it lets go of that itself when they are over; and where a
//! jump has left them, and whatever would have let go of it, the thread's next call does, or the thread's end.
use super::layout::Record;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

/// Something that is held for calls of one thread.
#[doc(hidden)]
pub trait Held: Send + Sync {
    /// The calls are over. Says so a second time, too.
    fn let_go(&self);

    /// True if it was let go of.
    fn is_over(&self) -> bool;
}

/// What a thread holds.
#[derive(Default)]
pub(crate) struct Holdings {
    all: RefCell<Vec<Holding>>,
    /// Whether there is any: for a handler, which may have interrupted a change of the list.
    any: Cell<bool>,
    /// Whether one of them is in doubt.
    in_doubt: Cell<bool>,
    /// Records behind this one were dropped, of calls that were left by a jump, and the list has not been looked at since; or null.
    left: Cell<*const Record>,
    /// Stack pointer of the outermost function that has made such a call, before it pushed arguments.
    left_by: Cell<u64>,
}

struct Holding {
    /// The innermost record when it came: the calls that it is for are recorded behind that.
    at: *const Record,
    /// Stack pointer of the function that asked for it.
    rsp: u64,
    /// Calls behind `at` were left that functions have made which this one had called: the jump went to one of them, or past this one.
    in_doubt: bool,
    what: Arc<dyn Held>,
}

impl Holdings {
    /// Holds `what` for calls that come behind the innermost record, `top`, from the frame at `rsp` or deeper.
    pub(super) fn hold(&self, top: *const Record, rsp: u64, what: Arc<dyn Held>) {
        // What was held behind `top` was held by functions that have returned, for calls of theirs.
        self.let_go_where(|holding| holding.at > top || holding.what.is_over());
        self.all.borrow_mut().push(Holding { at: top, rsp, in_doubt: false, what });
        self.any.set(true);
    }

    /// Calls were left by a jump: `top` is the innermost record now, and the outermost of them was made by the function with its frame at
    /// `rsp`. True if something is held for them, perhaps. Takes no lock and no memory.
    pub(super) fn note_left(&self, top: *const Record, rsp: u64) -> bool {
        let left = self.left.get();
        let notes = self.any.get() && (left.is_null() || top <= left);
        if notes {
            self.left_by.set(if top == left { rsp.max(self.left_by.get()) } else { rsp });
            self.left.set(top);
        }
        notes
    }

    /// Lets go of what was held for calls that were left since: by the function that has made them, and by those of which no frame is left, where
    /// the calling function has its stack pointer at `rsp`. `is_within` tells whether a stack pointer, the first, is on the stack of another one, and
    /// no further out, or on a stack that is no more: what is held on other stacks is for calls that go on.
    pub(super) fn let_go_of_left(&self, rsp: u64, is_within: impl Fn(u64, u64) -> bool) {
        let left = self.left.replace(ptr::null());
        if !self.any.get() {
            return;
        }
        if !left.is_null() {
            let left_by = self.left_by.get();
            self.let_go_where(|one| one.at > left || one.at == left && is_within(one.rsp, left_by));
            let is_around = |one: &Holding| one.at == left && is_within(left_by, one.rsp);
            self.all.borrow_mut().iter_mut().filter(|one| is_around(one)).for_each(|one| one.in_doubt = true);
        }
        // (What its owner has let go of meanwhile is in doubt no more. With the same stack pointer it is the same function.)
        self.let_go_where(|one| one.in_doubt && (one.what.is_over() || is_within(one.rsp + 1, rsp)));
    }

    /// Whether something is held for calls that were left, perhaps, or is in doubt.
    pub(super) fn is_to_be_asked(&self) -> bool {
        !self.left.get().is_null() || self.is_in_doubt()
    }

    /// Whether the thread is to ask at each call: a function that holds something goes on, or was left and a deeper one calls now.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.in_doubt.get()
    }

    /// Whether something is held for calls that go on. (For the thread itself, in a gate: what it has interrupted may be a change of the list.)
    pub(super) fn holds(&self) -> bool {
        self.any.get()
            && self.all.try_borrow().map_or(true, |all| all.iter().any(|holding| !holding.what.is_over()))
    }

    /// The thread ends.
    pub(super) fn let_go_of_all(&self) {
        self.let_go_where(|_| true);
    }

    fn let_go_where(&self, which: impl Fn(&Holding) -> bool) {
        let over: Vec<_> = {
            let mut all = self.all.borrow_mut();
            let over = all.extract_if(.., |one| which(one)).collect();
            self.any.set(!all.is_empty());
            self.in_doubt.set(all.iter().any(|one| one.in_doubt));
            over
        };
        for holding in over {
            holding.what.let_go();
        }
    }
}
