//! Hosts that leave calls in other ways than by returning from them: by `longjmp` (rule R16), and by switching to another stack.
mod common;

use common::host_sys::{self, Coroutine, coroutine_stacks, give_way};
use common::{Guest, patience};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Function, HostFunction};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Long = extern "C" fn(i64) -> i64;
type Result = std::result::Result<i64, CallError>;

fn domain(options: DomainOptions, host: impl Fn(i64) -> i64 + Send + Sync + 'static) -> Domain {
    let source = "long host(long);".to_owned() + &common::frames(&[("deep", "host(x)")]);
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

/// R16: a host function jumps out of another domain's call, and returns: what it has jumped out of is off the records then, and an
/// exclusive domain is free. Red if the gate leaves the records above its own as they are: nobody looks at them again.
#[test]
fn r16_a_gate_repairs_what_its_function_has_jumped_out_of() {
    let _patience = patience("an exclusive domain that was jumped out of");
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
