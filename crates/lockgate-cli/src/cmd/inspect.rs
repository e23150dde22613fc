//! `lockgate inspect`.

use std::process::ExitCode;

/// Arguments of `lockgate inspect`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn main(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
