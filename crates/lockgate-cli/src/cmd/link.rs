//! `lockgate link`: objects and archives to a module.

use super::output;
use super::progress::with_bar;
use lockgate_outside::printable_lines;
use lockgate_toolchain::{Link, LinkOutcome, Sysroot};
use lockgate_verify::Report;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate link`.
#[derive(clap::Args)]
pub struct Args {
    /// Objects (.o) and archives (.a), in the linker's order
    inputs: Vec<PathBuf>,
    /// The module to write
    #[arg(short, long, value_name = "MODULE")]
    output: PathBuf,
    /// Make a function callable from the host: its C prototype or its name
    #[arg(long = "export", value_name = "PROTOTYPE")]
    exports: Vec<String>,
    /// Export every global function of the objects
    #[arg(long)]
    export_all: bool,
    /// Import a function from the host through a gate: its C prototype or its name
    #[arg(long = "gate", value_name = "PROTOTYPE")]
    gates: Vec<String>,
    /// Make a base: a module with all of libc, whose domains other modules may join
    #[arg(long)]
    base: bool,
    /// Make a module that joins a domain of this base; from the second one on, a module that joined it, too
    #[arg(long = "join", value_name = "MODULE")]
    joins: Vec<PathBuf>,
    /// Link libNAME.a
    #[arg(short = 'l', value_name = "NAME")]
    libraries: Vec<String>,
    /// Search a folder for libraries
    #[arg(short = 'L', value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Link an object or archive that is in the code model already, without rewriting it
    #[arg(long, value_name = "FILE")]
    verbatim: Vec<PathBuf>,
    /// Compile the intermediate code of -flto in the inputs: give this only if you trust its author, because the compiler obeys that code
    #[arg(short = 'f', value_name = "lto", value_parser = ["lto"])]
    compile: Option<String>,
    /// Trap where a wild pointer is used, instead of wrapping around inside the window (not in gathers and scatters)
    #[arg(long)]
    strict_bounds: bool,
    /// Keep a rejected module as MODULE.rejected
    #[arg(long)]
    keep_rejected: bool,
    /// Print sizes
    #[arg(short, long)]
    verbose: bool,
    /// Print sizes, what lost its debug information, and the verifier's report as JSON
    #[arg(long)]
    json: bool,
}

/// What was made, as JSON shows it. Sizes in bytes.
#[derive(Serialize)]
struct Made<'a> {
    module: String,
    file_size: u64,
    text_in: u64,
    text_out: u64,
    debug_dropped: &'a [String],
    unchecked_vectors: u64,
    replaced: &'a [String],
    report: &'a Report,
}

/// Warns of what the module will lack although it was asked for: lines in reports of faults, checks of addresses.
pub fn warn(outcome: &LinkOutcome) {
    for dropped in &outcome.debug_dropped {
        output::tell(format_args!(
            "lockgate: warning: debug information dropped: {}",
            printable_lines(dropped)
        ));
    }
    if outcome.unchecked_vectors > 0 {
        output::tell(format_args!(
            "lockgate: warning: --strict-bounds confines the addresses of {} gathers and scatters without checking them; \
             compile with -mno-avx2 to have none",
            outcome.unchecked_vectors
        ));
    }
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let mut link = Link::new(&args.output);
    link.export_all(args.export_all).keep_rejected(args.keep_rejected).base(args.base);
    if args.compile.is_some() {
        link.lto_option("-flto");
    }
    for module in &args.joins {
        link.join(module)?;
    }
    for input in &args.inputs {
        link.file(input)?;
    }
    for input in &args.verbatim {
        link.verbatim(input)?;
    }
    for folder in &args.folders {
        link.folder(folder);
    }
    for library in &args.libraries {
        link.library(library);
    }
    for export in &args.exports {
        link.export(export)?;
    }
    for gate in &args.gates {
        link.gate(gate)?;
    }
    let outcome = with_bar(|progress| {
        let sysroot = match args.strict_bounds {
            true => Sysroot::ensure_strict_bounds(progress)?,
            false => Sysroot::ensure(progress)?,
        };
        link.run(&sysroot, progress)
    })?;
    warn(&outcome);
    if args.json {
        output::print_json(&Made {
            module: args.output.display().to_string(),
            file_size: outcome.file_size,
            text_in: outcome.text_in,
            text_out: outcome.text_out,
            debug_dropped: &outcome.debug_dropped,
            unchecked_vectors: outcome.unchecked_vectors,
            replaced: &outcome.replaced,
            report: &outcome.report,
        })?;
    } else if args.verbose {
        let mut text = format!(
            "{}: {} bytes, {} of them verified code in {} instructions; given code {} bytes, rewritten {}\n",
            output::shown(&args.output),
            outcome.file_size,
            outcome.report.text_bytes,
            outcome.report.instructions,
            outcome.text_in,
            outcome.text_out
        );
        for name in &outcome.replaced {
            text += &format!("{}: ours stands in the place of {name}\n", output::shown(&args.output));
        }
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
