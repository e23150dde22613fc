//! `lockgate man`.

use anyhow::Context as _;
use clap::CommandFactory as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate man`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write lockgate.1, lockgate-run.1, … into; made if it is not there
    folder: PathBuf,
}

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let folder = args.folder;
    std::fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(crate::Cli::command(), &folder))
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
