//! `lockgate cc`: the compiler wrapper.

use super::link::warn;
use super::progress::with_bar;
use lockgate_toolchain::cc::{self, Outcome};
use std::process::{ExitCode, ExitStatus};

/// Arguments of `lockgate cc`: gcc's, and --export, --exports, --export-all, --gate, --gates, --base, --join,
/// --strict-bounds, --keep-rejected, --verbatim (docs/building-modules.md), or --split, with --list-gates to say what each domain may call
/// (docs/split.md).
#[derive(clap::Args)]
#[command(disable_version_flag = true)]
pub struct Args {
    /// What gcc would be given.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "GCC-ARGUMENTS")]
    arguments: Vec<String>,
}

/// Runs the command. The exit status is gcc's where gcc alone ran.
pub fn main(mut args: Args) -> anyhow::Result<ExitCode> {
    if let Some(at) = args.arguments.iter().position(|argument| argument == "--split") {
        args.arguments.remove(at);
        return Ok(code(with_bar(|progress| lockgate_split::run(args.arguments, progress))?));
    }
    match with_bar(|progress| cc::run(args.arguments, progress))? {
        Outcome::Linked(outcome) => {
            warn(&outcome);
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Compiler(status) => Ok(code(status)),
    }
}

/// gcc's exit status as ours. No code: killed by a signal.
fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
