//! Exceptions inside a domain, and what they cannot do to anybody else. (What programs see of them: `crates/lockgate-cli/tests/cxx`.)

use crate::common::Guest;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module, OnFailure, Policy};
use std::sync::mpsc::channel;
use std::time::Duration;

const SOURCE: &str = r#"
volatile int sink;
struct Counted { ~Counted() { sink++; } };
__attribute__((noinline)) static int deep(int n) {
    Counted counted;
    volatile char room[n + 1];
    room[n] = n;
    if (n == 0) throw 5;
    return deep(n - 1) + room[n];
}
__attribute__((noinline)) static int never(int n) noexcept { return deep(n); }
extern "C" {
int host(int);
int go(int n) { try { return deep(n); } catch (int value) { return value + n; } }
int uncaught(int n) { return deep(n); }
int forbidden(int n) { try { return never(n); } catch (...) { return -1; } }
int around(int n) { try { return host(n); } catch (...) { return -7; } }
}
"#;

/// A domain in which `host` is `answer`.
fn guest() -> Option<Guest> {
    Guest::cxx(SOURCE, &["-O2", "-g1"]).map(|guest| guest.gate("int host(int)"))
}

fn start(file: &[u8], host: HostFunction) -> Result<Domain, lockgate::CreateError> {
    let module = Module::from_bytes(file).expect("a module that verifies");
    let options = DomainOptions::new().gate("host", host).time_limit(Duration::from_millis(200));
    Domain::new(&module, options)
}

fn no_host() -> HostFunction {
    HostFunction::new(|_: &Domain, _: i32| 0_i32)
}

/// Nothing that an exception meets lies beyond the call into the domain: not the host's frames, nor those of the call around it.
#[test]
fn an_exception_ends_at_the_call_into_the_domain() {
    let Some(guest) = guest() else { return };
    let file = guest.build();
    let (tell, told) = channel();
    let host = HostFunction::new(move |domain: &Domain, n: i32| -> i32 {
        let inner = domain.bind::<extern "C" fn(i32) -> i32>("uncaught").unwrap();
        tell.send(crate::common::in_time(|| inner.call(n))).unwrap();
        let caught = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
        crate::common::in_time(|| caught.call(n)).unwrap()
    });
    let domain = start(&file, host).unwrap();
    let around = domain.bind::<extern "C" fn(i32) -> i32>("around").unwrap();
    for n in [0, 1, 30] {
        let result = around.call(n);
        let CallError::Fault(fault) = told.recv().unwrap().unwrap_err() else { panic!("no fault") };
        assert_eq!(fault.kind(), FaultKind::Abort, "{fault:#}");
        // The place of the throw is in the report: nothing was unwound.
        let report = format!("{fault:#}");
        assert!(report.contains("deep") && report.contains("uncaught"), "{report}");
        match result {
            Ok(value) => assert_eq!(value, 5 + n),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What may not throw ends the call where it does.
#[test]
fn functions_that_may_not_throw_end_the_call() {
    let Some(guest) = guest() else { return };
    let domain = start(&guest.build(), no_host()).unwrap();
    let forbidden = domain.bind::<extern "C" fn(i32) -> i32>("forbidden").unwrap();
    let CallError::Fault(fault) = crate::common::in_time(|| forbidden.call(2)).unwrap_err() else {
        panic!("no fault")
    };
    assert_eq!(fault.kind(), FaultKind::Abort, "{fault:#}");
    assert!(format!("{fault:#}").contains("deep"), "{fault:#}");
}

/// Unwind tables are the module's own affair: whatever they hold, the call ends, and nobody else is harmed.
#[test]
fn damaged_tables_harm_the_domain_alone() {
    let Some(guest) = guest() else { return };
    let good = guest.build();
    let mut ended = [0; 2];
    for name in [".eh_frame_hdr", ".eh_frame", ".gcc_except_table"] {
        let (start_at, length) = section(&good, name);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..60 {
            let mut bad = good.clone();
            // The last rounds damage all of it.
            for _ in 0..(1 << (round / 6)) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bad[start_at + (random >> 33) as usize % length] = (random >> 24) as u8;
            }
            let Ok(domain) = start(&bad, no_host()) else { continue };
            let go = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
            for n in [0, 3, 40] {
                match go.call(n) {
                    Ok(_) => ended[0] += 1,
                    Err(CallError::Fault(_)) => {
                        ended[1] += 1;
                        break;
                    }
                    Err(error) => panic!("{name} {round}: {error}"),
                }
            }
        }
    }
    assert!(ended.iter().all(|&times| times > 20), "{ended:?}");
    // Another domain of the same process is as it was.
    let domain = start(&good, no_host()).unwrap();
    let go = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
    assert_eq!(crate::common::in_time(|| go.call(40)).unwrap(), 45);
}

/// Place and size in the file of a section.
fn section(file: &[u8], name: &str) -> (usize, usize) {
    use object::{Object as _, ObjectSection as _};
    let parsed = object::File::parse(file).unwrap();
    let (at, length) = parsed.section_by_name(name).unwrap().file_range().unwrap();
    (at as usize, length as usize)
}

/// What libraries of languages keep of a thread: C++'s own, and what Rust's std has (its name says what it is).
const KEPT: &str = r#"
#include <exception>
static __thread struct { long count; long hook; } panics __asm__("std11panic_count17LOCAL_PANIC_COUNT");
struct Endless { ~Endless() { for (;;) __asm__ volatile(""); } };
extern "C" {
long host(long);
long in_progress(long n) { return (std::current_exception() != nullptr) + 2 * std::uncaught_exceptions() + 10 * (panics.count + panics.hook); }
long hangs_in_a_catch(long n) { try { throw 5; } catch (int) { for (;;) __asm__ volatile(""); } return n; }
long hangs_in_a_destructor(long n) { try { Endless endless; throw 5; } catch (int) { return 1; } }
long panics_and_hangs(long n) { panics.count++, panics.hook = 1; for (;;) __asm__ volatile(""); return n; }
long panics_and_faults(long n) { panics.count++; __builtin_trap(); return n; }
long panics_and_asks(long n) { panics.count++; return host(n); }
/* In the midst of one, the host's function is called, and then what is in progress ends by itself. */
long panics_around(long n) { panics.count++; host(n); return panics.count--; }
long catches_around(long n) { try { throw 5; } catch (int) { host(n); return std::current_exception() != nullptr; } return 0; }
}
"#;

fn kept(host: impl Fn(&Domain, i64) -> i64 + Send + Sync + 'static) -> Option<Domain> {
    let guest = Guest::cxx(KEPT, &["-O2", "-g1"])?.gate("long host(long)");
    let host = HostFunction::new(move |domain: &Domain, n: i64| host(domain, n));
    Some(guest.domain_with(DomainOptions::new().gate("host", host).time_limit(Duration::from_millis(200))))
}

type Long = extern "C" fn(i64) -> i64;

fn ask(domain: &Domain, name: &str) -> Result<i64, CallError> {
    domain.bind::<Long>(name).expect("an export").call(1)
}

fn number(domain: &Domain, name: &str) -> i64 {
    crate::common::in_time(|| ask(domain, name)).expect("a number")
}

/// Runs `work` below a frame of this size, larger than those of any test.
#[inline(never)]
fn deeper(work: impl FnOnce()) {
    let frame = std::hint::black_box([0_u8; 16 << 10]);
    work();
    std::hint::black_box(&frame);
}

/// A call that is ended in the midst of an exception or a panic leaves its thread nothing of that. Red without `_lg_thread_mend`, or if a way for a
/// call to end has no mark.
#[test]
fn nothing_is_in_progress_behind_a_call_that_was_ended() {
    let host = |_: &Domain, _: i64| -> i64 {
        crate::common::host_sys::jump_out();
        0
    };
    let Some(domain) = kept(host) else { return };
    for name in ["hangs_in_a_catch", "hangs_in_a_destructor", "panics_and_hangs", "panics_and_faults"] {
        for _ in 0..3 {
            ask(&domain, name).expect_err(name);
            assert_eq!(number(&domain, "in_progress"), 0, "{name}");
        }
    }
    assert!(
        // From deeper than the next call: a call from deeper than one that was jumped out of counts as one inside it (rule R16).
        crate::common::host_sys::jumped_out(|| deeper(|| drop(ask(&domain, "panics_and_asks")))),
        "the host function jumps"
    );
    assert_eq!(number(&domain, "in_progress"), 0, "a jump");
    // Each thread has its own; the first thread's place is the next one's.
    let twice = || {
        ask(&domain, "panics_and_faults").expect_err("a fault");
        std::thread::scope(|scope| {
            let other = || {
                let before = number(&domain, "in_progress");
                ask(&domain, "panics_and_faults").expect_err("a fault");
                before
            };
            assert_eq!(scope.spawn(other).join().expect("a thread"), 0);
        });
        assert_eq!(number(&domain, "in_progress"), 0);
        ask(&domain, "panics_and_faults").expect_err("a fault");
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(twice).join().expect("a thread");
        }
    });
}

/// Calls of the same domain that go on further out keep what is in progress there; and what an inner one has left goes with them. Red if the
/// inner call's end is the end of everything.
#[test]
fn what_is_in_progress_further_out_goes_on() {
    let host = |domain: &Domain, _: i64| {
        ask(domain, "panics_and_faults").expect_err("a fault");
        number(domain, "in_progress")
    };
    let Some(domain) = kept(host) else { return };
    // Of the two that are in progress then the inner one is nobody's, but is counted as long as the outer one is.
    assert_eq!(number(&domain, "panics_around"), 2);
    assert_eq!(number(&domain, "in_progress"), 0);
    assert_eq!(number(&domain, "catches_around"), 1);
    assert_eq!(number(&domain, "in_progress"), 0);
}

/// A domain that calls another one, where that breaks off, has it mended in its next call. Red if only calls of the host's mend.
#[test]
fn what_a_call_between_domains_has_left_is_mended() {
    let Some(server) = kept(|_: &Domain, n: i64| n) else { return };
    let client = Guest::c(
        "long panics_and_faults(long), in_progress(long); long asks(long n) { panics_and_faults(n); return in_progress(n); }",
    );
    let client = client.gate("long panics_and_faults(long)").gate("long in_progress(long)").domain();
    for name in ["panics_and_faults", "in_progress"] {
        let signature = format!("long {name}(long)");
        client.link(name, &server, &signature, Policy::INTEGRITY, OnFailure::Return(7)).expect("a link");
    }
    for _ in 0..3 {
        assert_eq!(number(&client, "asks"), 0);
    }
}

/// An exception that one domain throws ends at the proxy of another's call, which has a `catch (...)` around it: that gets the error's value or ends
/// with it, and the exception is none of its own. Each side's own exceptions go on working.
#[test]
fn exceptions_end_between_domains() {
    const SERVER: &str = r#"
#include <stdexcept>
#include <string>
static long destroyed;
struct Held { ~Held() { destroyed++; } };
static __attribute__((noinline)) long deep(long n) {
    Held held;
    if (!n) throw std::out_of_range("thrown by the server");
    return deep(n - 1) + 1;
}
extern "C" long throws(long n) { return deep(n); }
extern "C" long catches(long n) {
    long before = destroyed;
    try { return deep(n); } catch (const std::out_of_range &) { return destroyed - before; }
}
"#;
    const CLIENT: &str = r#"
#include <exception>
extern "C" long throws(long), catches(long);
static long destroyed, caught;
struct Held { ~Held() { destroyed++; } };
extern "C" long calls(long n) {
    destroyed = caught = 0;
    long result;
    try { Held held; result = throws(n); } catch (...) { caught++; result = -1; }
    if (std::uncaught_exceptions() || std::current_exception()) return -2;
    return caught * 1000000 + destroyed * 1000 + result;
}
extern "C" long throws_itself(long n) {
    try { Held held; throw catches(n); } catch (long x) { return x; }
}
"#;
    let Some(server) = Guest::cxx(SERVER, &["-O2", "-g1"]) else { return };
    let Some(client) = Guest::cxx(CLIENT, &["-O2", "-g1"]) else { return };
    let server = server.domain_with(DomainOptions::new().name("server"));
    let (throws, catches) = ("long throws(long)", "long catches(long)");
    let file = client.gate(throws).gate(catches).build();
    let module = Module::from_bytes(&file).expect("a module");
    for failure in [OnFailure::Return(7), OnFailure::Propagate] {
        let client = Domain::new(&module, DomainOptions::new()).expect("a domain");
        client.link("throws", &server, throws, Policy::INTEGRITY, failure).expect("a link");
        client.link("catches", &server, catches, Policy::INTEGRITY, failure).expect("a link");
        for n in [0, 1, 30] {
            let call = |name| client.bind::<extern "C" fn(i64) -> i64>(name).expect("an export").call(n);
            match (failure, call("calls")) {
                (OnFailure::Return(_), found) => assert_eq!(found.expect("a value"), 1007),
                (_, found) => {
                    let report = format!("{:#}", found.expect_err("it ends, too"));
                    assert!(report.contains("out_of_range: thrown by the server"), "{report}");
                }
            }
            assert_eq!(call("throws_itself").expect("a value"), n + 1);
        }
    }
}

/// What mends is code of the module's, inside the call's limits, whatever it does. Red without a limit of its own.
#[test]
fn mending_ends_within_the_calls_limit() {
    let source =
        "static volatile long ended; void *__cxa_get_globals_fast(void) { while (ended) ; return 0; }
        long fails(long n) { ended = n; __builtin_trap(); } long works(long n) { return 5; }";
    let domain = Guest::c(source).domain_with(DomainOptions::new().time_limit(Duration::from_millis(50)));
    assert_eq!(number(&domain, "works"), 5);
    ask(&domain, "fails").expect_err("a fault");
    for _ in 0..3 {
        let error = ask(&domain, "works").expect_err("it is not mended");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::TimeOut, "{error}");
    }
}

const AROUND: &str = r#"
#include <time.h>
volatile int sink;
struct Counted { ~Counted() { sink++; } };
__attribute__((noinline)) static int fall(int n) { Counted counted; if (n == 0) throw 5; return fall(n - 1) + sink; }
__attribute__((noinline)) static long within(int around, int throws) {
    if (around > 0) { volatile long more = within(around - 1, throws); return more; }
    timespec begun, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    for (int n = 0; n < throws; n++) { try { fall(20); } catch (int value) { sink += value; } }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return (ended.tv_sec - begun.tv_sec) * 1000000000L + ended.tv_nsec - begun.tv_nsec;
}
extern "C" long throws(long around, long count) { return within(around, count); }
"#;

/// Each clean-up has the unwinder begin anew, and each time it asks for the functions up to its target, and for no others: what a throw costs does
/// not depend on how many functions are in progress around the one that catches. Red if it asks for all of them.
#[test]
fn what_goes_on_behind_a_clean_up_walks_to_its_target_only() {
    const THROWS: i64 = 200;
    let Some(guest) = Guest::cxx(AROUND, &["-O2", "-g1"]) else { return };
    let domain = guest.domain_with(DomainOptions::new().stack_size(8 << 20));
    let throws = domain.bind::<extern "C" fn(i64, i64) -> i64>("throws").expect("an export");
    // The least of several: others use the machine, too.
    let cost = |around| {
        let times = (0..5).map(|_| throws.call(around, THROWS).expect("a time"));
        times.min().expect("some times") / THROWS
    };
    let [alone, within] = [0, 20_000].map(cost);
    println!("{alone} ns a throw, {within} ns within 20,000 functions");
    assert!(within < 4 * alone, "{alone} ns a throw, {within} ns within 20,000 functions");
}
