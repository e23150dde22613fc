//! The end of a library, and pointers that outlive it.
use super::File;
use crate::common::{Guest, watchdog};
use crate::dl::host_sys::{call, errno, service};
use lockgate::dl::{self, DlError, Mode, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn a_stale_pointer_is_an_error() {
    let _watchdog = watchdog("a stale pointer");
    let file = File::c("stale.so", "long f(long x) { return x + 1; }\ndouble g(double x) { return x; }");
    let library = file.open();
    let (f, g) = (library.function("f").unwrap(), library.function("g").unwrap());
    assert_eq!(call(f, 1), 2);
    library.close().unwrap();
    dl::take_failure();
    // Before its memory goes, and after: until the address means something else.
    for round in 0..1000 {
        assert_eq!(call(f, 1), -1, "round {round}");
        assert_eq!(errno(), libc::ESTALE);
        std::thread::yield_now();
    }
    assert!(crate::dl::host_sys::call_double(g, 1.0).is_nan());
    let failure = dl::take_failure().expect("a failure");
    assert!(failure.to_string().contains("stale.so was closed"), "{failure}");
    // Never called before, from a thread that was in no domain before.
    let f = f as usize;
    std::thread::spawn(move || assert_eq!(call(f as *const (), 1), -1)).join().unwrap();
}

/// The library may be reclaimed between a call's refusal and its report, by the watcher: once in some hundred rounds.
#[test]
fn a_stale_call_while_the_library_is_reclaimed_ends_that_call_only() {
    let _watchdog = watchdog("stale calls");
    let file = File::c("reclaimed.so", "long f(long x) { return x + 1; }");
    let other = File::c("other.so", "long g(long x) { return x + 2; }").open();
    let g = other.function("g").unwrap();
    for round in 0..2000 {
        let library = file.open();
        let f = library.function("f").unwrap();
        assert_eq!(call(f, 1), 2, "round {round}");
        library.close().unwrap();
        assert_eq!(call(f, 1), -1, "round {round}");
        assert_eq!(errno(), libc::ESTALE, "round {round}");
        dl::take_failure();
        assert_eq!(call(g, 1), 3, "round {round}: {:?}", dl::take_failure());
    }
}

#[test]
fn the_same_symbol_opened_again_needs_no_more_memory() {
    let _watchdog = watchdog("a pointer that is never used again");
    let file = File::c("again.so", "long f(long x) { return x + 1; }");
    let lookup = || {
        let library = file.open();
        let f = library.function("f").unwrap();
        assert_eq!(call(f, 1), 2);
        library.close().unwrap();
        f
    };
    let first = lookup();
    // As soon as the watcher has seen that nobody is inside.
    while lookup() != first {
        std::thread::yield_now();
    }
}

#[test]
fn destructors_run_inside_last_first() {
    static ORDER: AtomicU64 = AtomicU64::new(0);
    extern "C" fn note(digit: i64) -> i64 {
        ORDER.store(ORDER.load(Ordering::SeqCst) * 10 + digit as u64, Ordering::SeqCst);
        0
    }
    dl::provide(service("long note_end(long)", note as *const ()));
    let guest = Guest::c_with(
        "#include <stdlib.h>
         long note_end(long);
         static void at_exit(void) { note_end(3); }
         __attribute__((constructor)) static void start(void) { atexit(at_exit); }
         __attribute__((destructor(101))) static void last(void) { note_end(1); }
         __attribute__((destructor(102))) static void first(void) { note_end(2); }
         long f(void) { return 5; }",
        &["-O2", "-g"],
    );
    let file = File::new("destructors.so", guest.gate("long note_end(long)"));
    let library = file.open();
    assert_eq!(call(library.function("f").unwrap(), 0), 5);
    assert_eq!(ORDER.load(Ordering::SeqCst), 0);
    library.close().unwrap();
    assert_eq!(ORDER.load(Ordering::SeqCst), 321, "what atexit knows, then destructors in reverse order");
}

#[test]
fn hostile_destructors_end() {
    let _watchdog = watchdog("a destructor that loops");
    let timeout = Options::default().timeout(Duration::from_millis(250));
    for (name, body, expected) in [
        ("looping.so", "for (;;) __asm__ volatile(\"\");", "time"),
        ("crashing.so", "static int *volatile nowhere; *nowhere = 1;", "null pointer"),
    ] {
        let source = format!(
            "__attribute__((destructor)) static void end(void) {{ {body} }}\nlong f(void) {{ return 1; }}"
        );
        let file = File::c(name, &source);
        let library = file.open_with(Mode::NOW, &timeout);
        dl::take_failure();
        library.close().unwrap();
        let failure = dl::take_failure().expect("it is told").to_string();
        assert!(failure.starts_with(name) && failure.contains(expected), "{failure}");
        assert!(matches!(library.symbol("f"), Err(DlError::Handle)), "closed all the same");
    }
}

#[test]
fn hostile_constructors_end() {
    let _watchdog = watchdog("a constructor that loops");
    let timeout = Options::default().timeout(Duration::from_millis(250));
    for (name, body, expected) in [
        ("looping-start.so", "for (;;) __asm__ volatile(\"\");", "time"),
        ("crashing-start.so", "static int *volatile nowhere; *nowhere = 1;", "null pointer"),
        ("leaving-start.so", "_Exit(3);", "exit"),
    ] {
        let source = format!(
            "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) {{ {body} }}\nlong f(void) {{ return 1; }}"
        );
        let file = File::c(name, &source);
        let error = lockgate::dl::Library::open(&file.path, Mode::NOW, &timeout).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
        let only_if_open = Mode { only_if_open: true, ..Mode::NOW };
        assert!(lockgate::dl::Library::open(&file.path, only_if_open, &timeout).is_err(), "it is not open");
    }
}

/// Less than the unit of time limits is a limit, too, not none.
#[test]
fn the_shortest_timeouts_end_what_loops() {
    let _watchdog = watchdog("a constructor that loops, with next to no time");
    let source = "__attribute__((constructor)) static void start(void) { for (;;) __asm__ volatile(\"\"); }\nlong f(void) { return 1; }";
    let file = File::c("looping-at-once.so", source);
    for timeout in [Duration::ZERO, Duration::from_micros(300)] {
        let options = Options::default().timeout(timeout);
        let error = dl::Library::open(&file.path, Mode::NOW, &options).unwrap_err().to_string();
        assert!(error.contains("time"), "{error}");
    }
}

#[test]
fn closing_ends_calls_in_progress() {
    let _watchdog = watchdog("a library that is closed with a thread inside");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    extern "C" fn arrived() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        0
    }
    dl::provide(service("long arrived_inside(void)", arrived as *const ()));
    let guest = Guest::c_with(
        "long arrived_inside(void);\nlong stay(void) { arrived_inside(); for (;;) __asm__ volatile(\"\"); }",
        &["-O2", "-g"],
    );
    let file = File::new("stay.so", guest.gate("long arrived_inside(void)"));
    let library = file.open();
    let stay = library.function("stay").unwrap() as usize;
    let inside = std::thread::spawn(move || {
        let result = call(stay as *const (), 0);
        (result, dl::take_failure().map(|failure| failure.to_string()))
    });
    while !INSIDE.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    library.close().unwrap();
    let (result, failure) = inside.join().unwrap();
    assert_eq!(result, -1);
    assert!(failure.expect("a failure").contains("killed"));
}

/// A library may have itself closed, by a service that it calls.
#[test]
fn a_library_may_be_closed_from_inside() {
    let _watchdog = watchdog("a library that has itself closed");
    extern "C" fn close_me() -> i64 {
        dl::Library::caller().map_or(1, |caller| i64::from(caller.close().is_err()))
    }
    dl::provide(service("long close_me(void)", close_me as *const ()));
    let guest =
        Guest::c_with("long close_me(void);\nlong f(void) { return close_me() + 5; }", &["-O2", "-g"]);
    let file = File::new("suicide.so", guest.gate("long close_me(void)"));
    let library = file.open();
    let f = library.function("f").unwrap();
    assert_eq!(call(f, 0), -1, "its call ends");
    assert!(dl::take_failure().is_some());
    assert_eq!(call(f, 0), -1, "and there are no others");
}

/// Its destructors wait for their turn in an exclusive domain, and everybody who opens or closes waits for theirs: a call that spins is
/// ended when the library's timeout is over, and the destructors run.
#[test]
fn a_busy_exclusive_library_is_closed_in_time() {
    let _watchdog = watchdog("an exclusive library that is closed while it is busy");
    static INSIDE: AtomicU64 = AtomicU64::new(0);
    static ENDED: AtomicU64 = AtomicU64::new(0);
    extern "C" fn arrived() -> i64 {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        0
    }
    extern "C" fn ended() -> i64 {
        ENDED.fetch_add(1, Ordering::SeqCst);
        0
    }
    dl::provide(service("long arrived_alone(void)", arrived as *const ()));
    dl::provide(service("long ended_alone(void)", ended as *const ()));
    let guest = Guest::c_with(
        "long arrived_alone(void), ended_alone(void);
         __attribute__((destructor)) static void end(void) { ended_alone(); }
         long spin(void) { arrived_alone(); for (;;) __asm__ volatile(\"\"); }",
        &["-O2", "-g"],
    );
    let file = File::new("busy.so", guest.gate("long arrived_alone(void)").gate("long ended_alone(void)"));
    let other = File::c("idle.so", "long f(long x) { return x + 1; }");
    for (round, turn) in [None, Some(Duration::from_secs(1000))].into_iter().enumerate() {
        let round = round as u64 + 1;
        let options = Options::default()
            .timeout(Duration::from_millis(250))
            .domain(lockgate::DomainOptions::new().exclusive(turn));
        let library = file.open_with(Mode::NOW, &options);
        let spin = library.function("spin").unwrap() as usize;
        let inside = std::thread::spawn(move || (call(spin as *const (), 0), errno()));
        while INSIDE.load(Ordering::SeqCst) < round {
            std::thread::yield_now();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| library.close().unwrap());
            scope.spawn(|| other.open().close().unwrap());
        });
        assert_eq!(inside.join().unwrap(), (-1, libc::ECANCELED), "{turn:?}");
        assert_eq!(ENDED.load(Ordering::SeqCst), round, "{turn:?}");
    }
}

/// A plugin is built anew again and again, and opened each time. Red if what was closed stays without a bound: the program has no descriptor
/// left for anything.
#[test]
fn versions_that_were_closed_keep_few_descriptors() {
    const VERSIONS: u32 = 400;
    let open = || std::fs::read_dir("/proc/self/fd").expect("the process's descriptors").count();
    let file = File::c("versions.so", "long add(long x) { return x + 1; }");
    let first = std::fs::read(&file.path).expect("a module");
    let before = open();
    for version in 0..VERSIONS {
        let mut bytes = first.clone();
        bytes.extend(version.to_le_bytes()); // what lies behind a module's end is nobody's
        let next = file.path.with_extension("next");
        std::fs::write(&next, bytes).expect("the scratch folder is writable");
        std::fs::rename(&next, &file.path).expect("another version");
        let library = file.open();
        assert!(library.function("add").is_ok());
        library.close().expect("an open library");
    }
    let more = open().saturating_sub(before);
    assert!(more < VERSIONS as usize / 2, "{VERSIONS} versions that were closed have {more} descriptors");
}
