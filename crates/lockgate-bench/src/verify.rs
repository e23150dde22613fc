//! `verify.throughput`: the verifier on the SQLite module.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, programs};
use lockgate_corpus::Corpus;
use lockgate_verify::{Module, verify};
use std::path::Path;

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
    let sides = vec![
        Side::throughput("verify.throughput", || {
            verify(&Module::parse(&file)?)?;
            Ok(text)
        }),
        Side::throughput("verify.rules", || {
            verify(&module)?;
            Ok(text)
        }),
    ];
    let samples = interleave("verify", options, ROUNDS, sides)?;
    Ok(samples.iter().map(|samples| samples.metric("MiB/s")).collect())
}
