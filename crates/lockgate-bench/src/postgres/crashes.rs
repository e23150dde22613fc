//! What a crash costs.

use crate::{Metric, Options};
use anyhow::ensure;
use lockgate_postgres::Database;
use std::time::Instant;

/// Crashes, and as many ordinary errors, in a full run and in a quick one.
const CRASHES: (usize, usize) = (200, 20);

/// What a crash adds to an ordinary error and the next statement, milliseconds.
pub fn measure(database: &Database<'_>, options: &Options) -> anyhow::Result<Vec<Metric>> {
    let mut session = database.session("postgres")?;
    let rounds = if options.quick { CRASHES.1 } else { CRASHES.0 };
    let mut samples = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (sql, samples) in
            ["SELECT 1 / (lgc.increment(1) - 2);", "SELECT lgc.crash(8);"].iter().zip(&mut samples)
        {
            let begun = Instant::now();
            let said = session.run(&format!("{sql} SELECT lgc.increment(1);"))?;
            let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
            ensure!(said.starts_with("ERROR:") && said.ends_with("\n2"), "{sql}: {said}");
            if round > 0 {
                samples.push(milliseconds);
            }
        }
    }
    let [errors, crashes] = samples;
    let added = errors.iter().zip(&crashes).map(|(error, crash)| crash - error).collect();
    Ok(vec![
        Metric::new("postgres.error", "ms", errors),
        Metric::new("postgres.crash", "ms", crashes),
        Metric::new("postgres.crash_added", "ms", added),
    ])
}
