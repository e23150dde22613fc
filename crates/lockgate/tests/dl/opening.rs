//! Several threads open and close: who waits for whom.
use super::File;
use super::joining::{ask, base_guest, joining_guest};
use crate::common::{Guest, watchdog};
use crate::dl::host_sys::{call, service};
use lockgate::dl::{self, DlError, Library, Mode, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        thread::yield_now();
    }
}

/// Lets a service go on when it goes, also when what follows fails.
struct GoesOn(&'static AtomicBool);

impl Drop for GoesOn {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A module whose constructor or destructor calls this service.
fn calling(name: &str, kind: &str, service: &str) -> File {
    let source = format!(
        "long {service}(void);
         static long begun;
         __attribute__(({kind})) static void code(void) {{ begun = {service}(); }}
         long has_begun(long unused) {{ return begun; }}"
    );
    File::new(name, Guest::c_with(&source, &["-O2", "-g"]).gate(&format!("long {service}(void)")))
}

/// Code of one library takes as long as it likes: nobody who opens or closes another one waits for that.
#[test]
fn constructors_and_destructors_of_others_are_not_waited_for() {
    let _watchdog = watchdog("a constructor and a destructor that wait for another opening");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        until(&GO_ON);
        1
    }
    dl::provide(service("long stay_here(void)", stay as *const ()));
    let other = File::c("other.so", "long f(long x) { return x + 1; }");
    for kind in ["constructor", "destructor"] {
        INSIDE.store(false, Ordering::SeqCst);
        GO_ON.store(false, Ordering::SeqCst);
        let file = calling(&format!("slow-{kind}.so"), kind, "stay_here");
        thread::scope(|scope| {
            let _goes_on = GoesOn(&GO_ON);
            let slow = scope.spawn(|| file.open().close().unwrap());
            until(&INSIDE);
            let library = other.open();
            assert_eq!(call(library.function("f").unwrap(), 6), 7);
            library.close().unwrap();
            GO_ON.store(true, Ordering::SeqCst);
            slow.join().unwrap();
        });
    }
}

/// Whoever opens the same file gets the library when its constructors have run, or an error when his time is over.
#[test]
fn constructors_of_the_same_library_are_waited_for() {
    let _watchdog = watchdog("two openings of one file");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        until(&GO_ON);
        5
    }
    dl::provide(service("long stay_before_others(void)", stay as *const ()));
    let file = calling("shared-start.so", "constructor", "stay_before_others");
    thread::scope(|scope| {
        let _goes_on = GoesOn(&GO_ON);
        let first = scope.spawn(|| file.open());
        until(&INSIDE);
        let hurried = Options::default().timeout(Duration::from_millis(50));
        let error = Library::open(&file.path, Mode::NOW, &hurried).unwrap_err();
        assert!(matches!(&error, DlError::Busy(name) if name == "shared-start.so"), "{error}");
        let only_if_open = Mode { only_if_open: true, ..Mode::NOW };
        let error = Library::open(&file.path, only_if_open, &hurried).unwrap_err();
        assert!(matches!(error, DlError::Busy(_)), "{error}");
        let second = scope.spawn(|| {
            let library = file.open();
            (library, ask(library, "has_begun", 0))
        });
        GO_ON.store(true, Ordering::SeqCst);
        let (first, (second, begun)) = (first.join().unwrap(), second.join().unwrap());
        assert_eq!((first, begun), (second, 5), "its constructor has run");
        first.close().unwrap();
        second.close().unwrap();
        assert!(first.name().is_err());
    });
}

/// What a library exports answers others when its constructors have run, not before: a call that comes first would begin in a domain whose libc
/// has not, and the opening would fail of it.
#[test]
fn a_library_answers_others_when_its_constructors_have_run() {
    let _watchdog = watchdog("a constructor during which others call its library");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    static SEEN_FROM_INSIDE: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        SEEN_FROM_INSIDE.store(Library::symbol_of_all("serve_early").is_ok(), Ordering::SeqCst);
        INSIDE.store(true, Ordering::SeqCst);
        until(&GO_ON);
        1
    }
    dl::provide(service("long stay_early(void)", stay as *const ()));
    let server = "long stay_early(void);
         static long begun;
         __attribute__((constructor)) static void code(void) { begun = stay_early(); }
         long serve_early(long x) { return begun + x; }";
    let server = Guest::c_with(server, &["-O2", "-g"]).gate("long stay_early(void)");
    let server = File::new("early-server.so", server);
    let client = "long serve_early(long);\nlong ask_early(long x) { return 10 * serve_early(x); }";
    let client = Guest::c_with(client, &["-O2", "-g"]).gate("long serve_early(long)");
    let client = File::new("early-client.so", client);
    thread::scope(|scope| {
        let _goes_on = GoesOn(&GO_ON);
        let opening = scope.spawn(|| server.open_with(Mode::NOW.global(), &Options::default()));
        until(&INSIDE);
        let library = client.open_with(Mode::LAZY, &Options::default());
        let ask = library.function("ask_early").unwrap();
        assert_eq!(call(ask, 3), -1);
        let failure = dl::take_failure().expect("nothing answers").to_string();
        assert!(failure.contains("early-client.so called serve_early"), "{failure}");
        assert!(matches!(Library::symbol_of_all("serve_early"), Err(DlError::GlobalSymbol(_))));
        let at_once = Library::open(&client.path, Mode::NOW, &Options::default());
        assert_eq!(at_once.unwrap(), library, "it is open, whatever it finds");
        GO_ON.store(true, Ordering::SeqCst);
        let server = opening.join().expect("no call of another thread ends an opening");
        assert!(SEEN_FROM_INSIDE.load(Ordering::SeqCst), "what constructors call finds their library");
        assert_eq!(call(ask, 3), 40, "the next call looks again");
        library.close().unwrap();
        library.close().unwrap();
        server.close().unwrap();
    });
}

/// An import that finds a library while another thread closes that needs it from then on, or finds nothing: it is never bound to one that has
/// gone.
#[test]
fn what_answers_an_import_is_held() {
    const FUNCTIONS: usize = 64;
    const ROUNDS: usize = 300;
    let _watchdog = watchdog("calls of a library that is opened and closed all the time");
    let each = |text: &dyn Fn(usize) -> String| (0..FUNCTIONS).map(text).collect::<String>();
    let server = each(&|n| format!("long serve_held_{n}(long x) {{ return x + {n}; }}\n"));
    let server = File::c("held-server.so", &server);
    let client = each(&|n| format!("long serve_held_{n}(long);\n"))
        + "long ask_held(long n) { switch (n) {\n"
        + &each(&|n| format!("case {n}: return serve_held_{n}(1000);\n"))
        + "} return 0; }";
    let client = (0..FUNCTIONS).fold(Guest::c_with(&client, &["-O2", "-g"]), |guest, n| {
        guest.gate(&format!("long serve_held_{n}(long)"))
    });
    let client = File::new("held-client.so", client);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = Over(&is_over);
        let opening = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                server.open_with(Mode::NOW.global(), &Options::default()).close().unwrap();
            }
        });
        for round in 0..ROUNDS {
            let mode = if round % 2 == 0 { Mode::LAZY } else { Mode::NOW };
            let library = match Library::open(&client.path, mode, &Options::default()) {
                Err(DlError::Imports { .. }) if mode == Mode::NOW => continue,
                opened => opened.unwrap(),
            };
            let ask = library.function("ask_held").unwrap();
            let answered: Vec<bool> = (0..FUNCTIONS).map(|n| call(ask, n as i64) >= 0).collect();
            assert!(
                mode == Mode::LAZY || answered.iter().all(|answered| *answered),
                "{:?}",
                dl::take_failure()
            );
            let held = server.open_with(Mode::NOW.global(), &Options::default());
            for (n, answered) in answered.into_iter().enumerate() {
                let result = call(ask, n as i64);
                assert_eq!(result, 1000 + n as i64, "{answered} before: {:?}", dl::take_failure());
            }
            held.close().unwrap();
            library.close().unwrap();
        }
        drop(over);
        opening.join().unwrap();
    });
}

/// Ends what goes on until then, also when what follows fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A library whose constructors fail is nobody's: who has waited for them opens it himself.
#[test]
fn who_has_waited_for_constructors_that_fail_opens_it_himself() {
    let _watchdog = watchdog("an opening that fails while another waits for it");
    static INSIDE: AtomicU64 = AtomicU64::new(0);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        if INSIDE.fetch_add(1, Ordering::SeqCst) > 0 {
            return 1;
        }
        until(&GO_ON);
        0
    }
    dl::provide(service("long stay_and_fail(void)", stay as *const ()));
    let source = "long stay_and_fail(void);
        __attribute__((constructor)) static void start(void) { if (!stay_and_fail()) __builtin_trap(); }
        long f(long x) { return x + 1; }";
    let file =
        File::new("failing.so", Guest::c_with(source, &["-O2", "-g"]).gate("long stay_and_fail(void)"));
    thread::scope(|scope| {
        let _goes_on = GoesOn(&GO_ON);
        let first = scope.spawn(|| Library::open(&file.path, Mode::NOW, &Options::default()));
        while INSIDE.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let second = scope.spawn(|| file.open());
        GO_ON.store(true, Ordering::SeqCst);
        assert!(matches!(first.join().unwrap(), Err(DlError::Create(_))));
        let library = second.join().unwrap();
        assert_eq!(call(library.function("f").unwrap(), 1), 2);
        library.close().unwrap();
    });
}

/// Two threads, each of which opens in a constructor what the other is about to open: one of them is told, and both go on.
#[test]
fn threads_that_wait_for_each_others_constructors_are_told() {
    let _watchdog = watchdog("two constructors that open each other's libraries");
    static PATHS: [std::sync::OnceLock<std::path::PathBuf>; 2] = [const { std::sync::OnceLock::new() }; 2];
    static INSIDE: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
    static RINGS: AtomicU64 = AtomicU64::new(0);
    fn open_the_others(own: usize) -> i64 {
        INSIDE[own].store(true, Ordering::SeqCst);
        until(&INSIDE[1 - own]);
        let path = PATHS[1 - own].get().unwrap();
        match Library::open(path, Mode::NOW, &Options::default()) {
            Ok(library) => library.close().map_or(0, |()| 1),
            Err(DlError::Ring(_)) => RINGS.fetch_add(1, Ordering::SeqCst) as i64,
            Err(error) => panic!("{error}"),
        }
    }
    extern "C" fn open_second() -> i64 {
        open_the_others(0)
    }
    extern "C" fn open_first() -> i64 {
        open_the_others(1)
    }
    dl::provide(service("long open_second(void)", open_second as *const ()));
    dl::provide(service("long open_first(void)", open_first as *const ()));
    let files = [
        calling("first.so", "constructor", "open_second"),
        calling("second.so", "constructor", "open_first"),
    ];
    PATHS.iter().zip(&files).for_each(|(path, file)| path.set(file.path.clone()).unwrap());
    thread::scope(|scope| {
        let opened = files.each_ref().map(|file| scope.spawn(|| file.open()));
        for opened in opened {
            opened.join().unwrap().close().unwrap();
        }
    });
    assert_eq!(RINGS.load(Ordering::SeqCst), 1, "who comes last closes the ring");
}

/// The constructors of all that one opening brings have one time: a file does not choose how many times its host waits.
#[test]
fn one_opening_has_one_time_for_all_constructors() {
    let _watchdog = watchdog("constructors that take most of their time each");
    const SLOW: &str = "
        #include <time.h>
        static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
        __attribute__((constructor)) static void slow(void) { for (long begun = now(); now() < begun + 200;); }";
    let base = File::new("base.so", base_guest(&format!("{SLOW}\nlong of_base(long x) {{ return x; }}")));
    let source = format!("{SLOW}\nlong of_base(long);\nlong of_part(long x) {{ return of_base(x); }}");
    let part = base.beside("part.so", joining_guest(&source, &[&base.path]));
    let options = Options::default().timeout(Duration::from_millis(300));
    let error = Library::open(&part, Mode::NOW, &options).unwrap_err().to_string();
    assert!(error.contains("part.so") && error.contains("time"), "{error}");
    let library = Library::open(&part, Mode::NOW, &Options::default()).unwrap();
    assert_eq!(ask(library, "of_part", 3), 3);
    library.close().unwrap();
}

/// A base is closed while a module joins it: it stays until that has ended, and goes with it.
#[test]
fn what_an_opening_needs_stays_until_it_has_ended() {
    let _watchdog = watchdog("a base that is closed while a module joins it");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        until(&GO_ON);
        9
    }
    dl::provide(service("long stay_and_join(void)", stay as *const ()));
    let base = File::new("base.so", base_guest("long of_base(long x) { return x + 1; }"));
    let source = "long stay_and_join(void), of_base(long);
        static long begun;
        __attribute__((constructor)) static void start(void) { begun = of_base(stay_and_join()); }
        __attribute__((destructor)) static void end(void) { stay_and_join(); }
        long has_begun(long unused) { return begun; }";
    let part = base.beside("part.so", joining_guest(source, &[&base.path]).gate("long stay_and_join(void)"));
    let library = base.open();
    let of_base = library.function("of_base").unwrap();
    thread::scope(|scope| {
        let _goes_on = GoesOn(&GO_ON);
        let options = Options::default().into(library);
        let joins = scope.spawn(move || Library::open(&part, Mode::NOW, &options).unwrap());
        until(&INSIDE);
        library.close().unwrap();
        assert_eq!(call(of_base, 1), 2, "a module is about to need it");
        GO_ON.store(true, Ordering::SeqCst);
        let joined = joins.join().unwrap();
        assert_eq!(ask(joined, "has_begun", 0), 10);
        assert_eq!(call(of_base, 1), 2, "a module needs it");
        // The same while the module's destructors run.
        assert_eq!(base.open(), library);
        INSIDE.store(false, Ordering::SeqCst);
        GO_ON.store(false, Ordering::SeqCst);
        let leaves = scope.spawn(move || joined.close().unwrap());
        until(&INSIDE);
        library.close().unwrap();
        assert_eq!(call(of_base, 1), 2, "code of the module's still runs");
        assert!(joined.name().is_err() && library.close().is_err());
        GO_ON.store(true, Ordering::SeqCst);
        leaves.join().unwrap();
    });
    assert_eq!(call(of_base, 1), -1);
    assert!(library.name().is_err());
}

/// A thread ends in a constructor of a module that joins: what was opened for the module goes with it.
#[test]
fn what_was_opened_for_a_module_goes_when_the_opening_thread_ends() {
    let _watchdog = watchdog("a thread that ends in a constructor of a module that joins");
    static BASE: AtomicU64 = AtomicU64::new(0);
    extern "C" fn note_base() -> i64 {
        BASE.store(Library::caller().map_or(0, Library::number), Ordering::SeqCst);
        0
    }
    let exit = crate::common::host_sys::thread_exit();
    dl::provide(service("void leave_joining(long)", exit as *const ()));
    dl::provide(service("long note_base(void)", note_base as *const ()));
    let source = "long note_base(void);
        __attribute__((constructor)) static void start(void) { note_base(); }
        long of_base(long x) { return x + 1; }";
    let base = File::new("base.so", base_guest(source).gate("long note_base(void)"));
    let source = "void leave_joining(long);
        long of_base(long);
        __attribute__((constructor)) static void start(void) { leave_joining(of_base(6)); }
        long f(long x) { return x; }";
    let part = base.beside("part.so", joining_guest(source, &[&base.path]).gate("void leave_joining(long)"));
    let ended = crate::common::host_sys::on_plain_thread(|| {
        drop(Library::open(&part, Mode::NOW, &Options::default()));
    });
    assert_eq!(ended, 7, "it ended in the constructor's gate");
    let base = Library::from_number(BASE.load(Ordering::SeqCst));
    assert!(matches!(base.name(), Err(DlError::Handle)), "{:?}", base.name());
}
