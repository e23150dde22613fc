//! Values that threads use by a count of their users.
use lockgate_kernel::{Counted, Use};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn a_value_stays_as_long_as_it_is_used() {
    let place = Counted::default();
    assert_eq!(place.with(|_: &Arc<u8>| ()), Use::Gone);
    let value = Arc::new(7);
    place.fill(Arc::clone(&value)).expect("it is free");
    assert!(place.fill(Arc::clone(&value)).is_err(), "it is taken");
    assert_eq!(place.with(|value| **value), Use::Done(7));
    let inside = place.with(|_| {
        assert!(place.close().is_none(), "it is used");
        assert_eq!(place.with(|_| ()), Use::Gone, "nobody else begins");
        assert!(place.reap().is_none() && place.fill(Arc::clone(&value)).is_err());
        Arc::strong_count(&value)
    });
    assert_eq!(inside, Use::Last(2));
    drop(place.reap().expect("the last user's"));
    assert_eq!(Arc::strong_count(&value), 1);
    place.fill(Arc::clone(&value)).expect("it is free again");
    assert!(place.close().is_some(), "nobody uses it");
}

/// Uses that never end, as a jump leaves them, take no place of other values', and are not counted beyond what there is room for.
#[test]
fn uses_that_never_end_are_bounded() {
    const MOST: usize = 1 << 16;
    let place = Counted::default();
    place.fill(1).expect("it is free");
    for _ in 0..MOST {
        let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            place.with(|_| std::panic::resume_unwind(Box::new(())))
        }));
        assert!(left.is_err(), "it was used");
    }
    assert_eq!(place.with(|_| ()), Use::Gone);
    assert!(place.close().is_none() && place.reap().is_none() && place.fill(2).is_err());
}

/// Threads use values that another closes and replaces: none sees one that is gone.
#[test]
fn threads_see_no_value_that_is_gone() {
    struct Value<'a>(&'a AtomicUsize, AtomicBool);
    impl Drop for Value<'_> {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    const VALUES: usize = 2000;
    let (dropped, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let place = Counted::default();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let used = place.with(|value: &Value<'_>| value.1.load(Ordering::SeqCst));
                    assert!(!matches!(used, Use::Done(true) | Use::Last(true)), "it is gone");
                    if matches!(used, Use::Last(_)) {
                        drop(place.reap());
                    }
                }
            });
        }
        for _ in 0..VALUES {
            let mut value = Value(&dropped, AtomicBool::new(false));
            while let Err(back) = place.fill(value) {
                value = back;
                std::thread::yield_now();
            }
            drop(place.close());
        }
        over.store(true, Ordering::SeqCst);
    });
    drop(place);
    assert_eq!(dropped.load(Ordering::SeqCst), VALUES);
}
