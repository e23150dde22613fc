//! Contexts (`<ucontext.h>`, docs/returns.md): what programs do with them, and what nobody may do with them. Walks, returns and limits
//! that hold within a call hold within each of its contexts.

use crate::common::host_sys::{
    exit_now, fork_here, install_raw_handler, signal_storm, thread_exit, wait_for,
};
use crate::common::{Guest, in_time, started, watchdog};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Function, HostFunction, Module, Policy, Pool};
use lockgate_abi::{context, stack};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex};
use std::time::Duration;

type Long = extern "C" fn(i64) -> i64;
type Longs = extern "C" fn(i64, i64) -> i64;

/// `make(i, what)` makes context i, `next(i)` runs it until it yields a value. Each thread has its own way back.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define COUNT 64
#define STACK 32768
#define FAR __attribute__((noinline, noclone))
long host(long);
static ucontext_t of[COUNT], stale, kept;
static char stacks[COUNT][STACK];
static __thread ucontext_t *back;
static __thread long value;
static ucontext_t link;
static unsigned long bound[COUNT];

FAR static void yield(long i, long v) { value = v; swapcontext(&of[i], back); }
FAR static long deep(long i, long n) { volatile long own[9]; own[n % 9] = n; if (n) return deep(i, n - 1) + own[n % 9]; yield(i, 7); return 0; }
static void counts(long i) { for (long n = 1;; n++) yield(i, n); }
static void digs(long i) { for (long n = 0;; n++) yield(i, deep(i, n % 30)); }
static void crashes(long i) { yield(i, 1); *(volatile int *)0x8000 = 1; yield(i, 2); }
static void spins(long i) { for (volatile int n = 0;; n++); }
static void asks(long i) { for (long n = i;;) { yield(i, n); ucontext_t *own = back; n = host(n); back = own; } }
static void ends(long i) { value = 40 + i; }
static jmp_buf place;
FAR static void leave(long n) { if (n) leave(n - 1); else longjmp(place, 5); __asm__ volatile(""); }
static void jumps(long i) { for (;;) { jmp_buf own; memcpy(&own, &place, sizeof own); if (!setjmp(place)) leave(9); else yield(i, 5); } }
static void sets(long i) { if (!setjmp(place)) yield(i, 1); yield(i, 2); }
static void leaves(long i) { leave(9); }
static void overflows(long i) { volatile char room[1 << 20]; room[i] = 1; yield(i, room[i]); }
static void recurses(long i) { deep(i, 1 << 20); }
static void fills(long i) { volatile char room[20000]; for (unsigned n = 0; n < sizeof room; n++) room[n] = 0x5a; yield(i, room[9]); }
static void finds(long i) { volatile char room[20000]; long all = 0; for (unsigned n = 0; n < sizeof room; n++) all += room[n] == 0x5a; yield(i, all); }
int backtrace(void **, int);
FAR static long trace(long n) { void *seen[60]; if (n) return trace(n - 1) + 0 * n; return backtrace(seen, 60) + 0 * n; }
static void traces(long i) { for (long n = 0;; n++) yield(i, trace(n)); }
static void holds(long i) { volatile unsigned long own = ~bound[i]; bound[i] = 0; yield(i, 1); yield(i, own != 0); }
static void (*const bodies[])(long) = {counts, digs, crashes, spins, asks, ends, jumps, sets, leaves, overflows, recurses, fills, finds, traces, holds};

static void prepare(long i, long what, long size) {
    getcontext(&of[i]);
    of[i].uc_stack.ss_sp = stacks[i];
    of[i].uc_stack.ss_size = size;
    of[i].uc_link = &link;
    makecontext(&of[i], (void (*)(void))bodies[what], 1, i);
}
long make(long i, long what) { prepare(i, what, STACK); return 0; }
/* Nobody looks at the memory. */
long make_large(long i, long size) {
    getcontext(&of[i]);
    of[i].uc_stack.ss_sp = (void *)(i << 28);
    of[i].uc_stack.ss_size = size;
    makecontext(&of[i], (void (*)(void))counts, 1, i);
    return 0;
}
/* Nor at this one's, which ends with its first run. */
long next(long i);
long end_large(long i, long size) {
    getcontext(&of[i]);
    of[i].uc_stack.ss_sp = (void *)(i << 28);
    of[i].uc_stack.ss_size = size;
    of[i].uc_link = &link;
    makecontext(&of[i], (void (*)(void))ends, 1, i);
    return next(i);
}
long make_unlinked(long i, long what) { prepare(i, what, STACK); of[i].uc_link = 0; makecontext(&of[i], (void (*)(void))bodies[what], 1, i); return 0; }
/* Where a context's function returns to: this very call. */
long next(long i) {
    ucontext_t own;
    volatile int came = 0;
    getcontext(&link);
    if (came++) return value;
    back = &own;
    if (swapcontext(&own, &of[i])) return -errno;
    return value;
}
/* Without a link: of the thread's own alone. */
long run(long i) {
    ucontext_t own;
    back = &own;
    if (swapcontext(&own, &of[i])) return -errno;
    return value;
}
long sum(long i, long n) { long all = 0; for (; n; n--) all += run(i); return all; }
long forever(long i, long j) { for (;;) { run(i); run(j); } }
long go(long i) { setcontext(&of[i]); return -errno; }
long copy(long i) { stale = of[i]; return 0; }
long again(long i) { of[i] = stale; return run(i); }
/* The way back that this call leaves to others. */
long keep(long i) { back = &kept; if (swapcontext(&kept, &of[i])) return -errno; return value; }
long to_kept(long i) { return setcontext(&kept); }
long run_back_to_kept(long i) { ucontext_t own; back = &kept; if (swapcontext(&own, &of[i])) return -errno; return value; }
long from_host(long i) { return host(i); }
long set(long i) { return setjmp(place) ? 77 : 1; }
long set_and_run(long i) { return setjmp(place) ? 77 : run(i); }
long jump(long i) { leave(3); return i; }
/* As a collector does (docs/code-model.md, "Contexts"): whether something that waits in a context's frames has the complement of `value`. */
long held(long i, long value) {
    unsigned long at = of[i].uc_mcontext.gregs[REG_RSP], end = (at | 0xffffff) - 0x3ffff;
    for (const unsigned long *word = (void *)(at & -8UL); word < (const unsigned long *)end; word++)
        if (*word == ~(unsigned long)value) return 1;
    return 0;
}
long bind(long i, long value) { bound[i] = value; return 0; }
long word(long i) { return *(unsigned long *)&of[i]; }
long forge(long i, long word) { *(unsigned long *)&of[i] = word; return run(i); }
"#;

const COUNTS: i64 = 0;
const DIGS: i64 = 1;
const CRASHES: i64 = 2;
const SPINS: i64 = 3;
const ASKS: i64 = 4;
const ENDS: i64 = 5;
const JUMPS: i64 = 6;
const SETS: i64 = 7;
const LEAVES: i64 = 8;
const OVERFLOWS: i64 = 9;
const RECURSES: i64 = 10;
const FILLS: i64 = 11;
const FINDS: i64 = 12;
const TRACES: i64 = 13;
const HOLDS: i64 = 14;

fn module() -> &'static Arc<Module> {
    static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| {
        Guest::c_with(SOURCE, &["-O1", "-g", "-fno-omit-frame-pointer"]).gate("long host(long)").module()
    });
    &MODULE
}

fn options() -> DomainOptions {
    DomainOptions::new().name("guest").gate("host", HostFunction::new(|_: &Domain, n: i64| n + 1))
}

/// A domain's functions.
struct Calls {
    domain: Domain,
}

impl Calls {
    fn new() -> Calls {
        Calls::with(options())
    }

    fn with(options: DomainOptions) -> Calls {
        Calls { domain: started(module(), options) }
    }

    fn bind(&self, name: &str) -> Function<Long> {
        self.domain.bind::<Long>(name).expect("an export")
    }

    fn one(&self, name: &str, argument: i64) -> Result<i64, CallError> {
        self.bind(name).call(argument)
    }

    fn two(&self, name: &str, first: i64, second: i64) -> Result<i64, CallError> {
        self.domain.bind::<Longs>(name).expect("an export").call(first, second)
    }

    fn make(&self, number: i64, what: i64) {
        assert_eq!(self.two("make", number, what).unwrap(), 0);
    }

    fn run(&self, number: i64) -> i64 {
        self.one("run", number).unwrap()
    }
}

/// A call ended by a fault with this in its reason.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, CallError>, reason: &str) {
    let error = result.expect_err(reason);
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert!(fault.reason().contains(reason), "{} instead of {reason:?}", fault.reason());
}

const GONE: &str = "has gone on or ended since, or never was one";
const RUNS: &str = "is running, waits for the host, or ended with the call that ran it";
const FRAMES: &str = "to functions of another call of the domain";

#[test]
fn sixty_contexts_take_turns_over_many_calls() {
    let calls = Calls::new();
    for i in 0..60 {
        calls.make(i, if i % 2 == 0 { COUNTS } else { DIGS });
    }
    let deep = |n: i64| (1..=n % 30).sum::<i64>();
    for round in 1..=70 {
        for i in 0..60 {
            // Digging ones give a 7 from the depth, then what all functions on the way add up to.
            let expected = match (i % 2, round % 2) {
                (0, _) => round,
                (_, 1) => 7,
                _ => deep(round / 2 - 1),
            };
            assert_eq!(calls.run(i), expected, "context {i}, round {round}");
        }
    }
    assert_eq!(calls.two("sum", 0, 1000).unwrap(), (71..=1070).sum::<i64>());
}

#[test]
fn a_function_that_returns_goes_on_at_the_link() {
    let calls = Calls::new();
    // More of them than there are slots: those of contexts that are over are used again.
    for i in 0..200 {
        calls.make(i % 64, ENDS);
        assert_eq!(calls.one("next", i % 64).unwrap(), 40 + i % 64);
        refused(calls.one("run", i % 64), GONE);
    }
}

#[test]
fn a_function_that_returns_to_nowhere_ends_the_call() {
    let calls = Calls::new();
    calls.make(0, COUNTS);
    calls.two("make_unlinked", 1, ENDS).unwrap();
    refused(calls.one("run", 1), "the function of a context returned, and its uc_link is null");
    assert_eq!(calls.run(0), 1);
}

/// A domain of assembly that knows the numbers of requests, and CALL, that of the call that makes them.
fn assembly(source: &str) -> Domain {
    let [create, switch, call] = [context::CREATE, context::SWITCH, context::CALL];
    Guest::assembly(&format!(".set CREATE,{create}\n.set SWITCH,{switch}\n.set CALL,{call}\n{source}"))
        .domain()
}

/// The library's own start of a context never returns; another one may, and finds a word there that leads nowhere.
#[test]
fn a_context_does_not_return_from_its_call() {
    let domain = assembly(
        "function start
            mov $1,%eax
            ret
        # huge(start, size)
        function huge
            mov %rdi,%rdx
            mov %rsi,%rcx
            lea start(%rip),%rsi
            mov $CREATE,%edi
            mov $CALL,%eax
            call *%gs:0x11000
            ret
        function not_a_label
            lea start(%rip),%rsi
            lea 4(%rsi),%rsi
            jmp create
        function attack
            lea start(%rip),%rsi
        create:
            lea -8(%rsp),%rsp
            mov $CREATE,%edi
            xor %edx,%edx
            mov $0x1000,%ecx
            mov $CALL,%eax
            call *%gs:0x11000
            test %rax,%rax
            js 1f
            mov %rax,%rsi
            mov $SWITCH,%edi
            mov $CALL,%eax
            call *%gs:0x11000
        1:  lea 8(%rsp),%rsp
            ret
        # request(kind, word)
        function request
            mov $CALL,%eax
            call *%gs:0x11000
            ret",
    );
    let attack = domain.bind::<extern "C" fn() -> i64>("attack").unwrap();
    for _ in 0..100 {
        refused(attack.call(), "the function that a context began with returned");
    }
    let no_label = domain.bind::<extern "C" fn() -> i64>("not_a_label").unwrap();
    assert_eq!(no_label.call().unwrap(), -22);
    let huge = domain.bind::<Longs>("huge").unwrap();
    for (start, size, refusal) in
        [(0, -1, -12), (0x1000, -0x1001, -12), (0x1000, -0x1000, -22), (-1, 1, -22), (0, 16 << 20, -12)]
    {
        assert_eq!(huge.call(start, size).unwrap(), refusal, "{size:#x} bytes at {start:#x}");
    }
    let request = domain.bind::<Longs>("request").unwrap();
    assert_eq!(request.call(context::SELF as i64, 0).unwrap(), 0);
    assert_eq!(request.call(99, 0).unwrap(), -22);
    assert_eq!(request.call(context::CREATE as i64, 0).unwrap(), -22);
    refused(request.call(context::END as i64, 0), "uc_link is null");
}

/// What the runtime's own code leaves in registers is nothing for the module, even if the host trusts it. Red if the gate does not clear them.
#[test]
fn a_switch_leaves_nothing_of_the_hosts_in_registers() {
    let clear: String = (0..16).map(|number| format!("por %xmm{number},%xmm0\n")).collect();
    let domain = assembly(&format!(
        "function start
            lea -8(%rsp),%rsp
        1:  mov %rax,%rsi
            mov $SWITCH,%edi
            mov $CALL,%eax
            call *%gs:0x11000
            jmp 1b
        # ask(what, word): all that lies in registers afterwards, ored
        function ask
            mov $0x10000,%edx
            mov $0x10000,%ecx
            test %rsi,%rsi
            jne 1f
            lea start(%rip),%rsi
        1:  mov $CALL,%eax
            call *%gs:0x11000
            {clear}
            movq %xmm0,%rax
            punpckhqdq %xmm0,%xmm0
            or %rcx,%rax
            movq %xmm0,%rcx
            or %rcx,%rax
            or %rdx,%rax
            or %rsi,%rax
            or %r8,%rax
            or %r9,%rax
            or %r10,%rax
            or %r11,%rax
            ret
        # make: the word of a context
        function make
            mov $CREATE,%edi
            lea start(%rip),%rsi
            mov $0x10000,%edx
            mov $0x10000,%ecx
            mov $CALL,%eax
            call *%gs:0x11000
            ret"
    ));
    let ask = domain.bind_with::<Longs>("ask", Policy::MUTUAL_TRUST).unwrap();
    let word = domain.bind::<extern "C" fn() -> i64>("make").unwrap().call().unwrap();
    for (what, word) in [(context::SELF, 0), (context::SWITCH, word), (99, 0), (context::CREATE, 0)] {
        assert_eq!(ask.call(what as i64, word).unwrap(), 0, "request {what}");
    }
}

/// As a collector does, by what docs/code-model.md says: what waits in the frames of a context is found, and only while it waits.
#[test]
fn what_a_suspended_context_holds_can_be_found() {
    let calls = Calls::new();
    let held = |number, value| calls.two("held", number, value).unwrap();
    for number in 0..20 {
        calls.two("bind", number, 0x1234_5678_9abc + number).unwrap();
        calls.make(number, HOLDS);
        assert_eq!(calls.run(number), 1);
    }
    for number in 0..20 {
        let value = 0x1234_5678_9abc + number;
        assert_eq!((held(number, value), held((number + 1) % 20, value)), (1, 0), "context {number}");
    }
}

/// Words say nothing that the runtime does not know better.
#[test]
fn forged_words_lead_nowhere() {
    let calls = Calls::new();
    for i in 0..3 {
        calls.make(i, COUNTS);
        calls.run(i);
    }
    let known: Vec<u64> = (0..3).map(|i| calls.one("word", i).unwrap() as u64).collect();
    for slot in (0..1 << context::SLOT_BITS).chain([u64::MAX]) {
        // (What makecontext writes that has found no stack is nobody's word, and no switch.)
        for number in [100, 1 << 40, u64::MAX >> context::SLOT_BITS] {
            let word = number << context::SLOT_BITS | slot & 0xff;
            if !known.contains(&word) && word != u64::MAX {
                let error = calls.two("forge", 10, word as i64).expect_err("a forged word");
                let reason = error.fault().expect("a fault").reason().to_owned();
                assert!(reason.contains(GONE) || reason.contains(FRAMES), "{word:#x}: {reason}");
            }
        }
    }
    for i in 0..3 {
        assert_eq!(calls.run(i), 2);
    }
}

/// A word is for one switch. Red if the number of the suspension is not compared.
#[test]
fn nobody_goes_back_to_where_a_context_has_gone_on_from() {
    let calls = Calls::new();
    calls.make(0, COUNTS);
    calls.one("copy", 0).unwrap();
    assert_eq!(calls.run(0), 1);
    refused(calls.one("again", 0), GONE);
    // (The copy has taken the place of the context's own word: it is lost.)
    calls.make(1, COUNTS);
    assert_eq!(calls.run(1), 1);
    calls.one("copy", 1).unwrap();
    assert_eq!((calls.run(1), calls.run(1)), (2, 3));
    refused(calls.one("again", 1), GONE);
}

/// The frames of a call are nobody's when it has ended, and no later call's. Red if the frames' number is not compared.
#[test]
fn nobody_goes_back_to_a_call_that_has_ended() {
    let calls = Calls::new();
    calls.make(0, COUNTS);
    assert_eq!(calls.one("keep", 0).unwrap(), 1);
    refused(calls.one("to_kept", 0), FRAMES);
    // From a context, too.
    refused(calls.one("run_back_to_kept", 0), FRAMES);
    calls.make(0, COUNTS);
    assert_eq!(calls.run(0), 1);
}

#[test]
fn a_fault_ends_its_context_and_leaves_the_others() {
    let calls = Calls::new();
    for round in 0..100 {
        if round == 0 {
            calls.make(0, COUNTS);
        }
        calls.make(1, CRASHES);
        assert_eq!((calls.run(0), calls.run(1)), (2 * round + 1, 1));
        let error = calls.one("run", 1).unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!(fault.kind(), FaultKind::Segv);
        // The frames are the context's: those of the call that runs it wait on another stack.
        let backtrace = fault.backtrace();
        let names: Vec<_> =
            backtrace.calls[0].frames.iter().filter_map(|f| f.place.function.clone()).collect();
        assert_eq!(names, ["crashes", "__lg_context_main", "__lg_context_begin"], "{backtrace}");
        assert!(backtrace.calls[0].complete, "{backtrace}");
        refused(calls.one("run", 1), RUNS);
        assert_eq!(calls.run(0), 2 * round + 2);
    }
}

#[test]
fn limits_and_kills_reach_contexts() {
    let calls = Calls::with(options().time_limit(Duration::from_millis(100)));
    let again = |name: &str, number| in_time(|| calls.one(name, number)).unwrap();
    for (i, what) in [(0, COUNTS), (1, COUNTS), (2, COUNTS)] {
        in_time(|| calls.two("make", i, what)).unwrap();
    }
    assert_eq!(again("run", 0), 1);
    let _watchdog = watchdog("a context without end");
    for _ in 0..3 {
        in_time(|| calls.two("make", 3, SPINS)).unwrap();
        let error = calls.one("run", 3).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
        // Switches without end.
        let error = calls.two("forever", 1, 2).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
        for i in [1, 2] {
            in_time(|| calls.two("make", i, COUNTS)).unwrap();
        }
    }
    assert_eq!(again("run", 0), 2);
    in_time(|| calls.two("make", 3, SPINS)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while calls.domain.usage().calls == 0 {
                std::thread::yield_now();
            }
            calls.domain.kill();
        });
        let error = calls.one("run", 3).unwrap_err();
        assert!(matches!(error, CallError::Killed(_)) || error.fault().is_some(), "{error}");
    });
}

#[test]
fn overflows_are_found_on_contexts() {
    let calls = Calls::new();
    for _ in 0..70 {
        calls.make(0, OVERFLOWS);
        let error = calls.one("run", 0).unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::StackOverflow), "{error}");
        calls.make(0, RECURSES);
        let error = calls.one("run", 0).unwrap_err();
        let kind = error.fault().map(|fault| fault.kind());
        assert!(matches!(kind, Some(FaultKind::StackOverflow | FaultKind::ControlStackOverflow)), "{error}");
    }
}

/// Red if they do not end with the context.
#[test]
fn backtraces_are_the_contexts() {
    let calls = Calls::new();
    for i in [0, 1] {
        calls.make(i, TRACES);
    }
    for depth in 0..20 {
        for i in [0, 1] {
            // The function, what it was begun by, and the library's two.
            assert_eq!(calls.run(i), depth + 4, "context {i}");
        }
    }
}

/// longjmp within a context; out of it, to another one or to the call's own frames: refused. Red if walks do not end with the context.
#[test]
fn jumps_stay_in_their_context() {
    let calls = Calls::new();
    calls.make(0, JUMPS);
    for _ in 0..10 {
        assert_eq!(calls.run(0), 5);
    }
    // From the call's own frames into a context, and the reverse, and from one to another.
    calls.make(1, SETS);
    assert_eq!(calls.run(1), 1);
    let other = "a jump (longjmp) to a function on another stack";
    refused(calls.one("jump", 0), other);
    calls.make(2, LEAVES);
    refused(calls.one("run", 2), other);
    calls.make(2, LEAVES);
    refused(calls.one("set_and_run", 2), other);
    assert_eq!(calls.run(1), 2);
}

/// A host function that a context waits for calls the domain again: that call runs other contexts, and gets neither to the one that waits nor to
/// frames that are not its own. Red without the state, or if frames are not looked up for the innermost call.
#[test]
fn nested_calls_switch_among_themselves() {
    static INNER: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let host = HostFunction::new(|domain: &Domain, n: i64| {
        let call = |name: &str, i: i64| domain.bind::<Long>(name).unwrap().call(i);
        let say = |result: Result<i64, CallError>| match result {
            Ok(value) => value.to_string(),
            Err(error) => error.fault().map_or_else(|| error.to_string(), |fault| fault.reason().to_owned()),
        };
        let mut inner = INNER.lock().unwrap();
        // Another context; the one that waits; the frames of the call that it is of.
        inner.extend([call("run", 1), call("go", 0), call("run", 0), call("to_kept", 0)].map(say));
        drop(inner);
        // New ones take no slot that is in use.
        for i in 10..64 {
            domain.bind::<Longs>("make").unwrap().call(i, DIGS).unwrap();
            assert_eq!(call("run", i).unwrap(), 7);
        }
        n + 1
    });
    let calls = Calls::with(DomainOptions::new().name("guest").gate("host", host));
    calls.make(0, ASKS);
    calls.make(1, COUNTS);
    assert_eq!(calls.run(1), 1);
    assert_eq!(calls.one("keep", 0).unwrap(), 0);
    for round in 1..=20 {
        assert_eq!(calls.one("keep", 0).unwrap(), round);
        let inner = std::mem::take(&mut *INNER.lock().unwrap());
        assert_eq!(inner[0], (round + 1).to_string());
        assert!(inner[1].contains(RUNS) || inner[1].contains(GONE), "{}", inner[1]);
        assert!(inner[2].contains(RUNS) || inner[2].contains(GONE), "{}", inner[2]);
        assert!(inner[3].contains(FRAMES), "{}", inner[3]);
    }
    assert_eq!(calls.run(1), 22);
    // A nested call that faults in a context of its own leaves the outer ones as they are.
    calls.make(2, CRASHES);
    assert_eq!(calls.one("keep", 0).unwrap(), 21);
}

/// Calls whose function of the host's says that it was entered, and waits until it may go on.
fn waiting_for_the_host() -> (Calls, Arc<Barrier>, Arc<Barrier>) {
    let (entered, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, over) = (entered.clone(), go_on.clone());
    let host = HostFunction::new(move |_: &Domain, n: i64| {
        inside.wait();
        over.wait();
        n + 1
    });
    let calls = Calls::with(DomainOptions::new().name("guest").gate("host", host));
    (calls, entered, go_on)
}

/// Contexts that wait for the host are not to be had by their life's word, either, which getcontext gives. Red if only suspensions have
/// numbers.
#[test]
fn a_context_that_waits_for_the_host_runs() {
    let _watchdog = watchdog("a context on two threads");
    let (calls, entered, go_on) = waiting_for_the_host();
    calls.make(0, ASKS);
    assert_eq!(calls.run(0), 0);
    calls.one("copy", 0).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| calls.run(0));
        entered.wait();
        let error = calls.one("again", 0).unwrap_err();
        assert!(error.fault().unwrap().reason().contains(RUNS), "{error}");
        go_on.wait();
        // Its own word was overwritten by the copy, and then by its own switch again.
        assert_eq!(waits.join().unwrap(), 1);
    });
}

/// Red if contexts are taken without compare-and-swap.
#[test]
fn of_two_threads_one_gets_a_context() {
    const ROUNDS: usize = 3000;
    let calls = Calls::new();
    calls.make(0, COUNTS);
    assert_eq!(calls.run(0), 1);
    let (begin, best, lost) = (Barrier::new(3), AtomicI64::new(1), AtomicU64::new(0));
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let run = calls.bind("run");
                begin.wait();
                for _ in 0..ROUNDS {
                    match run.call(0) {
                        Ok(value) => {
                            best.fetch_max(value, Ordering::Relaxed);
                            seen.lock().unwrap().push(value);
                        }
                        Err(error) => {
                            let reason =
                                error.fault().unwrap_or_else(|| panic!("{error}")).reason().to_owned();
                            assert!(reason.contains(RUNS) || reason.contains(GONE), "{reason}");
                            lost.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let (best, lost) = (best.into_inner(), lost.into_inner());
    println!("{} runs, {lost} refusals", seen.len());
    assert_eq!(seen, (2..=best).collect::<Vec<_>>());
}

/// Whoever runs it, it has the thread-local storage of the thread that it runs on.
#[test]
fn contexts_go_from_thread_to_thread_and_outlive_them() {
    let calls = Calls::new();
    for i in 0..4 {
        calls.make(i, DIGS);
    }
    for round in 0..10 {
        std::thread::scope(|scope| {
            for i in 0..4 {
                let calls = &calls;
                scope.spawn(move || {
                    let expected = if round % 2 == 0 { 7 } else { (1..=round / 2).sum() };
                    assert_eq!(calls.run(i), expected, "context {i}, round {round}");
                });
            }
        });
    }
}

/// As many as there are slots; threads get what is left, contexts that are over give theirs back, and so do those that ended with their
/// thread's calls.
#[test]
fn slots_are_shared_with_threads() {
    let calls = Calls::new();
    let most = stack::SLOTS as i64 - 1;
    // What a thread has lost is nobody's when it has ended, though no other thread has its place.
    calls.make(0, COUNTS);
    let lose = || {
        calls.make(5, CRASHES);
        assert_eq!(calls.run(5), 1);
        calls.one("run", 5).unwrap_err();
    };
    std::thread::scope(|scope| scope.spawn(lose).join().unwrap());
    for i in 0..most {
        calls.make(i, COUNTS);
        assert_eq!(calls.run(i), 1);
    }
    calls.make(most, COUNTS);
    assert_eq!(calls.one("run", most).unwrap(), -12);
    let thread = std::thread::scope(|scope| scope.spawn(|| calls.one("run", 0)).join().unwrap());
    assert!(matches!(thread, Err(CallError::Threads { .. })), "{thread:?}");
    // Its stack is another's now.
    calls.make(5, CRASHES);
    assert_eq!(calls.run(5), 1);
    calls.one("run", 5).unwrap_err();
    calls.make(most, COUNTS);
    assert_eq!(calls.run(most), 1);
    refused(calls.one("run", 5), GONE);
    assert_eq!(calls.run(6), 2);
    // What threads have lost goes with them. (Two slots are left: theirs, and that of
    // what they lose.)
    for i in [8, 9] {
        calls.make(i, ENDS);
        assert_eq!(calls.one("next", i).unwrap(), 40 + i);
    }
    for _ in 0..70 {
        std::thread::scope(|scope| scope.spawn(lose).join().unwrap());
    }
    // One that has ended gives its place to a thread.
    calls.make(6, ENDS);
    assert_eq!(calls.one("next", 6).unwrap(), 46);
    std::thread::scope(|scope| scope.spawn(|| assert_eq!(calls.run(7), 2)).join().unwrap());
}

/// A thread that has lost a context and makes no further call keeps no slot from others; one whose context waits for the host does. Red if
/// nobody looks, or if threads in calls count as idle.
#[test]
fn what_idle_threads_have_lost_is_found() {
    let _watchdog = watchdog("a thread that waits");
    let (calls, entered, go_on) = waiting_for_the_host();
    let lost = Barrier::new(2);
    let first = |i: i64| {
        calls.make(i, COUNTS);
        calls.one("run", i).unwrap()
    };
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            calls.make(0, ASKS);
            calls.run(0);
            calls.one("run", 0)
        });
        entered.wait();
        let loses = scope.spawn(|| {
            for _ in 0..2 {
                calls.make(1, CRASHES);
                calls.run(1);
                calls.one("run", 1).unwrap_err();
                lost.wait();
                lost.wait();
            }
        });
        lost.wait();
        // Of the slots three are threads', and two have the contexts above. (Nothing is asserted before all threads go on.)
        let others: Vec<i64> = (2..stack::SLOTS as i64 - 3).map(first).collect();
        let (with_the_lost_ones, with_the_waiting_ones) = (first(63), first(62));
        // A thread gets it, too, when it has been lost again.
        calls.make(63, ENDS);
        let ended = calls.one("next", 63);
        lost.wait();
        lost.wait();
        let thread = scope.spawn(|| calls.one("run", 2)).join().unwrap();
        lost.wait();
        loses.join().unwrap();
        go_on.wait();
        let waited = waits.join().unwrap();
        assert!(others.iter().all(|&value| value == 1), "{others:?}");
        assert_eq!((with_the_lost_ones, with_the_waiting_ones), (1, -12));
        assert_eq!([ended, thread, waited].map(|value| value.unwrap()), [103, 2, 1]);
    });
}

#[test]
fn stacks_have_the_size_that_is_asked_for() {
    let calls = Calls::new();
    for (i, size) in [(1, 1), (2, 1 << 20), (3, 8 << 20)] {
        calls.two("make_large", i, size).unwrap();
        assert_eq!(calls.run(i), 1);
    }
    let before = calls.domain.usage().memory;
    calls.two("make_large", 4, stack::SLOT as i64).unwrap();
    assert_eq!(calls.run(4), -12, "more than a slot has");
    calls.two("make_large", 5, 12 << 20).unwrap();
    calls.two("make_large", 6, 12 << 20).unwrap();
    assert_eq!(calls.run(5), 1);
    assert_eq!(calls.run(6), -12, "more than the domain's memory");
    assert!(calls.domain.usage().memory <= before + (25 << 20), "{}", calls.domain.usage().memory);
}

/// Of many sizes, one after the other: more than the domain's memory in all. Red if stacks of contexts that are over stay charged.
#[test]
fn contexts_that_are_over_give_their_memory_back() {
    let calls = Calls::with(options().memory_limit(64 << 20));
    for i in 0..60 {
        let size = ((1 + i % 14) << 20) + (i << 12);
        assert_eq!(calls.two("end_large", i, size).unwrap(), 40 + i);
    }
    // Threads get it, too.
    std::thread::scope(|scope| scope.spawn(|| calls.make(0, COUNTS)).join().unwrap());
    assert_eq!(calls.run(0), 1);
}

/// Red if a reset keeps the table, or the stacks.
#[test]
fn a_reset_drops_all_contexts() {
    let pool = Pool::new(module(), options(), 1);
    let (mut memory, mut words) = (None, Vec::new());
    for _ in 0..5 {
        let domain = pool.take().unwrap();
        let now = domain.usage().memory;
        assert_eq!(*memory.get_or_insert(now), now);
        let call = |name: &str, i, what| domain.bind::<Longs>(name).unwrap().call(i, what);
        // What the last user has had.
        for word in std::mem::take(&mut words) {
            refused(call("forge", 40, word), GONE);
        }
        for i in 0..20 {
            call("make", i, COUNTS).unwrap();
            assert_eq!(domain.bind::<Long>("run").unwrap().call(i).unwrap(), 1);
            words.push(domain.bind::<Long>("word").unwrap().call(i).unwrap());
        }
        // Nor is there anything left on its stacks.
        for (i, what, expected) in [(20, FINDS, 0), (20, FILLS, 0x5a)] {
            call("make", i, what).unwrap();
            assert_eq!(domain.bind::<Long>("run").unwrap().call(i).unwrap(), expected);
        }
    }
}

/// In a child there is no domain, whichever stack the call runs on that the host's function comes back to.
#[test]
fn a_forked_child_has_no_contexts() {
    static CHILD: AtomicI64 = AtomicI64::new(-1);
    let host = HostFunction::new(|_: &Domain, n: i64| {
        CHILD.store(fork_here(false).into(), Ordering::Relaxed);
        n + 1
    });
    let calls = Calls::with(DomainOptions::new().name("guest").gate("host", host));
    let [run, go] = ["run", "go"].map(|name| calls.bind(name));
    calls.make(0, ASKS);
    calls.make(1, COUNTS);
    assert_eq!((calls.run(0), calls.run(1)), (0, 1));
    let forked = run.call(0);
    if CHILD.load(Ordering::Relaxed) == 0 {
        let is_forked = |result: Result<i64, CallError>| matches!(result, Err(CallError::Forked));
        exit_now(i32::from(!(is_forked(forked) && is_forked(run.call(1)) && is_forked(go.call(0)))));
    }
    assert_eq!(forked.unwrap(), 1);
    assert!(wait_for(CHILD.load(Ordering::Relaxed) as i32));
    assert_eq!(calls.run(1), 2);
}

/// Handlers run on the stacks of contexts, below rsp.
#[test]
fn signals_on_control_stacks_change_nothing() {
    let calls = Calls::new();
    for i in 0..8 {
        calls.make(i, if i % 2 == 0 { COUNTS } else { JUMPS });
        calls.run(i);
    }
    install_raw_handler(libc::SIGUSR1, false);
    let signals = signal_storm(libc::SIGUSR1, || {
        for round in 0..300 {
            assert_eq!(calls.two("sum", 0, 100).unwrap(), (100 * round + 2..100 * round + 102).sum::<i64>());
            assert_eq!(calls.two("sum", 1, 20).unwrap(), 100);
        }
    });
    assert!(signals > 0);
}

/// A thread of the module's own is ended in a context. Its clean-up begins on the thread's own slot: the context is lost, and its slot is that of
/// the next one, which another thread runs.
#[test]
fn a_thread_that_ends_in_a_context_cleans_up_on_its_own_slot() {
    const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <ucontext.h>
void end(long);
static ucontext_t ending_own, in, aside, cleaning, own, other;
static char stacks[3][16384];
static pthread_key_t key;
static pthread_t caller;
static volatile int made, runs, strangers, done;
static void prepare(ucontext_t *it, int stack, void (*body)(void), ucontext_t *next) {
    getcontext(it);
    it->uc_stack.ss_sp = stacks[stack];
    it->uc_stack.ss_size = sizeof stacks[stack];
    it->uc_link = next;
    makecontext(it, body, 0);
}
static __attribute__((noinline)) void deep(int n) {
    if (n)
        deep(n - 1);
    else
        for (runs = 1; !done;)
            sched_yield();
    strangers += !pthread_equal(pthread_self(), caller);
}
static void begins(void) { deep(600); }
/* Aside, while the frames of the clean-up wait: what is made now gets the slot that is free. */
static void makes(void) {
    prepare(&other, 2, begins, &own);
    made = 1;
    while (!runs)
        sched_yield();
    setcontext(&cleaning);
}
static __attribute__((noinline)) void goes_aside(void) { swapcontext(&cleaning, &aside); }
static void cleans_up(void *value) {
    goes_aside();
    done = 1;
}
static void is_ended(void) { end(0); }
static void *ending(void *value) {
    pthread_setspecific(key, (void *)1);
    prepare(&aside, 1, makes, 0);
    prepare(&in, 0, is_ended, &ending_own);
    swapcontext(&ending_own, &in);
    return value;
}
long attack(long x) {
    pthread_t thread;
    caller = pthread_self();
    pthread_key_create(&key, cleans_up);
    if (pthread_create(&thread, 0, ending, 0))
        return -1;
    while (!made)
        sched_yield();
    swapcontext(&own, &other);
    return 10 * done + strangers;
}
"#;
    let module = Module::from_bytes(&Guest::c(SOURCE).gate("void end(long)").build()).expect("a module");
    let options = DomainOptions::new().max_guest_threads(4).gate("end", thread_exit());
    let domain = Domain::new(&module, options.time_limit(Duration::from_secs(60))).expect("a domain");
    assert_eq!(domain.bind::<Long>("attack").unwrap().call(0).unwrap(), 10);
}

/// Control comes to a `ud2` in several states, and the verifier knows one of them: nothing goes on by that, not the handler's `resume`
/// either, which would find an activation where there is none.
#[test]
fn nothing_resumes_by_a_state_that_is_not_certain() {
    const ASSEMBLY: &str = r#"
    .globl run,handler
    .type run,@function
    .type handler,@function
# Leaves a return word behind.
leaves: endbr64
    sub $8,%rsp
    call 1f
    addl $1,%gs:(%ebx)
    add $8,%rsp
    ret
1:  nop
    ret
traps: endbr64
    sub $24,%rsp
    call 1f
    add $24,%rsp
    ret
1:  endbr64
    xor %eax,%eax
    je 2f
    sub $16,%rsp
2:  ud2
handler: endbr64
    mov %gs:160(%edx),%r11
    add $8,%r11
    lea 1f(%rip),%r10
    .byte 0x65,0xff,0x14,0x25,0x08,0x10,0x01,0x00
    ud2
1:  endbr64
    ret
run: endbr64
    lea -8(%rsp),%rsp
    mov %rbx,-0x3f000000(%rsp)
    mov %edi,%ebx
    call leaves
    call traps
    mov -0x3f000000(%rsp),%rbx
    lea 8(%rsp),%rsp
    ret
"#;
    const SOURCE: &str = r#"
#include <signal.h>
void handler(int, siginfo_t *, void *);
int run(int *);
static volatile int count;
long counted(long x) { return count; }
long attack(long x) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
    return run((int *)&count);
}
"#;
    let module = Module::from_bytes(&Guest::c(SOURCE).and_assembly(ASSEMBLY).build()).expect("a module");
    let domain = Domain::new(&module, DomainOptions::new()).expect("a domain");
    let ended = domain.bind::<Long>("attack").unwrap().call(0);
    assert!(
        matches!(&ended, Err(CallError::Fault(report)) if report.to_string().contains("longjmp")),
        "{ended:?}"
    );
    assert_eq!(domain.bind::<Long>("counted").unwrap().call(0).unwrap(), 1);
}
