//! `lockgate man`.

use anyhow::Context as _;
use lockgate_c::manual;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate man`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write man1/lockgate.1, man3/lockgate.3, … into; made if it is not there
    folder: PathBuf,
}

/// Writes the pages of `lockgate`, the whole command, and of the library.
pub fn main(args: Args, lockgate: clap::Command) -> anyhow::Result<ExitCode> {
    let folder = args.folder;
    let (programs, library) = (folder.join("man1"), folder.join("man3"));
    let write = || {
        std::fs::create_dir_all(&programs)?;
        std::fs::create_dir_all(&library)?;
        clap_mangen::generate_to(lockgate, &programs)?;
        manual::pages().iter().try_for_each(|page| std::fs::write(library.join(&page.file), &page.text))
    };
    write().with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
