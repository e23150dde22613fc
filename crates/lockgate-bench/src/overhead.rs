//! `overhead.*`: rewritten programs against native ones.
//!
//! Both sides are static musl programs of the same sources and flags; a measurement is the CPU time of the whole process,
//! start-up included (for the sandboxed side: `lockgate run`, which verifies and loads the module; less than 1 % of
//! a run of more than a second). Rounds go through all programs, both sides of each in turns of a tenth of a
//! second, so that drift of the machine meets both. `overhead.<program>` is the median of the rounds' ratios.

use crate::child_sys::{Run, run_both};
use crate::programs::{self, Pair};
use crate::{Metric, Options, Pinned, code_size, progress};
use anyhow::ensure;
use lockgate_corpus::{Corpus, PROGRAMS, Program};
use std::path::Path;
use std::process::Command;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (7, 3);
/// A quick run does this fraction of the work.
const QUICK: u32 = 4;
/// The warm-up does this fraction.
const WARM_UP: u32 = 20;

/// Measures all programs; `lockgate` is the program to build and run modules with.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let building = progress::bar("build", 0);
    let pairs =
        programs::build(&corpus, lockgate, folder.path(), |name| building.set_message(name.to_owned()))?;
    building.finish_and_clear();

    let _pinned = Pinned::here()?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let scale = |program: &Program| if options.quick { program.scale.div_ceil(QUICK) } else { program.scale };
    let bar = progress::bar("overhead", ((rounds + 1) * PROGRAMS.len()) as u64);
    let mut times = vec![(Vec::new(), Vec::new()); PROGRAMS.len()];
    for round in 0..=rounds {
        for (program, (native, sandboxed)) in PROGRAMS.iter().zip(&mut times) {
            bar.set_message(program.name);
            let pair = &pairs[program.driver];
            // The first round warms up: a little work, not counted.
            let scale = if round == 0 { program.scale.div_ceil(WARM_UP) } else { scale(program) };
            let (first, second) = both(pair, lockgate, program, scale, round)?;
            if round > 0 {
                native.push(first.seconds);
                sandboxed.push(second.seconds);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let mut metrics = Vec::new();
    let mut geomeans = vec![0.0; rounds];
    for (program, (native, sandboxed)) in PROGRAMS.iter().zip(times) {
        let ratios: Vec<f64> = sandboxed.iter().zip(&native).map(|(ours, theirs)| ours / theirs).collect();
        for (sum, ratio) in geomeans.iter_mut().zip(&ratios) {
            *sum += ratio.ln() / PROGRAMS.len() as f64;
        }
        let native = Metric::new(format!("time.{}.native", program.name), "s", native);
        let sandboxed =
            Metric::new(format!("time.{}.sandboxed", program.name), "s", sandboxed).against(&native);
        metrics.extend([
            native,
            sandboxed,
            Metric::new(format!("overhead.{}", program.name), "ratio", ratios),
        ]);
    }
    metrics.push(Metric::new("overhead.geomean", "ratio", geomeans.into_iter().map(f64::exp).collect()));

    let (mut native, mut module) = (0, 0);
    for pair in pairs.values() {
        native += code_size::of(&pair.native)?;
        module += code_size::of(&pair.module)?;
    }
    metrics.push(Metric::new("overhead.code_size", "ratio", vec![module as f64 / native as f64]));
    Ok(metrics)
}

/// One run of each side, whose outputs must agree.
fn both(
    pair: &Pair,
    lockgate: &Path,
    program: &Program,
    scale: u32,
    round: usize,
) -> anyhow::Result<(Run, Run)> {
    let arguments = program.arguments(scale);
    let (mut native, mut sandboxed) = (Command::new(&pair.native), Command::new(lockgate));
    native.args(&arguments);
    sandboxed.arg("run").arg(&pair.module).args(&arguments);
    let [first, second] = run_both(round, &mut [native, sandboxed])?;
    ensure!(
        first.output == second.output,
        "{}: native and sandboxed results differ:\n{}{}",
        program.name,
        first.output,
        second.output
    );
    Ok((first, second))
}
