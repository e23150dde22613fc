//! `lockgate bench`: runs `lockgate-bench`, a program of its own that is built from the source tree.
use anyhow::{Context as _, bail};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Arguments of `lockgate bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Arguments, as `lockgate-bench --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Replaces this program. The other one lies in the same folder: no search path has a say.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let program =
        std::env::current_exe().context("this program's own path")?.with_file_name("lockgate-bench");
    if !program.exists() {
        bail!("{} is not there: `make benches` in the source tree builds it", program.display());
    }
    let error = Command::new(&program).args(args.arguments).exec();
    Err(error).with_context(|| program.display().to_string())
}
