//! The program `lockgate-bench`: measures, and prints the results as a table, as JSON or as a picture.
#![deny(unsafe_code)]

use anyhow::{Context as _, ensure};
use clap::{Parser, ValueEnum};
use lockgate_bench::{
    Options, Report, calls, capi, create, dlopen, evidence, ipc, languages, overhead, postgres, python,
    rewrite, running, soak, split, stubs, verify,
};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measure calls, overhead, verifier, rewriter and domain creation
#[derive(Parser)]
#[command(name = "lockgate-bench", version)]
struct Args {
    /// What to measure
    family: Family,
    /// Also write the results as JSON to FILE; without one, to standard output, in place of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STANDARD_OUTPUT)]
    json: Option<PathBuf>,
    /// Also draw the medians as an SVG picture into FILE
    #[arg(long, visible_alias = "svg", value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Few samples: shows that everything works, proves no target
    #[arg(long)]
    quick: bool,
    /// Only metrics whose names begin with PREFIX: statements or programs (languages, overhead, postgres, programs and stubs only)
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
    /// How many calls or cycles to make (soak and cycles only)
    #[arg(long, value_name = "N", visible_alias = "cycles")]
    calls: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Calls between the host and a domain, and recovery from a fault
    Calls,
    /// Calls from a host in C, beside those from Rust
    Capi,
    /// Calls into a domain beside every other kind of call: functions, system calls, pipes, sockets, semaphores, RPC, Wasmtime
    Ipc,
    /// Run time and code size of rewritten programs against native ones (about a quarter of an hour)
    Overhead,
    /// Programs in C++ and Rust against native ones (needs g++, and musl's target of rustup)
    Languages,
    /// Functions of PostgreSQL in the language lgc, beside the same in language C and others (needs PostgreSQL and its headers)
    Postgres,
    /// Eight sessions of PostgreSQL for ten minutes: good calls, crashes, endless functions, cancels: every answer checked, every leak counted
    PostgresSoak,
    /// Calls from Python, beside ctypes calling an ordinary library (needs the package: `make python`)
    Python,
    /// Programs in one process: calls of Redis and between programs beside calls of other processes, restarts, system calls (`make redis` first)
    Programs,
    /// The verifier on the SQLite module
    Verify,
    /// The rewriter on the corpus's objects
    Rewrite,
    /// Creation of domains, and how many there can be
    Create,
    /// Real libraries protected by stubs, with their own programs, against the same without
    Stubs,
    /// A program in several domains, against the same in one piece
    Split,
    /// Calls through pointers of lg_dlsym, and loads, beside dlopen
    Dlopen,
    /// A thousand million calls from eight threads, with signals, crashes, kills and timeouts among them: every answer checked, every
    /// leak counted
    Soak,
    /// A million domains, one after the other, that crash, are reset, and go: every leak counted
    Cycles,
    /// What all evidence together shows: results that `make evidence` has left in build/, against what is demanded of them
    Evidence,
}

/// In place of a file's name.
const STANDARD_OUTPUT: &str = "-";

fn main() -> ExitCode {
    let outcome = match running::serve_if_asked() {
        Some(served) => served.map(|()| ExitCode::SUCCESS),
        None => measure(Args::parse()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("lockgate-bench: {error:#}");
        ExitCode::from(2)
    })
}

fn measure(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options { quick: args.quick, only: args.only.clone() };
    ensure!(
        args.only.is_none()
            || matches!(
                args.family,
                Family::Languages | Family::Postgres | Family::Programs | Family::Stubs | Family::Overhead
            ),
        "--only goes with languages, overhead, postgres, programs and stubs only"
    );
    let counts = matches!(args.family, Family::Soak | Family::Cycles);
    ensure!(args.calls.is_none() || counts, "--calls goes with soak and cycles only");
    if args.family == Family::Evidence {
        return all_evidence(&args);
    }
    // What some families measure; `make build` puts it beside this program.
    let lockgate = std::env::current_exe()?.with_file_name("lockgate");
    let report = match args.family {
        Family::Calls => Report::new(calls::measure(&options)?),
        Family::Capi => Report::new(capi::measure(&options)?),
        Family::Ipc => ipc::measure(&options)?,
        Family::Overhead => Report::new(overhead::measure(&options, &lockgate)?),
        Family::Languages => Report::new(languages::measure(&options, &lockgate)?),
        Family::Postgres => postgres::measure(&options)?,
        Family::PostgresSoak => postgres::soak::measure(&options)?,
        Family::Python => python::measure(&options)?,
        Family::Programs => running::measure(&options, &lockgate)?,
        Family::Verify => Report::new(verify::measure(&options, &lockgate)?),
        Family::Rewrite => Report::new(rewrite::measure(&options)?),
        Family::Create => Report::new(create::measure(&options)?),
        Family::Stubs => stubs::measure(&options, &lockgate)?,
        Family::Split => split::measure(&options, &lockgate)?,
        Family::Dlopen => Report::new(dlopen::measure(&options)?),
        Family::Soak => soak::measure(&options, args.calls)?,
        Family::Cycles => soak::cycles::measure(&options, args.calls)?,
        Family::Evidence => unreachable!("it is no report"),
    };
    let chart = match args.family {
        Family::Ipc => ipc::Chart(&report).to_string(),
        _ => report.to_svg(),
    };
    if !args.json_only() {
        match args.family {
            Family::Ipc => print!("{}\n{}", ipc::Grid(&report), report.table_of("ipc.ratio.")),
            _ => print!("{}", report.table()),
        }
        report.notes.iter().for_each(|note| println!("{note}"));
    }
    args.json.iter().try_for_each(|file| write(file, report.to_json()))?;
    args.plot.iter().try_for_each(|file| write(file, chart.clone()))?;
    // Times depend on the machine; a wrong answer or a leak is a failure anywhere.
    let judged = counts || args.family == Family::PostgresSoak;
    let failed = judged && !report.keeps_targets();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The table of all evidence; exit status 1 unless every demand is met.
fn all_evidence(args: &Args) -> anyhow::Result<ExitCode> {
    let evidence = evidence::of_repository()?;
    if !args.json_only() {
        print!("{evidence}");
    }
    args.json.iter().try_for_each(|file| write(file, serde_json::to_string_pretty(&evidence)? + "\n"))?;
    Ok(if evidence.met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(file: &Path, text: String) -> anyhow::Result<()> {
    if file == Path::new(STANDARD_OUTPUT) {
        print!("{text}");
        return Ok(());
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

impl Args {
    /// Whether the results as JSON take the table's place.
    fn json_only(&self) -> bool {
        self.json.as_deref() == Some(Path::new(STANDARD_OUTPUT))
    }
}
