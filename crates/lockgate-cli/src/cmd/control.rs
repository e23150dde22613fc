//! `lockgate logs`, `stop` and `restart`: what is asked of a running `lockgate up`.

use super::output::{self, Paint};
use super::up;
use lockgate_programs::control::{Wish, ask};
use std::path::PathBuf;
use std::process::ExitCode;

/// Which programs.
#[derive(clap::Args)]
struct Which {
    /// The file that `lockgate up` was given, or the folder of a lockgate.toml
    file: PathBuf,
    /// Programs of the file; without one, all
    #[arg(value_name = "NAME")]
    programs: Vec<String>,
}

/// Arguments of `lockgate logs`.
#[derive(clap::Args)]
#[command(after_help = "\
Shows the last 64 KiB of each program at most, in the order in which the lines came.

Exit status: 0; 2 if the file is not up.

Examples:
  lockgate logs .
  lockgate logs shop.toml cache")]
pub struct LogsArgs {
    #[command(flatten)]
    which: Which,
}

/// Arguments of `lockgate stop`.
#[derive(clap::Args)]
#[command(after_help = "\
Ends the programs as SIGTERM would, and kills them when their stop_timeout is over. The programs of a whole file end in the reverse order of their dependencies, and lockgate up ends after them.

Exit status: 0 when they have ended; 2 if the file is not up.

Examples:
  lockgate stop shop.toml cache
  lockgate stop .")]
pub struct StopArgs {
    #[command(flatten)]
    which: Which,
}

/// Arguments of `lockgate restart`.
#[derive(clap::Args)]
#[command(after_help = "\
Ends the programs that run as `lockgate stop` does, and starts them again from the module that lockgate up has opened.

Exit status: 0 when they are ready; 2 if one did not get ready, or the file is not up.

Examples:
  lockgate restart shop.toml cache")]
pub struct RestartArgs {
    #[command(flatten)]
    which: Which,
}

/// Runs `lockgate logs`.
pub fn logs(args: LogsArgs) -> anyhow::Result<ExitCode> {
    let answer = ask(&up::file_of(&args.which.file), Wish::Logs, args.which.programs)?;
    let name = |program: &lockgate_programs::control::Program| program.name.clone();
    let names: Vec<String> = answer.programs.iter().map(name).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let paint = Paint::stdout();
    let mut text = String::new();
    for line in &answer.lines {
        let number = names.iter().position(|name| *name == line.program).unwrap_or(0);
        text += &up::named(&line.program, number, width, paint, line.text.as_bytes());
        text.push('\n');
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `lockgate stop`.
pub fn stop(args: StopArgs) -> anyhow::Result<ExitCode> {
    ask(&up::file_of(&args.which.file), Wish::Stop, args.which.programs)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `lockgate restart`.
pub fn restart(args: RestartArgs) -> anyhow::Result<ExitCode> {
    ask(&up::file_of(&args.which.file), Wish::Restart, args.which.programs)?;
    Ok(ExitCode::SUCCESS)
}
