//! `cycles.*`: domains that are created, called, crash, are reset, are called again, and go; one after the other, a very large
//! number of them. What the process holds must not grow.

use super::callee::{CRASHES, EXPORTS};
use super::resources_sys;
use crate::{Metric, Options, Report, objects, progress};
use lockgate::{Domain, DomainOptions, Module, ResetError};
use lockgate_corpus::Corpus;
use std::sync::Arc;
use std::time::Instant;

/// Cycles of a full run.
pub const CYCLES: u64 = 1_000_000;
/// Cycles of a quick run.
const QUICK_CYCLES: u64 = 10_000;
/// What the process holds is looked at so often, and compared from the [`WARM`]th time on.
const LOOKS: u64 = 10;
const WARM: u64 = 3;
/// In every so manieth cycle the domain has a second thread for a while.
const SECOND_THREAD: u64 = 8;

type Fold = extern "C" fn(u64) -> u64;
type Crash = extern "C" fn(u32) -> u64;

/// Makes about `cycles` cycles, or as many as `options` say.
pub fn measure(options: &Options, cycles: Option<u64>) -> anyhow::Result<Report> {
    let cycles = cycles.unwrap_or(if options.quick { QUICK_CYCLES } else { CYCLES });
    let folder = tempfile::tempdir()?;
    let source = Corpus::locate()?.root().join("bench/soak.c");
    let module = Module::open(objects::module(&source, "cycles", &[], &EXPORTS, folder.path())?)?;
    resources_sys::allocate_in_one_arena();
    let each = cycles.div_ceil(LOOKS);
    let bar = progress::bar("cycles", LOOKS);
    let start = Instant::now();
    let (mut wrong, mut looks) = (0, Vec::new());
    for look in 0..LOOKS {
        for number in look * each..(look + 1) * each {
            wrong += u64::from(!cycle(&module, number)?);
        }
        looks.push(resources_sys::now()?);
        bar.inc(1);
    }
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();

    let (before, after) = (&looks[WARM as usize - 1], &looks[LOOKS as usize - 1]);
    let growth = after.since(*before);
    let count = |name: &str, value: u64| Metric::new(format!("cycles.{name}"), "count", vec![value as f64]);
    Ok(Report::new(vec![
        count("cycles", each * LOOKS),
        Metric::new("cycles.time", "s", vec![seconds]),
        count("wrong", wrong),
        count("leaked_descriptors", growth.descriptors),
        count("leaked_mappings", growth.mappings),
        count("leaked_threads", growth.threads),
        Metric::new("cycles.resident_growth", "KiB", vec![growth.resident_kib as f64]),
    ]))
}

/// One domain; false if an answer or an error was not what it has to be.
fn cycle(module: &Arc<Module>, number: u64) -> anyhow::Result<bool> {
    let mut domain = Domain::new(module, DomainOptions::new())?;
    let before = answers(&domain, number, number.is_multiple_of(SECOND_THREAD))?;
    let (how, kind) = CRASHES[number as usize % CRASHES.len()];
    let fault = domain.bind::<Crash>("crash")?.call(how).err();
    let crashed = fault.as_ref().and_then(|error| error.fault()).is_some_and(|fault| fault.kind() == kind);
    // A kill, too, has to be undone by a reset.
    if number.is_multiple_of(3) {
        domain.kill();
    }
    drop(fault);
    loop {
        match domain.reset() {
            // The watcher, or the second thread at its very end, holds it for a moment.
            Err(ResetError::InUse(_)) => std::thread::yield_now(),
            done => break done?,
        }
    }
    Ok(before && crashed && answers(&domain, number, false)?)
}

/// True if the domain answers as the first one did.
fn answers(domain: &Domain, number: u64, second_thread: bool) -> anyhow::Result<bool> {
    let fold = domain.bind::<Fold>("fold")?;
    let expected = super::callee::answer(number);
    let mut right = fold.call(number)? == expected;
    if second_thread {
        right &= std::thread::scope(|scope| {
            let call = scope.spawn(|| fold.call(number));
            call.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })? == expected;
    }
    Ok(right)
}
