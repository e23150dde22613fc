//! `postgres.*`: functions of PostgreSQL in the language lgc, beside the same source in language C and the same work in other languages.
//!
//! After the SFI paper's experiment (1993, §5.3): the four queries of the Sequoia 2000 benchmark that call functions on users' types, on tables that are made
//! alike everywhere (`bench/postgres`), on a private server with one connection. A sample is the CPU time that the server's process took for a
//! statement, so that other load counts as little as possible; where two processes work together, it is the time on the wall. Functions of all languages have
//! the same cost for the planner: by default it takes one in language C for a hundred times as cheap, and calls it before other conditions are looked at.

pub mod soak;

mod compare;
mod crashes;
mod languages;
mod queries;
mod side;
mod transactions;

use crate::{Options, Report};
use lockgate_postgres::{Installation, Server, done, module, root};
use std::process::Command;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// Size of the tables in a quick run; 1 in a full one.
const QUICK: f64 = 0.1;

/// How many rounds.
fn rounds(options: &Options) -> usize {
    if options.quick { ROUNDS.1 } else { ROUNDS.0 }
}

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
        "shared_buffers = '512MB'\nwork_mem = '64MB'\njit = off\nmax_parallel_workers_per_gather = 0\n",
    )?;
    let database = server.database("bench")?;
    database.install("confined", &module(&source.join("confined.c"), installation.folder())?)?;
    let size = if options.quick { QUICK } else { 1.0 };
    for file in ["tables.sql", "functions.sql"] {
        let mut psql = database.psql("postgres");
        psql.args(["-v", "ON_ERROR_STOP=1", "-v", &format!("size={size}"), "-f"]).arg(source.join(file));
        done(&mut psql)?;
    }
    let mut report = Report::new(compare::measure(&database, options)?);
    if options.only.is_none() {
        report.metrics.extend(languages::measure(&database, options, &mut report.notes)?);
        report.metrics.extend(transactions::measure(&database, options)?);
        report.metrics.extend(crashes::measure(&database, options)?);
    }
    report.notes.push(installation.version().to_owned());
    Ok(report)
}
