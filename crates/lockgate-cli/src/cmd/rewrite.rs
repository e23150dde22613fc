//! `lockgate rewrite`: one object or archive, for looking at.

use super::output;
use super::progress::with_bar;
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
    /// Check the upper half of every address (see `lockgate link --strict-bounds`)
    #[arg(long)]
    strict_bounds: bool,
    /// Print what was done
    #[arg(short, long)]
    verbose: bool,
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    lockgate_toolchain::spares(&args.input, &args.output)?;
    let bytes = output::read(&args.input)?;
    let name = output::shown(&args.input);
    let options = Options { strict_bounds: args.strict_bounds, ..Options::default() };
    let rewritten = match lockgate_rewrite::is_archive(&bytes) {
        true => with_bar(|progress| {
            let mut tell = |done, total| progress("rewriting", done as u64, total as u64);
            lockgate_rewrite::rewrite_archive(&name, &bytes, &options, &mut tell)
        })?,
        false => lockgate_rewrite::rewrite_object(&name, &bytes, &options)?,
    };
    lockgate_toolchain::put(&args.output, &rewritten.bytes, 0o666)?;
    if args.verbose {
        output::print(&format!("{:#?}\n", rewritten.stats))?;
    }
    Ok(ExitCode::SUCCESS)
}
