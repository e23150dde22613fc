//! What a library really defines: headers declare more than a build has.
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSymbol as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Why an object or archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DefinedError {
    /// The file is missing.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is something else.
    #[error("{path} is no object or archive: {error}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: object::Error,
    },
}

/// Names of all global symbols that objects and archives define.
///
/// # Errors
/// [`DefinedError`].
pub fn in_files(files: &[PathBuf]) -> Result<BTreeSet<String>, DefinedError> {
    let mut names = BTreeSet::new();
    for path in files {
        let bytes =
            lockgate_outside::read(path).map_err(|error| DefinedError::Io { path: path.clone(), error })?;
        add(&bytes, &mut names)
            .map_err(|error| DefinedError::Format { path: Path::to_owned(path), error })?;
    }
    Ok(names)
}

fn add(bytes: &[u8], names: &mut BTreeSet<String>) -> object::Result<()> {
    if bytes.starts_with(b"!<arch>") {
        let archive = ArchiveFile::parse(bytes)?;
        return archive.members().try_for_each(|member| add(member?.data(bytes)?, names));
    }
    let file = object::File::parse(bytes)?;
    let defined = file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition());
    names.extend(defined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())));
    Ok(())
}
