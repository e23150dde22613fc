//! `lockgate cc`: the compiler wrapper.

use super::link::warn;
use super::progress::with_bar;
use lockgate_toolchain::cc::{self, Driver, Outcome};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{ExitCode, ExitStatus};

/// Options of `--split`, which this command takes itself; those of modules are the toolchain's.
const SPLIT: &[(&str, &str, &str)] = &[
    ("--split", "", "a program of the host with modules inside, from annotated sources"),
    ("--list-gates", "", "with --split: print what each domain may call, and which source allows it"),
];

/// Arguments of `lockgate cc`.
#[derive(clap::Args)]
#[command(disable_version_flag = true)]
pub struct Args {
    /// Options and files as gcc takes them, and options of our own
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "GCC-ARGUMENTS")]
    arguments: Vec<String>,
}

/// Our own options, a line each: only C can be split.
pub fn own_options(driver: Driver) -> String {
    let mut text = "Options of our own:\n".to_owned();
    let split = if driver == Driver::C { SPLIT } else { &[] };
    for (name, value, what) in cc::OPTIONS.iter().chain(split) {
        let _ = writeln!(text, "  {:22} {what}", format!("{name} {value}"));
    }
    text + "\nEverything else is gcc's."
}

/// Runs the command, one of `lockgate`'s. The exit status is gcc's where gcc alone ran.
pub fn main(
    driver: Driver,
    mut args: Args,
    lockgate: impl FnOnce() -> clap::Command,
) -> anyhow::Result<ExitCode> {
    if args.arguments.iter().any(|argument| argument == "--help") {
        let mut command = lockgate();
        command.build();
        let own = command
            .find_subcommand_mut(if driver == Driver::Cxx { "c++" } else { "cc" })
            .map(|own| own.render_help());
        // It stands before what gcc says itself.
        let mut out = std::io::stdout();
        writeln!(out, "{}", own.unwrap_or_default())?;
        out.flush()?;
    }
    let splits = |argument: &String| driver == Driver::C && argument == "--split";
    if let Some(at) = args.arguments.iter().position(splits) {
        args.arguments.remove(at);
        return Ok(code(with_bar(|progress| lockgate_split::run(args.arguments, progress))?));
    }
    match with_bar(|progress| cc::run(driver, args.arguments, progress))? {
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
