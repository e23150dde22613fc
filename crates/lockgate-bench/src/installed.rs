//! The C library as a user has it.

use crate::command::done;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the library is installed: beside the program, or, in a build folder, in `folder` now.
pub(crate) fn library(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let beside = program.parent().context("a program lies in a folder")?;
    let installed = beside.join("../lib/liblockgate.so");
    if installed.exists() {
        return Ok(beside.join(".."));
    }
    let prefix = folder.join("library");
    install(root, beside, &prefix)?;
    Ok(prefix)
}

/// Installs the library that cargo has built in `from` under `prefix`.
///
/// `root` is that of the repository.
pub fn install(root: &Path, from: &Path, prefix: &Path) -> anyhow::Result<()> {
    let mut install = Command::new(root.join("scripts/install-library.sh"));
    done(install.arg(from).arg(prefix)).map(drop)
}
