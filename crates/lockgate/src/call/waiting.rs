//! What threads say of the waits that they are in, for those whose waits only they can end.
//!
//! What a thread has said stays when its wait is over: a jump may leave it, and nothing would take it back. So it counts for nothing by itself. A
//! wait that was seen was one only if its thread speaks of it again later.
use std::sync::atomic::{AtomicU64, Ordering};

/// What a thread waits for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    #[default]
    Nothing,
    /// What threads in the domain at this base do.
    Threads(u64),
    /// Its turn in an exclusive domain.
    Turn,
}

/// What a thread has said of its last wait, and what it has seen of others'.
#[derive(Default)]
pub(super) struct Waiting {
    what: For,
    wait: Wait,
    seen: Vec<Wait>,
}

/// A wait: its number, which no other one of the process has, and how often its thread has spoken of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    number: u64,
    said: u64,
}

impl Waiting {
    /// The thread is in a wait, which `begins`, or goes on: as one that begins if another one, a handler's, was in between.
    pub(super) fn says(&mut self, what: For, begins: bool) {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        if begins || what != self.what {
            self.what = what;
            self.wait = Wait { number: BEGUN.fetch_add(1, Ordering::Relaxed) + 1, said: 0 };
            self.seen.clear();
        }
        self.wait.said += 1;
    }

    /// What the thread waits for, if it does still, and in which wait.
    pub(super) fn said(&self) -> (For, Wait) {
        (self.what, self.wait)
    }

    /// The thread sees others in these waits. True if it has seen them before, and each has spoken since: then they were all in them at once.
    pub(super) fn sees(&mut self, mut waits: Vec<Wait>) -> bool {
        waits.sort();
        let are_same = waits.len() == self.seen.len()
            && waits.iter().zip(&self.seen).all(|(now, then)| now.number == then.number);
        if !are_same {
            self.seen = waits;
            return self.seen.is_empty();
        }
        waits.iter().zip(&self.seen).all(|(now, then)| now.said > then.said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `one` takes the others for waiting, whom it sees now.
    fn sees(one: &mut Waiting, others: &[&Waiting]) -> bool {
        one.sees(others.iter().map(|other| other.said().1).collect())
    }

    #[test]
    fn a_wait_is_one_if_its_thread_speaks_of_it_again() {
        let [mut one, mut two, mut three] = [(); 3].map(|()| Waiting::default());
        for waiting in [&mut one, &mut two, &mut three] {
            waiting.says(For::Turn, true);
        }
        assert!(sees(&mut one, &[]), "it waits itself");
        assert!(!sees(&mut one, &[&two, &three]) && !sees(&mut one, &[&two, &three]));
        two.says(For::Turn, false);
        assert!(!sees(&mut one, &[&two, &three]), "the third may have left by a jump");
        three.says(For::Turn, false);
        assert!(sees(&mut one, &[&three, &two]));
        for begins in [true, false, false] {
            two.says(For::Turn, begins);
        }
        assert!(!sees(&mut one, &[&two, &three]), "it may have done something in between");
        for waiting in [&mut two, &mut three] {
            waiting.says(For::Turn, false);
        }
        assert!(!sees(&mut one, &[&two]), "others than before");
        assert!(!sees(&mut one, &[&two, &three]), "and again");
        for waiting in [&mut two, &mut three] {
            waiting.says(For::Turn, false);
        }
        one.says(For::Turn, true);
        assert!(!sees(&mut one, &[&two, &three]), "what was seen before this wait");
        // A handler's, which is not mentioned any more.
        two.says(For::Threads(1 << 32), true);
        two.says(For::Turn, false);
        assert_eq!(two.said().0, For::Turn);
    }
}
