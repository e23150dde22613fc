//! `lockgate rewrite`.

use std::process::ExitCode;

/// Arguments of `lockgate rewrite`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn main(_args: Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not built yet")
}
