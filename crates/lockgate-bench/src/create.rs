//! `create.*` and `domains.max`: making domains.
//!
//! A domain counts as created when its first call has returned; the clock stops there. The `_and_destroyed` metrics go on until it
//! is gone, or reset and back in its pool.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, objects, progress};
use lockgate::{Domain, DomainOptions, Function, Module, Pool};
use lockgate_corpus::Corpus;
use std::sync::Arc;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Nobody needs more domains than this at once; what fits in 47 bits of address space is not far beyond.
const ENOUGH: usize = 16_000;

type Number = extern "C" fn(i64) -> i64;

/// Measures creation, and how many domains there can be.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let bench = Corpus::locate()?.root().join("bench");
    let megabyte = objects::module(
        &bench.join("megabyte.c"),
        "megabyte",
        &[],
        &["long touch(long x)", "long additions(long x)"],
        folder.path(),
    )?;
    let small =
        objects::module(&bench.join("calls.c"), "calls", &[], &["long null_call(long x)"], folder.path())?;
    let (megabyte, small) = (Module::open(megabyte)?, Module::open(small)?);

    let mut metrics = {
        let _pinned = Pinned::here()?;
        creation(options, &megabyte)?
    };
    metrics.extend(most(&small)?);
    Ok(metrics)
}

fn creation(options: &Options, module: &Arc<Module>) -> anyhow::Result<Vec<Metric>> {
    let pool = Pool::new(module, DomainOptions::new(), 1);
    drop(pool.take()?);
    let micros = |start: Instant| start.elapsed().as_nanos() as f64 / 1000.0;
    let cold = || -> anyhow::Result<(Domain, Function<Number>)> {
        let domain = Domain::new(module, DomainOptions::new())?;
        let touch = domain.bind::<Number>("touch")?;
        touch.call(1)?;
        Ok((domain, touch))
    };
    let sides = vec![
        Side::timed("create.cold", || {
            let start = Instant::now();
            let domain = cold()?;
            let created = micros(start);
            drop(domain);
            Ok(created)
        }),
        Side::timed("create.cold_and_destroyed", || {
            let start = Instant::now();
            drop(cold()?);
            Ok(micros(start))
        }),
        Side::timed("create.pooled", || {
            let start = Instant::now();
            let domain = pool.take()?;
            domain.bind::<Number>("touch")?.call(1)?;
            Ok(micros(start))
        }),
        Side::timed("create.pooled_and_returned", || {
            let start = Instant::now();
            let domain = pool.take()?;
            domain.bind::<Number>("touch")?.call(1)?;
            drop(domain);
            Ok(micros(start))
        }),
    ];
    let samples = interleave("create", options, ROUNDS, sides)?;
    Ok(samples.iter().map(|samples| samples.metric("µs")).collect())
}

/// Creates domains and calls each until there are [`ENOUGH`] or the machine refuses one more; then calls all of them
/// again. Also what each of them keeps resident.
fn most(module: &Arc<Module>) -> anyhow::Result<Vec<Metric>> {
    let bar = progress::bar("domains", ENOUGH as u64);
    let before = resident_kib();
    let mut domains: Vec<(Domain, Function<Number>)> = Vec::with_capacity(ENOUGH);
    while domains.len() < ENOUGH {
        let one = || -> anyhow::Result<_> {
            let domain = Domain::new(module, DomainOptions::new())?;
            let call = domain.bind::<Number>("null_call")?;
            call.call(1)?;
            Ok((domain, call))
        };
        match one() {
            Ok(domain) => domains.push(domain),
            Err(error) if domains.is_empty() => return Err(error),
            Err(_) => break,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    for (_, call) in &domains {
        call.call(1)?;
    }
    let count = domains.len() as f64;
    let resident = (resident_kib() - before) / count;
    Ok(vec![
        Metric::new("domains.max", "count", vec![count]),
        Metric::new("domains.resident", "KiB", vec![resident]),
    ])
}

/// Resident memory of this process, KiB; 0 if the kernel does not say.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0)
}
