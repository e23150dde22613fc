//! `lockgate completions`.

use anyhow::Context as _;
use std::io::Write as _;
use std::process::ExitCode;

/// Arguments of `lockgate completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell; its completions go to standard output
    shell: Shell,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Writes the completions of `lockgate`, the whole command.
pub fn main(args: Args, mut lockgate: clap::Command) -> anyhow::Result<ExitCode> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut lockgate, "lockgate", &mut text);
    std::io::stdout().write_all(&text).context("cannot write the completions")?;
    Ok(ExitCode::SUCCESS)
}
