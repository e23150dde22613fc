//! Several modules in one domain: a base, and what joins it.
use super::File;
use crate::common::Guest;
use crate::dl::host_sys::{call, errno, read_int, service};
use lockgate::dl::{self, Library, Mode, Options};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, LazyLock};

/// A base that keeps what it is given, calls what it is given, and remembers in what order modules began and ended.
pub const BASE: &str = r#"
#include <errno.h>
#include <stdlib.h>
int shared = 5;
static char *kept;
static long order;
long add(long a, long b) { return a + b; }
long keep(char *block) { kept = block; return 0; }
long drop(long unused) { char first = *kept; free(kept); kept = 0; return first; }
long note(long digit) { return order = 10 * order + digit; }
long noted(long unused) { return order; }
long last_errno(long unused) { return errno; }
static long (*function)(long);
void set_function(long (*given)(long)) { function = given; }
long apply(long x) { return function(x); }
"#;

pub const ALPHA: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
extern int shared;
int *where = &shared;
long add(long, long), keep(char *), note(long);
void set_function(long (*)(long));
static long opened;
__attribute__((constructor)) static void begin(void) { opened++; note(1); }
__attribute__((destructor)) static void end(void) { note(8); }
static long triple(long x) { return 3 * x; }
long make(long letter) { char *block = malloc(100); memset(block, (int)letter, 100); keep(block); return (long)block; }
long sum(long x) { return add(x, *where); }
long times_opened(long unused) { return opened++; }
long fail(long code) { errno = (int)code; return strtol("123", 0, 10); }
long give(long unused) { set_function(triple); return 0; }
long crash(long at) { return *(volatile long *)at; }
int alpha_data = 11;
"#;

pub const BETA: &str = r#"
extern int alpha_data;
long add(long, long), note(long), drop(long), times_opened(long);
__attribute__((constructor)) static void begin(void) { note(2); }
__attribute__((destructor)) static void end(void) { note(9); }
long take(long unused) { return drop(0); }
long of_alpha(long unused) { return alpha_data + times_opened(0); }
"#;

pub fn base_guest(source: &str) -> Guest {
    Guest::c_with(source, &["-O2", "-g"]).base()
}

/// A module that joins the first of `modules`.
pub fn joining_guest(source: &str, modules: &[&Path]) -> Guest {
    Guest::c_with(source, &["-O2", "-g", "-fPIC"]).join(modules)
}

/// Files of a base, `alpha.so`, which joins it, and `beta.so`, which needs both.
pub struct Files {
    pub base: File,
    pub alpha: PathBuf,
    pub beta: PathBuf,
}

pub fn files() -> Files {
    let base = File::new("base.so", base_guest(BASE));
    let alpha = base.beside("alpha.so", joining_guest(ALPHA, &[&base.path]));
    let beta = base.beside("beta.so", joining_guest(BETA, &[&base.path, &alpha]));
    Files { base, alpha, beta }
}

pub fn open(path: &Path) -> Library {
    Library::open(path, Mode::NOW, &Options::default()).expect("the library opens")
}

pub fn open_into(path: &Path, into: Library) -> Library {
    Library::open(path, Mode::NOW, &Options::default().into(into)).expect("the library joins")
}

/// A call of `long symbol(long)`.
pub fn ask(library: Library, symbol: &str, argument: i64) -> i64 {
    call(library.function(symbol).expect(symbol), argument)
}

#[test]
fn modules_of_one_domain_share_a_heap() {
    let files = files();
    let base = files.base.open();
    let (alpha, beta) = (open_into(&files.alpha, base), open_into(&files.beta, base));
    // Allocated by one, kept by the base, freed by the other.
    let block = ask(alpha, "make", 77);
    let mut bytes = [0; 100];
    beta.read(block as u64, &mut bytes).unwrap();
    assert_eq!(bytes, [77; 100]);
    assert_eq!(ask(beta, "take", 0), 77);
    assert_eq!(ask(alpha, "make", 78), block, "the block went back to the heap that it came from");
    assert_eq!(ask(beta, "take", 0), 78);
    // One object, one errno, functions by pointer, and the host's allocations.
    assert_eq!(ask(alpha, "sum", 37), 42);
    assert_eq!(read_int(base.object("shared").unwrap().address), 5);
    assert_eq!(ask(alpha, "fail", 33), 123);
    assert_eq!(ask(base, "last_errno", 0), 33);
    ask(alpha, "give", 0);
    assert_eq!(ask(base, "apply", 14), 42);
    let room = alpha.allocate(8).unwrap();
    base.free(room).unwrap();
    assert_eq!(ask(beta, "of_alpha", 0), 12);
    for library in [beta, alpha, base] {
        library.close().unwrap();
    }
}

/// What a module was linked with is opened first, once, and stays open as long as it.
#[test]
fn dependencies_are_opened_first_and_counted() {
    let files = files();
    let beta = open(&files.beta);
    let noted = |library| ask(library, "noted", 0);
    let not_loaded = Mode { only_if_open: true, ..Mode::NOW };
    // They are beta's; whoever wants them says so.
    let there = |library| Options::default().into(library);
    let base = Library::open(&files.base.path, not_loaded, &there(beta)).expect("it is open");
    let alpha = Library::open(&files.alpha, not_loaded, &there(beta)).expect("it is open");
    assert_eq!(noted(base), 12, "constructors in the order of the dependencies");
    assert_eq!(Library::of_address(alpha.object("alpha_data").unwrap().address), Some(alpha));
    base.close().unwrap();
    alpha.close().unwrap();
    assert_eq!(ask(beta, "of_alpha", 0), 12, "needed, so still open");
    let base = Library::open(&files.base.path, not_loaded, &there(beta)).expect("it is open");
    beta.close().unwrap();
    assert_eq!(noted(base), 1298, "destructors in the reverse order");
    assert!(Library::open(&files.alpha, not_loaded, &there(base)).is_err(), "nobody needed it any more");
    base.close().unwrap();
    assert!(Library::open(&files.base.path, not_loaded, &Options::default()).is_err());
}

#[test]
fn a_module_that_joins_again_begins_anew_in_its_place() {
    let files = files();
    let base = files.base.open();
    let place = |library: Library| library.object("alpha_data").unwrap().address;
    let mut pointers = Vec::new();
    for round in 0..50 {
        let alpha = open_into(&files.alpha, base);
        let function = alpha.function("times_opened").unwrap();
        assert_eq!((call(function, 0), call(function, 0)), (1, 2), "round {round}: its data is fresh");
        pointers.push((function as usize, place(alpha)));
        alpha.close().unwrap();
        assert_eq!((call(function, 0), errno()), (-1, libc::ESTALE), "round {round}");
        assert!(dl::take_failure().expect("a stale pointer").to_string().contains("was closed"));
    }
    pointers.dedup();
    assert_eq!(pointers.len(), 1, "no memory is used up: {pointers:x?}");
    base.close().unwrap();
}

/// Two domains of one base do not know of each other.
#[test]
fn each_domain_has_its_own_instance() {
    let files = files();
    let copy = files.base.path.with_file_name("copy.so");
    std::fs::copy(&files.base.path, &copy).unwrap();
    let (one, two) = (files.base.open(), open(&copy));
    let (a, b) = (open_into(&files.alpha, one), open_into(&files.alpha, two));
    assert_ne!(a, b);
    assert_ne!(a.function("sum").unwrap(), b.function("sum").unwrap());
    two.write(two.object("shared").unwrap().address, &100_i32.to_le_bytes()).unwrap();
    assert_eq!((ask(a, "sum", 1), ask(b, "sum", 1)), (6, 101));
    for library in [a, one] {
        library.close().unwrap();
    }
    assert_eq!(ask(b, "sum", 2), 102);
    for library in [b, two] {
        library.close().unwrap();
    }
}

extern "C" fn host_twice(x: i64) -> i64 {
    2 * x
}

/// Functions of the host are words, too: no gate of the base's is used for them.
#[test]
fn services_are_called_through_words() {
    let files = files();
    let source = "long host_twice(long);\nlong ask_host(long x) { return host_twice(x) + 1; }";
    let guest = joining_guest(source, &[&files.base.path]).gate("long host_twice(long)");
    let path = files.base.beside("asking.so", guest);
    let refused = Library::open(&path, Mode::LAZY, &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("undefined symbol: host_twice"), "{refused}");
    dl::provide(service("long host_twice(long)", host_twice as *const ()));
    let library = open(&path);
    assert_eq!(ask(library, "ask_host", 20), 41);
    // More often than there are function pointers of the host's: they are given back.
    library.close().unwrap();
    let base = files.base.open();
    for _ in 0..1100 {
        let library = open_into(&path, base);
        library.close().unwrap();
    }
    base.close().unwrap();
}

extern "C" fn host_thrice(x: i64) -> i64 {
    3 * x
}

extern "C" fn host_negative(x: i64) -> i64 {
    -x
}

/// Where a call of a module that was closed is in progress.
static STAYS: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(2));

extern "C" fn host_stays(x: i64) -> i64 {
    STAYS.wait();
    STAYS.wait();
    x
}

/// A call that was in a module when that was closed ends without a look at what has joined in its place. Red if the place is given away while
/// threads may be in it, or on their way.
#[test]
fn calls_from_before_a_module_was_closed_are_in_no_new_instance() {
    let files = files();
    let source = "long host_stays(long);
        long count;
        long stay(long x) { count = x; return count = host_stays(x); }
        long counted(long unused) { return count; }";
    let guest = joining_guest(source, &[&files.base.path]).gate("long host_stays(long)");
    let path = files.base.beside("staying.so", guest);
    dl::provide(service("long host_stays(long)", host_stays as *const ()));
    let base = files.base.open();
    let place = |library: Library| library.object("count").unwrap().address;
    let first = open_into(&path, base);
    let (stay, before) = (first.function("stay").unwrap() as usize, place(first));
    let second = std::thread::scope(|scope| {
        let inside = scope.spawn(move || call(stay as *const (), 7));
        STAYS.wait();
        first.close().unwrap();
        let second = open_into(&path, base);
        assert_ne!(place(second), before, "a call is there still");
        assert_eq!(ask(second, "counted", 0), 0);
        STAYS.wait();
        assert_eq!(inside.join().unwrap(), -1, "its module was closed");
        second
    });
    assert_eq!(ask(second, "counted", 0), 0);
    let after = place(second);
    second.close().unwrap();
    let third = open_into(&path, base);
    assert!([before, after].contains(&place(third)), "no memory is used up");
    third.close().unwrap();
    base.close().unwrap();
}

/// Its memory stays, and so do the words in it, which the base may have pointers to. Red if these lead to the host still: the host's function is
/// called for a library that was closed, with what belonged to that.
#[test]
fn a_module_that_was_closed_calls_nothing_of_the_hosts() {
    let files = files();
    let source = "long host_once_more(long); void set_function(long (*)(long));
        static long ask(long x) { return host_once_more(x) + 1; }
        long give(long unused) { set_function(ask); return 0; }";
    let guest = joining_guest(source, &[&files.base.path]).gate("long host_once_more(long)");
    let path = files.base.beside("giving.so", guest);
    dl::provide(service("long host_once_more(long)", host_twice as *const ()));
    let base = files.base.open();
    let giving = open_into(&path, base);
    assert_eq!((ask(giving, "give", 0), ask(base, "apply", 20)), (0, 41));
    giving.close().unwrap();
    assert_eq!(ask(base, "apply", 20), -1);
    let failure = dl::take_failure().expect("a call of nothing").to_string();
    assert!(failure.contains("was not given"), "{failure}");
    let again = open_into(&path, base);
    assert_eq!((ask(again, "give", 0), ask(base, "apply", 20)), (0, 41));
    again.close().unwrap();
    base.close().unwrap();
}

extern "C" fn host_asks_who(_: i64) -> i64 {
    Library::caller().map_or(0, Library::number) as i64
}

/// A service knows which module of a domain has called it, in constructors, too. Red if it takes each for the base.
#[test]
fn a_service_knows_the_module_that_has_called() {
    const WHO: &str = "long host_asks_who(long); static long first;
        __attribute__((constructor)) static void begin(void) { first = host_asks_who(0); }
        long who_began(long unused) { return first; }
        long who(long x) { return host_asks_who(x) + x; }";
    dl::provide(service("long host_asks_who(long)", host_asks_who as *const ()));
    let base = File::new("who.so", base_guest(WHO).gate("long host_asks_who(long)"));
    let renamed = WHO.replace("who(long", "whom(long").replace("who_began", "whom_began");
    let guest = joining_guest(&renamed.replace("host_asks_whom", "host_asks_who"), &[&base.path]);
    let path = base.beside("whom.so", guest.gate("long host_asks_who(long)"));
    let base = base.open();
    let joined = open_into(&path, base);
    for (library, names) in [(base, ["who", "who_began"]), (joined, ["whom", "whom_began"])] {
        for name in names {
            assert_eq!(ask(library, name, 0), library.number() as i64, "{name}");
        }
    }
    joined.close().unwrap();
    base.close().unwrap();
}

/// A base exports each name of setjmp.h. Red if an alias is no function in its object: it is not exported, and the module does not link.
#[test]
fn joined_modules_jump_by_each_name() {
    let files = files();
    let source = "#include <setjmp.h>
        int __sigsetjmp(sigjmp_buf, int);
        long jumps(long x) {
            sigjmp_buf first, second;
            jmp_buf third;
            volatile int found = sigsetjmp(first, 1);
            if (found == 0) siglongjmp(first, (int)x);
            found += __sigsetjmp(second, 0);
            if (found == x) siglongjmp(second, 10);
            found += _setjmp(third);
            if (found == x + 10) _longjmp(third, 100);
            return found;
        }";
    let path = files.base.beside("jumping.so", joining_guest(source, &[&files.base.path]));
    let base = files.base.open();
    let jumping = open_into(&path, base);
    assert_eq!(ask(jumping, "jumps", 5), 115);
    jumping.close().unwrap();
    base.close().unwrap();
}

/// A service for one library of a domain is no other's there, whatever that calls by the same name. Red if the base's import is looked up for
/// one that joined.
#[test]
fn a_service_for_a_module_that_joined_is_its_own() {
    let source = "long host_tell(long);\nlong of_base(long x) { return host_tell(x); }";
    let base = File::new("telling.so", base_guest(source).gate("long host_tell(long)"));
    let source = "long host_tell(long);\nlong of_joined(long x) { return host_tell(x); }";
    let guest = || joining_guest(source, &[&base.path]).gate("long host_tell(long)");
    let (one, other) = (base.beside("one.so", guest()), base.beside("other.so", guest()));
    let tell = |function: *const ()| service("long host_tell(long)", function);
    let opened = Library::open(&base.path, Mode::LAZY, &Options::default()).unwrap();
    opened.provide(tell(host_twice as *const ())).unwrap();
    let (one, other) = (open_into(&one, opened), open_into(&other, opened));
    let told = || [ask(opened, "of_base", 5), ask(one, "of_joined", 5), ask(other, "of_joined", 5)];
    assert_eq!(told(), [10, 10, 10]);
    one.provide(tell(host_thrice as *const ())).unwrap();
    assert_eq!(told(), [10, 15, 10]);
    opened.provide(tell(host_negative as *const ())).unwrap();
    assert_eq!(told(), [-5, 15, 10]);
    for _ in 0..2000 {
        one.provide(tell(host_thrice as *const ())).unwrap();
    }
    assert!(one.provide(service("double host_tell(double)", host_twice as *const ())).is_err());
    assert_eq!(told(), [-5, 15, 10]);
    opened.close().unwrap();
}

/// A weak symbol that nobody has is null; one that the base has is the base's.
#[test]
fn weak_symbols_are_optional() {
    let files = files();
    let source = "long absent(long) __attribute__((weak)), add(long, long) __attribute__((weak));
        long missing(long unused) { return !absent; }
        long present(long x) { return add ? add(x, 1) : 0; }
        long (*pointer)(long) = absent;
        long in_data(long unused) { return !pointer; }
        long call_it(long x) { return absent(x); }";
    let path = files.base.beside("weak.so", joining_guest(source, &[&files.base.path]));
    let library = open(&path);
    assert_eq!(["missing", "in_data"].map(|name| ask(library, name, 0)), [1, 1]);
    assert_eq!(ask(library, "present", 41), 42);
    assert_eq!((ask(library, "call_it", 1), errno()), (-1, libc::EFAULT));
    library.close().unwrap();
}

/// A report names the function and line in the module that faulted, and who called it.
#[test]
fn faults_are_reported_where_they_happen() {
    let files = files();
    let alpha = open(&files.alpha);
    assert_eq!(ask(alpha, "crash", 0), -1);
    let failure = dl::take_failure().expect("it crashed");
    let lockgate::CallError::Fault(fault) = &failure.error else { panic!("{failure}") };
    let place = fault.location().expect("it is in an image");
    assert_eq!(place.function.as_deref(), Some("crash"));
    let frames = fault.backtrace().calls.remove(0);
    assert!(frames.complete, "{}", fault.backtrace());
    assert_eq!(ask(alpha, "sum", 37), 42, "the domain lives on");
    alpha.close().unwrap();
}

/// setjmp and longjmp are functions that return twice, wherever they are.
#[test]
fn jumps_work_through_words() {
    let files = files();
    let source = "#include <setjmp.h>
        static jmp_buf place;
        static void leave(long x) { longjmp(place, (int)x); }
        long jumps(long x) { volatile long kept = x; int back = setjmp(place); if (!back) leave(x); return 100 * kept + back; }";
    let library = open(&files.base.beside("jumping.so", joining_guest(source, &[&files.base.path])));
    assert_eq!(ask(library, "jumps", 7), 707);
    library.close().unwrap();
}

/// What `atexit` knows runs when the module is closed, before its destructors.
#[test]
fn endings_are_the_modules_own() {
    let files = files();
    let source = "#include <stdlib.h>
        long note(long);
        static void last(void) { note(3); }
        static void first(void) { note(2); }
        __attribute__((constructor)) static void begin(void) { note(1); atexit(last); atexit(first); }
        __attribute__((destructor)) static void end(void) { note(4); }
        long f(long x) { return x; }";
    let path = files.base.beside("ending.so", joining_guest(source, &[&files.base.path]));
    let base = files.base.open();
    open_into(&path, base).close().unwrap();
    assert_eq!(ask(base, "noted", 0), 1234);
    base.close().unwrap();
}

/// A jump of the base's over functions of a module that joined. Red if the walk knows return sites of the domain's first module alone.
#[test]
fn jumps_lead_through_all_modules_of_a_domain() {
    let source = "#include <setjmp.h>
        static jmp_buf place;
        static long (*function)(long);
        void set_function(long (*given)(long)) { function = given; }
        void leave(void) { longjmp(place, 40); }
        long guarded(long x) { int landed = setjmp(place); return landed ? landed + 1 : function(x); }";
    let base = File::new("base.so", base_guest(source));
    let deeper = "void leave(void), set_function(long (*)(long));
        __attribute__((noinline)) static long deeper(long x) { if (x) return deeper(x - 1) + 1; leave(); return 0; }
        long give(long unused) { set_function(deeper); return 0; }";
    let path = base.beside("deeper.so", joining_guest(deeper, &[&base.path]));
    let (library, place) = (base.open(), path);
    let joined = open_into(&place, library);
    ask(joined, "give", 0);
    for depth in [0, 1, 50] {
        assert_eq!(ask(library, "guarded", depth), 41, "{depth}");
    }
    for library in [joined, library] {
        library.close().unwrap();
    }
}

/// Constructors and destructors of modules that join wait for their turn in an exclusive domain no longer than the library's timeout, and
/// what is in progress there is not theirs to end.
#[test]
fn modules_join_and_leave_a_busy_exclusive_base_in_time() {
    let _watchdog = crate::common::watchdog("an exclusive base that is joined while it is busy");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);
    extern "C" fn stay() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        while !GO_ON.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        7
    }
    dl::provide(service("long stay_in_base(void)", stay as *const ()));
    let source =
        format!("{BASE}\nlong stay_in_base(void);\nlong busy(long unused) {{ return stay_in_base(); }}");
    let base = File::new("base.so", base_guest(&source).gate("long stay_in_base(void)"));
    let alpha = base.beside("alpha.so", joining_guest(ALPHA, &[&base.path]));
    let copy = base.path.with_file_name("copy.so");
    std::fs::copy(&alpha, &copy).unwrap();
    let options = Options::default()
        .timeout(std::time::Duration::from_millis(100))
        .domain(lockgate::DomainOptions::new().exclusive(None));
    let library = base.open_with(Mode::NOW, &options);
    let joined = Library::open(&alpha, Mode::NOW, &options.clone().into(library)).unwrap();
    let busy = library.function("busy").unwrap() as usize;
    let inside = std::thread::spawn(move || call(busy as *const (), 0));
    while !INSIDE.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let refused = Library::open(&copy, Mode::NOW, &options.clone().into(library)).unwrap_err().to_string();
    assert!(refused.contains("base.so takes one caller at a time and was busy"), "{refused}");
    joined.close().unwrap();
    let failure = dl::take_failure().expect("its destructors did not run").to_string();
    assert!(failure.starts_with("alpha.so") && failure.contains("was busy"), "{failure}");
    GO_ON.store(true, Ordering::SeqCst);
    assert_eq!(inside.join().unwrap(), 7);
    library.close().unwrap();
}

/// What is in progress, and what comes later, in a module that was closed while its domain goes on.
#[test]
fn what_was_closed_is_named_as_that() {
    let _watchdog = crate::common::watchdog("a module that is closed while it is busy");
    static INSIDE: AtomicBool = AtomicBool::new(false);
    extern "C" fn arrived() -> i64 {
        INSIDE.store(true, Ordering::SeqCst);
        0
    }
    dl::provide(service("long arrived_joined(void)", arrived as *const ()));
    let files = files();
    let source = "long arrived_joined(void);\nlong spin(long unused) { arrived_joined(); for (;;) __asm__ volatile(\"\"); }";
    let guest = joining_guest(source, &[&files.base.path]).gate("long arrived_joined(void)");
    let path = files.base.beside("spinning.so", guest);
    let base = files.base.open();
    let joined = open_into(&path, base);
    let spin = joined.function("spin").unwrap() as usize;
    let inside = std::thread::spawn(move || {
        (call(spin as *const (), 0), errno(), dl::take_failure().expect("it ended").to_string())
    });
    while !INSIDE.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    joined.close().unwrap();
    let (value, number, failure) = inside.join().unwrap();
    assert_eq!((value, number), (-1, libc::ECANCELED), "{failure}");
    assert!(failure.contains("the library was closed during the call"), "{failure}");
    assert_eq!((call(spin as *const (), 0), errno()), (-1, libc::ESTALE));
    let failure = dl::take_failure().expect("a stale pointer").to_string();
    assert!(failure.contains("spinning.so was closed"), "{failure}");
    base.close().unwrap();
}

/// One unwinder serves all modules of a domain: it knows the tables of what joins. Red without `__lg_add_frames` in `start/join.c`.
#[test]
fn unwinding_goes_through_modules_that_joined() {
    const UNWINDS: &str = r#"
#include <setjmp.h>
#include <unwind.h>
static jmp_buf back;
static struct _Unwind_Exception exception;
static long cleaned;
void clean(void) { cleaned++; }
static _Unwind_Reason_Code stop(int version, _Unwind_Action action, _Unwind_Exception_Class kind,
                                struct _Unwind_Exception *unwound, struct _Unwind_Context *context, void *argument) {
    if (action & _UA_END_OF_STACK) longjmp(back, 1);
    return _URC_NO_REASON;
}
long unwind(long x) { _Unwind_ForcedUnwind(&exception, stop, 0); return x; }
static long (*function)(long);
void set_function(long (*given)(long)) { function = given; }
long apply(long x) {
    cleaned = 0;
    if (setjmp(back)) return 100 + cleaned;
    return function(x);
}
"#;
    const PASSED: &str = r#"
void clean(void), set_function(long (*)(long));
long unwind(long);
static void done(int *unused) { clean(); }
__attribute__((noinline)) static long middle(long depth) {
    __attribute__((cleanup(done))) int guarded = 0;
    return (depth ? middle(depth - 1) : unwind(depth)) + guarded;
}
long give(long unused) { set_function(middle); return 0; }
"#;
    let base = File::new("base.so", base_guest(UNWINDS));
    let flags = ["-O2", "-g", "-fPIC", "-fexceptions", "-fno-optimize-sibling-calls"];
    let passed = base.beside("passed.so", Guest::c_with(PASSED, &flags).join(&[&base.path]));
    let library = base.open();
    let passed = open_into(&passed, library);
    ask(passed, "give", 0);
    assert_eq!(ask(library, "apply", 4), 105);
    passed.close().unwrap();
    library.close().unwrap();
}

/// A base has all of the C++ library: what joins uses its classes, streams and exceptions, which pass in both directions. Red where `link.rs`
/// exports libc's symbols alone.
#[test]
fn exceptions_of_cxx_pass_between_modules() {
    const SHOP: &str = r#"
#include <sstream>
#include <stdexcept>
#include <string>
struct Closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Till {
    long sum = 10;
    virtual long pay(long amount);
    virtual ~Till();
};
void set_function(long (*given)(long));
"#;
    const BASE: &str = r#"
long Till::pay(long amount) {
    if (amount > sum) throw Closed("no money: " + std::to_string(amount));
    return sum -= amount;
}
Till::~Till() {}
static long (*function)(long);
void set_function(long (*given)(long)) { function = given; }
extern "C" long apply(long x) {
    try {
        return function(x);
    } catch (const std::logic_error &error) {
        return error.what() == std::string("more than five") ? -1 : -2;
    }
}
"#;
    const JOINED: &str = r#"
#include <map>
#include <memory>
static std::map<std::string, long> counts = {{"destroyed", 0}};
struct Twice : Till {
    long pay(long amount) override { return Till::pay(2 * amount); }
    ~Twice() { counts["destroyed"]++; }
};
extern "C" long visit(long amount) {
    std::ostringstream said;
    try {
        std::unique_ptr<Till> till(new Twice);
        said << till->pay(amount) << (dynamic_cast<Twice *>(till.get()) ? "" : " of another class");
    } catch (const Closed &closed) {
        said << closed.what();
    }
    return said.str() == "4" ? 4 : said.str() == "no money: 200" ? 200 : 0;
}
extern "C" long destroyed(long) { return counts["destroyed"]; }
static long limited(long x) {
    if (x > 5) throw std::out_of_range("more than five");
    return x;
}
extern "C" long give(long) { set_function(limited); return 0; }
extern "C" long uncaught(long amount) { return Twice().pay(amount); }
"#;
    let flags = ["-O2", "-g1", "-fPIC", "-fno-semantic-interposition"];
    let guest = |source: &str| Guest::cxx(&format!("{SHOP}{source}"), &flags);
    let Some(base) = guest(BASE) else { return };
    let base = File::new("base.so", base.base());
    let joined = base.beside("joined.so", guest(JOINED).expect("a compiler").join(&[&base.path]));
    let library = base.open();
    let joined = open_into(&joined, library);
    assert_eq!(ask(joined, "visit", 3), 4);
    assert_eq!(ask(joined, "visit", 100), 200, "the base's exception is caught");
    assert_eq!(ask(joined, "destroyed", 0), 2);
    let seven = guest("extern \"C\" long seven(long) { return 7; }").expect("a compiler");
    let other = base.beside("other.so", seven.join(&[&base.path]));
    for _ in 0..=lockgate_abi::window::JOINED {
        let other = open_into(&other, library);
        assert_eq!(ask(other, "seven", 0), 7);
        assert_eq!(ask(joined, "visit", 100), 200, "whatever else has joined, and joins again");
        other.close().unwrap();
    }
    let late = base.beside("late.so", guest(JOINED).expect("a compiler").join(&[&base.path]));
    let late = open_into(&late, library);
    assert_eq!(ask(late, "visit", 100), 200, "however many have joined again");
    late.close().unwrap();
    ask(joined, "give", 0);
    assert_eq!(ask(library, "apply", 5), 5);
    assert_eq!(ask(library, "apply", 6), -1, "the base catches");
    assert_eq!(ask(joined, "uncaught", 100), -1);
    let failure = dl::take_failure().expect("an uncaught exception").to_string();
    assert!(failure.contains("an uncaught exception: Closed: no money: 200"), "{failure}");
}
