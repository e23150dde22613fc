//! Modules that an earlier run of the tests has built, by all that determines them.

use lockgate_toolchain::Sysroot;
use std::fs;
use std::path::{Path, PathBuf};

/// All that a module is made of, in order: a compiler's command with its source, objects, and what the linker is told.
///
/// (Headers of the C library and of the compiler come with the archives and the compiler that the sysroot's name stands for, ours lie in a
/// folder that is named by what is in them.)
pub struct Recipe {
    hasher: blake3::Hasher,
    /// For modules of one toolchain: the sysroot's name is a hash of its sources, of the compiler's version and of the C library.
    folder: PathBuf,
}

impl Recipe {
    /// Nothing yet, with this sysroot.
    pub fn new(sysroot: &Sysroot) -> Recipe {
        let archive = sysroot.archives().next().expect("the C library");
        let name = archive.parent().and_then(Path::file_name).expect("in the sysroot's folder");
        let program = std::env::current_exe().expect("the program's path");
        // target/debug/deps/TEST, target/debug/PROGRAM
        let built = program.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
        let guests = built.expect("a program that cargo has built").join("guests");
        Recipe { hasher: blake3::Hasher::new(), folder: guests.join(name) }
    }

    /// Adds what some step is given.
    pub fn add(&mut self, step: &str, what: impl AsRef<[u8]>) -> &mut Recipe {
        for bytes in [step.as_bytes(), what.as_ref()] {
            self.hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        self
    }

    /// What `make` makes by the recipe, or has made in an earlier run. Any number of programs may ask at once, and the folder may go at any time.
    pub fn kept(&self, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let path = self.folder.join(self.hasher.finalize().to_hex().as_str());
        if let Ok(kept) = fs::read(&path) {
            return kept;
        }
        let made = make();
        // (Another program may remove the folder meanwhile: then the next run makes it again.)
        let _ = self.keep(&path, &made);
        made
    }

    fn keep(&self, path: &Path, made: &[u8]) -> std::io::Result<()> {
        if !self.folder.is_dir() {
            // The first one of a new toolchain: no program will ask for those of older ones.
            let all = self.folder.parent().expect("it has one");
            let _ = fs::remove_dir_all(all);
            fs::create_dir_all(&self.folder)?;
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        std::io::Write::write_all(&mut file, made)?;
        file.persist(path)?;
        Ok(())
    }
}
