//! `lockgate link`: objects and archives to a module.

use super::progress::with_bar;
use lockgate_toolchain::{Link, Sysroot};
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
    /// Link libNAME.a
    #[arg(short = 'l', value_name = "NAME")]
    libraries: Vec<String>,
    /// Search a folder for libraries
    #[arg(short = 'L', value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Link an object or archive that is in the code model already, without rewriting it
    #[arg(long, value_name = "FILE")]
    verbatim: Vec<PathBuf>,
    /// Wild pointers trap where they are used instead of wrapping around inside the window
    #[arg(long)]
    pinpoint: bool,
    /// Keep a rejected module as MODULE.rejected
    #[arg(long)]
    keep_rejected: bool,
    /// Print sizes
    #[arg(short, long)]
    verbose: bool,
}

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let mut link = Link::new(&args.output);
    link.export_all(args.export_all).keep_rejected(args.keep_rejected);
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
        let sysroot = match args.pinpoint {
            true => Sysroot::ensure_pinpoint(progress)?,
            false => Sysroot::ensure(progress)?,
        };
        link.run(&sysroot, progress)
    })?;
    if args.verbose {
        println!(
            "{}: {} bytes, {} of them verified code in {} instructions; given code {} bytes, rewritten {}",
            args.output.display(),
            outcome.file_size,
            outcome.report.text_bytes,
            outcome.report.instructions,
            outcome.text_in,
            outcome.text_out
        );
    }
    Ok(ExitCode::SUCCESS)
}
