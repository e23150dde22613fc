//! `postgres_soak.*`: eight sessions that do everything at once: good calls, crashes, endless functions, cancels, ends of sessions.

use crate::{Metric, Options, Report};
use lockgate_postgres::{Installation, soak};
use std::time::Duration;

/// How long a full run lasts, and a quick one.
const LASTING: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(20));

/// Runs it.
///
/// # Errors
/// There is no PostgreSQL; the server is lost; `pg_amcheck` or `pg_checksums` find damage.
pub fn measure(options: &Options) -> anyhow::Result<Report> {
    let lasting = if options.quick { LASTING.1 } else { LASTING.0 };
    let soak = soak(&Installation::new()?, lasting)?;
    let count =
        |name: &str, value: u64| Metric::new(format!("postgres_soak.{name}"), "count", vec![value as f64]);
    let mut report = Report::new(vec![
        count("rounds", soak.rounds),
        count("cancels", soak.cancels),
        count("ended_sessions", soak.ended),
        Metric::new("postgres_soak.time", "s", vec![lasting.as_secs_f64()]),
        count("wrong", soak.wrong.len() as u64),
        count("crashed_processes", soak.crashes.len() as u64),
        count("leaked_descriptors", soak.growth.descriptors),
        count("leaked_mappings", soak.growth.mappings),
        count("leaked_threads", soak.growth.threads),
        Metric::new("postgres_soak.resident_growth", "KiB", vec![soak.growth.resident_kib as f64]),
    ]);
    report.notes.extend(soak.wrong);
    report.notes.extend(soak.crashes);
    report.notes.push("pg_amcheck and pg_checksums find nothing wrong.".to_owned());
    Ok(report)
}
