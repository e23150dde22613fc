//! `lockgate rewrite`: one object or archive, for looking at.

use super::progress::with_bar;
use anyhow::Context as _;
use lockgate_rewrite::Options;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate rewrite`.
#[derive(clap::Args)]
pub struct Args {
    /// The object (.o) or archive (.a)
    input: PathBuf,
    /// Where to write the rewritten one
    #[arg(short, long)]
    output: PathBuf,
    /// Check the upper half of every address (see `lockgate link --pinpoint`)
    #[arg(long)]
    pinpoint: bool,
    /// Print what was done
    #[arg(short, long)]
    verbose: bool,
}

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let bytes =
        std::fs::read(&args.input).with_context(|| format!("cannot read {}", args.input.display()))?;
    let name = args.input.to_string_lossy();
    let options = Options { pinpoint: args.pinpoint, ..Options::default() };
    let rewritten = match lockgate_rewrite::is_archive(&bytes) {
        true => with_bar(|progress| {
            let mut tell = |done, total| progress("rewriting", done as u64, total as u64);
            lockgate_rewrite::rewrite_archive(&name, &bytes, &options, &mut tell)
        })?,
        false => lockgate_rewrite::rewrite_object(&name, &bytes, &options)?,
    };
    std::fs::write(&args.output, &rewritten.bytes)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    if args.verbose {
        println!("{:#?}", rewritten.stats);
    }
    Ok(ExitCode::SUCCESS)
}
