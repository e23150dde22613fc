//! Which files are read, and where what they include is found.
use super::error::ReadError;
use std::path::{Path, PathBuf};

/// What to read, and how the API's programs are compiled.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The API's header.
    pub header: PathBuf,
    /// Separate files with annotations, which redeclare what they annotate.
    pub annotations: Vec<PathBuf>,
    /// Include folders.
    pub includes: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

impl Source {
    /// Flags by which a compiler finds the header and what it includes, with absolute paths. What lies beside the header is found, but never in place
    /// of the system's: libraries have a `stdint.h` for other compilers there.
    ///
    /// # Errors
    /// [`ReadError::Io`] if a folder is not there.
    pub fn folders(&self) -> Result<Vec<String>, ReadError> {
        let flag = |flag: &str, path: &Path| Ok(format!("{flag}{}", absolute(path)?.display()));
        let beside = self.beside()?;
        let beside = beside.iter().map(|folder| flag("-idirafter", folder));
        self.includes.iter().map(|folder| flag("-I", folder)).chain(beside).collect()
    }

    /// The folder that the header lies in, unless `includes` names it: compilers take a folder that is given twice for one of the system's,
    /// and what it has is then found behind what the system has.
    pub(super) fn beside(&self) -> Result<Option<PathBuf>, ReadError> {
        let folder = absolute(&self.header)?.parent().map(Path::to_owned);
        let named = self.includes.iter().map(|folder| absolute(folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(folder.filter(|folder| !named.contains(folder)))
    }

    /// How programs include the header: by its path in the folder of `includes` that it lies in, else by its name.
    ///
    /// # Errors
    /// [`ReadError::Io`] if a folder is not there.
    pub fn name(&self) -> Result<String, ReadError> {
        let header = absolute(&self.header)?;
        let mut shortest: Option<PathBuf> = None;
        for folder in &self.includes {
            if let Ok(path) = header.strip_prefix(absolute(folder)?)
                && shortest
                    .as_ref()
                    .is_none_or(|known| path.components().count() < known.components().count())
            {
                shortest = Some(path.to_owned());
            }
        }
        let name = shortest.unwrap_or_else(|| header.file_name().unwrap_or_default().into());
        Ok(name.to_string_lossy().into_owned())
    }
}

fn absolute(path: &Path) -> Result<PathBuf, ReadError> {
    path.canonicalize().map_err(|error| ReadError::Io { path: path.to_owned(), error })
}

/// Where a file is, if it is one that a source can include: the compiler would wait for a writer of a FIFO.
pub(super) fn file(path: &Path) -> Result<PathBuf, ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    lockgate_outside::examine(path).map_err(io)?;
    let absolute = absolute(path)?;
    match absolute.to_str() {
        Some(text) if !text.contains(['"', '\n']) => Ok(absolute),
        _ => Err(io(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "no source can include it: its path has a quotation mark or a new line, or is not UTF-8",
        ))),
    }
}
