//! Every fault of a domain is an error of the call, with a report; the host goes on.

use crate::common::Guest;
use lockgate::{Access, CallError, Domain, DomainOptions, FaultKind};
use std::time::{Duration, Instant};

const SOURCE: &str = r#"
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>
#include <string.h>
volatile int sink;
int fine(void) { return 7; }
void null_write(void) { *(volatile int *)8 = 1; }
void null_read(void) { sink = *(volatile int *)16; }
void null_call(void) { ((void (*)(void))0)(); }
void wild(void) { *(volatile char *)0x70000000 = 1; }
void constant(void) { *(volatile char *)"text" = 1; }
void code(void) { volatile long at = (long)fine; *(volatile char *)at = 1; }
void divide(void) { volatile int zero = 0; sink = sink / zero; }
void trap(void) { __builtin_trap(); }
void breakpoint(void) { __asm__ volatile("int3"); }
int deep(int n) { volatile char room[4096]; room[0] = n; return deep(n + 1) + room[0]; }
void top(void) { unsigned long at = 0xffffffff; __asm__("" : "+r"(at)); sink = *(volatile char *)at; }
void thin(void) { thin(); __asm__ volatile(""); }
void leave(int status) { exit(status); }
void give_up(void) { abort(); }
void own_signal(void) { raise(SIGTERM); }
void forever(void) { for (;;) sink++; }
void *volatile block;
void free_twice(void) { block = malloc(40); free(block); free(block); }
void free_within(void) { block = malloc(40); free((char *)block + 8); }
void starve(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
"#;

fn domain() -> Domain {
    Guest::c_with(SOURCE, &["-O1", "-g1", "-fno-optimize-sibling-calls"])
        .domain_with(DomainOptions::new().time_limit(Duration::from_millis(200)).memory_limit(16 << 20))
}

#[test]
fn every_kind_of_fault_is_an_error() {
    use FaultKind::*;
    let cases = [
        ("null_write", Segv, "write to a null pointer"),
        ("null_read", Segv, "read of a null pointer"),
        ("wild", Segv, "write to unmapped memory"),
        ("top", Segv, "read of unmapped memory"),
        ("constant", Segv, "write to read-only"),
        ("code", Segv, "write to read-only"),
        ("divide", Fpe, "division by zero"),
        ("trap", Ill, "illegal instruction"),
        ("deep", StackOverflow, "stack overflow"),
        ("thin", ControlStackOverflow, "recursion too deep"),
        ("give_up", Abort, "called abort"),
        ("free_twice", Abort, "free() of a block that was freed before"),
        ("free_within", Abort, "free() of an address that malloc() has not given"),
        ("own_signal", Signal(15), "sent itself signal 15"),
        ("forever", TimeOut, "time limit of 200ms"),
        ("starve", Quota, "memory limit"),
    ];
    let domain = domain();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    for (name, kind, reason) in cases {
        let function = domain.bind::<extern "C" fn()>(name).unwrap();
        let ended =
            if kind == TimeOut { function.call() } else { crate::common::in_time(|| function.call()) };
        let error = ended.expect_err(name);
        let fault = error.fault().unwrap_or_else(|| panic!("{name}: {error}"));
        assert_eq!(fault.kind(), kind, "{fault}");
        assert!(fault.reason().contains(reason), "{name}: {fault}");
        assert_eq!((fault.domain(), fault.entry_point()), ("guest", name));
        let location = fault.location().unwrap_or_else(|| panic!("{name}: {fault}"));
        assert!(location.function.is_some(), "{fault}");
        assert_eq!(crate::common::in_time(|| fine.call()).expect("the domain goes on"), 7, "after {name}");
    }
}

#[test]
fn reports_name_address_access_function_and_line() {
    let domain = domain();
    let null = domain.bind::<extern "C" fn()>("null_write").unwrap();
    let error = crate::common::in_time(|| null.call()).unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!((fault.address(), fault.access()), (Some(8), Some(Access::Write)));
    assert_eq!(fault.registers().rip - domain.base() - 0x20000, fault.instruction().unwrap());
    let text = error.to_string();
    let line = SOURCE.lines().position(|l| l.contains("null_write")).unwrap() + 1;
    assert!(text.contains("null_write") && text.contains(&format!("guest.c:{line}")), "{text}");
}

#[test]
fn exit_is_an_error_with_its_status() {
    let module = Guest::c(SOURCE).module();
    for status in [0, 3, 255] {
        let domain = Domain::new(&module, DomainOptions::new()).unwrap();
        let leave = domain.bind::<extern "C" fn(i32)>("leave").unwrap();
        let error = leave.call(status).unwrap_err();
        assert_eq!(error.fault().unwrap().kind(), FaultKind::Exit(status));
    }
}

#[test]
fn an_endless_call_is_stopped_within_ten_milliseconds_of_its_deadline() {
    let domain = domain();
    let forever = domain.bind::<extern "C" fn()>("forever").unwrap();
    // The machine may be busy: all are stopped, and one of some as soon as that.
    let mut late = (0..50).map(|_| {
        let start = Instant::now();
        assert_eq!(forever.call().unwrap_err().fault().unwrap().kind(), FaultKind::TimeOut);
        start.elapsed().checked_sub(Duration::from_millis(200)).expect("not before the deadline")
    });
    assert!(late.any(|late| late < Duration::from_millis(10)), "none was stopped as soon as that");
}

/// A million would take a second more; what leaks shows in a fraction of that. In a process of its own: other tests
/// map memory, too.
#[test]
fn faults_do_not_leak() {
    let output = crate::common::in_child("faults::child_counts_leaks");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by faults_do_not_leak"]
fn child_counts_leaks() {
    let domain = domain();
    let null = domain.bind::<extern "C" fn()>("null_write").unwrap();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let run = |times| (0..times).for_each(|_| assert!(matches!(null.call(), Err(CallError::Fault(_)))));
    run(10_000);
    let before = (resident(), mappings());
    run(1_000_000);
    let after = (resident(), mappings());
    assert!(after.0 < before.0 + (1 << 20), "memory grew from {} to {} bytes", before.0, after.0);
    assert!(after.1 <= before.1 + 2, "mappings grew from {} to {}", before.1, after.1);
}

#[test]
fn a_killed_domain_stops_and_stays_stopped() {
    let domain = std::sync::Arc::new(Guest::c(SOURCE).domain());
    let forever = domain.bind::<extern "C" fn()>("forever").unwrap();
    let killer = domain.clone();
    let started = std::sync::Arc::new(std::sync::Barrier::new(2));
    let barrier = started.clone();
    let thread = std::thread::spawn(move || {
        barrier.wait();
        match forever.call().unwrap_err() {
            CallError::Killed(_) => FaultKind::Killed,
            error => error.fault().unwrap_or_else(|| panic!("{error}")).kind(),
        }
    });
    started.wait();
    // Whether the kill comes before or after the entry, the call ends.
    killer.kill();
    assert_eq!(thread.join().unwrap(), FaultKind::Killed);
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    assert!(matches!(fine.call(), Err(CallError::Killed(_))));
}

/// A limited domain inside one without a limit; and the limit of the outer one when the inner one loops.
#[test]
fn limits_hold_in_nested_calls() {
    let limit = Duration::from_millis(100);
    let outer_source =
        "extern int host(void); int ask(void) { return host(); } int loop_after(void) { host(); for (;;) ; }";
    for (inner_limit, outer_limit) in [(Some(limit), None), (None, Some(limit)), (Some(limit), Some(limit))] {
        let options = |limit: Option<Duration>| match limit {
            Some(limit) => DomainOptions::new().time_limit(limit),
            None => DomainOptions::new(),
        };
        let inner = Guest::c(SOURCE).domain_with(options(inner_limit));
        let forever = inner.bind::<extern "C" fn()>("forever").unwrap();
        let host = lockgate::HostFunction::new(move |_: &Domain| -> i32 {
            let kind = forever.call().unwrap_err().fault().unwrap().kind();
            assert_eq!(kind, FaultKind::TimeOut);
            7
        });
        let outer = Guest::c(outer_source)
            .gate("int host(void)")
            .domain_with(options(outer_limit).gate("host", host));
        let ask = outer.bind::<extern "C" fn() -> i32>("ask").unwrap();
        match ask.call() {
            Ok(value) => assert!(value == 7 && outer_limit.is_none()),
            Err(error) => {
                assert!(outer_limit.is_some(), "{error}");
                assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut);
            }
        }
    }
}

/// A module leaves any amount of its stack, and calls the host, which calls it again with arguments on the stack, or for a result in
/// memory: what does not fit ends that call. Were it copied on the host's account, the host would end.
#[test]
fn arguments_for_which_the_callee_has_no_room_end_the_call() {
    let guest = Guest::c_with(
        "long back(void);
         long wide(long a, long b, long c, long d, long e, long f, long g, long h) { return g + h; }
         struct big { long v[40]; };
         struct big make(long x) { return (struct big){{x}}; }
         __attribute__((noinline)) long deep(long left) { volatile char room[24]; room[0] = 1; return (left ? deep(left - 1) : back()) + room[0] - 1; }",
        &["-O1", "-g", "-fno-optimize-sibling-calls"],
    );
    let module = guest.gate("long back(void)").module();
    type Wide = lockgate::Dynamic;
    let made: std::sync::Arc<std::sync::OnceLock<(Wide, Wide)>> = Default::default();
    let functions = made.clone();
    // Data and return addresses lie at the same distance from their stacks' ends: either may come first.
    let is_overflow = |error: &CallError| {
        use FaultKind::{ControlStackOverflow, StackOverflow};
        error.fault().is_some_and(|fault| matches!(fault.kind(), StackOverflow | ControlStackOverflow))
    };
    let back = lockgate::HostFunction::new(move |_: &Domain| {
        let (wide, make) = functions.get().expect("bound");
        let ones = vec![lockgate::Value::Signed(1); 8];
        for result in [wide.call(&ones), make.call(&ones[..1])] {
            assert!(result.as_ref().err().is_none_or(is_overflow), "{result:?}");
        }
        2_i64
    });
    let domain = Domain::new(&module, DomainOptions::new().stack_size(64 << 10).gate("back", back)).unwrap();
    let wide = "long wide(long, long, long, long, long, long, long, long)";
    let make = "struct { long v[40]; } make(long)";
    let bound = (domain.bind_dynamic(wide).unwrap(), domain.bind_dynamic(make).unwrap());
    assert!(made.set(bound).is_ok());
    let deep = domain.bind::<extern "C" fn(i64) -> i64>("deep").unwrap();
    let first = (1..4000).find(|left| match deep.call(*left) {
        Ok(result) => {
            assert_eq!(result, 2, "{left}");
            false
        }
        Err(error) => {
            assert!(is_overflow(&error), "{left}: {error}");
            true
        }
    });
    assert!(first.is_some_and(|left| left > 300), "{first:?}: every depth was tried");
}
