//! What the model of `crates/lockgate-verify/tests/returns` runs, on the processor: random programs, whose functions have frames of all
//! kinds, switch contexts, jump and call the host, which calls them again; on two threads, with a third one that sends them signals, whose
//! handlers run on control stacks and write below rsp. Each frame must be returned to by what it has called (guest.c), and what nobody may
//! go to ends the call.

use crate::common::{Guest, random_steps};
use crate::handlers_sys::{HANDLED, free_signals, handle_all, off_alternate_stack, raise, thread_number};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Function, HostFunction};
use lockgate_abi::window;
use std::cell::Cell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use support::Random;

type Longs = extern "C" fn(i64, i64) -> i64;

/// How many steps of all programs together, unless more are asked for.
const FEW: u64 = 3_000_000;
const PROGRAMS: u64 = 3;
/// Of one call.
const STEPS_OF_CALL: i64 = 2000;
const CALLERS: usize = 2;
/// How many handlers on control stacks are an experiment.
const ENOUGH: u64 = 50;
/// Calls that are nested in each other.
const NESTED: u32 = 3;

/// Functions with frames of constant size, of computed size, aligned, with and without calls behind which there is nothing to do.
fn program(random: &mut Random) -> String {
    const FUNCTIONS: usize = 12;
    let mut text = format!("#define FUNCTIONS {FUNCTIONS}\n{}", include_str!("guest.c"));
    for i in 0..FUNCTIONS {
        let _ = writeln!(text, "FAR static long f{i}(long);");
    }
    for i in 0..FUNCTIONS {
        let size = 1 + random.below(40);
        let frame = match random.below(5) {
            0 => format!("volatile long room[{size}];"),
            1 => format!("volatile long room[(token & 15) + {size}];"),
            2 => format!("volatile long room[{size}] __attribute__((aligned({})));", 32 << random.below(3)),
            3 => format!("volatile long *room = __builtin_alloca(8 * ((token >> 4 & 31) + {size}));"),
            _ => format!("volatile long room[{}];", 4 * size),
        };
        let _ = write!(
            text,
            "FAR static long f{i}(long token) {{ struct frames *mine = self()->runs; {frame}
                 long depth = enter(mine, token), at = {last}; room[at] = token;
                 for (int i = {times}; i && goes_on(mine, depth); i--) {{\n",
            last = random.below(size),
            times = 1 + random.below(3)
        );
        for _ in 0..1 + random.below(4) {
            let _ = match random.below(10) {
                0..=2 => {
                    writeln!(text, "answered(mine, token + i, f{}(token + i));", random.below(FUNCTIONS))
                }
                3 | 4 => writeln!(text, "act(mine, token ^ i);"),
                5..=7 => writeln!(text, "turn(mine);"),
                8 => writeln!(text, "jump(mine);"),
                _ => writeln!(text, "if (next() % 8 == 0) outside(mine); forbidden(mine);"),
            };
        }
        let _ = writeln!(text, "}} check(room[at] == token); end(mine, depth, token);");
        let _ = match random.below(3) {
            0 => {
                let next = (i + 1 + random.below(FUNCTIONS - 1)) % FUNCTIONS;
                writeln!(text, "return self()->steps > 0 && next() % 2 ? f{next}(token) : ~token; }}")
            }
            _ => writeln!(text, "return ~token; }}"),
        };
    }
    let names: Vec<String> = (0..FUNCTIONS).map(|i| format!("f{i}")).collect();
    let _ = writeln!(text, "static long (*const functions[FUNCTIONS])(long) = {{ {} }};", names.join(", "));
    text
}

static STRIDE: AtomicU64 = AtomicU64::new(0);
static ON_CONTROL_STACK: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static POKE: OnceLock<Function<extern "C" fn(i64) -> i64>> = OnceLock::new();

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Writes a good part of its stack; or calls a domain, which works or is refused.
fn work(signal: usize, at: u64) {
    let on_control_stack = at.wrapping_sub(STRIDE.load(Ordering::Relaxed)) < window::STRIDE;
    ON_CONTROL_STACK.fetch_add(on_control_stack.into(), Ordering::Relaxed);
    match POKE.get().filter(|_| signal.is_multiple_of(4)).map(|poke| poke.call(1)) {
        None => drop(std::hint::black_box([signal as u64; 256])),
        Some(Ok(2) | Err(CallError::SignalHandler)) => {}
        Some(wrong) => {
            WRONG.fetch_add(1, Ordering::Relaxed);
            let _ = writeln!(std::io::stderr(), "a handler's call: {wrong:?}");
        }
    }
}

/// Whether the call did what it should, or was ended for what it tried.
fn is_right(result: Result<i64, CallError>, refused: &AtomicU64) -> Result<(), String> {
    match result {
        Ok(0) => Ok(()),
        Ok(wrong) => Err(format!("{wrong} wrong returns")),
        Err(CallError::Fault(fault)) if fault.kind() == FaultKind::Gate => {
            refused.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Runs program `number` for so many steps.
fn run(number: u64, steps: u64, signals: &[i32]) {
    let mut random = Random(number);
    let source = program(&mut random);
    let exports = ["long call(long, long)", "long again(long, long)", "long poke(long)", "long done(void)"];
    let guest = Guest::c_with(&source, &["-O1", "-w"]).gate("long host(long)").export("long switched(void)");
    let module = exports.iter().fold(guest, |guest, export| guest.export(export)).module();
    let refused = Arc::new(AtomicU64::new(0));
    let (inner, functions) = (refused.clone(), OnceLock::new());
    let host = HostFunction::new(move |domain: &Domain, n: i64| {
        let depth = DEPTH.get();
        if depth < NESTED && n % 2 == 0 {
            DEPTH.set(depth + 1);
            let again = &functions.get_or_init(|| domain.bind::<Longs>("again").expect("an export"));
            if let Err(what) = is_right(again.call(n, STEPS_OF_CALL / 10), &inner) {
                println!("nested: {what}");
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
            DEPTH.set(depth);
        }
        n
    });
    let domain = Domain::new(&module, DomainOptions::new().gate("host", host)).expect("a domain");
    STRIDE.store(domain.base(), Ordering::Relaxed);
    let count = |name: &str| {
        domain.bind::<extern "C" fn() -> i64>(name).expect("an export").call().expect("a count") as u64
    };
    let (over, threads) = (AtomicBool::new(false), [const { AtomicI32::new(0) }; CALLERS]);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS as u64)
            .map(|caller| {
                let (threads, domain, over, refused) = (&threads, &domain, &over, &refused);
                scope.spawn(move || {
                    let call = domain.bind::<Longs>("call").expect("an export");
                    // What a thread's first call prepares is not for handlers.
                    assert_eq!(POKE.get().expect("a function").call(1).expect("a call"), 2);
                    is_right(call.call(1, 1), refused)?;
                    threads[caller as usize].store(thread_number(), Ordering::Release);
                    let mut random = Random(number << 8 | caller);
                    while !over.load(Ordering::Relaxed) {
                        is_right(call.call(random.next() as i64, STEPS_OF_CALL), refused)?;
                    }
                    Ok::<_, String>(())
                })
            })
            .collect();
        // Some at a time, which interrupt each other. A busy machine takes its time until enough have found the threads where they are wanted.
        let (begun, first) = (Instant::now(), ON_CONTROL_STACK.load(Ordering::Relaxed));
        let enough = || {
            let came = ON_CONTROL_STACK.load(Ordering::Relaxed) - first;
            count("done") >= steps && (came > ENOUGH || begun.elapsed() > Duration::from_secs(60))
        };
        let ended = || callers.iter().any(|caller| caller.is_finished());
        let mut sent = HANDLED.load(Ordering::Relaxed);
        for (burst, thread) in signals.chunks(3).cycle().zip(threads.iter().cycle()) {
            let thread = thread.load(Ordering::Acquire);
            if thread != 0 {
                off_alternate_stack(burst);
                burst.iter().for_each(|signal| raise(thread, *signal));
                sent += burst.len() as u64;
            }
            while HANDLED.load(Ordering::Relaxed) < sent && !ended() {
                std::thread::yield_now();
            }
            if ended() || enough() {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
        for caller in callers {
            assert_eq!(caller.join().expect("no panic"), Ok(()), "program {number}:\n{source}");
        }
    });
    let (done, switched, refused) = (count("done"), count("switched"), refused.load(Ordering::Relaxed));
    println!(
        "program {number}: {done} steps, {switched} switches, {refused} calls ended for what they tried"
    );
    assert_eq!(WRONG.load(Ordering::Relaxed), 0, "calls of handlers, nested calls");
    assert!(switched > steps / 100 && refused > 0, "{switched} switches, {refused} refusals");
}

#[test]
fn each_frame_is_returned_to_by_what_it_called() {
    let steps = random_steps(FEW);
    let module = Guest::c("long poke(long x) { return x + 1; }").export("long poke(long)").module();
    let another = Domain::new(&module, DomainOptions::new()).expect("a domain");
    let poke = another.bind::<extern "C" fn(i64) -> i64>("poke").expect("an export");
    assert_eq!(poke.call(1).expect("a call"), 2);
    assert!(POKE.set(poke).is_ok(), "once");
    let signals = free_signals(30);
    handle_all(&signals, work);
    for number in 0..PROGRAMS {
        run(number, steps / PROGRAMS, &signals);
    }
    let inside = ON_CONTROL_STACK.load(Ordering::Relaxed);
    println!("{} signals, {inside} on a control stack", HANDLED.load(Ordering::Relaxed));
    assert!(inside > PROGRAMS * ENOUGH, "{inside} handlers on a control stack");
}
