//! Why a header is not read.
use super::model::Place;
use std::path::PathBuf;

/// Why a header could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// libclang is not installed.
    #[error(
        "libclang was not found: install it (Debian and Ubuntu: apt-get install libclang1, or libclang1-14 and later), or set LIBCLANG_PATH to the folder with libclang.so; {0}"
    )]
    NoLibclang(String),
    /// A file is missing.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is no C, or something that it includes was not found.
    #[error("{header} does not parse; give the flags that its programs are compiled with (-I, -D):\n{messages}", header = header.display())]
    Parse {
        /// The header.
        header: PathBuf,
        /// One line for each error.
        messages: String,
    },
    /// Nothing to protect.
    #[error("{header} declares no function itself; name the header that does, not one that only includes it", header = header.display())]
    Empty {
        /// The header.
        header: PathBuf,
    },
    /// An annotation is wrong by itself.
    #[error("{place}: {declaration}: {error}")]
    Note {
        /// Where.
        place: Place,
        /// Of what.
        declaration: String,
        /// What is wrong.
        error: Box<crate::annotation::NoteError>,
    },
    /// No real header is like this.
    #[error(
        "it has more than a million types: those of functions that take functions, which take functions, are too many"
    )]
    TooMuch,
    /// Its library has no name that can be one.
    #[error("{header}: {why}", header = header.display())]
    Name {
        /// The header.
        header: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// An annotation is about something that does not exist.
    #[error("{place}: {what}")]
    Stray {
        /// Where.
        place: Place,
        /// What is missing.
        what: String,
    },
}
