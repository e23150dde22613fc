//! A function in each transaction: pgbench, as it is delivered, with a function around the amount that is paid.

use crate::interleave::both_sides;
use crate::{Metric, Options, progress};
use anyhow::Context as _;
use lockgate_postgres::{Database, done};
use std::fs;
use std::path::Path;

/// Seconds of a sample, in a full run and in a quick one.
const SECONDS: (u32, u32) = (3, 1);

/// pgbench's own transaction ("TPC-B (sort of)"), with the function.
const TRANSACTION: &str = "
\\set aid random(1, 100000)
\\set tid random(1, 10)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + $L.increment(:delta) WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = 1;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

/// Transactions in a second with language C over those with lgc, and both. Each sample has a connection, and so a domain, of its own.
pub fn measure(database: &Database<'_>, options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let pgbench = || database.server().client("pgbench");
    done(pgbench().args(["-i", "-q", "-s", "1", database.name()]))?;
    let scripts: Vec<_> = ["c", "lgc"].map(|language| folder.path().join(language)).into();
    for script in &scripts {
        let language = script.file_name().unwrap_or_default().to_string_lossy();
        fs::write(script, TRANSACTION.replace("$L", &language))?;
    }
    let seconds = if options.quick { SECONDS.1 } else { SECONDS.0 };
    let rate = |script: &Path| -> anyhow::Result<f64> {
        let mut run = pgbench();
        run.args(["-n", "-T", &seconds.to_string(), "-f"]).arg(script).arg(database.name());
        let said = done(&mut run)?;
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        rate.and_then(|rate| rate.parse().ok()).with_context(|| format!("pgbench: {said}"))
    };
    let rounds = super::rounds(options);
    let bar = progress::bar("pgbench", rounds as u64 + 1);
    let mut ratios = Vec::new();
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        let [c, lgc] = both_sides(round, |which| rate(&scripts[which]))?;
        // The first round warms up.
        if round > 0 {
            ratios.push(c / lgc);
            rates[0].push(c);
            rates[1].push(lgc);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let [c, lgc] = rates;
    Ok(vec![
        Metric::new("postgres.pgbench", "ratio", ratios),
        Metric::new("postgres.pgbench.c", "1/s", c),
        Metric::new("postgres.pgbench.lgc", "1/s", lgc),
    ])
}
