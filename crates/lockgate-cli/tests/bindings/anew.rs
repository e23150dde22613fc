//! A domain is begun anew while the program is in a callback of the old one, and while thread-locals have handles of it.
use anew_protected::*;
use std::cell::RefCell;
use std::thread;

/// Ends the domain; the next call begins another.
fn end() {
    let crash = anew_crash(1).unwrap_err();
    assert!(crash.kind == ErrorKind::Fault && crash.message.contains("anew.c:"), "{crash}");
}

fn main() -> Result<(), Error> {
    let event = AnewEvent::new(|n| {
        let other = thread::spawn(|| {
            end();
            assert_eq!(anew_sum(&[1, 2]).expect("a sum"), 3);
        });
        other.join().expect("no panic");
        let inner = anew_sum(&[1]).unwrap_err();
        assert!(inner.kind == ErrorKind::Fault && inner.message.ends_with("which this call is made from"), "{inner}");
        n
    })?;
    let outer = anew_each(1, &event).unwrap_err();
    assert!(outer.kind == ErrorKind::Fault && outer.message.ends_with("that called this function"), "{outer}");

    // Its end fails, when thread-locals of the bindings' own have ended.
    thread_local!(static LAST: RefCell<Option<Thing>> = const { RefCell::new(None) });
    let keeps = || {
        LAST.with(|last| *last.borrow_mut() = anew_new(4).expect("a thing"));
        end();
        assert_eq!(anew_sum(&[3]).expect("a sum"), 3);
    };
    thread::spawn(keeps).join().expect("no panic");
    assert_eq!(anew_sum(&[4, 5])?, 9);

    // The places of functions are free when the domain has ended in which they were passed with a handle.
    let passed = || -> Result<(Thing, AnewPlain), Error> {
        let (thing, plain) = (anew_new(1)?.expect("a thing"), AnewPlain::new(|n| n)?);
        anew_take(&thing, &plain).map(|_| (thing, plain))
    };
    for _ in 0..5 {
        let all = (0..64).map(|_| passed()).collect::<Result<Vec<_>, _>>()?;
        end();
        assert_eq!(anew_sum(&[1])?, 1);
        drop(all);
    }
    Ok(())
}
