//! `overhead.*`: rewritten programs against native ones.
//!
//! Both sides are static musl programs of the same sources and flags; a measurement is the CPU time of the whole process,
//! start-up included (for the sandboxed side: `lockgate run`, which verifies and loads the module; less than 1 % of
//! a run of more than a second). Rounds go through all programs, both sides of each in turns of a tenth of a
//! second, so that drift of the machine meets both.
//!
//! Where functions and data happen to lie decides about more than what is measured, on either side
//! (docs/decisions/0057): a loop of matmul's took half the time in one place. So each round runs another layout, and a side counts with its
//! median over them: `overhead.<program>` is the ratio of the medians, its samples are the rounds' ratios.
//! `overhead.geomean` is over all programs, `overhead.geomean_inner` over all but the one with the lowest and the one with the highest
//! ratio: what no single program decides.

use crate::child_sys::{Run, run_both};
use crate::programs::{self, Pair};
use crate::{Metric, Options, Pinned, code_size, progress};
use anyhow::ensure;
use lockgate_corpus::{Corpus, PROGRAMS, Program};
use std::path::Path;
use std::process::Command;

/// Rounds of a full run, and of a quick one: as many layouts.
const ROUNDS: (usize, usize) = (9, 3);
/// A quick run does this fraction of the work.
const QUICK: u32 = 4;
/// The warm-up does this fraction.
const WARM_UP: u32 = 20;

/// Measures all programs; `lockgate` is the program to build and run modules with.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let metric = |program: &Program| format!("overhead.{}", program.name);
    let named: Vec<(String, &Program)> = PROGRAMS.iter().map(|program| (metric(program), program)).collect();
    let chosen: Vec<&Program> =
        options.chosen(&named, |(name, _)| name)?.into_iter().map(|(_, program)| *program).collect();
    let building = progress::bar("build", 0);
    let built = |name: &str| building.set_message(name.to_owned());
    let pairs = programs::build(&corpus, lockgate, &chosen, (folder.path(), rounds), built)?;
    building.finish_and_clear();

    let _pinned = Pinned::here()?;
    let scale = |program: &Program| if options.quick { program.scale.div_ceil(QUICK) } else { program.scale };
    let bar = progress::bar("overhead", ((rounds + 1) * chosen.len()) as u64);
    let mut times = vec![(Vec::new(), Vec::new()); chosen.len()];
    for round in 0..=rounds {
        for (program, (native, sandboxed)) in chosen.iter().zip(&mut times) {
            bar.set_message(program.name);
            let pair = &pairs[program.driver][round % rounds];
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
    for (program, (native, sandboxed)) in chosen.iter().zip(&times) {
        let native = Metric::new(format!("time.{}.native", program.name), "s", native.clone());
        let sandboxed =
            Metric::new(format!("time.{}.sandboxed", program.name), "s", sandboxed.clone()).against(&native);
        metrics.extend([native, sandboxed]);
    }
    let names: Vec<&str> = chosen.iter().map(|program| program.name).collect();
    metrics.extend(ratios("overhead", &names, &times));

    let (mut native, mut module) = (0, 0);
    for pair in pairs.values().map(|layouts| &layouts[0]) {
        native += code_size::of(&pair.native)?;
        module += code_size::of(&pair.module)?;
    }
    metrics.push(Metric::new("overhead.code_size", "ratio", vec![module as f64 / native as f64]));
    Ok(metrics)
}

/// The ratios of the programs `names` whose sides took `times`, by round, and their geometric means.
pub(crate) fn ratios(family: &str, names: &[&str], times: &[(Vec<f64>, Vec<f64>)]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (name, (native, sandboxed)) in names.iter().zip(times) {
        let by_round = sandboxed.iter().zip(native).map(|(ours, theirs)| ours / theirs).collect();
        let mut metric = Metric::new(format!("{family}.{name}"), "ratio", by_round);
        metric.median = median(sandboxed) / median(native);
        metrics.push(metric);
    }
    let of_medians: Vec<f64> = metrics.iter().map(|metric| metric.median).collect();
    let of_rounds = |round: usize| times.iter().map(|(native, ours)| ours[round] / native[round]).collect();
    let rounds: Vec<Vec<f64>> = (0..times[0].0.len()).map(of_rounds).collect();
    let mean = |name: &str, mean: fn(&[f64]) -> f64| {
        let mut metric = Metric::new(
            format!("{family}.{name}"),
            "ratio",
            rounds.iter().map(|ratios| mean(ratios)).collect(),
        );
        metric.median = mean(&of_medians);
        metric
    };
    metrics.push(mean("geomean", geometric_mean));
    if names.len() > 2 {
        metrics.push(mean("geomean_inner", |ratios| {
            let mut ratios = ratios.to_vec();
            ratios.sort_by(f64::total_cmp);
            geometric_mean(&ratios[1..ratios.len() - 1])
        }));
    }
    metrics
}

fn median(samples: &[f64]) -> f64 {
    Metric::new("", "", samples.to_vec()).median
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_count_with_their_medians_and_extremes_can_be_left_out() {
        // The native side of the first has one bad layout, the sandboxed side of it another one.
        let times = [
            (vec![2.0, 1.0, 1.0], vec![1.1, 2.2, 1.1]),
            (vec![1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0]),
            (vec![4.0, 4.0, 4.0], vec![2.0, 2.0, 2.0]),
        ];
        let metrics = ratios("overhead", &["one", "two", "three"], &times);
        let found: Vec<(&str, f64)> = metrics.iter().map(|metric| (&*metric.name, metric.median)).collect();
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert_eq!(found[0].0, "overhead.one");
        assert!(near(found[0].1, 1.1), "{found:?}");
        assert!(near(metrics[0].min, 0.55) && near(metrics[0].p99, 2.2), "{metrics:?}");
        assert_eq!((found[3].0, found[4].0), ("overhead.geomean", "overhead.geomean_inner"));
        assert!(near(found[3].1, 1.1_f64.cbrt()), "{found:?}");
        assert!(near(found[4].1, 1.1), "{found:?}");
    }
}
