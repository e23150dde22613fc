//! From a name to a file.
use super::DlError;
use crate::host::{Short, locked};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Where modules lie that are installed for all users.
const DEFAULT: &[u8] = b"/usr/local/lib/lockgate:/usr/lib/lockgate";

static PATH: Mutex<Option<OsString>> = Mutex::new(None);

fn path() -> Short<MutexGuard<'static, Option<OsString>>> {
    Short::new(|| locked(&PATH))
}

/// Folders, colons between, in which libraries are looked for whose name has no slash; instead of `LG_LIBRARY_PATH`, if that was
/// not looked at yet, and of what was set before.
pub fn set_search_path(folders: impl Into<OsString>) {
    *path() = Some(folders.into());
}

/// Where libraries are looked for: what [`set_search_path`] said, else `LG_LIBRARY_PATH` (which programs with more rights than
/// their user ignore), then the system's folders.
pub fn search_path() -> OsString {
    let set = path()
        .clone()
        .or_else(|| believed(std::env::var_os("LG_LIBRARY_PATH"), lockgate_kernel::is_privileged()));
    let mut bytes = set.map_or_else(Vec::new, OsString::into_vec);
    if !bytes.is_empty() {
        bytes.push(b':');
    }
    bytes.extend(DEFAULT);
    OsString::from_vec(bytes)
}

/// What the environment says, for a program that has no more rights than who has set it.
fn believed(environment: Option<OsString>, secure: bool) -> Option<OsString> {
    environment.filter(|_| !secure)
}

/// The file that `name` means: itself if it has a slash, else the first of that name in the folders.
///
/// # Errors
/// [`DlError::NotFound`].
pub(super) fn find(name: &Path) -> Result<PathBuf, DlError> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(name.to_owned());
    }
    let folders = search_path();
    let candidates = folders.as_bytes().split(|&byte| byte == b':').map(|folder| {
        // As for programs, no name is the current folder.
        let folder = if folder.is_empty() { b"." } else { folder };
        Path::new(std::ffi::OsStr::from_bytes(folder)).join(name)
    });
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| DlError::NotFound {
        name: name.display().to_string(),
        folders: folders.to_string_lossy().into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_believed_only_in_ordinary_programs() {
        let set = || Some(OsString::from("/tmp"));
        assert_eq!(believed(set(), false), set());
        assert_eq!(believed(set(), true), None);
    }
}
