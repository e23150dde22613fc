//! Safe code that upsets its own calls: it panics in closures, drops what they own, gives back memory that another thread is given.
#![forbid(unsafe_code)]
use abrupt_protected::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// A `bool` that goes in is 0 or 1: what Rust computes a size from is what C takes it for.
fn bools() {
    let mut small = [0; 4];
    assert_eq!(abrupt_fill(&mut small, true).unwrap_err().kind, ErrorKind::Size);
    assert_eq!(abrupt_fill(&mut small, false), Ok(0));
    assert_eq!(small, *b"xxxx");
    let choice = AbruptChoice { wide: true, all: [false, true], n: 1 };
    assert_eq!(abrupt_chosen(choice), Ok(13));
    let mut many = [true, false, false];
    assert_eq!(abrupt_turn(true, &mut many), Ok((0, false)));
    assert_eq!(many, [false, true, true]);
    assert_eq!(abrupt_any(&[false, true]), Ok(true));
    let ask = AbruptAsk::new(|wide, all: &[bool], out: &mut [bool]| {
        out[0] = true;
        // What the closure does not write is a bool all the same.
        assert_eq!((wide, all, out[1]), (true, &[false, true][..], true));
        out[1] = false;
        true
    });
    assert_eq!(abrupt_asks(&ask.unwrap()), Ok(3));
}

/// No buffer of a call stays in a structure: its end would have the library write there.
fn buffers_of_a_call_that_panicked() {
    let tick = AbruptTick::new(|_| panic!("on purpose")).unwrap();
    let mut stream = AbruptStream::new();
    abrupt_begin(&mut stream).unwrap();
    let mut out = vec![0; 4096];
    let panic = catch_unwind(AssertUnwindSafe(|| abrupt_step(&mut stream, b"", &mut out, &tick)));
    assert!(panic.is_err());
    drop(stream);
    assert_eq!((abrupt_ends(), out), (Ok(1), vec![0; 4096]));
    // Nor does a call that is refused end anything.
    let mut stream = AbruptStream::new();
    abrupt_begin(&mut stream).unwrap();
    assert_eq!(abrupt_end_with(&mut stream, "a\0b").unwrap_err().kind, ErrorKind::Size);
    drop(stream);
    assert_eq!(abrupt_ends(), Ok(2));
}

/// What a closure owns ends before its call does: it may panic, and make calls.
fn closures_that_end_themselves() {
    struct Panics(bool);
    impl Drop for Panics {
        fn drop(&mut self) {
            if self.0 {
                panic!("in a drop");
            }
        }
    }
    for (runs, owns) in [(false, false), (true, false), (false, true), (true, true)] {
        let own = abrupt_new().unwrap().unwrap();
        let cell: Arc<Mutex<Option<AbruptTick>>> = Arc::default();
        let (inner, owned) = (cell.clone(), (abrupt_new().unwrap().unwrap(), Panics(owns)));
        let tick = AbruptTick::new(move |_| {
            let _owned = &owned;
            drop(inner.lock().unwrap().take());
            if runs {
                panic!("in a closure");
            }
            7
        });
        *cell.lock().unwrap() = Some(tick.unwrap());
        abrupt_hold(&own, cell.lock().unwrap().as_ref()).unwrap();
        let first = if runs { "in a closure" } else { "in a drop" };
        match catch_unwind(AssertUnwindSafe(|| abrupt_fire(&own))) {
            Ok(result) => assert_eq!((result, runs || owns), (Ok(7), false)),
            Err(panic) => assert_eq!(panic.downcast_ref::<&str>(), Some(&first)),
        }
        assert_eq!(abrupt_fire(&own).unwrap_err().kind, ErrorKind::Callback);
    }
}

/// While the last handle is being released, the library has the functions that it was given with it.
fn functions_of_the_last_handle() {
    let alive = abrupt_alive().unwrap();
    let own = abrupt_new().unwrap().unwrap();
    let first = AbruptWord::new(|_| panic!("it has been dropped")).unwrap();
    abrupt_take(&own, &first).unwrap();
    let others: Arc<Mutex<Vec<(AbruptWord, AbruptOwn)>>> = Arc::default();
    let inner = others.clone();
    let tick = AbruptTick::new(move |_| {
        let (word, own) = (AbruptWord::new(|_| panic!("it is another's")).unwrap(), abrupt_new().unwrap().unwrap());
        abrupt_take(&own, &word).unwrap();
        inner.lock().unwrap().push((word, own));
        0
    });
    let tick = tick.unwrap();
    abrupt_hold(&own, &tick).unwrap();
    drop(first);
    assert_eq!(abrupt_free(own).unwrap_err().kind, ErrorKind::Callback);
    assert_eq!(others.lock().unwrap().len(), 1);
    let (word, own) = others.lock().unwrap().pop().unwrap();
    drop(word);
    // The library has that one still: a refused call has ended nothing but the handle.
    assert_eq!(abrupt_close(own, "a\0b").unwrap_err().kind, ErrorKind::Size);
    drop((others, tick));
    assert_eq!(abrupt_alive(), Ok(alive));
    // It may have the one whose end has failed, with its function, and functions that were given since: no other has a place of theirs.
    let words: Vec<_> = (0..255).map(|_| AbruptWord::new(|_| 0)).collect();
    assert_eq!(words[254].as_ref().map(drop).unwrap_err().kind, ErrorKind::Memory);
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// One thread gives back what another is passing, or was given.
fn memory_of_two_threads() {
    const SIZE: u64 = 1 << 20;
    let first = abrupt_grow(None, SIZE).unwrap().unwrap();
    assert!(first.iter().all(|byte| *byte == b'b'));
    let second = abrupt_grow(&first, SIZE).unwrap().unwrap();
    abrupt_give(second.place()).unwrap();
    let (give, given) = channel::<Place>();
    let (tell, told) = channel();
    let other = std::thread::spawn(move || {
        for (round, place) in given.iter().enumerate() {
            (0..round * 1500).for_each(|_| std::hint::spin_loop());
            abrupt_give(place).unwrap();
            // Perhaps where that was.
            tell.send(vec![9_u8; SIZE as usize]).unwrap();
        }
    });
    let mut before = 0;
    for round in 0..60 {
        let place = abrupt_bytes(SIZE).unwrap().unwrap().place();
        // (Nothing of it is to be copied any more.)
        abrupt_give(&abrupt_text().unwrap().unwrap()).unwrap();
        give.send(place).unwrap();
        let error = loop {
            match abrupt_check(place, SIZE) {
                Ok(others) => assert_eq!(others, 0, "the library got what is not its own"),
                Err(error) => break error,
            }
        };
        assert!(error.message.contains("it is no memory of this library's"), "{error}");
        drop(told.recv().unwrap());
        if round == 20 {
            before = resident();
        }
    }
    assert!(resident() < before + 20_000, "{} KiB more", resident() - before);
    drop(give);
    other.join().unwrap();
}

fn main() {
    bools();
    buffers_of_a_call_that_panicked();
    closures_that_end_themselves();
    functions_of_the_last_handle();
    memory_of_two_threads();
}
