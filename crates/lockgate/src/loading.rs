//! From a file to a module that this process can run.
use crate::call::{self, thunks};
use crate::module::{LoadError, Module};
use lockgate_signature::printable;
use std::path::Path;
use std::sync::Arc;

/// Reads the file at `path`, as all parts of Lockgate read files: once, by one descriptor, without waiting for a writer, up to 1 GiB.
///
/// # Errors
/// The system's; or it is no ordinary file, or too large.
pub fn read_module(path: impl AsRef<Path>) -> std::io::Result<Vec<u8>> {
    lockgate_outside::read(path)
}

impl Module {
    /// Reads and verifies the module in the file `path`.
    ///
    /// # Errors
    /// [`LoadError`] names the file, the rule and the place.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Module>, LoadError> {
        let path = path.as_ref();
        let bytes = read_module(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Module::named(path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()), bytes)
    }

    /// Verifies the module in `bytes`, of which a copy is made first; as for files, 1 GiB at most.
    ///
    /// # Errors
    /// As [`open`](Module::open).
    pub fn from_bytes(bytes: &[u8]) -> Result<Arc<Module>, LoadError> {
        let name = || "module".to_owned();
        let bytes =
            lockgate_outside::copied(bytes).map_err(|source| LoadError::Bytes { name: name(), source })?;
        Module::named(name(), bytes)
    }

    pub(crate) fn named(name: String, file: Vec<u8>) -> Result<Arc<Module>, LoadError> {
        // The file's author chose its name, and reports, logs and terminals show it.
        let name = printable(&name);
        call::prepare()?;
        Module::verified(name, file, &thunks::page())
    }
}
