//! `create.*` and `domains.*`: making domains, and what they cost.
//!
//! A domain counts as created when its first call has returned. `create.cold` stops the clock there, `create.cold_and_destroyed` when the
//! domain is gone again. `create.pooled` is the whole life of a borrowed one: take it, bind, call, reset it and give it back;
//! `create.pooled_first_call` stops when the call has returned.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, objects, progress};
use lockgate::{Domain, DomainOptions, Function, Module, Pool};
use lockgate_corpus::Corpus;
use std::sync::Arc;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Idle domains that are weighed.
const IDLE: usize = 1024;
/// No host needs more domains than this at once; what fits in 47 bits of address space is not far beyond.
const ENOUGH: usize = 16_000;
/// A quick run makes these, and does not say how many there can be.
const QUICK: usize = 2_000;

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
    metrics.extend(idle(&small)?);
    metrics.extend(most(&small, options.quick)?);
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
        Side::timed("create.pooled_first_call", || {
            let start = Instant::now();
            let domain = pool.take()?;
            domain.bind::<Number>("touch")?.call(1)?;
            Ok(micros(start))
        }),
        Side::timed("create.pooled", || {
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

/// What an idle domain costs, each called once: resident memory, page tables, kernel mappings.
///
/// `domains.rss_per_idle` is the growth of the proportional set size: a page that domains share, such as code, counts once in all.
/// `domains.rss_with_shared` is that of the resident set size, to which the kernel adds shared pages once for each domain.
fn idle(module: &Arc<Module>) -> anyhow::Result<Vec<Metric>> {
    let mut domains: Vec<(Domain, Function<Number>)> = Vec::with_capacity(IDLE);
    // Some are there before the count begins, with all that the process needs for the first of them.
    let mut grow = |count| -> anyhow::Result<()> {
        while domains.len() < count {
            domains.push(called(module)?);
        }
        Ok(())
    };
    grow(IDLE / 8)?;
    let before = Cost::now();
    grow(IDLE)?;
    let after = Cost::now();
    let each = |after: f64, before: f64| vec![(after - before) / (IDLE - IDLE / 8) as f64];
    Ok(vec![
        Metric::new("domains.rss_per_idle", "KiB", each(after.proportional, before.proportional)),
        Metric::new("domains.rss_with_shared", "KiB", each(after.resident, before.resident)),
        Metric::new("domains.page_tables_per_idle", "KiB", each(after.page_tables, before.page_tables)),
        Metric::new("domains.mappings_per_idle", "count", each(after.mappings, before.mappings)),
    ])
}

/// Creates domains and calls each until there are enough or the machine refuses one more; then calls all of them again.
fn most(module: &Arc<Module>, quick: bool) -> anyhow::Result<Vec<Metric>> {
    let (name, enough) = if quick { ("domains.made", QUICK) } else { ("domains.max", ENOUGH) };
    let bar = progress::bar("domains", enough as u64);
    let mut domains: Vec<(Domain, Function<Number>)> = Vec::with_capacity(enough);
    while domains.len() < enough {
        match called(module) {
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
    Ok(vec![Metric::new(name, "count", vec![domains.len() as f64])])
}

/// A domain that has been called.
fn called(module: &Arc<Module>) -> anyhow::Result<(Domain, Function<Number>)> {
    let domain = Domain::new(module, DomainOptions::new())?;
    let call = domain.bind::<Number>("null_call")?;
    call.call(1)?;
    Ok((domain, call))
}

/// What this process has of the machine, as the kernel says; zeros if it does not.
struct Cost {
    /// KiB; a page that n mappings share counts 1/n in each.
    proportional: f64,
    /// KiB; every mapped page counts.
    resident: f64,
    /// KiB.
    page_tables: f64,
    mappings: f64,
}

impl Cost {
    fn now() -> Cost {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        let kib = |text: &str, field: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(field));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0)
        };
        let status = read("status");
        Cost {
            proportional: kib(&read("smaps_rollup"), "Pss:"),
            resident: kib(&status, "VmRSS:"),
            page_tables: kib(&status, "VmPTE:"),
            mappings: read("maps").lines().count() as f64,
        }
    }
}
