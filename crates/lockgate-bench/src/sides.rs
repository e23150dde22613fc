//! Programs on two sides, a native one and one in a domain, run in turns: times, ratios and their means.

use crate::child_sys::{Run, run_both};
use crate::{Metric, Options, progress};
use anyhow::ensure;
use std::process::Command;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// A quick run does this fraction of the work.
const QUICK: u32 = 4;

/// How many rounds are counted.
pub(crate) fn rounds(options: &Options) -> usize {
    if options.quick { ROUNDS.1 } else { ROUNDS.0 }
}

/// How much of the work `scale` a round does.
pub(crate) fn scale(options: &Options, scale: u32) -> u32 {
    if options.quick { scale.div_ceil(QUICK) } else { scale }
}

/// Runs the programs `names` in rounds, each on both sides by `run`, which is given the program's number and the round's. Round 0 warms
/// up. The result: `time.*` of each side, `<family>.<name>` and the means of [`ratios`], in which those count that `counts` says.
pub(crate) fn measure(
    family: &'static str,
    names: &[&str],
    options: &Options,
    counts: impl Fn(&str) -> bool,
    mut run: impl FnMut(usize, usize) -> anyhow::Result<[Run; 2]>,
) -> anyhow::Result<Vec<Metric>> {
    let rounds = rounds(options);
    let bar = progress::bar(family, ((rounds + 1) * names.len()) as u64);
    let mut times = vec![(Vec::new(), Vec::new()); names.len()];
    for round in 0..=rounds {
        for (number, (native, sandboxed)) in times.iter_mut().enumerate() {
            bar.set_message(names[number].to_owned());
            let [first, second] = run(number, round)?;
            if round > 0 {
                native.push(first.seconds);
                sandboxed.push(second.seconds);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let mut metrics = Vec::new();
    for (name, (native, sandboxed)) in names.iter().zip(&times) {
        let native = Metric::new(format!("time.{name}.native"), "s", native.clone());
        let sandboxed =
            Metric::new(format!("time.{name}.sandboxed"), "s", sandboxed.clone()).against(&native);
        metrics.extend([native, sandboxed]);
    }
    // The others stand behind the means.
    let (counted, others): (Vec<_>, Vec<_>) = names.iter().zip(times).partition(|(name, _)| counts(name));
    let (names, times): (Vec<&str>, Vec<_>) = counted.into_iter().map(|(name, times)| (*name, times)).unzip();
    if !names.is_empty() {
        metrics.extend(ratios(family, &names, &times));
    }
    metrics.extend(others.iter().map(|(name, (native, ours))| ratio(family, name, native, ours)));
    Ok(metrics)
}

/// One run of each side, the one whose turn it is in this round first, whose outputs must agree.
pub(crate) fn both(name: &str, round: usize, mut sides: [Command; 2]) -> anyhow::Result<[Run; 2]> {
    let [first, second] = run_both(round, &mut sides)?;
    ensure!(
        first.output == second.output,
        "{name}: native and sandboxed results differ:\n{}{}",
        first.output,
        second.output
    );
    Ok([first, second])
}

/// The ratio of a program whose sides took so long, by round.
fn ratio(family: &str, name: &str, native: &[f64], ours: &[f64]) -> Metric {
    let by_round = ours.iter().zip(native).map(|(ours, theirs)| ours / theirs).collect();
    let mut metric = Metric::new(format!("{family}.{name}"), "ratio", by_round);
    metric.median = median(ours) / median(native);
    metric
}

/// The ratios of the programs `names` whose sides took `times`, by round, and their geometric means.
fn ratios(family: &str, names: &[&str], times: &[(Vec<f64>, Vec<f64>)]) -> Vec<Metric> {
    let sides = names.iter().zip(times);
    let mut metrics: Vec<Metric> =
        sides.map(|(name, (native, ours))| ratio(family, name, native, ours)).collect();
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
