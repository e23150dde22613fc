//! `soak.*`: a very large number of calls, from several threads, with signals and crashes among them; every answer is checked.
//!
//! Each thread has a domain of its own, and shares another with all threads. It calls both in turn, under every preset, and they call
//! each other; timer signals interrupt it all the time. After 10,000 calls it crashes its own domain, in one of several ways, by a call
//! of its own or of the shared domain, and takes a pristine one from the pool. What the process holds is compared between two moments when no thread is left: after the
//! first three of ten phases, which warm up (the allocator's arenas and tables, too), and after the last.

mod callee;
mod resources;
mod timer_sys;

use crate::preset::PRESETS;
use crate::{Metric, Options, Report, objects, progress};
use anyhow::{Context as _, ensure};
use callee::{CRASHES, Callee, Nested, Random};
use indicatif::ProgressBar;
use lockgate::{Domain, DomainOptions, HostFunction, Module, OnFailure, Pointer, Pool};
use lockgate_corpus::Corpus;
use resources::Resources;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use timer_sys::Timer;

/// Calls of a full run.
pub const CALLS: u64 = 1_000_000_000;
/// Calls of a quick run.
const QUICK_CALLS: u64 = 2_000_000;
/// Threads that call.
const THREADS: u64 = 8;
/// Calls of a thread between two crashes.
const LIFE: u64 = 10_000;
/// The threads end and new ones start so often.
const PHASES: u64 = 10;
/// The first of them, which warm up.
const WARM: u64 = 3;
/// Between two signals to one thread.
const TICK: Duration = Duration::from_micros(100);
/// Far above what any call takes: the limit is there, and is never reached.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// What all threads share.
struct Soak {
    shared: Domain,
    pool: Pool,
    corruptions: AtomicU64,
    /// Where the threads of a phase wait for each other, so that each phase has all of them at once.
    together: Barrier,
    bar: ProgressBar,
}

/// Makes about `calls` calls, or as many as `options` say.
pub fn measure(options: &Options, calls: Option<u64>) -> anyhow::Result<Report> {
    let calls = calls.unwrap_or(if options.quick { QUICK_CALLS } else { CALLS });
    let lives = calls.div_ceil((LIFE + 1) * THREADS * PHASES);
    let folder = tempfile::tempdir()?;
    let source = Corpus::locate()?.root().join("bench/soak.c");
    let module = Module::open(objects::module(&source, "soak", &[], &callee::EXPORTS, folder.path())?)?;
    let limited = DomainOptions::new().time_limit(TIME_LIMIT);
    let soak = Soak {
        shared: Domain::new(&module, limited)?,
        pool: Pool::new(&module, DomainOptions::new(), THREADS as usize),
        corruptions: AtomicU64::new(0),
        together: Barrier::new(THREADS as usize),
        bar: progress::bar("soak", lives * THREADS * PHASES),
    };
    let start = Instant::now();
    (0..WARM).try_for_each(|phase| soak.phase(phase, lives))?;
    let before = soak.resources()?;
    (WARM..PHASES).try_for_each(|phase| soak.phase(phase, lives))?;
    let growth = soak.resources()?.growth_since(&before);
    let seconds = start.elapsed().as_secs_f64();
    soak.bar.finish_and_clear();

    let crashes = lives * THREADS * PHASES;
    let count = |name: &str, value: u64| Metric::new(format!("soak.{name}"), "count", vec![value as f64]);
    Ok(Report::new(vec![
        count("calls", crashes * (LIFE + 1)),
        count("crashes", crashes),
        count("signals", timer_sys::received()),
        Metric::new("soak.time", "s", vec![seconds]),
        count("corruptions", soak.corruptions.into_inner()),
        count("leaked_descriptors", growth.descriptors),
        count("leaked_mappings", growth.mappings),
        count("leaked_threads", growth.threads),
        Metric::new("soak.resident_growth", "KiB", vec![growth.resident_kib as f64]),
    ]))
}

impl Soak {
    /// What the process holds while no thread calls, with a full pool: a domain that another thread was just detaching from
    /// when its user gave it back did not go there.
    fn resources(&self) -> anyhow::Result<Resources> {
        drop((0..THREADS).map(|_| self.pool.take()).collect::<Result<Vec<_>, _>>()?);
        Resources::now()
    }

    /// Has all threads live `lives` lives each, and waits for their end.
    fn phase(&self, phase: u64, lives: u64) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let start = |number| scope.spawn(move || self.thread(number, phase, lives));
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            // All of them, whatever one of them says.
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            ends.into_iter().try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn thread(&self, number: u64, phase: u64, lives: u64) -> anyhow::Result<()> {
        self.together.wait();
        let _timer = Timer::every(TICK).context("cannot start a timer for this thread")?;
        let mut random = Random::new(phase * THREADS + number);
        let back = self.shared.callback(HostFunction::from(callee::answer as callee::Answer));
        let back = back.context("no callback is free")?;
        for life in 0..lives {
            self.life(back.pointer(), &mut random, number, life)?;
            self.bar.inc(1);
        }
        Ok(())
    }

    /// One domain from pristine to crashed, and as many calls of the `shared` one.
    fn life(&self, back: Pointer<u8>, random: &mut Random, thread: u64, life: u64) -> anyhow::Result<()> {
        let domain = self.pool.take()?;
        let (_nested, function) = Nested::new(&domain)?;
        let own_back = domain.callback(function).context("no callback is free")?;
        let mut shared = callees(&self.shared, &domain, back, thread)?;
        let mut own = callees(&domain, &self.shared, own_back.pointer(), 0)?;
        let mut wrong = 0;
        for _ in 0..LIFE / 2 {
            let preset = random.below(PRESETS.len() as u64) as usize;
            wrong += u64::from(!own[preset].call(random)?);
            wrong += u64::from(!shared[preset].call(random)?);
        }
        let number = (thread + life) as usize;
        let (how, kind) = &CRASHES[number % CRASHES.len()];
        let crash = |on_failure| {
            let preset = PRESETS[number % PRESETS.len()];
            let crash = self.shared.function_pointer(&domain, "crash", preset.policy, on_failure)?;
            anyhow::Ok(shared[number % shared.len()].ask_in_vain(&crash, u64::from(*how)))
        };
        let end = match number / CRASHES.len() % 3 {
            0 => domain.bind::<extern "C" fn(u32) -> u64>("crash")?.call(*how),
            1 => crash(OnFailure::Propagate)?,
            _ => {
                // The shared domain goes on, and adds one to what it gets.
                wrong += u64::from(crash(OnFailure::Return(u64::MAX))?.ok() != Some(0));
                self.corruptions.fetch_add(wrong, Ordering::Relaxed);
                return Ok(());
            }
        };
        self.corruptions.fetch_add(wrong, Ordering::Relaxed);
        let fault = end.as_ref().err().and_then(|error| error.fault());
        ensure!(
            fault.is_some_and(|fault| fault.kind() == *kind),
            "a crash by {kind:?} ended otherwise: {end:?}"
        );
        Ok(())
    }
}

/// The procedures of `domain`, once for each preset, which can call `other`; `user` tells apart those who use one domain at the same time.
fn callees(domain: &Domain, other: &Domain, back: Pointer<u8>, user: u64) -> anyhow::Result<Vec<Callee>> {
    let presets = PRESETS.iter().zip(user * PRESETS.len() as u64..);
    presets.map(|(preset, user)| Callee::bind(domain, other, *preset, back, user as u32)).collect()
}
