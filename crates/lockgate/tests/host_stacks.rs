//! Hosts that leave calls in other ways than by returning from them: by `longjmp` (rule R16), and by switching to another stack.

use crate::common::host_sys::{
    self, Coroutine, Resume, Sharing, adjoining_stacks, coroutine_stacks, give_way,
};
use crate::common::{Guest, watchdog};
use lockgate::{
    CallError, Domain, DomainOptions, FaultKind, Function, HostFunction, OnFailure, Policy, Value,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Long = extern "C" fn(i64) -> i64;
type Result = std::result::Result<i64, CallError>;

fn domain(options: DomainOptions, host: impl Fn(i64) -> i64 + Send + Sync + 'static) -> Domain {
    let source = "long host(long);".to_owned() + &crate::common::frames(&[("deep", "host(x)")]);
    let guest =
        Guest::c(&source).gate("long host(long)").export("long deep(long)").export("long smash(long)");
    let host = HostFunction::new(move |_: &Domain, x: i64| host(x));
    guest.export("long where(void)").domain_with(options.gate("host", host))
}

fn bind(domain: &Domain, name: &str) -> Function<Long> {
    domain.bind(name).expect("an export")
}

/// Runs `work` on a thread whose stack lies below all that is mapped now.
fn on_a_low_stack(work: impl FnOnce() + Send + 'static) {
    // Larger than any gap.
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).expect("a thread");
    thread.join().expect("no panic");
}

fn is_above(stack: u64) -> bool {
    let local = 0_u8;
    (&raw const local as u64) < stack
}

/// A thread's first call needs some twenty thousand bytes of its stack, beyond what a small one has: it is refused. Red if it is let in: the
/// process ends, or what lies below the stack is written.
#[test]
fn a_stack_that_is_too_small_is_refused() {
    const SMALL: usize = 16 << 10;
    let domain = domain(DomainOptions::new(), |x| x);
    let deep = bind(&domain, "deep");
    for (size, refused) in [(SMALL, true), (256 << 10, false)] {
        host_sys::on_a_stack_of(size, || {
            let result = deep.call(1);
            assert_eq!(matches!(result, Err(CallError::TooDeep)), refused, "{size}: {result:?}");
        });
    }
    assert!(deep.call(1).is_ok());
}

/// A host function's structure by value is larger than what is left of the thread's stack and its guard together: the call ends, and what lies
/// beyond is as it was. Red if the gate takes the room in one step: what the domain passes is written there.
#[test]
fn stack_arguments_step_over_no_guard() {
    let prototype = "long host(struct { char bytes[65536]; })";
    let signature = prototype.parse().expect("a prototype");
    let host = HostFunction::dynamic(signature, |_, _| Ok(Value::Signed(7))).expect("a host function");
    let source = "struct large { char bytes[65536]; } large;
                  long host(struct large);
                  long ask(void) {
                      for (int i = 0; i < sizeof large; i++) large.bytes[i] = 7;
                      return host(large);
                  }";
    let domain = Guest::c(source).gate(prototype).domain_with(DomainOptions::new().gate("host", host));
    let ask = domain.bind::<extern "C" fn() -> i64>("ask").expect("an export");
    for (size, fits) in [(64 << 10, false), (256 << 10, true)] {
        let untouched = host_sys::on_a_stack_above_a_neighbour(size, || match ask.call() {
            Ok(found) => assert!(fits && found == 7, "{size}: {found}"),
            Err(error) => {
                let fault = error.fault().unwrap_or_else(|| panic!("{size}: {error}"));
                assert!(!fits && fault.reason().contains("room"), "{size}: {fault}");
            }
        });
        assert!(untouched, "{size}: the domain has written behind the guard of the thread's stack");
    }
}

/// A function of the host's goes on for a while on a coroutine's stack that lies in a frame of the thread's own stack, above the call. The
/// call keeps its time limit, and ends as it is to end when its domain is killed meanwhile; the thread calls others. Red if a kick there takes
/// what it is above for something that was left.
#[test]
fn calls_with_a_stack_in_a_frame_further_out_end() {
    let _watchdog = watchdog("a call without its time limit");
    const LIMIT: Duration = Duration::from_millis(20);
    let source =
        "long host(long); long ask_and_spin(long x) { host(x); for (;;) __asm__ volatile(\"\"); return x; }";
    for kills in [false, true] {
        let doomed: Arc<Mutex<Option<Domain>>> = Arc::default();
        let named = doomed.clone();
        // The thread's own stack is large enough for it.
        let mut room = [0_u8; host_sys::COROUTINE_STACK];
        let stack = std::hint::black_box(&mut room).as_mut_ptr() as u64;
        let host = HostFunction::new(move |_: &Domain, x: i64| {
            let named = named.clone();
            let work = move || {
                if kills {
                    named.lock().unwrap().as_ref().expect("a domain").kill();
                }
                let begun = Instant::now();
                while begun.elapsed() < 5 * LIMIT {
                    std::hint::spin_loop();
                }
            };
            Coroutine::new(stack, work).resume();
            x
        });
        let options = if kills { DomainOptions::new() } else { DomainOptions::new().time_limit(LIMIT) };
        let guest = Guest::c(source).gate("long host(long)").export("long ask_and_spin(long)");
        let domain = guest.domain_with(options.gate("host", host));
        let call = bind(&domain, "ask_and_spin");
        *doomed.lock().unwrap() = Some(domain);
        let error = call.call(1).expect_err("an end");
        let expected = if kills { FaultKind::Killed } else { FaultKind::TimeOut };
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(expected), "{error}");
        let other = self::domain(DomainOptions::new(), |x| x);
        assert!(bind(&other, "deep").call(1).is_ok(), "the thread goes on");
        std::hint::black_box(&room);
    }
}

/// The same of a domain whose call of another one is in progress there: it is killed, and its call is no call that was left. Red if a call between
/// domains, which makes no mark, or has one while it is on the slow path alone, counts as one whose mark is overwritten: the thread goes back to a
/// record that says so, and the process ends.
#[test]
fn calls_between_domains_with_a_stack_in_a_frame_further_out_end() {
    for slow in [false, true] {
        let _watchdog = watchdog("a killed caller");
        let mut room = [0_u8; host_sys::COROUTINE_STACK];
        let stack = std::hint::black_box(&mut room).as_mut_ptr() as u64;
        let doomed: Arc<Mutex<Option<Domain>>> = Arc::default();
        let named = doomed.clone();
        let host = HostFunction::new(move |_: &Domain, x: i64| {
            let named = named.clone();
            let work = move || {
                named.lock().unwrap().as_ref().expect("a domain").kill();
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(100) {
                    std::hint::spin_loop();
                }
            };
            Coroutine::new(stack, work).resume();
            x
        });
        let prototype = "long ask(long)";
        let server =
            Guest::c("long host(long); long ask(long x) { return host(x) + 1; }").gate("long host(long)");
        let server = move || server.export(prototype).domain_with(DomainOptions::new().gate("host", host));
        // Where another thread has made the server, the call is this thread's first there.
        let server = if slow { std::thread::spawn(server).join().expect("a domain") } else { server() };
        let client = Guest::c("long ask(long); long through(long x) { return ask(x) + 1; }").gate(prototype);
        let client = client.export("long through(long)").domain();
        client.link("ask", &server, prototype, Policy::default(), OnFailure::Return(77)).expect("a link");
        let through = bind(&client, "through");
        *doomed.lock().unwrap() = Some(client);
        let error = through.call(1).expect_err("its caller was killed");
        assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Killed), "{error}");
        assert_eq!(doomed.lock().unwrap().as_ref().expect("a domain").threads_inside(), 0);
        std::hint::black_box(&room);
    }
}

/// A call between domains that is the thread's first of the callee has its mark in its own frame while the callee's module gets to know the thread, by a
/// call that asks again, since there is something to mend. Red if the mark is looked for in the caller's frame alone: the call that is in progress is
/// dropped.
#[test]
fn a_first_call_between_domains_stays_on_record_while_it_begins() {
    let prototype = "long ask(long)";
    let (give, server) = channel();
    let (end, ended) = channel::<()>();
    // It stays, with the domain's first stack.
    let other = std::thread::spawn(move || {
        let server = Guest::c("long ask(long x) { return x + 1; }").export(prototype).domain();
        give.send(server).expect("the test waits");
        ended.recv()
    });
    let server = server.recv().expect("another thread's domain");
    let fall: Arc<Mutex<Option<Function<Long>>>> = Arc::default();
    let named = fall.clone();
    let host = HostFunction::new(move |_: &Domain, x: i64| {
        let fall = named.lock().unwrap().clone().expect("bound");
        assert!(fall.call(x).is_err(), "a fault");
        x
    });
    let source = "long host(long); long ask(long); long fall(long x) { return *(volatile long *)x; }\n\
                  long through(long x) { host(x); return ask(x) + 1; }";
    let client = Guest::c(source).gate("long host(long)").gate(prototype).export("long fall(long)");
    let client = client.export("long through(long)").domain_with(DomainOptions::new().gate("host", host));
    client.link("ask", &server, prototype, Policy::default(), OnFailure::Return(77)).expect("a link");
    *fall.lock().unwrap() = Some(bind(&client, "fall"));
    assert_eq!(bind(&client, "through").call(8).expect("it goes on"), 10);
    *fall.lock().unwrap() = None;
    drop(end);
    assert!(other.join().is_ok());
}

/// A function of the host's that a domain has called switches stacks, and what runs there calls the domain: refused, wherever that stack
/// lies. Red if a stack pointer above the record's counts as proof that the record is dead: the call runs over the live frames.
#[test]
fn calls_from_other_stacks_are_refused_while_one_is_in_progress() {
    for above in [true, false] {
        let before = coroutine_stacks(0);
        on_a_low_stack(move || {
            const LOW: u64 = 64 << 30;
            let stack = if above { before[1] } else { coroutine_stacks(LOW)[1] };
            assert_eq!(is_above(stack), above, "stacks lie where this test wants them");
            let smash: Arc<Mutex<Option<Function<Long>>>> = Arc::default();
            let (function, results) = (smash.clone(), Arc::new(Mutex::new(Vec::<Result>::new())));
            let told = results.clone();
            let domain = domain(DomainOptions::new(), move |x| {
                let (function, told) = (function.clone(), told.clone());
                let call = move || {
                    let function = function.lock().unwrap().clone().expect("bound");
                    told.lock().unwrap().push(function.call(1));
                };
                Coroutine::new(stack, call).resume();
                x
            });
            *smash.lock().unwrap() = Some(bind(&domain, "smash"));
            bind(&domain, "smash").call(1).expect("a call");
            assert_eq!(bind(&domain, "deep").call(5).expect("a call"), 5, "live frames have changed");
            let results = results.lock().unwrap();
            assert!(matches!(results[..], [Err(CallError::TooDeep)]), "{results:?}");
            smash.lock().unwrap().take();
        });
    }
}

/// A call is made on a coroutine's stack, above the thread's own or below it; a function of the host's that it calls calls a domain in turn,
/// and a domain another one. They are admitted as on any stack, the first time, later, and after calls on other stacks; below the thread's
/// own stack as long as there is room. Red if what lies below the thread's own stack counts as the end of that: what one domain asks of
/// another fails, and if it does not look, the host's call returns a wrong answer.
#[test]
fn calls_nest_on_a_coroutines_stack() {
    let _watchdog = watchdog("nested calls on a coroutine's stack");
    for above in [true, false] {
        let before = coroutine_stacks(0);
        on_a_low_stack(move || {
            // (Nothing of another test's.)
            const LOW: u64 = 32 << 30;
            let stacks = if above { before } else { coroutine_stacks(LOW) };
            assert_eq!(is_above(stacks[1]), above, "stacks lie where this test wants them");
            let nested: Arc<Mutex<Option<Function<Long>>>> = Arc::default();
            let again = nested.clone();
            let host = HostFunction::new(move |_: &Domain, x: i64| {
                let nested = again.lock().unwrap().clone().expect("bound");
                // As deep as there is room, for 0: what is refused ends that.
                match x {
                    0 => nested.call(0).map_or(1, |depth| depth + 1),
                    x => nested.call(x - 1).map_or(-1, |value| value + 1),
                }
            });
            let source = "long host(long), other(long);
                long nests(long x) { return x < 0 ? 0 : x == 1 ? 1 : host(x); }
                long crosses(long x) { return other(x); }";
            let guest = Guest::c(source).gate("long host(long)").gate("long other(long)");
            let guest = guest.export("long nests(long)").export("long crosses(long)");
            let client = guest.domain_with(DomainOptions::new().gate("host", host));
            let server = Guest::c("long twice(long x) { return 2 * x; }").export("long twice(long)").domain();
            let said = crate::common::said(&client, "other", "twice");
            client
                .link("other", &server, &said, Policy::default(), OnFailure::Return(77))
                .expect("an import");
            let (nests, crosses) = (bind(&client, "nests"), bind(&client, "crosses"));
            *nested.lock().unwrap() = Some(nests.clone());
            let told = Arc::new(Mutex::new(Vec::<(i64, i64)>::new()));
            let calls = |on: u64| {
                let (nests, crosses, told) = (nests.clone(), crosses.clone(), told.clone());
                Coroutine::new(on, move || {
                    let result = (crosses.call(4).expect("a call"), nests.call(5).expect("a call"));
                    told.lock().unwrap().push(result);
                })
            };
            for _ in 0..2 {
                calls(stacks[1]).resume();
                calls(stacks[0]).resume();
                assert_eq!((crosses.call(4).expect("a call"), nests.call(5).expect("a call")), (8, 5));
            }
            assert_eq!(told.lock().unwrap()[..], [(8, 5); 4], "above: {above}");
            let deep = nests.call(0).expect("a call");
            assert!(deep > 5, "{deep}");
            if !above {
                let (nests, told) = (nests.clone(), told.clone());
                let deepest = move || told.lock().unwrap().push((nests.call(0).expect("a call"), 0));
                Coroutine::new(stacks[1], deepest).resume();
            }
            if let Some(&(depth, 0)) = told.lock().unwrap().last() {
                assert!((6..=deep).contains(&depth), "{depth}, on the thread's own stack {deep}");
            }
            nested.lock().unwrap().take();
        });
    }
}

/// Of two coroutines in callbacks, the one that called first comes back first: its call ends, and so does the other's, and the thread
/// calls no domain any more. Red if a gate goes back to its domain whatever record is innermost: the first one's frames are overwritten
/// by the second's, and the host returns from its calls in another order than it made them.
#[test]
fn calls_that_come_back_out_of_turn_end() {
    let stacks = coroutine_stacks(0);
    on_a_low_stack(move || {
        assert!(is_above(stacks[0]), "stacks lie where this test wants them");
        let domain = domain(DomainOptions::new(), |x| {
            give_way();
            x
        });
        let results = Arc::new(Mutex::new(Vec::<(char, Result)>::new()));
        let call = |name: char| {
            let (deep, results) = (bind(&domain, "deep"), results.clone());
            move || {
                let result = deep.call(5);
                results.lock().unwrap().push((name, result));
            }
        };
        let mut first = Coroutine::new(stacks[1], call('a'));
        let mut second = Coroutine::new(stacks[0], call('b'));
        first.resume();
        second.resume();
        first.resume();
        second.resume();
        let results = results.lock().unwrap();
        for ((name, result), expected) in results.iter().zip(['a', 'b']) {
            let error = result.as_ref().expect_err("it has come back out of turn");
            let fault = error.fault().unwrap_or_else(|| panic!("{name}: {error}"));
            assert!(*name == expected && fault.kind() == FaultKind::Gate, "{name}: {fault}");
            assert!(fault.reason().contains("another stack"), "{name}: {fault}");
        }
        assert_eq!(results.len(), 2);
        assert!(matches!(bind(&domain, "smash").call(1), Err(CallError::TooDeep)));
        let smash = bind(&domain, "smash");
        std::thread::spawn(move || assert!(smash.call(1).is_ok())).join().expect("no panic");
    });
}

thread_local! {
    /// The next question of [`gives_way_once`] is answered late.
    static ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Options of a domain whose calls' services give way once, when they ask whether the call is to end. (Kicks ask, too, in a handler.)
fn gives_way_once() -> DomainOptions {
    DomainOptions::new().stop_if(|| {
        if host_sys::on_own_stack() && ARMED.take() {
            give_way();
        }
        false
    })
}

/// What the thread is in, on the stack of a coroutine, when it gives way.
#[derive(Debug, Clone, Copy)]
enum Service {
    HostFunction,
    SystemCall,
    /// The slow path from one domain into another.
    Admission,
    /// The end of a call from one domain to another.
    Failure,
}

const SERVICES: [Service; 4] =
    [Service::HostFunction, Service::SystemCall, Service::Admission, Service::Failure];

/// Calls a function of a domain whose call gives way in `service`.
fn first_call(service: Service) -> impl FnOnce() -> Result {
    let source = "#include <time.h>
        long host(long), other(long), arm(long);
        long nap(long x) { struct timespec t = {0, 1000000}; return arm(0) + nanosleep(&t, 0) + x; }"
        .to_owned()
        + &crate::common::frames(&[
            ("calls", "host(x)"),
            ("naps", "nap(x)"),
            ("crosses", "arm(0) + other(x)"),
        ]);
    let guest = Guest::c(&source).gate("long host(long)").gate("long other(long)").gate("long arm(long)");
    let guest = ["calls", "naps", "crosses"]
        .iter()
        .fold(guest, |guest, name| guest.export(&format!("long {name}(long)")));
    let host = HostFunction::new(|_: &Domain, x: i64| {
        give_way();
        x
    });
    // As late as that: a call that has not begun asks, too.
    let armed = Arc::new(AtomicBool::new(false));
    let arming = armed.clone();
    let arm = HostFunction::new(move |_: &Domain, x: i64| {
        ARMED.set(arming.load(Ordering::Relaxed));
        x
    });
    let client = guest.domain_with(gives_way_once().gate("host", host).gate("arm", arm));
    // On another thread: this one takes the slow path in, the first time.
    let server = std::thread::spawn(|| {
        let source = "long fine(long x) { return x; } long fails(long x) { __builtin_trap(); return x; }";
        Guest::c(source).export("long fine(long)").export("long fails(long)").domain()
    });
    let server = server.join().expect("no panic");
    let (name, other) = match service {
        Service::HostFunction => ("calls", "fine"),
        Service::SystemCall => ("naps", "fine"),
        Service::Admission => ("crosses", "fine"),
        Service::Failure => ("crosses", "fails"),
    };
    let said = crate::common::said(&client, "other", other);
    client.link("other", &server, &said, Policy::default(), OnFailure::Return(0)).expect("an import");
    let function = bind(&client, name);
    if matches!(service, Service::Failure) {
        function.call(5).expect("the first call attaches the thread to the server");
    }
    move || {
        armed.store(true, Ordering::Relaxed);
        let _server = server;
        function.call(5)
    }
}

fn is_out_of_turn(result: &Result) -> bool {
    let fault = result.as_ref().err().and_then(|error| error.fault());
    fault.is_some_and(|fault| fault.kind() == FaultKind::Gate && fault.reason().contains("another stack"))
}

type Told = Arc<Mutex<Vec<(char, Result)>>>;

/// What a coroutine does: a call, whose result it tells.
fn telling(told: &Told, name: char, call: impl FnOnce() -> Result + 'static) -> impl FnOnce() + 'static {
    let told = told.clone();
    move || {
        let result = call();
        told.lock().unwrap().push((name, result));
    }
}

/// A call of another domain's, which gives way in a callback.
fn second_call() -> impl FnOnce() -> Result {
    let domain = domain(DomainOptions::new(), |x| {
        give_way();
        x
    });
    let deep = bind(&domain, "deep");
    move || deep.call(5)
}

/// Makes two coroutines, of which the second calls while the first is in `service`, and the first goes on before it: both calls end.
fn both_end<C: Resume>(
    service: Service,
    first: impl FnOnce(Box<dyn FnOnce()>) -> C,
    second: impl FnOnce(Box<dyn FnOnce()>) -> C,
) {
    let told = Told::default();
    let mut first = first(Box::new(telling(&told, 'a', first_call(service))));
    let mut second = second(Box::new(telling(&told, 'b', second_call())));
    first.resume();
    second.resume();
    assert!(told.lock().unwrap().is_empty(), "{service:?}: both are in the middle of a call");
    first.resume();
    let seen = told.lock().unwrap().iter().map(|(name, _)| *name).collect::<String>();
    assert_eq!(seen, "a", "{service:?}: the first goes on where the second is");
    second.resume();
    let told = told.lock().unwrap();
    assert!(told.iter().map(|(_, result)| result).all(is_out_of_turn), "{service:?}: {told:?}");
    assert_eq!(told.len(), 2, "{service:?}");
}

/// Nothing separates the stacks of two coroutines, and the second one's lies above: its call is taken for one by a caller of the first,
/// which has jumped out, and has the first one's records. The first comes back to another call's record, whatever it has been in:
/// its call ends, then the other one's. Red if a service goes back by a record without asking whether that is its own.
#[test]
fn calls_whose_records_another_has_end() {
    for service in SERVICES {
        let _watchdog = watchdog("coroutines that have each other's records");
        std::thread::spawn(move || {
            let [low, high] = adjoining_stacks();
            let third = bind(&domain(DomainOptions::new(), |x| x), "smash");
            both_end(service, |call| Coroutine::new(low, call), |call| Coroutine::new(high, call));
            assert!(matches!(third.call(1), Err(CallError::TooDeep)), "{service:?}");
        })
        .join()
        .expect("no panic");
    }
}

/// The second one's stack lies below: its call counts as nested, and its record as left by a jump when the first comes back, which goes on.
/// The second has no record to come back to.
#[test]
fn calls_whose_records_were_taken_for_dead_end() {
    let _watchdog = watchdog("coroutines that have each other's records");
    let [low, high] = adjoining_stacks();
    on_a_low_stack(move || {
        let told = Told::default();
        let mut first = Coroutine::new(high, telling(&told, 'a', first_call(Service::HostFunction)));
        let mut second = Coroutine::new(low, telling(&told, 'b', second_call()));
        first.resume();
        second.resume();
        first.resume();
        second.resume();
        let told = told.lock().unwrap();
        assert!(matches!(told[..], [('a', Ok(5)), ('b', ref ended)] if is_out_of_turn(ended)), "{told:?}");
    });
}

/// Two coroutines use one stack, and put aside what they have there: their frames lie at the very same addresses. Red if frames are known
/// by their addresses.
#[test]
fn calls_on_one_stack_that_is_put_aside_know_their_records() {
    for service in SERVICES {
        let _watchdog = watchdog("coroutines that have each other's records");
        std::thread::spawn(move || {
            let [stack, _] = adjoining_stacks();
            both_end(service, |call| Sharing::new(stack, call), |call| Sharing::new(stack, call));
        })
        .join()
        .expect("no panic");
    }
}

/// A function of the host's panics when the thread has been in another call meanwhile: the panic is nobody's, and each call ends as one that
/// came back out of turn. Red if whatever record is innermost is taken for the function's own.
#[test]
fn a_panic_out_of_turn_is_no_other_calls() {
    for case in ["apart", "adjoining", "shared"] {
        let _watchdog = watchdog("coroutines whose host functions panic");
        let apart = coroutine_stacks(0);
        on_a_low_stack(move || {
            let told = Told::default();
            let panics = domain(DomainOptions::new(), |x| {
                give_way();
                panic!("out of turn with {x}")
            });
            let panics = bind(&panics, "deep");
            let first = telling(&told, 'a', move || panics.call(5));
            let second = telling(&told, 'b', second_call());
            let [low, high] = adjoining_stacks();
            if case == "shared" {
                let (mut first, mut second) = (Sharing::new(low, first), Sharing::new(low, second));
                first.resume();
                second.resume();
                first.resume();
                second.resume();
            } else {
                let [below, above] = if case == "apart" { [apart[1], apart[0]] } else { [low, high] };
                let (mut first, mut second) = (Coroutine::new(below, first), Coroutine::new(above, second));
                first.resume();
                second.resume();
                first.resume();
                second.resume();
            }
            let told = told.lock().unwrap();
            let ended = told.iter().map(|(_, result)| result).all(is_out_of_turn);
            assert!(told.len() == 2 && ended, "{case}: {told:?}");
        });
    }
}

/// A handler interrupts a domain's code and switches to a stack above it in the same mapping, where a domain is called: refused. Red if the
/// interrupted call's record is dropped, as a jump's would be: the code goes on all the same, on another call's record.
#[test]
fn code_that_was_interrupted_keeps_its_record() {
    let _watchdog = watchdog("a coroutine whose domain's code was interrupted");
    std::thread::spawn(|| {
        let [low, high] = adjoining_stacks();
        // The domain's code is interrupted, and not what leads there, which a busy machine may take a millisecond for.
        let spinning = Guest::c(
            "volatile long begun; long where(long x) { (void)x; return (long)&begun; }\n\
             long spin(long x) { for (begun = 1; --x > 0;) __asm__ volatile(\"\"); return 5; }",
        )
        .export("long spin(long)")
        .export("long where(long)")
        .domain();
        let (told, spin) = (Told::default(), bind(&spinning, "spin"));
        let begun = bind(&spinning, "where").call(0).expect("an address") as u64;
        let first = move || host_sys::give_way_in_handler(libc::SIGUSR1, begun, || spin.call(100_000_000));
        let mut first = Coroutine::new(low, telling(&told, 'a', first));
        let mut second = Coroutine::new(high, telling(&told, 'b', second_call()));
        first.resume();
        second.resume();
        first.resume();
        let told = told.lock().unwrap();
        assert!(matches!(told[..], [('b', Err(CallError::SignalHandler)), ('a', Ok(5))]), "{told:?}");
    })
    .join()
    .expect("no panic");
}

/// Calls on from a frame that lies deeper than the caller's.
#[inline(never)]
fn deeper<T>(work: impl FnOnce() -> T) -> T {
    let room = std::hint::black_box([0_u8; 16 << 10]);
    let done = work();
    std::hint::black_box(&room);
    done
}

/// A call that was left by a jump is on record until the thread calls from a frame that is not deeper; its function and its domain may be
/// gone before. Nobody looks at them then: neither a kick, nor the report of a fault. Red if records keep bindings that have ended.
#[test]
fn records_of_functions_that_are_gone_lead_nowhere() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = asked.clone();
    let options = DomainOptions::new().stop_if(move || {
        asking.fetch_add(1, Ordering::Relaxed);
        false
    });
    let left = domain(options, |_| {
        host_sys::jump_out();
        0
    });
    let deep = bind(&left, "deep");
    let faulty =
        Guest::c("long crash(long x) { __builtin_trap(); return x; }").export("long crash(long)").domain();
    let (crash, other) = (bind(&faulty, "crash"), domain(DomainOptions::new(), |x| x));
    assert!(host_sys::jumped_out(|| deeper(|| drop(deep.call(5)))), "the host function jumps");
    let outer = |error: &CallError| {
        let fault = error.fault().expect("a fault");
        fault.backtrace().to_string().contains("deep")
    };
    // While the function is there, the call that was left counts as one in progress.
    deeper(|| deeper(|| assert!(outer(&crash.call(1).expect_err("a crash")))));
    drop(deep);
    deeper(|| deeper(|| assert!(!outer(&crash.call(1).expect_err("a crash")))));
    drop(left);
    let before = asked.load(Ordering::Relaxed);
    other.kill(); // kicks this thread
    assert_eq!(asked.load(Ordering::Relaxed), before, "a domain that is gone was asked");
}

/// The same of a call that goes by another header of its binding's, since a handler of the domain's own has begun in it. Red if only the first
/// header's records are looked for.
#[test]
fn records_of_handlers_that_are_gone_lead_nowhere() {
    const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
long host(long);
static void leaves(int signal) { host(1); }
long handles(long n) { struct sigaction action = {.sa_handler = leaves}; return sigaction(SIGSEGV, &action, 0); }
long touch(volatile long *at) { return *at; }
"#;
    const NOWHERE: i64 = 0x9000;
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = asked.clone();
    let host = HostFunction::new(|_: &Domain, _: i64| -> i64 {
        host_sys::jump_out();
        0
    });
    let options = DomainOptions::new().gate("host", host).stop_if(move || {
        asking.fetch_add(1, Ordering::Relaxed);
        false
    });
    let left = Guest::c(SOURCE).gate("long host(long)").domain_with(options);
    assert_eq!(bind(&left, "handles").call(0).expect("a handler"), 0);
    let (touch, other) = (bind(&left, "touch"), domain(DomainOptions::new(), |x| x));
    assert!(host_sys::jumped_out(|| deeper(|| drop(touch.call(NOWHERE)))), "the host function jumps");
    drop(touch);
    drop(left);
    let before = asked.load(Ordering::Relaxed);
    other.kill(); // kicks this thread
    assert_eq!(asked.load(Ordering::Relaxed), before, "a domain that is gone was asked");
}

/// In turn, they may: each call is over before the next coroutine's begins.
#[test]
fn coroutines_take_turns() {
    let domain = domain(DomainOptions::new(), |x| x);
    let results = Arc::new(Mutex::new(Vec::new()));
    let mut coroutines = coroutine_stacks(0).map(|stack| {
        let (deep, results) = (bind(&domain, "deep"), results.clone());
        Coroutine::new(stack, move || {
            for _ in 0..3 {
                results.lock().unwrap().push(deep.call(5).expect("a call"));
                give_way();
            }
        })
    });
    for _ in 0..3 {
        coroutines.iter_mut().for_each(Coroutine::resume);
    }
    assert_eq!(*results.lock().unwrap(), [5; 6]);
}

/// R16: what a host function has said of its call's end goes with the call, when it jumps out of that. Red if it stays: another call that begins at the
/// same place in the domain ends by it. (That is made by another domain's code, so that nothing asks about the thread before.)
#[test]
fn r16_an_end_goes_with_the_call_that_was_jumped_out_of() {
    let _watchdog = watchdog("the end of a call that was jumped out of");
    let source = "
        #include <signal.h>
        long host(long);
        static volatile long count;
        static void note(int signal) { count++; }
        long ends(long x) { return host(x); }
        long asks(long x) { signal(SIGUSR1, note); raise(SIGUSR1); return x + count; }";
    let host = HostFunction::new(|_: &Domain, x: i64| {
        assert!(lockgate::end_call("it goes on elsewhere"));
        host_sys::jump_out();
        x
    });
    let server = Guest::c(source).gate("long host(long)");
    let server = server.domain_with(DomainOptions::new().gate("host", host));
    let ends = bind(&server, "ends");
    let host = HostFunction::new(move |_: &Domain, x: i64| {
        assert!(x == 0 || host_sys::jumped_out(|| drop(ends.call(x))), "the inner host function jumps");
        x
    });
    let source = "long host(long); long asks(long); long calls(long x) { return asks(host(x)); }";
    let client = Guest::c(source).gate("long host(long)").gate("long asks(long)");
    let client = Domain::new(&client.module(), DomainOptions::new().gate("host", host)).expect("a domain");
    let prototype = "long asks(long)";
    client.link("asks", &server, prototype, Policy::default(), OnFailure::default()).expect("a link");
    let calls = bind(&client, "calls");
    assert_eq!(calls.call(0).expect("a call without a jump"), 1);
    assert_eq!(calls.call(5).expect("nothing has ended this one"), 7);
}

/// The same where the call's domain is gone before the thread calls again, and its record says no more which call it was. Red if the end stays: the
/// thread's calls are refused, all of them.
#[test]
fn r16_an_end_goes_with_the_domain_of_its_call() {
    let _watchdog = watchdog("the end of a call of a domain that is gone");
    let first = domain(DomainOptions::new(), |x| {
        assert!(lockgate::end_call("it goes on elsewhere"));
        host_sys::jump_out();
        x
    });
    let (deep, second) = (bind(&first, "deep"), domain(DomainOptions::new(), |x| x));
    assert!(host_sys::jumped_out(|| drop(deep.call(5))), "the host function jumps");
    drop((deep, first));
    assert_eq!(bind(&second, "deep").call(5).expect("nothing has ended this one"), 5);
}

/// R16: a host function jumps out of another domain's call, and returns: what it has jumped out of is off the records then, and an
/// exclusive domain is free. Red if the gate leaves the records above its own as they are: nobody looks at them again.
#[test]
fn r16_a_gate_repairs_what_its_function_has_jumped_out_of() {
    let _watchdog = watchdog("an exclusive domain that was jumped out of");
    let options = DomainOptions::new().exclusive(Some(Duration::from_secs(2)));
    let inner = domain(options, |_| {
        host_sys::jump_out();
        0
    });
    let jumped = bind(&inner, "deep");
    let outer = domain(DomainOptions::new(), move |x| {
        assert!(host_sys::jumped_out(|| drop(jumped.call(x))), "the inner host function jumps");
        x
    });
    let place = inner.bind::<extern "C" fn() -> i64>("where").expect("an export");
    let first = place.call().expect("a call");
    assert_eq!(bind(&outer, "deep").call(5).expect("a call"), 5);
    let smash = bind(&inner, "smash");
    std::thread::spawn(move || assert!(smash.call(1).is_ok(), "the domain is free"))
        .join()
        .expect("no panic");
    assert_eq!(place.call().expect("a call"), first, "calls start at the top again");
}
