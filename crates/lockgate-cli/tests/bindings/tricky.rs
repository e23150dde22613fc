//! The bindings of a library with one function for everything, first as it should be, then hostile.
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tricky_protected::*;

fn good() -> Result<(), Error> {
    assert_eq!(tricky_sum(&[1, 2, 3, -4])?, 2);
    let mut buffer = [0; 6];
    assert_eq!(tricky_fill(&mut buffer)?, 3);
    assert_eq!(&buffer, b"aaa\0\0\0");
    assert_eq!(tricky_grow(&mut buffer)?, (0, 3));
    assert_eq!(&buffer[..4], b"ggg\0");
    assert_eq!(tricky_text(1)?.as_deref(), Some(c"some text"));
    assert_eq!(tricky_text(0)?, None);
    let mut room = [0; 32];
    assert_eq!(tricky_print(&mut room, "50 %s")?, 5);
    assert_eq!(&room[..6], b"50 %s\0");

    let thing = tricky_open(5)?.expect("a thing");
    assert_eq!(tricky_value(&thing)?, 5);
    let (before, thing) = tricky_replace(thing)?;
    assert_eq!((before, tricky_value(&thing.expect("another"))?), (5, 6));
    let (before, thing) = tricky_replace(None)?;
    assert_eq!(before, -1);
    let thing = thing.expect("a thing");
    assert_eq!(tricky_value(&thing)?, 0);
    tricky_close(thing)?;
    assert_eq!(tricky_value(None).unwrap_err().kind, ErrorKind::Fault);

    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let notify = Notify::new(move |text: &CStr, numbers: &[i32], n| {
        // Calls nest: what went in with the outer one stays.
        assert_eq!(tricky_sum(numbers).expect("a sum"), 6);
        hears.lock().unwrap().push((text.to_owned(), numbers.to_vec(), n));
        42
    })?;
    assert_eq!(tricky_call(&notify)?, 42);
    assert_eq!(*heard.lock().unwrap(), [(c"called".to_owned(), vec![1, 2, 3], 3)]);
    tricky_set(None)?;
    assert!(!tricky_set(&notify)?);
    assert!(tricky_set(None)?);

    assert_eq!(tricky_mirror(Point { x: 1, y: 2 }, Colour::GREEN)?, Point { x: 2, y: 1 });
    let mut number = Number(5_f64.to_ne_bytes());
    tricky_halve(&mut number)?;
    assert_eq!(number.0, 2.5_f64.to_ne_bytes());
    let named = Named { name: Some(CString::from(c"abc")), values: [1.0, 2.0, 3.0], colour: GREEN, at: Point { x: 8, y: 9 } };
    assert_eq!(tricky_named(&named)?, (13.0, Point { x: 3, y: 9 }));
    let shown = tricky_show()?;
    let names: Vec<_> = shown.iter().map(|named| named.name.as_deref()).collect();
    assert_eq!(names, [Some(c"first"), Some(c"second")]);
    assert_eq!(shown[1].at, Point { x: 7, y: 8 });
    assert_eq!(tricky_matrix(&[1.0, 2.0, 3.0, 4.0], 2, 2)?, 10.0);
    assert_eq!(tricky_find("find me", 'm' as i32)?, Some(5));
    assert_eq!(tricky_find("find me", 'z' as i32)?, None);
    assert_eq!(tricky_open_file("/no/such/file").unwrap_err().kind, ErrorKind::Os(2));
    assert_eq!(tricky_count(200)?, 200.0);
    Ok(())
}

/// What Rust's own side refuses: the library is not called.
fn careless() -> Result<(), Error> {
    let small = tricky_matrix(&[1.0, 2.0, 3.0], 2, 2).unwrap_err();
    assert_eq!((small.kind, &*small.what), (ErrorKind::Size, "m"), "{small}");
    for (rows, columns) in [(i64::MAX, i64::MAX), (-1, 2)] {
        assert_eq!(tricky_matrix(&[], rows, columns).unwrap_err().kind, ErrorKind::Size);
    }
    assert_eq!(tricky_find("a\0b", 0).unwrap_err().kind, ErrorKind::Size);

    let dropped = Notify::new(|_, _, _| 1)?;
    tricky_set(&dropped)?;
    drop(dropped);
    tricky_set(None)?;

    // A panic goes through the library's call, and ends it.
    let panics = Notify::new(|_, _, _| panic!("on purpose"))?;
    let panic = std::panic::catch_unwind(|| tricky_call(&panics)).expect_err("it goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    // A closure that is running is not run again.
    let own: Arc<Mutex<Option<Arc<Notify>>>> = Arc::default();
    let again = own.clone();
    let recursive = Arc::new(Notify::new(move |_, _, _| {
        let own = again.lock().unwrap().clone();
        let error = tricky_call(&*own.expect("set below")).expect_err("it is running");
        assert_eq!(error.kind, ErrorKind::Callback, "{error}");
        7
    })?);
    *own.lock().unwrap() = Some(recursive.clone());
    assert_eq!(tricky_call(&*recursive)?, 7);

    // Two hundred and fifty-six at a time; places are used again.
    let mut all: Vec<Notify> = Vec::new();
    let refused = loop {
        match Notify::new(|_, _, _| 3) {
            Ok(notify) => all.push(notify),
            Err(error) => break error,
        }
    };
    // (Nor those of two that the library was given with nothing that would tell them from others.)
    assert_eq!((all.len() + 4, refused.kind), (256, ErrorKind::Memory));
    assert_eq!(tricky_call(&all[100])?, 3);
    drop(all);
    assert_eq!(tricky_call(&Notify::new(|_, _, _| 4)?)?, 4);

    // Of two threads that run one each and call the other's, one is refused, and the other goes on.
    let (running, refusals) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let both: Arc<OnceLock<[Notify; 2]>> = Arc::default();
    let call_other = |own: usize| {
        let (running, refusals, both) = (running.clone(), refusals.clone(), both.clone());
        Notify::new(move |_, _, _| {
            if running.fetch_add(1, Ordering::SeqCst) > 1 {
                return 1;
            }
            while running.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            match tricky_call(&both.get().expect("set below")[1 - own]) {
                Ok(result) => result,
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Callback, "{error}");
                    refusals.fetch_add(1, Ordering::SeqCst);
                    2
                }
            }
        })
    };
    assert!(both.set([call_other(0)?, call_other(1)?]).is_ok());
    let [first, second] = both.get().expect("set");
    std::thread::scope(|scope| {
        scope.spawn(|| tricky_call(first).expect("it goes on"));
        tricky_call(second).expect("it goes on");
    });
    assert_eq!(refusals.load(Ordering::SeqCst), 1);
    Ok(())
}

/// The call of this mode fails with this kind of error, and says where.
fn fails<T>(mode: i32, call: impl FnOnce() -> Result<T, Error>, kind: ErrorKind, what: &str) {
    tricky_mode(mode).expect("it can always be set");
    let error = call().err().unwrap_or_else(|| panic!("mode {mode}: it worked"));
    assert_eq!((error.kind, &*error.what), (kind, what), "mode {mode}: {error}");
    tricky_mode(0).expect("it can always be set");
}

fn hostile() -> Result<(), Error> {
    use ErrorKind as Kind;
    fails(1, || tricky_text(1), Kind::Pointer, "result");
    fails(9, || tricky_text(1), Kind::Pointer, "result");
    fails(2, || tricky_text(1), Kind::String, "result");
    let mut buffer = *b"before";
    fails(2, || tricky_print(&mut buffer, "x"), Kind::String, "out");
    fails(3, || tricky_fill(&mut buffer), Kind::Length, "out");
    fails(3, || tricky_grow(&mut buffer), Kind::Length, "out");
    // Nothing of what a refused call wrote has arrived.
    assert_eq!(&buffer, b"before");
    fails(3, || tricky_count(9), Kind::Length, "result");
    fails(4, || tricky_open(1), Kind::Handle, "result");
    fails(10, || tricky_open(1), Kind::Handle, "result");
    let thing = tricky_open(1)?;
    fails(4, || tricky_replace(thing), Kind::Handle, "thing");
    fails(1, tricky_show, Kind::Pointer, "name");
    fails(1, || tricky_find("text", 't' as i32), Kind::Pointer, "result");

    let calls = Arc::new(AtomicU32::new(0));
    let counts = calls.clone();
    let notify = Notify::new(move |_, _, _| counts.fetch_add(1, Ordering::Relaxed) as i32)?;
    fails(5, || tricky_set(&notify), Kind::Callback, "result");
    fails(1, || tricky_call(&notify), Kind::Pointer, "text");
    fails(3, || tricky_call(&notify), Kind::Size, "numbers");
    fails(6, || tricky_call(&notify), Kind::Data, "data");
    fails(7, || tricky_call(&notify), Kind::Null, "text");
    fails(8, || tricky_call(&notify), Kind::Size, "numbers");
    assert_eq!(calls.load(Ordering::Relaxed), 0, "a refused call has reached the closure");
    // A function pointer of a closure that is gone.
    let other = Notify::new(|_, _, _| 5)?;
    drop(notify);
    fails(12, || tricky_call(&other), Kind::Data, "data");
    fails(14, || tricky_call(&other), Kind::Callback, "closure");
    // Nor does it lead to another closure, which may be in its place where user data tells them apart.
    let gone = Notify::new(|_, _, _| 6)?;
    assert_eq!(tricky_call(&gone)?, 6);
    drop(gone);
    let next = Notify::new(|_, _, _| panic!("it was never given"))?;
    fails(15, || tricky_call(&other), Kind::Callback, "closure");
    tricky_set(&next)?;
    drop(next);
    let last: Vec<Notify> = (0..3).map(|_| Notify::new(|_, _, _| panic!("nor was this"))).collect::<Result<_, _>>()?;
    fails(14, || tricky_call(&other), Kind::Callback, "closure");
    drop(last);
    tricky_set(None)?;
    fails(13, || tricky_colour(), Kind::Value, "result");

    let crash = tricky_crash().unwrap_err();
    assert!(crash.kind == Kind::Fault && crash.message.contains("tricky.c:"), "{crash}");
    let endless = tricky_loop().unwrap_err();
    assert!(endless.kind == Kind::Fault && endless.message.contains("time limit"), "{endless}");
    // And on it goes, on another thread, too.
    good()?;
    std::thread::spawn(good).join().expect("no panic")
}

fn main() -> Result<(), Error> {
    good()?;
    careless()?;
    hostile()
}
