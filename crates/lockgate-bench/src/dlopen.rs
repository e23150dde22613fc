//! `capi.dlsym_*` and `load.*`: libraries with dlopen's manners beside dlopen itself.
//!
//! Calls go through the very pointers that `lg_dlsym` returns, in one loop with a pointer that `dlsym` returned. Loads are of a megabyte of
//! code and data (`bench/megabyte.c`), the same source for both; a load is timed from the name to the handle, constructors
//! included, and closed outside of the time. For the first load of a module, a file that this process has never seen is read and
//! verified each time.

use crate::dlopen_sys::{Plain, call};
use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, objects};
use anyhow::Context as _;
use lockgate::Policy;
use lockgate::dl::{self, Library, Mode};
use lockgate_corpus::Corpus;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Calls in one sample.
const CALLS: u32 = 2000;

/// Measures calls through raw function pointers, and loads.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let bench = Corpus::locate()?.root().join("bench");
    let mut metrics = calls(options, &bench, folder.path())?;
    metrics.extend(loads(options, &bench, folder.path())?);
    Ok(metrics)
}

fn calls(options: &Options, bench: &Path, folder: &Path) -> anyhow::Result<Vec<Metric>> {
    let source = bench.join("calls.c");
    let plain = Plain::compile(&source, &folder.join("calls.so"))?;
    let native = plain.function("null_call")?;
    let module = objects::module(&source, "calls", &[], &["null_call"], folder)?;
    let open = |policy| Library::open(&module, Mode::NOW, &dl::Options::default().policy(policy));
    let library = open(Policy::INTEGRITY)?;
    let typed = library.function("long null_call(long)")?;
    let generic = library.function("null_call")?;
    let copy = folder.join("calls-distrust.lg");
    std::fs::copy(&module, &copy)?;
    let distrust = Library::open(&copy, Mode::NOW, &dl::Options::default().stack_bytes(64))?;
    let distrust = distrust.function("null_call")?;

    let _pinned = Pinned::here()?;
    let side =
        |name: &str, pointer| Side::calls(name, CALLS, move || black_box(call(black_box(pointer), 1)) == 1);
    let sides = vec![
        side("capi.dlsym_native", native),
        side("capi.dlsym_typed", typed),
        side("capi.dlsym_generic", generic),
        side("capi.dlsym_generic.mutual_distrust_64_stack_bytes", distrust),
    ];
    against_first(interleave("calls", options, ROUNDS, sides)?.iter().map(|samples| samples.metric("ns")))
}

fn loads(options: &Options, bench: &Path, folder: &Path) -> anyhow::Result<Vec<Metric>> {
    let source = bench.join("megabyte.c");
    let shared = folder.join("megabyte.so");
    drop(Plain::compile(&source, &shared)?);
    let exports = ["long touch(long x)", "long additions(long x)"];
    let module = objects::module(&source, "megabyte", &[], &exports, folder)?;
    let open = |path: &Path| Library::open(path, Mode::NOW, &dl::Options::default());
    let (fresh, bytes) = (folder.join("fresh.lg"), std::fs::read(&module)?);
    let mut version = 0_u64;
    let micros = |start: Instant| start.elapsed().as_nanos() as f64 / 1000.0;

    let _pinned = Pinned::here()?;
    let sides = vec![
        Side::timed("load.dlopen", || {
            let start = Instant::now();
            let library = Plain::open(&shared)?;
            let time = micros(start);
            drop(library);
            Ok(time)
        }),
        Side::timed("load.lg_dlopen.again", || {
            let start = Instant::now();
            let library = open(&module)?;
            let time = micros(start);
            library.close()?;
            Ok(time)
        }),
        Side::timed("load.lg_dlopen.first", || {
            // What follows the sections is no part of the module, but of the file.
            version += 1;
            std::fs::write(&fresh, [&bytes[..], &version.to_le_bytes()].concat())?;
            let start = Instant::now();
            let library = open(&fresh)?;
            let time = micros(start);
            library.close()?;
            Ok(time)
        }),
    ];
    against_first(interleave("loads", options, ROUNDS / 4, sides)?.iter().map(|samples| samples.metric("µs")))
}

/// The metrics, as ratios to the first.
fn against_first(metrics: impl Iterator<Item = Metric>) -> anyhow::Result<Vec<Metric>> {
    let mut metrics = metrics;
    let first = metrics.next().context("the first side")?;
    let others: Vec<Metric> = metrics.map(|metric| metric.against(&first)).collect();
    Ok([first].into_iter().chain(others).collect())
}
