//! The end of an installation, whatever becomes of the process that made it: tests keep theirs in static variables, which are never dropped, and may be
//! killed.

use anyhow::Context as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Stops the servers at once that still run, and removes the folder.
const SCRIPT: &str = r#"
cat >/dev/null
for file in "$0"/data-*/data/postmaster.pid; do
    [ -e "$file" ] && kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
done
rm -rf "$0" 2>/dev/null || rm -rf "$0"
"#;

/// A process that waits until no process holds the other end of its standard input.
#[derive(Debug)]
pub struct Keeper(Child);

impl Keeper {
    /// Looks after `folder`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn new(folder: &Path) -> anyhow::Result<Keeper> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SCRIPT])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // In a group of its own: what ends the test's processes does not end it.
        Ok(Keeper(shell.process_group(0).spawn().context("cannot start sh")?))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Nothing is left to be done if it fails.
        let _ = self.0.wait();
    }
}
