//! `lockgate verify`.

use super::output::{self, Paint};
use lockgate_verify::{Module, Rejection, Report, Symbol};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate verify`.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 every rule holds; 1 the module is rejected, or the file is not a module; 2 it cannot be read.

Examples:
  lockgate verify cube.lg
  lockgate verify --json cube.lg | jq .report.evex")]
pub struct Args {
    /// The module
    module: PathBuf,
    /// Print verdict and report as JSON
    #[arg(long)]
    json: bool,
}

/// A verdict, as JSON shows it.
#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum Verdict {
    /// Every rule holds.
    Verified { report: Report },
    /// A rule does not hold.
    Rejected { rejection: Box<Rejection>, function: Option<String> },
    /// Not even a module.
    NotAModule { error: lockgate_verify::ParseError },
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let verdict = judge(&output::read(&args.module)?);
    if args.json {
        output::print_json(&verdict)?;
    } else {
        output::print(&describe(&args, &verdict))?;
    }
    Ok(match verdict {
        Verdict::Verified { .. } => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

fn judge(bytes: &[u8]) -> Verdict {
    let module = match Module::parse(bytes) {
        Ok(module) => module,
        Err(error) => return Verdict::NotAModule { error },
    };
    match lockgate_verify::verify(&module) {
        Ok(report) => Verdict::Verified { report },
        Err(rejection) => {
            let function = function_at(&module.symbols, rejection.address);
            Verdict::Rejected { rejection, function }
        }
    }
}

fn describe(args: &Args, verdict: &Verdict) -> String {
    let paint = Paint::stdout();
    let name = output::shown(&args.module);
    match verdict {
        Verdict::Verified { report } => format!(
            "{name}: {}: {} instructions in {} bytes of code\n",
            paint.good("verified"),
            report.instructions,
            report.text_bytes
        ),
        Verdict::Rejected { rejection, function } => {
            let Rejection { rule, address, bytes, instruction, reason } = &**rejection;
            let place = function.as_ref().map_or(String::new(), |function| format!(" in {function}"));
            let rejected = paint.bad("rejected");
            format!(
                "{name}: {rejected} by rule {rule}: {reason}\n  at {address:#x}{place}: {bytes}  {instruction}\n\
                 This code must not run. Link it again with `lockgate cc`; docs/rules.md states the rules.\n"
            )
        }
        Verdict::NotAModule { error } => format!("{name}: {}: {error}\n", paint.bad("not a module")),
    }
}

/// `function+0x12`, if a symbol covers `address`.
pub fn function_at(symbols: &[Symbol], address: u64) -> Option<String> {
    let symbol = &symbols[symbols.partition_point(|symbol| symbol.address <= address).checked_sub(1)?];
    match address - symbol.address {
        0 => Some(symbol.name.clone()),
        offset if offset < symbol.size => Some(format!("{}+{offset:#x}", symbol.name)),
        _ => None,
    }
}
