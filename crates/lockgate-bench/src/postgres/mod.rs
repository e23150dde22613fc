//! `postgres.*`: functions of PostgreSQL in the language lgc, beside the same source in language C and the same work in other languages.
//!
//! After the SFI paper's experiment (1993, §5.3): the four queries of the Sequoia 2000 benchmark that call functions on users' types, on tables that are made
//! alike everywhere (`bench/postgres`), on a private server with one connection. A sample is the processor time that the server's process took for a
//! statement, so that other load counts as little as possible; where two processes work together, it is the time on the wall.

mod languages;
mod side;

use crate::{Metric, Options, Report, interleave, progress};
use anyhow::ensure;
use interleave::both_sides;
use languages::LANGUAGES;
use lockgate_postgres::{Database, Installation, Server, done, module, root};
use side::Side;
use std::process::Command;
use std::time::Instant;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// Size of the tables in a quick run; 1 in a full one.
const QUICK: f64 = 0.1;
/// Crashes, and as many ordinary errors.
const CRASHES: usize = 200;

/// A statement to measure: metric, text with `$L` for the language's schema, and how often it calls a function.
struct Query {
    metric: &'static str,
    sql: &'static str,
    calls: &'static str,
}

/// Language lgc against language C. As in the paper, a query of Sequoia reads all polygons, once for each view or place: the tables are those of the
/// regional benchmark (93,607 polygons of 46 points on average), reduced only in a quick run.
const QUERIES: &[Query] = &[
    Query {
        metric: "postgres.sequoia.q6",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE $L.intersects(shape, rectangle)) found",
        calls: "SELECT (SELECT count(*) FROM landuse) * (SELECT count(*) FROM views)",
    },
    Query {
        metric: "postgres.sequoia.q7",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE $L.large_within(shape, 20, surrounding)) found",
        calls: "SELECT (SELECT count(*) FROM landuse) * (SELECT count(*) FROM views)",
    },
    Query {
        metric: "postgres.sequoia.q8",
        sql: "SELECT round(sum(area)::numeric, 3) FROM views, LATERAL (SELECT sum($L.common_area(shape, rectangle)) AS area FROM landuse) used",
        calls: "SELECT (SELECT count(*) FROM landuse) * (SELECT count(*) FROM views)",
    },
    Query {
        metric: "postgres.sequoia.q10",
        sql: "SELECT sum(n), sum(ids) FROM places, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE kind = 3 AND $L.contains(shape, at)) found",
        calls: "SELECT (SELECT count(*) FROM landuse WHERE kind = 3) * (SELECT count(*) FROM places)",
    },
    Query {
        metric: "postgres.microcall",
        sql: "SELECT sum($L.increment(i)) FROM generate_series(1, (SELECT max(i) FROM numbers)) i",
        calls: "SELECT count(*) FROM numbers",
    },
    Query {
        metric: "postgres.arrays",
        sql: "SELECT round(sum($L.mean(cells, 20, 80))::numeric, 3) FROM rasters, generate_series(1, 20)",
        calls: "SELECT 20 * count(*) FROM rasters",
    },
    Query {
        metric: "postgres.texts",
        sql: "SELECT sum($L.words(text)) FROM texts",
        calls: "SELECT count(*) FROM texts",
    },
];

/// Measures.
///
/// # Errors
/// There is no PostgreSQL; what the server says; results that differ.
pub fn measure(options: &Options) -> anyhow::Result<Report> {
    let installation = Installation::new()?;
    let source = root().join("bench/postgres");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-fPIC", "-shared", "-o"]).arg(installation.libraries()?.join("lockgate_bench.so"));
    let headers = done(Command::new("pg_config").arg("--includedir-server"))?;
    done(gcc.arg(source.join("plain.c")).arg("-I").arg(headers.trim_end()))?;
    let server = Server::start(
        &installation,
        "shared_buffers = '512MB'\njit = off\nmax_parallel_workers_per_gather = 0\n",
    )?;
    let database = server.database("bench")?;
    database.install("confined", &module(&source.join("confined.c"), installation.folder())?)?;
    let size = if options.quick { QUICK } else { 1.0 };
    for file in ["tables.sql", "functions.sql"] {
        let mut psql = database.psql("postgres");
        psql.args(["-v", "ON_ERROR_STOP=1", "-v", &format!("size={size}"), "-f"]).arg(source.join(file));
        done(&mut psql)?;
    }
    let mut report = Report::new(compare(&database, options)?);
    report.metrics.extend(languages(&database, options, &mut report.notes)?);
    report.metrics.extend(crashes(&database, options)?);
    report.notes.push(installation.version().to_owned());
    Ok(report)
}

/// Language lgc against language C.
fn compare(database: &Database<'_>, options: &Options) -> anyhow::Result<Vec<Metric>> {
    let mut side = Side::new(database)?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let bar = progress::bar("postgres", ((rounds + 1) * QUERIES.len()) as u64);
    let mut metrics = Vec::new();
    for query in QUERIES {
        bar.set_message(query.metric);
        let mut ratios = Vec::new();
        let mut seconds = [Vec::new(), Vec::new()];
        for round in 0..=rounds {
            let [c, lgc] =
                both_sides(round, |which| side.time(&query.sql.replace("$L", ["c", "lgc"][which])))?;
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
        metrics.push(Metric::new(format!("{}.calls", query.metric), "count", vec![calls]));
    }
    bar.finish_and_clear();
    Ok(metrics)
}

/// The same arithmetic in every language that the machine has, nanoseconds for each row, and lgc against two of them.
fn languages(
    database: &Database<'_>,
    options: &Options,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Metric>> {
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let mut metrics: Vec<Metric> = Vec::new();
    for language in LANGUAGES {
        if !language.make(database)? {
            notes.push(format!("{}: not on this machine", language.schema));
            continue;
        }
        let mut session = database.session("postgres")?;
        let sql = format!(
            "SELECT sum({}.arithmetic(i)) FROM generate_series(1, {}) i",
            language.schema, language.rows
        );
        let mut samples = Vec::new();
        for round in 0..=rounds {
            let begun = Instant::now();
            let answer = session.run(&sql)?;
            let seconds = begun.elapsed().as_secs_f64();
            ensure!(answer.parse::<i64>().is_ok(), "{}: {answer}", language.schema);
            if round > 0 {
                samples.push(seconds * 1e9 / f64::from(language.rows));
            }
        }
        metrics.push(Metric::new(format!("postgres.arithmetic.{}", language.schema), "ns", samples));
    }
    let median = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.median);
    let lgc = median("postgres.arithmetic.lgc");
    let ratios = [
        ("postgres.vs_plpgsql", "postgres.arithmetic.plpgsql"),
        ("postgres.vs_pipe", "postgres.arithmetic.pipe"),
    ];
    let ratios: Vec<Metric> = ratios
        .iter()
        .filter_map(|(ratio, other)| Some(Metric::new(*ratio, "ratio", vec![median(other)? / lgc?])))
        .collect();
    metrics.extend(ratios);
    Ok(metrics)
}

/// What a crash adds to an ordinary error and the next statement, milliseconds.
fn crashes(database: &Database<'_>, options: &Options) -> anyhow::Result<Vec<Metric>> {
    let mut session = database.session("postgres")?;
    let rounds = if options.quick { CRASHES / 10 } else { CRASHES };
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
