//! Random call graphs over several domains, with crashes, kills and timeouts at random places, on several threads: what
//! comes of each is what the model says, and after each call every live frame's registers, stack and control words are what
//! they were.
//!
//! A program is one number. `LOCKGATE_CALL_GRAPH=0x…` runs one again, alone.

mod host_sys;
mod model;
mod world;

use model::{CRASHES, DOMAINS, End, LOOPS, SLEEPS, mix};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use world::World;

/// Threads that call.
const THREADS: u64 = 6;
/// Calls deep.
const DEEP: u64 = 6;
/// Between two signals to one thread, nanoseconds.
const TICK: u32 = 100_000;
/// Programs in one world.
const LIFE: u64 = 1 << 32;

/// Ways to compute that are not the usual ones: MXCSR and the x87's control word.
const CONTROL_WORDS: [(u32, u16); 3] = [(0x1f80, 0x37f), (0x7f80, 0x0f7f), (0x3f80, 0x077f)];

/// The program that is to be run again.
fn chosen() -> Option<u64> {
    let text = std::env::var("LOCKGATE_CALL_GRAPH").ok()?;
    Some(
        u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .expect("LOCKGATE_CALL_GRAPH is a hexadecimal number"),
    )
}

/// Runs `work` on several threads while signals come all the time.
fn on_threads(work: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        let start = |thread| {
            let work = &work;
            scope.spawn(move || {
                crate::common::host_sys::signal_storm_every(libc::SIGUSR1, TICK, || work(thread));
            })
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        // Until they have left all domains, which the end of the scope alone does not wait for.
        for thread in threads {
            thread.join().expect("what a thread says is on the screen");
        }
    });
}

/// Runs program number `seed`; what came of it and what had to.
fn run(world: &Arc<World>, seed: u64, may: u64) -> (Result<u64, End>, Result<u64, End>) {
    let (domain, node, order) = (seed as usize % DOMAINS, mix(seed, 77), DEEP | may);
    let expected = world.edges.predict(domain, node, order, &mut Vec::new());
    let (mxcsr, x87) = CONTROL_WORDS[seed as usize / DOMAINS % CONTROL_WORDS.len()];
    let mut got = Ok(0);
    host_sys::with_control_words(mxcsr, x87, || got = world.run(domain, node, order));
    (got, expected)
}

/// Nothing is left of what the threads did.
fn all_gone(world: &World) {
    assert_eq!(
        world.domains.iter().map(|domain| domain.threads_inside()).sum::<usize>(),
        0,
        "records are left"
    );
}

/// How programs ended.
#[derive(Default)]
struct Counts {
    failures: AtomicU64,
    values: AtomicU64,
}

/// Has each thread run so many `programs`, from number `first` on, in which nothing happens but crashes.
fn run_all(world: &Arc<World>, first: u64, programs: u64, counts: &Counts) {
    on_threads(|thread| {
        for program in 0..programs {
            let seed = first + thread * programs + program;
            let (got, expected) = run(world, seed, CRASHES);
            let count = if got.is_ok() { &counts.values } else { &counts.failures };
            count.fetch_add(1, Ordering::Relaxed);
            if got != expected {
                world::report(format!("{got:x?} instead of {expected:x?}"));
            }
            let broken = world::broken();
            assert!(broken.is_empty(), "LOCKGATE_CALL_GRAPH={seed:#x}: {broken:#?}");
        }
    });
    all_gone(world);
}

/// Descriptors and resident memory, KiB, of this process.
fn resources() -> (usize, u64) {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("/proc is mounted").count();
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
    let kib = resident.split_whitespace().next().and_then(|number| number.parse().ok());
    (descriptors, kib.expect("a number"))
}

/// The same programs again and again, on new threads each time, take nothing more of the system.
fn rounds(rounds: u64, programs: u64) {
    /// What allocators keep or give back as they like, KiB.
    const NOISE: u64 = 8 << 10;
    let world = World::new(1, |_| 0, None);
    let counts = Counts::default();
    run_all(&world, LIFE, programs, &counts);
    let (descriptors, resident) = resources();
    for _ in 0..rounds {
        run_all(&world, LIFE, programs, &counts);
    }
    let after = resources();
    assert_eq!(after.0, descriptors, "descriptors are left open");
    assert!(after.1 < resident + NOISE, "{resident} KiB have become {} in {rounds} rounds", after.1);
}

/// In each of `worlds` worlds, each thread runs so many `programs`, in which nothing happens but crashes.
fn crashes(worlds: u64, programs: u64) {
    // Limits that nobody reaches, in some domains.
    let limit = |domain| if domain % 2 == 0 { 60_000 } else { 0 };
    if let Some(seed) = chosen() {
        let world = World::new(seed / LIFE, limit, None);
        println!("{:#x?}", world.edges);
        let (got, expected) = run(&world, seed, CRASHES);
        assert_eq!((got, world::broken()), (expected, Vec::new()));
        return;
    }
    let counts = Counts::default();
    for number in 0..worlds {
        let world = World::new(number, limit, None);
        run_all(&world, number * LIFE, programs, &counts);
    }
    let (failures, values) = (counts.failures.into_inner(), counts.values.into_inner());
    println!("{worlds} worlds: {values} programs returned, {failures} failed");
    assert!(
        failures > worlds * programs / 4 && values > worlds * programs / 4,
        "the programs are too much alike"
    );
}

/// The same with calls that last for ever or wait in system calls, limits of a few milliseconds, and a thread that kills
/// domains, for `time`.
fn kills_and_limits(time: Duration, kills: u64) {
    let new = |number: u64| {
        World::new(number, |domain| 1 + mix(number, domain as u64) % 20, Some(Duration::from_millis(5)))
    };
    let current = Mutex::new(new(0));
    let ended = AtomicBool::new(false);
    let (exact, other) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + time;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=kills {
                // Some instant: what is waited for is nothing that others do.
                std::thread::sleep(
                    time / (kills as u32 + 1) / 2 + Duration::from_micros(mix(number, 1) % 5000),
                );
                let world = current.lock().unwrap().clone();
                world.domains[mix(number, 2) as usize % DOMAINS].kill();
                if number % 2 == 0 {
                    *current.lock().unwrap() = new(number);
                }
            }
            ended.store(true, Ordering::Relaxed);
        });
        on_threads(|thread| {
            for program in 0.. {
                if ended.load(Ordering::Relaxed) && Instant::now() > end {
                    break;
                }
                let world = current.lock().unwrap().clone();
                let seed = 1 << 62 | thread << 32 | program;
                let (got, expected) = run(&world, seed, CRASHES | LOOPS | SLEEPS);
                let count = if got == expected { &exact } else { &other };
                count.fetch_add(1, Ordering::Relaxed);
                let allowed = match &got {
                    _ if got == expected => true,
                    Ok(value) => world::is_tainted(*value),
                    Err(end) => end.is_allowed(),
                };
                if !allowed {
                    world::report(format!("{got:x?} instead of {expected:x?}"));
                }
                let broken = world::broken();
                assert!(broken.is_empty(), "LOCKGATE_CALL_GRAPH={seed:#x}: {broken:#?}");
            }
        });
    });
    let world = current.into_inner().unwrap();
    all_gone(&world);
    println!(
        "{} programs ended as without kills and limits, {} otherwise",
        exact.into_inner(),
        other.into_inner()
    );
}

/// The tests count what the process holds, and limits are short: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> impl Sized {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn crashes_end_what_they_must_and_nothing_else() {
    let _alone = alone();
    crashes(3, 200);
}

#[test]
fn kills_and_limits_leave_live_frames_intact() {
    let _alone = alone();
    kills_and_limits(Duration::from_secs(2), 6);
}

#[test]
fn nothing_is_left_of_failed_calls() {
    let _alone = alone();
    rounds(5, 50);
}

#[test]
#[ignore = "minutes: make evidence"]
fn many_call_graphs() {
    let _alone = alone();
    crashes(40, 1000);
    kills_and_limits(Duration::from_secs(60), 100);
    rounds(100, 100);
}
