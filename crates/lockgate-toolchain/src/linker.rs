//! `lockgate cc` for those who can name a program and no arguments.

use crate::Error;
use crate::cache::{Cache, Key};
use std::path::{Path, PathBuf};

/// What `lockgate` is called where it is to be `lockgate cc`.
pub const LINKER: &str = "lockgate-cc";

/// A link of this name to the program `lockgate`, in the user's cache.
///
/// # Errors
/// [`Error::Io`].
pub fn as_linker(lockgate: &Path) -> Result<PathBuf, Error> {
    let mut key = Key::new("linker");
    key.add(lockgate.as_os_str().as_encoded_bytes());
    let folder = Cache::open()?.entry(&key, |folder| {
        let link = folder.join(LINKER);
        std::os::unix::fs::symlink(lockgate, &link).map_err(Error::io("create", &link))
    })?;
    Ok(folder.join(LINKER))
}
