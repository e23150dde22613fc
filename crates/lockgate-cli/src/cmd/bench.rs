//! `lockgate bench`.

use anyhow::Context as _;
use clap::ValueEnum;
use lockgate_bench::{Options, Report, overhead};
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
    /// Few samples: shows that everything works, proves no promise
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Family {
    /// Run time and code size of rewritten programs against native ones (about five minutes)
    Overhead,
}

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options { quick: args.quick };
    let metrics = match args.family {
        Family::Overhead => overhead::measure(&options, &std::env::current_exe()?)?,
    };
    let report = Report::new(metrics);
    print!("{}", report.table());
    if let Some(file) = args.json {
        std::fs::write(&file, report.to_json())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
