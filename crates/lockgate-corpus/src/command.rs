//! Programs that do their work and end.

use anyhow::{Context as _, ensure};
use std::process::Command;

/// Runs `command` to its end; returns what it has written to its standard output.
///
/// # Errors
/// It cannot be started, or fails; with what it has written.
pub fn done(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(text(&output.stdout))
}
