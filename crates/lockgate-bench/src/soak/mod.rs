//! `soak.*`: a very large number of calls, from several threads, with signals, crashes, kills and timeouts among them; every answer
//! and the caller's processor state are checked after each call.
//!
//! Each thread has a domain of its own, and shares another with all threads. It calls both in turn, under every preset, and they call
//! each other; timer signals interrupt it all the time, and their handler tries to enter a domain, too. After 10,000 calls it ends its own
//! domain, in one of several ways: by a crash in a call of its own or of the shared domain, by a time limit, or because another thread
//! kills the domain in the middle of calls; and takes a pristine one from the pool. What the process holds is compared between two moments when no thread is left: after the
//! first three of ten phases, which warm up (the allocator's arenas and tables, too), and after the last.
//!
//! [`cycles`]: the same comparison for domains that are created, crash, are reset, and go.

pub mod cycles;

mod callee;
mod ends;
mod resources_sys;
mod state_asm;
mod timer_sys;

use crate::preset::PRESETS;
use crate::{Metric, Options, Report, objects, progress};
use anyhow::Context as _;
use callee::{Callee, Nested};
use ends::{End, Executioner, Own};
use fastrand::Rng;
use indicatif::ProgressBar;
use lockgate::{Domain, DomainOptions, HostFunction, Module, Pointer, Pool};
use lockgate_corpus::Corpus;
use lockgate_postgres::Held;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
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
/// Of the domain whose calls all end by it.
const SHORT_LIMIT: Duration = Duration::from_millis(200);

/// What all threads share.
struct Soak {
    shared: Domain,
    /// With [`SHORT_LIMIT`].
    hurried: Domain,
    pool: Arc<Pool>,
    corruptions: AtomicU64,
    /// Calls after which the caller's processor state was not what it was.
    disturbed: AtomicU64,
    kills: AtomicU64,
    time_outs: AtomicU64,
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
    resources_sys::allocate_in_one_arena();
    let limited = |limit| Domain::new(&module, DomainOptions::new().time_limit(limit));
    let soak = Soak {
        shared: limited(TIME_LIMIT)?,
        hurried: limited(SHORT_LIMIT)?,
        pool: Arc::new(Pool::new(&module, DomainOptions::new(), THREADS as usize)),
        corruptions: AtomicU64::new(0),
        disturbed: AtomicU64::new(0),
        kills: AtomicU64::new(0),
        time_outs: AtomicU64::new(0),
        together: Barrier::new(THREADS as usize),
        bar: progress::bar("soak", lives * THREADS * PHASES),
    };
    timer_sys::call_from_handlers(soak.shared.bind("fold")?);
    let start = Instant::now();
    (0..WARM).try_for_each(|phase| soak.phase(phase, lives))?;
    let before = soak.resources()?;
    (WARM..PHASES).try_for_each(|phase| soak.phase(phase, lives))?;
    let growth = soak.resources()?.since(before);
    let seconds = start.elapsed().as_secs_f64();
    soak.bar.finish_and_clear();

    let ends = lives * THREADS * PHASES;
    let (kills, time_outs) = (soak.kills.into_inner(), soak.time_outs.into_inner());
    let (refused, admitted) = timer_sys::called();
    let count = |name: &str, value: u64| Metric::new(format!("soak.{name}"), "count", vec![value as f64]);
    Ok(Report::new(vec![
        count("calls", ends * (LIFE + 1)),
        count("crashes", ends - kills - time_outs),
        count("kills", kills),
        count("time_outs", time_outs),
        count("signals", refused + admitted),
        Metric::new("soak.time", "s", vec![seconds]),
        count("corruptions", soak.corruptions.into_inner()),
        count("disturbed", soak.disturbed.into_inner()),
        count("entries_from_handlers", admitted),
        count("leaked_descriptors", growth.descriptors),
        count("leaked_mappings", growth.mappings),
        count("leaked_threads", growth.threads),
        Metric::new("soak.resident_growth", "KiB", vec![growth.resident_kib as f64]),
    ]))
}

impl Soak {
    /// What the process holds while no thread calls, with a full pool: a domain that another thread was just detaching from
    /// when its user gave it back did not go there.
    fn resources(&self) -> anyhow::Result<Held> {
        drop((0..THREADS).map(|_| self.pool.take()).collect::<Result<Vec<_>, _>>()?);
        // The watcher, which may be late, reclaims what was killed or closed.
        anyhow::ensure!(
            lockgate::until_reclaimed(Duration::from_secs(60)),
            "a closed domain is not reclaimed"
        );
        resources_sys::now()
    }

    /// Has all threads live `lives` lives each, and waits for their end.
    fn phase(&self, phase: u64, lives: u64) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let start =
                |number| scope.spawn(move || self.thread(number, phase, lives, Executioner::start(scope)));
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            // All of them, whatever one of them says.
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            ends.into_iter().try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn thread(
        &self,
        number: u64,
        phase: u64,
        lives: u64,
        executioner: Executioner<'_>,
    ) -> anyhow::Result<()> {
        self.together.wait();
        let _timer = Timer::every(TICK).context("cannot start a timer for this thread")?;
        let mut random = Rng::with_seed(phase * THREADS + number);
        let back = self.shared.callback(HostFunction::from(callee::answer as callee::Answer));
        let back = back.context("no callback is free")?;
        for life in 0..lives {
            self.life(back.pointer(), &mut random, number, life, &executioner)?;
            self.bar.inc(1);
        }
        executioner.end();
        Ok(())
    }

    /// One domain from pristine to crashed, and as many calls of the `shared` one.
    fn life(
        &self,
        back: Pointer<u8>,
        random: &mut Rng,
        thread: u64,
        life: u64,
        executioner: &Executioner<'_>,
    ) -> anyhow::Result<()> {
        let domain: Own = Arc::new(self.pool.take_shared()?);
        let (_nested, function) = Nested::new(&domain)?;
        let own_back = domain.callback(function).context("no callback is free")?;
        let mut shared = callees(&self.shared, &domain, back, thread)?;
        let mut own = callees(&domain, &self.shared, own_back.pointer(), 0)?;
        let (mut wrong, mut disturbed) = (0, 0);
        for _ in 0..LIFE / 2 {
            let preset = random.usize(..PRESETS.len());
            for callee in [&mut own[preset], &mut shared[preset]] {
                let mut right = Ok(false);
                disturbed += u64::from(!state_asm::survives(|| right = callee.call(random)));
                wrong += u64::from(!right?);
            }
        }
        let end = End::of_life(random, thread + life);
        let mut right = Ok(false);
        let came = || right = end.comes(self, &domain, executioner, &mut own, &mut shared, random);
        disturbed += u64::from(!state_asm::survives(came));
        wrong += u64::from(!right?);
        self.corruptions.fetch_add(wrong, Ordering::Relaxed);
        self.disturbed.fetch_add(disturbed, Ordering::Relaxed);
        Ok(())
    }
}

/// The procedures of `domain`, once for each preset, which can call `other`; `user` tells apart those who use one domain at the same time.
fn callees(domain: &Domain, other: &Domain, back: Pointer<u8>, user: u64) -> anyhow::Result<Vec<Callee>> {
    let presets = PRESETS.iter().zip(user * PRESETS.len() as u64..);
    presets.map(|(preset, user)| Callee::bind(domain, other, *preset, back, user as u32)).collect()
}
