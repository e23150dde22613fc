//! Random machine code that the verifier accepts, on a model and on the processor, where another thread raises signals whose handlers run on
//! the control stack and write what they have found above all over what lies below rsp, from the first word on. A call comes to the same end here and there, with
//! the same registers, or something has changed a return or a frame word (docs/returns.md).
mod model;
mod program;

use crate::common::{Guest, random_steps};
use crate::handlers_sys::{HANDLED, free_signals, handle_all, overwrite_below, under_fire};
use lockgate::{CallError, Domain, DomainOptions, Function, HostFunction, Policy};
use lockgate_abi::{stack, window};
use model::{Counts, End, run};
use program::{NESTS, Program, module};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use support::Random;

type Runs = extern "C" fn(u64, u64, u64) -> u64;

/// What is built at once.
const PROGRAMS: usize = 60;
/// Of each module, before there is another one; and modules, unless more steps are asked for.
const STEPS_OF_MODULE: u64 = 3_000_000;
const MODULES: u64 = 3;
/// Of one call.
const STEPS_OF_CALL: u64 = 10_000;
const STEPS_OF_NESTED: u64 = 400;
/// How often each call is made on the processor, of whose time the model takes the most.
const TIMES: usize = 10;
/// Calls that are nested in each other.
const NESTED: u32 = 3;
/// How many handlers on control stacks, in each module, are an experiment.
const ENOUGH: u64 = 30;

static STRIDE: AtomicU64 = AtomicU64::new(0);
static ON_CONTROL_STACK: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// A difference of a nested call's.
    static NESTED_WRONG: RefCell<Option<String>> = const { RefCell::new(None) };
    static NESTED_CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Fills what lies below with the words above that some program has put there: return words, frame words, and what the kernel has saved.
fn work(signal: usize, at: u64) {
    if at.wrapping_sub(STRIDE.load(Ordering::Relaxed)) >= window::STRIDE {
        return;
    }
    ON_CONTROL_STACK.fetch_add(1, Ordering::Relaxed);
    let above = (stack::TOP - at % stack::SLOT) / 8;
    let found = crate::common::peek(at & !7, above.min(1024) as usize - 1).unwrap_or_default();
    let mut below = [signal as u64; 1024];
    for (to, word) in below.iter_mut().zip(found.iter().rev().cycle()) {
        *to = *word;
    }
    std::hint::black_box(&below);
}

/// How the call ended, in the model's words; otherwise what went wrong.
fn ended(result: Result<u64, CallError>) -> Result<End, String> {
    match result {
        Ok(value) => Ok(End::Returns(value)),
        Err(CallError::Fault(fault)) if ["Ill", "Trap"].contains(&&*format!("{:?}", fault.kind())) => {
            let registers = fault.registers();
            let depth = registers.r15.wrapping_sub(registers.rsp);
            Ok(End::Traps([registers.r12, registers.r13, registers.r14, depth]))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Runs one call on the model once, and here so many times.
fn compare(
    function: &Function<Runs>,
    programs: &[Program],
    (seed, most, times): (u64, u64, usize),
    counts: &mut Counts,
) -> Result<End, String> {
    let which = (seed >> 32) as usize % programs.len();
    let steps = 1 + (seed >> 8) % most;
    let expected = run(&programs[which], seed, steps, counts);
    let calls = (0..times).map(|_| ended(function.call(which as u64, seed, steps)));
    match calls.into_iter().find(|came| *came != Ok(expected)) {
        None => Ok(expected),
        Some(came) => Err(format!("program {which}, seed {seed:#x}: {came:x?}, not {expected:x?}")),
    }
}

/// Runs the programs of one module, and for longer if too few signals have come.
fn try_module(number: u64, signals: &[i32], counts: &mut Counts, ends: &mut [u64; 2]) {
    let mut random = Random(number);
    let programs: Arc<Vec<Program>> = Arc::new((0..PROGRAMS).map(|_| Program::new(&mut random)).collect());
    let module = Guest::assembly(&module(&programs))
        .gate("long again(long)")
        .export("unsigned long run(unsigned long, unsigned long, unsigned long)")
        .module();
    let (inner, functions) = (programs.clone(), OnceLock::new());
    let again = HostFunction::new(move |domain: &Domain, r12: i64| {
        let (depth, seed) = (DEPTH.get(), (r12 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if depth < NESTED && (seed >> 40).is_multiple_of(NESTS) {
            DEPTH.set(depth + 1);
            let bind = || domain.bind_with::<Runs>("run", Policy::MUTUAL_DISTRUST).expect("an export");
            let function = functions.get_or_init(bind);
            NESTED_CALLS.set(NESTED_CALLS.get() + 1);
            let came = compare(function, &inner, (seed, STEPS_OF_NESTED, 1), &mut Counts::default());
            if came.is_err() {
                NESTED_WRONG.set(came.err());
            }
            DEPTH.set(depth);
        }
        r12
    });
    let domain = Domain::new(&module, DomainOptions::new().gate("again", again)).expect("a domain");
    STRIDE.store(domain.base(), Ordering::Relaxed);
    overwrite_below(domain.base());
    let function = domain.bind_with::<Runs>("run", Policy::MUTUAL_DISTRUST).expect("an export");
    // What a thread's first call prepares is not for handlers.
    compare(&function, &programs, (1 << 8, STEPS_OF_NESTED, 1), counts).expect("the same end");
    under_fire(signals, || {
        let (begun, first) = (Instant::now(), ON_CONTROL_STACK.load(Ordering::Relaxed));
        let until = counts.steps + STEPS_OF_MODULE;
        let enough = || {
            let came = ON_CONTROL_STACK.load(Ordering::Relaxed) - first;
            came > ENOUGH || begun.elapsed() > Duration::from_secs(60)
        };
        let mut wrong = None;
        while wrong.is_none() && (counts.steps < until || !enough()) {
            match compare(&function, &programs, (random.next(), STEPS_OF_CALL, TIMES), counts) {
                Ok(End::Returns(_)) => ends[0] += 1,
                Ok(End::Traps(_)) => ends[1] += 1,
                Err(what) => wrong = Some(what),
            }
            wrong = NESTED_WRONG.take().or(wrong);
        }
        assert_eq!(wrong, None, "module {number}");
    });
}

#[test]
fn code_on_the_processor_under_signals_does_what_the_model_says() {
    let steps = random_steps(0);
    let signals = free_signals(30);
    handle_all(&signals, work);
    let (mut counts, mut ends, mut modules) = (Counts::default(), [0; 2], 0);
    while counts.steps < steps || modules < MODULES {
        try_module(modules, &signals, &mut counts, &mut ends);
        modules += 1;
    }
    let [nested, inside] = [NESTED_CALLS.get(), ON_CONTROL_STACK.load(Ordering::Relaxed)];
    let Counts { steps, returns, resumes, passed, opens, framed } = counts;
    let [returned, trapped] = ends;
    println!(
        "{modules} modules of {PROGRAMS} programs, {steps} steps, {returns} returns, {opens} computed frames, \
         {resumes} resumes that passed {passed} functions and {framed} frame words, {returned} calls that returned, {trapped} that trapped, \
         {nested} nested ones, {} signals, {inside} on a control stack",
        HANDLED.load(Ordering::Relaxed)
    );
    assert!(inside > modules * ENOUGH, "{inside} handlers on a control stack");
    assert!(returns > steps / 500 && opens > steps / 500, "{returns} returns, {opens} computed frames");
    assert!(framed > steps / 1000, "{framed} frame words in the way of resumes");
    assert!(
        passed > steps / 5000 && nested > steps / 5000,
        "{passed} functions passed, {nested} nested calls"
    );
    assert!(returned > 200 && trapped > 200, "{returned} calls returned, {trapped} trapped");
}
