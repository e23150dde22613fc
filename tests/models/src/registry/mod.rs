//! Rows of the table that other processes read.
#[path = "../../../../crates/lockgate/src/stats/generation.rs"]
mod generation;

use generation::Look;
use loom::sync::atomic::{AtomicU64, Ordering};
use std::convert::Infallible;
use std::sync::Arc;

struct Row {
    generation: AtomicU64,
    /// Plain words in the runtime, which its readers copy by a system call.
    words: [AtomicU64; 2],
}

impl Row {
    fn set(&self, value: u64) {
        generation::change(&self.generation, || {
            self.words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
        });
    }

    /// `look` of `registry/observe.rs`: three reads, each a system call, which no processor reorders with another.
    fn look(&self) -> Look<[u64; 2]> {
        let generation = || {
            loom::sync::atomic::fence(Ordering::Acquire);
            let seen = self.generation.load(Ordering::Relaxed);
            loom::sync::atomic::fence(Ordering::Acquire);
            Ok::<_, Infallible>(seen)
        };
        // In any order.
        let rest = || {
            let second = self.words[1].load(Ordering::Relaxed);
            Ok([self.words[0].load(Ordering::Relaxed), second])
        };
        let Ok(look) = generation::look(generation, rest);
        look
    }
}

/// A reader gets both words of one change, of that generation, or nothing.
#[test]
fn no_row_is_seen_half_way_through_a_change() {
    crate::explore(3, || {
        let row = Arc::new(Row { generation: AtomicU64::new(0), words: Default::default() });
        row.set(10);
        let writer = {
            let row = row.clone();
            loom::thread::spawn(move || {
                row.set(20);
                row.set(30);
            })
        };
        match row.look() {
            Look::Never | Look::Changing => {}
            Look::Seen(generation, words) => assert_eq!(words, [5 * generation; 2]),
        }
        writer.join().expect("no panic");
        assert_eq!(row.look(), Look::Seen(6, [30; 2]));
    });
}
