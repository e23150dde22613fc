//! Values that threads use without a lock, by a count of their users, and by their numbers.
#[path = "../../../crates/lockgate-kernel/src/counted_sys.rs"]
mod counted_sys;
#[path = "../../../crates/lockgate-kernel/src/lookup.rs"]
mod lookup;

use counted_sys::{Counted, Use};
use lookup::Lookup;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

/// A descriptor, say: open until it is dropped.
struct Value {
    is_open: AtomicBool,
    number: AtomicU32,
    dropped: Arc<AtomicU32>,
}

impl Value {
    fn new(number: u32, dropped: &Arc<AtomicU32>) -> Value {
        let value = Value {
            is_open: AtomicBool::new(false),
            number: AtomicU32::new(0),
            dropped: Arc::clone(dropped),
        };
        // (Who uses it sees what was written before it was given.)
        value.is_open.store(true, Ordering::Relaxed);
        value.number.store(number, Ordering::Relaxed);
        value
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.is_open.store(false, Ordering::Relaxed);
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Uses the value that is there; drops it if that falls to the caller.
fn use_it(place: &Counted<Value>) -> Option<u32> {
    let look = |value: &Value| {
        let before = (value.is_open.load(Ordering::Relaxed), value.number.load(Ordering::Relaxed));
        thread::yield_now();
        let behind = (value.is_open.load(Ordering::Relaxed), value.number.load(Ordering::Relaxed));
        assert!(before.0 && before == behind, "it stays as it is while it is used");
        before.1
    };
    match place.with(look) {
        Use::Gone => None,
        Use::Done(number) => Some(number),
        Use::Last(number) => {
            drop(place.reap().expect("the last user's"));
            Some(number)
        }
    }
}

#[test]
fn a_value_goes_when_its_last_user_has_gone() {
    crate::explore(3, || {
        let dropped = Arc::new(AtomicU32::new(0));
        let place = Arc::new(Counted::default());
        assert!(place.fill(Value::new(1, &dropped)).is_ok());
        let users: Vec<_> = (0..2)
            .map(|_| {
                let place = Arc::clone(&place);
                thread::spawn(move || use_it(&place))
            })
            .collect();
        drop(place.close());
        for user in users {
            let seen = user.join().expect("no panic");
            assert!(matches!(seen, None | Some(1)));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 1, "once, by whoever was last");
        assert!(place.fill(Value::new(2, &dropped)).is_ok(), "the place is free again");
    });
}

#[test]
fn a_place_has_one_value_after_another() {
    crate::explore(3, || {
        let dropped = Arc::new(AtomicU32::new(0));
        let place = Arc::new(Counted::default());
        assert!(place.fill(Value::new(1, &dropped)).is_ok());
        let user = {
            let place = Arc::clone(&place);
            thread::spawn(move || (use_it(&place), use_it(&place)))
        };
        drop(place.close());
        let is_there = place.fill(Value::new(2, &dropped)).is_ok();
        let (first, second) = user.join().expect("no panic");
        assert!(first.is_none_or(|seen| seen == 1 || seen == 2 && is_there));
        assert!(second != Some(1) || first != Some(2), "none comes back");
        let gone = if is_there { 1 } else { 2 };
        assert_eq!(dropped.load(Ordering::Relaxed), gone, "a value that found no room is dropped, too");
    });
}

/// A place that was number 0's is number 1's meanwhile.
#[test]
fn a_number_names_what_it_was_given() {
    crate::explore(3, || {
        let dropped = Arc::new(AtomicU32::new(0));
        let lookup = Arc::new(Lookup::new(2));
        let [first, second] = [10, 11].map(|number| Arc::new(Value::new(number, &dropped)));
        lookup.show(0, &first);
        let user = {
            let lookup = Arc::clone(&lookup);
            thread::spawn(move || {
                let looked = lookup.with(0, |value| value.number.load(Ordering::Relaxed));
                looked.left.into_iter().for_each(|left| lookup.reap(left));
                looked.result
            })
        };
        lookup.hide(0);
        lookup.show(1, &second);
        assert!(matches!(user.join().expect("no panic"), None | Some(10)));
        assert_eq!(lookup.with(1, |value| value.number.load(Ordering::Relaxed)).result, Some(11));
        lookup.hide(1);
        drop((first, second));
        assert_eq!(dropped.load(Ordering::Relaxed), 2, "nothing is kept");
    });
}
