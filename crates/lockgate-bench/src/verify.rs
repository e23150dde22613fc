//! `verify.throughput`: the verifier on the SQLite module.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, programs};
use lockgate_corpus::Corpus;
use lockgate_verify::{Module, verify};
use std::path::Path;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 60;

/// Measures the verifier, on text bytes per second; `lockgate` is the program to build the module with. The metric includes
/// parsing the file; `verify.rules` is the verdict alone.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let path = programs::module(&Corpus::locate()?, lockgate, "sqlite", folder.path())?;
    let file = std::fs::read(&path)?;
    let module = Module::parse(&file)?;
    let text = verify(&module)?.text_bytes as f64 / f64::from(1 << 20);

    let _pinned = Pinned::here()?;
    let whole = Side::timed("parse and verify", || {
        let start = Instant::now();
        verify(&Module::parse(&file)?)?;
        Ok(text / start.elapsed().as_secs_f64())
    });
    let rules = Side::timed("verify", || {
        let start = Instant::now();
        verify(&module)?;
        Ok(text / start.elapsed().as_secs_f64())
    });
    let samples = interleave("verify", options, ROUNDS, vec![whole, rules])?;
    let names = ["verify.throughput", "verify.rules"];
    Ok(names.into_iter().zip(samples).map(|(name, samples)| Metric::new(name, "MiB/s", samples)).collect())
}
