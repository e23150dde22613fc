//! Language lgc against language C, statement by statement.

use super::queries::QUERIES;
use super::side::Side;
use crate::interleave::both_sides;
use crate::{Metric, Options, progress};
use anyhow::ensure;
use lockgate_postgres::Database;

/// For each query the ratio, both sides' processor seconds, and how often one statement crosses into the domain.
pub fn measure(database: &Database<'_>, options: &Options) -> anyhow::Result<Vec<Metric>> {
    let queries = options.chosen(QUERIES, |query| query.metric)?;
    let mut side = Side::new(database)?;
    let rounds = super::rounds(options);
    let bar = progress::bar("postgres", ((rounds + 1) * queries.len()) as u64);
    let mut metrics = Vec::new();
    for query in queries {
        bar.set_message(query.metric);
        let times = if options.quick { 1 } else { query.times };
        let mut ratios = Vec::new();
        let mut seconds = [Vec::new(), Vec::new()];
        for round in 0..=rounds {
            let sample = |which: usize| side.time(&query.sql.replace("$L", ["c", "lgc"][which]), times);
            let [c, lgc] = both_sides(round, sample)?;
            ensure!(c.1 == lgc.1, "{}: the answers differ: {} and {}", query.metric, c.1, lgc.1);
            // The first round warms up.
            if round > 0 {
                ratios.push(lgc.0 / c.0);
                seconds[0].push(c.0);
                seconds[1].push(lgc.0);
            }
            bar.inc(1);
        }
        metrics.push(Metric::new(query.metric, "ratio", ratios));
        for (language, seconds) in ["c", "lgc"].iter().zip(seconds) {
            metrics.push(Metric::new(format!("{}.{language}", query.metric), "s", seconds));
        }
        let calls: f64 = database.run("postgres", query.calls)?.trim().parse()?;
        metrics.push(Metric::new(format!("{}.calls", query.metric), "count", vec![calls * f64::from(times)]));
    }
    bar.finish_and_clear();
    Ok(metrics)
}
