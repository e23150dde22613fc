//! The attacks that took hosts before returns were proved (docs/returns.md), on hosts in which nothing holds that the library wants of signals: their handlers come
//! in front of its own, by system calls that it does not hear of, and run on the control stack. Then the kernel saves registers there, all of which
//! have the value that a module likes; once, a frame of the right depth made `ret` take it.

use crate::common::host_sys::{self, disable_alternate_stack_unseen, jumped_out};
use crate::common::{Guest, watchdog};
use crate::handlers_sys::{
    handle_behind, handle_in_front, is_off_alternate_stack, off_alternate_stack, raise, restore,
    thread_number,
};
use lockgate::{Domain, DomainOptions, FaultKind, Function, HostFunction, Pointer};
use lockgate_abi::{stack, window};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Long = extern "C" fn(i64) -> i64;

/// `spin` has the target in every register that it may change, and `divide` faults with it. `fall` then makes frames of all depths over what is left of
/// the handler's frame, calls in them, and returns: constant frames and computed ones.
const SOURCE: &str = concat!(
    include_str!("../../../tests/installed/hosts/escape.c"),
    r#"
    volatile long arrived;
    volatile long *where(void) { return &arrived; }
    long read_null(long x) { unprotect(); return *(volatile long *)(x - x); }
    FAR static long down(long bottom, long turns)
    {
        volatile char here;
        if (((long)&here & 0xffffff) - bottom > 512) return down(bottom, turns) + here - here;
        arrived = 1;
        while (--turns) __asm__ volatile("pause");
        return 0;
    }
    long to_the_guard(long bottom) { return down(bottom, 1L << 40); }
    "#
);

/// What [`SOURCE`]'s `fall` returns: one for each frame.
const FRAMES: i64 = 8 + 1024;
const SIGNAL: i32 = libc::SIGUSR1;

static STRIDE: AtomicU64 = AtomicU64::new(0);
static ON_CONTROL_STACK: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);

fn is_on_control_stack() -> bool {
    let here = 0_u8;
    (&raw const here as u64).wrapping_sub(STRIDE.load(Ordering::Relaxed)) < window::STRIDE
}

/// Held by each test: a thread that calls for the first time has the library look at all handlers of the process, and those of another test would
/// run on the alternate stack from then on.
fn handlers() -> MutexGuard<'static, ()> {
    static HANDLERS: Mutex<()> = Mutex::new(());
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn count(_: i32) {
    ON_CONTROL_STACK.fetch_add(is_on_control_stack().into(), Ordering::Relaxed);
    HANDLED.fetch_add(1, Ordering::Release);
}

extern "C" fn leave(signal: i32) {
    count(signal);
    host_sys::jump_out();
}

/// Where no return may lead.
extern "C" fn escaped() {
    eprintln!("a return has led to a function of the host's that nobody called");
    std::process::abort();
}

/// A domain whose host takes all protection away in the middle of its calls, behind the last look of the library's: there is no alternate stack, and `more`.
fn domain(more: fn()) -> Domain {
    let unprotect = HostFunction::new(move |_: &Domain| {
        disable_alternate_stack_unseen();
        more();
    });
    let guest = Guest::c_with(SOURCE, &["-O1", "-g1", "-fno-optimize-sibling-calls"]);
    let domain =
        guest.gate("void unprotect(void)").domain_with(DomainOptions::new().gate("unprotect", unprotect));
    STRIDE.store(domain.base(), Ordering::Relaxed);
    domain
}

fn bind(domain: &Domain, name: &str) -> Function<Long> {
    domain.bind(name).expect("an export")
}

fn target() -> i64 {
    escaped as *const () as i64
}

/// Calls until so many handlers have run on the control stack.
fn until_handled(enough: u64, mut call: impl FnMut()) {
    let _watchdog = watchdog("handlers on a control stack");
    let first = ON_CONTROL_STACK.load(Ordering::Relaxed);
    while ON_CONTROL_STACK.load(Ordering::Relaxed) < first + enough {
        call();
    }
}

/// A handler that comes after the first call (any program's `signal`, a plugin's, PL/Perl's).
#[test]
fn late_handlers_leave_nothing_to_return_to() {
    let _handlers = handlers();
    let domain = domain(|| handle_in_front(SIGNAL, count));
    let (spin, fall) = (bind(&domain, "spin"), bind(&domain, "fall"));
    assert_eq!(fall.call(0).expect("a call"), FRAMES, "without a handler");
    handle_in_front(SIGNAL, count);
    let (own, over) = (thread_number(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each in its turn: a handler that the next signal interrupts, before it has done anything, fills any stack.
            let mut raised = HANDLED.load(Ordering::Acquire);
            while !over.load(Ordering::Relaxed) {
                if HANDLED.load(Ordering::Acquire) == raised {
                    raise(own, SIGNAL);
                    raised += 1;
                }
                std::thread::yield_now();
            }
        });
        until_handled(200, || {
            assert_eq!(spin.call(target()).expect("a call"), FRAMES);
            assert_eq!(fall.call(0).expect("a call"), FRAMES);
        });
        over.store(true, Ordering::Relaxed);
    });
    assert!(is_off_alternate_stack(SIGNAL), "the library has looked at the handler meanwhile");
}

/// A handler of SIGTRAP that returns (Python's `faulthandler.register`), or a debugger: control goes on behind each breakpoint. The loop that once
/// walked out of its slot over them is refused.
#[test]
fn breakpoints_that_are_passed_lead_nowhere() {
    let _handlers = handlers();
    let domain = domain(|| handle_in_front(libc::SIGTRAP, count));
    let (stop, fall) = (bind(&domain, "stop"), bind(&domain, "fall"));
    assert_eq!(fall.call(0).expect("a call"), FRAMES);
    until_handled(200, || {
        assert_eq!(stop.call(target()).expect("a call"), FRAMES);
        assert_eq!(fall.call(0).expect("a call"), FRAMES);
    });
    let walk = "function walk\n1: sub $0x10000,%rsp\nint3\ndec %rcx\njne 1b\nsub $8,%rsp\nret";
    let refused = Guest::assembly(walk).try_build().expect_err("a walk over breakpoints").to_string();
    assert!(refused.contains("V3"), "{refused}");
}

/// A handler of a *fault*, in front of the library's, which leaves the call by `siglongjmp` (PostgreSQL's, for SIGFPE): the next call begins where the
/// remains of its frame are.
#[test]
fn faults_that_are_jumped_out_of_leave_nothing_to_return_to() {
    let _handlers = handlers();
    let domain = domain(|| handle_in_front(libc::SIGFPE, leave));
    let (divide, fall) = (bind(&domain, "divide"), bind(&domain, "fall"));
    assert_eq!(fall.call(0).expect("a call"), FRAMES);
    until_handled(200, || {
        assert!(jumped_out(|| drop(divide.call(target()))), "the handler has left the call");
        assert_eq!(fall.call(0).expect("a call"), FRAMES);
    });
}

/// A domain whose calls have 10 ms, and its function, which returns if it is given 0.
fn staying() -> (Domain, Function<extern "C" fn(i32) -> i32>) {
    let source = "int stay(int turns) { while (turns) __asm__ volatile(\"pause\"); return 0; }";
    let options = DomainOptions::new().time_limit(std::time::Duration::from_millis(10));
    let domain = Guest::c(source).domain_with(options);
    let stay = domain.bind::<extern "C" fn(i32) -> i32>("stay").expect("an export");
    (domain, stay)
}

/// Each kick is delivered together with the handler's signal, and finds that handler in place of the domain.
#[test]
fn limits_hold_where_a_handler_on_the_control_stack_is_always_next() {
    let _handlers = handlers();
    let _watchdog = watchdog("the limit of a thread that is never without a signal");
    let (domain, stay) = staying();
    // The library's look at the host's handlers.
    assert_eq!(stay.call(0).expect("a call"), 0);
    for _ in 0..5 {
        host_sys::signals_without_end(SIGNAL, domain.base(), || {
            off_alternate_stack(&[SIGNAL]);
            let error = stay.call(1).expect_err("a call without an end");
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
        });
        assert!(is_off_alternate_stack(SIGNAL), "the library has looked at the handler meanwhile");
    }
}

/// A handler of the host's for SIGSYS, in front of the library's or behind it, as a sandbox has it whose filter traps system calls: a kick that is to
/// come first would seem such a trap, or take the place of one. Red if they are sent all the same.
#[test]
fn no_kick_comes_to_a_handler_of_the_hosts() {
    let _handlers = handlers();
    let _watchdog = watchdog("the limit of a thread that was not without a signal for a while");
    let (domain, stay) = staying();
    for handled in [handle_behind, handle_in_front] {
        assert_eq!(stay.call(0).expect("a call"), 0);
        host_sys::signals_behind_each_other(SIGNAL, domain.base(), 30_000, || {
            off_alternate_stack(&[SIGNAL]);
            handled(libc::SIGSYS, count);
            let before = HANDLED.load(Ordering::Acquire);
            let error = stay.call(1).expect_err("a call without an end");
            assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::TimeOut), "{error}");
            assert_eq!(HANDLED.load(Ordering::Acquire), before, "a kick has come to it");
            assert_eq!(host_sys::signals_left(), 0, "a kick has come before a signal");
        });
        assert!(is_off_alternate_stack(SIGNAL), "the library has looked at the handler meanwhile");
    }
    restore(libc::SIGSYS);
}

/// A handler that came past the library goes when the host sets another one, as without the library. Red if that is noted behind the library's
/// only, which the first one still stands in front of: limits would never come first again (see above) for a SIGSYS that nothing handles any more.
#[test]
fn handlers_in_front_go_as_others_do() {
    static OTHERS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn other(_: i32) {
        OTHERS.fetch_add(1, Ordering::Release);
    }
    let _handlers = handlers();
    let (_domain, stay) = staying();
    assert_eq!(stay.call(0).expect("a call"), 0);
    handle_in_front(libc::SIGSYS, count);
    let before = HANDLED.load(Ordering::Acquire);
    handle_behind(libc::SIGSYS, other);
    raise(thread_number(), libc::SIGSYS);
    assert_eq!(OTHERS.load(Ordering::Acquire), 1, "the handler that was set last");
    assert_eq!(HANDLED.load(Ordering::Acquire), before, "the handler that it replaced");
    restore(libc::SIGSYS);
}

/// Without an alternate stack the library's own handlers run on the control stack, too.
#[test]
fn faults_end_calls_on_the_control_stack_too() {
    let _handlers = handlers();
    let domain = domain(|| ());
    let (read_null, fall) = (bind(&domain, "read_null"), bind(&domain, "fall"));
    for round in 0..100 {
        let error = read_null.call(target()).expect_err("a null pointer");
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Segv), "round {round}: {error}");
        assert_eq!(fall.call(0).expect("a call"), FRAMES);
    }
}

/// A module at its guard leaves the kernel no room for a frame: the handler does not run, the call ends, and says why. The next handler runs.
#[test]
fn a_handler_without_room_does_not_run_and_the_call_ends() {
    let _handlers = handlers();
    let _watchdog = watchdog("a signal to a module at its guard");
    const SIZE: u64 = 256 << 10;
    let guest =
        Guest::c_with(SOURCE, &["-O1", "-g1", "-fno-optimize-sibling-calls"]).gate("void unprotect(void)");
    let domain = guest.domain_with(DomainOptions::new().stack_size(SIZE));
    let (fall, down) = (bind(&domain, "fall"), bind(&domain, "to_the_guard"));
    let arrived =
        domain.bind::<extern "C" fn() -> i64>("where").expect("an export").call().expect("an address");
    let has_arrived = || {
        let arrived = domain.read(Pointer::<i64>::from_address(arrived as u64)).expect("its memory");
        arrived.check(|value| *value == 1).is_some()
    };
    handle_in_front(SIGNAL, count);
    let before = HANDLED.load(Ordering::Acquire);
    let handled = || HANDLED.load(Ordering::Acquire) - before;
    let own = thread_number();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_arrived() {
                std::thread::yield_now();
            }
            raise(own, SIGNAL);
        });
        down.call((stack::TOP - SIZE) as i64).expect_err("a call without room for a handler")
    });
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind(), FaultKind::ControlStackOverflow, "{error}");
    assert!(error.to_string().contains("a signal handler's frame"), "{error}");
    assert_eq!(handled(), 0, "the handler's runs");
    raise(own, SIGNAL);
    assert_eq!(handled(), 1, "the handler's runs, with room");
    assert_eq!(fall.call(0).expect("a call"), FRAMES);
}
