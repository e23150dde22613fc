//! Programs that a benchmark needs done, but does not measure.

use anyhow::{Context as _, ensure};
use std::process::Command;

/// Runs `command` to its end.
///
/// # Errors
/// It cannot be started, or fails; with what it has written.
pub fn done(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
