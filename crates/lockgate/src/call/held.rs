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
    /// Each with the innermost record when it came: the calls that it is for are recorded behind that.
    all: RefCell<Vec<(*const Record, Arc<dyn Held>)>>,
    /// Whether there is any: for a handler, which may have interrupted a change of the list.
    any: Cell<bool>,
    /// Records behind this one were dropped, of calls that were left by a jump, and the list has not been looked at since; or null.
    left: Cell<*const Record>,
}

impl Holdings {
    /// Holds `what` for calls that come behind the innermost record, `top`.
    pub(super) fn hold(&self, top: *const Record, what: Arc<dyn Held>) {
        // What was held behind `top` was held by functions that have returned, for calls of theirs.
        let over = |(at, held): &(*const Record, Arc<dyn Held>)| *at > top || held.is_over();
        let over: Vec<_> = {
            let mut all = self.all.borrow_mut();
            let over = all.extract_if(.., |one| over(one)).collect();
            all.push((top, what));
            self.any.set(true);
            over
        };
        for (_, held) in over {
            held.let_go();
        }
    }

    /// Calls were left by a jump: `top` is the innermost record now. True if something is held for them, perhaps. Takes no lock and no memory.
    pub(super) fn note_left(&self, top: *const Record) -> bool {
        let left = self.left.get();
        let notes = self.any.get() && (left.is_null() || top < left);
        if notes {
            self.left.set(top);
        }
        notes
    }

    /// Lets go of what was held for calls that were left since.
    pub(super) fn let_go_of_left(&self) {
        let left = self.left.replace(ptr::null());
        if !left.is_null() {
            self.let_go_behind(left);
        }
    }

    /// The thread ends, or all its calls are left.
    pub(super) fn let_go_of_all(&self) {
        self.let_go_behind(ptr::null());
    }

    fn let_go_behind(&self, top: *const Record) {
        let over: Vec<_> = {
            let mut all = self.all.borrow_mut();
            let over = all.extract_if(.., |(at, _)| *at >= top).collect();
            self.any.set(!all.is_empty());
            over
        };
        for (_, held) in over {
            held.let_go();
        }
    }
}
