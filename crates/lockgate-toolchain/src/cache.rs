//! Results kept by the hash of everything that determines them.

use crate::Error;
use std::path::{Path, PathBuf};

/// A folder of results: `$LOCKGATE_CACHE`, else `$XDG_CACHE_HOME/lockgate`, else `~/.cache/lockgate`.
///
/// An entry is a folder named by its key; it appears by one rename, complete, and is never changed afterwards, so
/// any number of processes may use and fill the cache at once. It may be deleted at any time between builds.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// Hash of what determines an entry.
pub(crate) struct Key(blake3::Hasher);

impl Key {
    /// `kind` keeps the keys of different kinds of entries apart.
    pub(crate) fn new(kind: &str) -> Key {
        let mut key = Key(blake3::Hasher::new());
        // Hash of the sources of rewriter and sysroot (build.rs).
        key.add(kind.as_bytes()).add(env!("LOCKGATE_BUILD").as_bytes());
        key
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) -> &mut Key {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        self
    }
}

impl Cache {
    /// The cache of this user.
    ///
    /// # Errors
    /// [`Error::Missing`] if the environment names no place for it.
    pub fn open() -> Result<Cache, Error> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("LOCKGATE_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("lockgate")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/lockgate")))
            .ok_or_else(|| Error::Missing {
                what: "a folder for the cache".to_owned(),
                remedy: "set LOCKGATE_CACHE or HOME".to_owned(),
            })?;
        Ok(Cache { root })
    }

    /// A cache in a folder of the caller's choice.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// The folder of `key`, made by `make` in an empty folder if it is not there yet.
    pub(crate) fn entry(
        &self,
        key: &Key,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let entry = self.root.join(key.0.finalize().to_hex().as_str());
        if entry.is_dir() {
            return Ok(entry);
        }
        std::fs::create_dir_all(&self.root).map_err(Error::io("create", &self.root))?;
        let folder = lockgate_outside::Folder::within(&self.root, ".new-")
            .map_err(Error::io("create a folder in", &self.root))?;
        make(folder.path())?;
        match std::fs::rename(folder.path(), &entry) {
            // Another process was faster; its entry holds the same.
            Err(_) if entry.is_dir() => Ok(entry),
            Err(error) => Err(Error::Io { action: "create", path: entry, error }),
            Ok(()) => {
                folder.keep();
                Ok(entry)
            }
        }
    }
}
