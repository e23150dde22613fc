//! `lockgate::dl`: what dlopen does, and what it does not survive.
mod host_sys;

mod attacks;
mod closing;
mod imports;
mod joining;
mod joining_attacks;
mod manners;
mod notes;
mod opening;
mod pointers;

use crate::common::Guest;
use lockgate::dl::{Library, Mode, Options};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// The module's file with a number behind all that is read of it: libraries are told apart by what their files hold, and what one test opens is to
/// be no other one's, which runs beside it and has had the very same module built.
fn one_of_its_own(guest: Guest) -> Vec<u8> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut file = guest.build();
    file.extend(COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    file
}

/// A module in a file of its own.
struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn new(name: &str, guest: Guest) -> File {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join(name);
        std::fs::write(&path, one_of_its_own(guest)).expect("the scratch folder is writable");
        File { _folder: folder, path }
    }

    /// From C; prototypes come from debug information.
    fn c(name: &str, source: &str) -> File {
        File::new(name, Guest::c_with(source, &["-O2", "-g"]))
    }

    /// From C, without signatures.
    fn untyped(name: &str, source: &str) -> File {
        File::new(name, Guest::c(source))
    }

    /// In the folder of another one.
    fn beside(&self, name: &str, guest: Guest) -> PathBuf {
        let path = self.path.with_file_name(name);
        std::fs::write(&path, one_of_its_own(guest)).expect("the scratch folder is writable");
        path
    }

    fn open(&self) -> Library {
        self.open_with(Mode::NOW, &Options::default())
    }

    fn open_with(&self, mode: Mode, options: &Options) -> Library {
        Library::open(&self.path, mode, options).expect("the library opens")
    }
}
