//! `rewrite.throughput`: the rewriter on the corpus's objects, one core.

use crate::interleave::{Side, interleave};
use crate::{Metric, Options, Pinned, objects, progress};
use lockgate_corpus::{Corpus, LIBRARIES};
use lockgate_rewrite::rewrite_object;
use lockgate_toolchain::Tools;

/// Samples of a full run.
const ROUNDS: usize = 30;

/// Measures how many megabytes (10⁶ bytes) of machine code the rewriter takes in per second.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let (corpus, tools, folder) = (Corpus::locate()?, Tools::find()?, tempfile::tempdir()?);
    let bar = progress::bar("compile", LIBRARIES.len() as u64);
    let mut inputs = Vec::new();
    for name in LIBRARIES {
        bar.set_message(*name);
        for object in objects::of_library(&tools, &corpus.library(name)?, folder.path())? {
            inputs.push((object.display().to_string(), std::fs::read(&object)?));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let _pinned = Pinned::here()?;
    let side = Side::throughput("rewrite.throughput", || {
        let mut text = 0;
        for (name, bytes) in &inputs {
            text += rewrite_object(name, bytes, &lockgate_rewrite::Options::default())?.stats.text_in;
        }
        Ok(text as f64 / 1e6)
    });
    let samples = interleave("rewrite", options, ROUNDS, vec![side])?;
    Ok(samples.iter().map(|samples| samples.metric("MB/s")).collect())
}
