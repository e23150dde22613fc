//! A host whose handlers nobody has asked to run on the alternate stack, raised all the time by another thread: they run on the host's
//! stack, and on domains' control stacks, below rsp, where nothing counts on what lies there (docs/returns.md). No call has a wrong
//! result.

use crate::common::Guest;
use crate::handlers_sys::{HANDLED, free_signals, handle_all, under_fire};
use lockgate::{CallError, Domain, DomainOptions, Function, HostFunction};
use lockgate_abi::window;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Long = extern "C" fn(i64) -> i64;

/// Ways through a module in which returns, computed frames, jumps, pointers and gates take turns. Each result is a formula of x.
const SOURCE: &str = "
    #include <setjmp.h>
    #include <unistd.h>
    #define FAR __attribute__((noinline, noclone))
    long host(long);
    FAR static long fall(long n) { volatile long m = n; return n <= 0 ? 0 : fall(n - 1) + (m != n) + 1; }
    FAR static long room(long n) { volatile char bytes[16 * (n % 7 + 1)]; bytes[n % 16] = 1; return fall(n % 5) + bytes[n % 16] - 1; }
    FAR static void leave(jmp_buf place, long n) { if (n > 0) leave(place, n - 1); else longjmp(place, 9); __asm__ volatile(\"\"); }
    FAR static long jump(long n) { jmp_buf place; int landed = setjmp(place); if (!landed) leave(place, n % 6); return landed - 9; }
    static long id(long x) { return x; }
    static long (*volatile pointer)(long) = id;
    long calls(long x) { return fall(x % 9) + room(x) + jump(x) + pointer(x); }
    long services(long x) { return host(x) + 0 * getppid() + calls(x); }";

fn expected(x: i64) -> i64 {
    x % 9 + x % 5 + x
}

static FROM_HANDLERS: OnceLock<[Function<Long>; 2]> = OnceLock::new();
static STRIDE: AtomicU64 = AtomicU64::new(0);
static ON_CONTROL_STACK: AtomicU64 = AtomicU64::new(0);
static ENTERED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);

/// How many handlers on control stacks, and calls of handlers that work, are an experiment.
const ENOUGH: u64 = 100;

/// Writes a good part of its stack; or calls the domain, or another one, which works or is refused.
fn work(signal: usize, at: u64) {
    let on_control_stack = at.wrapping_sub(STRIDE.load(Ordering::Relaxed)) < window::STRIDE;
    ON_CONTROL_STACK.fetch_add(on_control_stack.into(), Ordering::Relaxed);
    let Some(functions) = FROM_HANDLERS.get() else { return };
    match signal % 4 {
        which @ (0 | 1) => match functions[which].call(at as i64 % 1000) {
            Ok(value) if value == expected(at as i64 % 1000) => drop(ENTERED.fetch_add(1, Ordering::Relaxed)),
            Err(CallError::SignalHandler) => {}
            _ => drop(WRONG.fetch_add(1, Ordering::Relaxed)),
        },
        _ => drop(std::hint::black_box([signal as u64; 256])),
    }
}

/// Calls until it `is_enough`.
fn call_under_fire(is_enough: impl Fn(u64, Duration) -> bool) {
    let guest = || Guest::c_with(SOURCE, &["-O1"]).gate("long host(long)");
    let module = guest().export("long calls(long)").export("long services(long)").module();
    let options = || DomainOptions::new().gate("host", HostFunction::new(|_: &Domain, x: i64| x));
    let [domain, another] = [(); 2].map(|()| Domain::new(&module, options()).expect("a domain"));
    let bind = |domain: &Domain, name: &str| domain.bind::<Long>(name).expect("an export");
    let (calls, services) = (bind(&domain, "calls"), bind(&domain, "services"));
    STRIDE.store(domain.base(), Ordering::Relaxed);
    let from_handlers = [bind(&domain, "calls"), bind(&another, "calls")];
    for function in from_handlers.iter().chain([&calls]) {
        assert_eq!(function.call(1).expect("a call"), expected(1));
    }
    assert!(FROM_HANDLERS.set(from_handlers).is_ok(), "once");
    // After the library has looked at handlers for the last time.
    let signals = free_signals(31);
    handle_all(&signals, work);
    let mut count = 0;
    under_fire(&signals, || {
        let begun = Instant::now();
        while !is_enough(count, begun.elapsed()) {
            for x in 0..100 {
                count += 2;
                assert_eq!(calls.call(x).expect("a call"), expected(x), "call {count}");
                assert_eq!(services.call(x).expect("a call"), x + expected(x), "call {count}");
            }
        }
    });
    let [handled, inside, entered, wrong] =
        [&HANDLED, &ON_CONTROL_STACK, &ENTERED, &WRONG].map(|number| number.load(Ordering::Relaxed));
    println!("{count} calls, {handled} signals, {inside} on a control stack, {entered} calls by handlers");
    assert!(inside > ENOUGH && entered > ENOUGH, "{inside} handlers on a control stack, {entered} calls");
    assert_eq!(wrong, 0, "calls of handlers");
}

#[test]
fn signals_on_control_stacks_change_no_result() {
    // A busy machine takes its time until enough signals have found the thread where they are wanted.
    let enough =
        || [&ON_CONTROL_STACK, &ENTERED].iter().all(|number| number.load(Ordering::Relaxed) > ENOUGH);
    call_under_fire(|_, time| time > Duration::from_secs(3) && (enough() || time > Duration::from_secs(60)));
}

/// The long form.
#[test]
#[ignore = "minutes"]
fn a_hundred_million_calls_under_fire() {
    call_under_fire(|count, _| count >= 100_000_000);
}
