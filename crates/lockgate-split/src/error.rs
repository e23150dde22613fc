//! Why a program is not split.

use lockgate_stubs::header::model::Place;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something in the program that would not work, or not be the same, in several domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub what: String,
    /// What its author can do.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be split as it is annotated.
    #[error("the program cannot be split:{}", .0.iter().map(|refusal| format!("\n  {refusal}")).collect::<String>())]
    Refused(Vec<Refusal>),
    /// An annotated source is compiled with other types than what it is linked with.
    #[error(
        "{source_file}: {option} makes other types than those that stubs, liblockgate and the C libraries were compiled with; compile \
         sources with annotations without it"
    )]
    Types {
        /// Its path.
        source_file: String,
        /// The option.
        option: String,
    },
    /// A source or its annotations cannot be read.
    #[error(transparent)]
    Read(#[from] lockgate_stubs::header::ReadError),
    /// Functions that no stub can be made for.
    #[error("{} of domain {domain} cannot be called soundly from outside:{}", if refusals.len() == 1 { "a function" } else { "functions" },
        refusals.iter().map(|refusal| format!("\n  {refusal}")).collect::<String>())]
    Stubs {
        /// The domain.
        domain: String,
        /// What cannot be done.
        refusals: Vec<lockgate_stubs::plan::Refusal>,
    },
    /// The compiler wrapper or a module's link.
    #[error(transparent)]
    Toolchain(#[from] lockgate_toolchain::Error),
    /// The link of a domain's module.
    #[error("domain {domain}: {error}")]
    Module {
        /// The domain.
        domain: String,
        /// What went wrong.
        error: lockgate_toolchain::Error,
    },
    /// A shared library with domains.
    #[error(
        "a shared library cannot be split (-shared; it has domain {0}): the library inside keeps words for each thread at fixed places, \
         which a program that runs has no room for; split the program itself, or build the domain with `lockgate cc` and its client with \
         `lockgate stubs`"
    )]
    Shared(String),
    /// A file.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// "read", "write", ….
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A program that could not be started, or failed where it has no reason to.
    #[error("{program} failed{what}")]
    Program {
        /// What was run.
        program: String,
        /// What it said.
        what: String,
    },
    /// An object that an other version made.
    #[error("{}: its parts were made by another version of lockgate; compile it again", .0.display())]
    Version(PathBuf),
    /// liblockgate is not where it is looked for.
    #[error(
        "liblockgate.a not found (looked in {0}); install it with `make install`, or name its folder with LOCKGATE_LIBRARY"
    )]
    NoLibrary(String),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |error| Error::Io { action, path, error }
    }
}
