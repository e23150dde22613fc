//! Folders for what is made on the way, which go whatever becomes of the program.

use std::fs::{DirBuilder, Permissions};
use std::hash::BuildHasher as _;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A folder that no other user may look into, whatever the umask says. It goes with the value, and with the program, whatever signal
/// ends that.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    kept: bool,
    _outer: Outer,
}

#[derive(Debug)]
#[expect(dead_code, reason = "they are there to be dropped")]
enum Outer {
    /// A folder that all others of the program are in.
    Folder(Arc<Folder>),
    Sweeper(Option<Sweeper>),
}

impl Folder {
    /// One among the system's temporary files. All that a program has at a time lie in one, for which one sweeper does.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Folder> {
        static ALL: Mutex<Weak<Folder>> = Mutex::new(Weak::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let outer = match all.upgrade() {
            Some(outer) => outer,
            None => {
                let outer = Arc::new(Folder::within(&std::env::temp_dir(), "lockgate-")?);
                *all = Arc::downgrade(&outer);
                outer
            }
        };
        let (path, ()) = make(outer.path(), "", |_| ())?;
        Ok(Folder { path, kept: false, _outer: Outer::Folder(outer) })
    }

    /// One in the folder `within`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// The system's.
    pub fn within(within: &Path, prefix: &str) -> io::Result<Folder> {
        let (path, sweeper) = make(&std::path::absolute(within)?, prefix, Sweeper::of)?;
        Ok(Folder { path, kept: false, _outer: Outer::Sweeper(sweeper) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It has another name now, and stays.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A new folder whose name no other process could foresee, and what is made for that name before: whatever ends us, the folder does not stay.
fn make<T>(within: &Path, prefix: &str, before: impl Fn(&Path) -> T) -> io::Result<(PathBuf, T)> {
    loop {
        let name = std::hash::RandomState::new().hash_one(std::process::id());
        let path = within.join(format!("{prefix}{name:016x}"));
        let made_before = before(&path);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                return made
                    .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o700)))
                    .map(|()| (path, made_before));
            }
        }
    }
}

/// A shell that waits for our end, and then removes a folder, if it is there: nothing that ends us can be caught by all means, and a
/// signal for the terminal's programs is none for it. Where there is no shell, the folder goes as far as we see to it.
#[derive(Debug)]
struct Sweeper(Child);

impl Sweeper {
    fn of(folder: &Path) -> Option<Sweeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "read -r done || rm -rf -- \"$1\"", "sh"]).arg(folder).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        shell.spawn().ok().map(Sweeper)
    }
}

impl Drop for Sweeper {
    /// There is nothing to sweep any more.
    fn drop(&mut self) {
        if let Some(mut told) = self.0.stdin.take() {
            let _ = told.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweeper_is_there_before_its_folder() {
        let (path, before) = make(&std::env::temp_dir(), "lockgate-", |path: &Path| path.exists()).unwrap();
        assert!(!before && path.exists());
        std::fs::remove_dir(path).unwrap();
    }

    #[test]
    fn folders_lie_in_one_and_go_with_their_values() {
        let (one, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        let outer = one.path().parent().unwrap().to_owned();
        assert_eq!(other.path().parent(), Some(&*outer));
        for path in [one.path(), &outer] {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        std::fs::write(one.path().join("file"), b"text").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
        drop(other);
        assert!(!outer.exists());
        let kept = Folder::within(&std::env::temp_dir(), "lockgate-").unwrap();
        let path = kept.path().to_owned();
        kept.keep();
        std::fs::remove_dir(path).unwrap();
    }
}
