//! Where liblockgate is, which split programs are linked with.

use crate::Error;
use std::path::PathBuf;
use std::process::Command;

/// What it needs of the system.
pub const NEEDS: &[&str] = &["-lm", "-lpthread", "-ldl"];

/// The static library: of `LOCKGATE_LIBRARY`, of the installation that this program belongs to, beside this program where cargo
/// builds both, or of pkg-config.
///
/// # Errors
/// [`Error::NoLibrary`].
pub fn find() -> Result<PathBuf, Error> {
    let mut candidates: Vec<PathBuf> = Vec::new();
    if let Some(folder) = std::env::var_os("LOCKGATE_LIBRARY").filter(|value| !value.is_empty()) {
        candidates.push(PathBuf::from(folder).join("liblockgate.a"));
    } else {
        if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(|exe| exe.parent()) {
            candidates.push(folder.join("../lib/liblockgate.a"));
            candidates.push(folder.join("liblockgate_c.a"));
        }
        let asked = Command::new("pkg-config").args(["--variable=libdir", "lockgate"]).output();
        let folder = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        candidates
            .extend(folder.ok().filter(|f| !f.is_empty()).map(|f| PathBuf::from(f).join("liblockgate.a")));
    }
    let found = candidates.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| {
        let looked = candidates.iter().map(|path| path.display().to_string());
        Error::NoLibrary(looked.collect::<Vec<_>>().join(", "))
    })
}
