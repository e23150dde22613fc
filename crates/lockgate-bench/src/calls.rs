//! `calls.*`: what it costs to cross into a domain and back.
//!
//! All sides are called by the same loop with one integer argument. The module of `calls.host_to_domain.*` uses
//! general registers only, as most modules' entry points do; that of `calls.host_to_domain.every_state` contains x87, MXCSR and
//! AVX-512 instructions, so that its proxies keep and clear all state there is.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, objects};
use anyhow::{Context as _, bail};
use lockgate::{Domain, DomainOptions, Module, Pointer};
use lockgate_corpus::Corpus;
use std::hint::black_box;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Calls in one sample: the clock's own 20 ns vanish among them.
const CALLS: u32 = 2000;
/// Faults in one sample.
const FAULTS: u32 = 20;

type Number = extern "C" fn(i64) -> i64;

#[inline(never)]
extern "C" fn native(x: i64) -> i64 {
    x
}

/// Measures calls between the host and a domain.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let source = Corpus::locate()?.root().join("bench/calls.c");
    let exports = ["long null_call(long x)", "long call_back(void *back, long x)", "void null_write(void)"];
    let domain = |name: &str, flags: &[&str]| -> anyhow::Result<Domain> {
        let module = Module::open(objects::module(&source, name, flags, &exports, folder.path())?)?;
        Ok(Domain::new(&module, DomainOptions::new())?)
    };
    let plain = domain("plain", &[])?;
    let every_state = domain("every-state", &["-DEVERY_STATE"])?;

    let native = black_box(native as Number);
    let null = plain.bind::<Number>("null_call")?;
    let null_every_state = every_state.bind::<Number>("null_call")?;
    let call_back = plain.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("call_back")?;
    let callback = plain.callback(self::native as Number).context("no callback is free")?;
    let null_write = plain.bind::<extern "C" fn()>("null_write")?;

    let _pinned = Pinned::here()?;
    let sides = vec![
        Side::repeated("calls.native_indirect", CALLS, || Ok(native(1))),
        Side::repeated("calls.host_to_domain.integrity", CALLS, || Ok(null.call(1)?)),
        Side::repeated("calls.host_to_domain.every_state", CALLS, || Ok(null_every_state.call(1)?)),
        Side::repeated("calls.host_to_domain.callback", CALLS, || Ok(call_back.call(callback.pointer(), 1)?)),
        Side::repeated("calls.fault_recovery", FAULTS, || match null_write.call() {
            Err(error) if error.fault().is_some() => Ok(()),
            other => bail!("a null-pointer write was no fault: {other:?}"),
        }),
    ];
    let samples = interleave("calls", options, ROUNDS, sides)?;
    let mut metrics = samples.iter().map(|samples| samples.metric("ns"));
    let native = metrics.next().context("the first side")?;
    let others: Vec<Metric> = metrics.map(|metric| metric.against(&native)).collect();
    Ok([native].into_iter().chain(others).collect())
}
