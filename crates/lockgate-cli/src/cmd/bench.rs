//! `lockgate bench`.

use anyhow::Context as _;
use clap::ValueEnum;
use lockgate_bench::{Options, Report, overhead, verify};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate bench`.
#[derive(clap::Args)]
pub struct Args {
    /// What to measure
    family: Family,
    /// Also write the results as JSON to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also draw the medians as an SVG picture into FILE
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Few samples: shows that everything works, proves no promise
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Family {
    /// Run time and code size of rewritten programs against native ones (about five minutes)
    Overhead,
    /// The verifier on the SQLite module
    Verify,
}

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options { quick: args.quick };
    let lockgate = std::env::current_exe()?;
    let metrics = match args.family {
        Family::Overhead => overhead::measure(&options, &lockgate)?,
        Family::Verify => verify::measure(&options, &lockgate)?,
    };
    let report = Report::new(metrics);
    print!("{}", report.table());
    if let Some(file) = args.json {
        std::fs::write(&file, report.to_json())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
