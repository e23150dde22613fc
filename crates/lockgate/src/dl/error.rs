//! What dlerror says.
use crate::domain::JoinError;
use crate::error::{AllocError, BindError, CreateError, MemoryError};
use crate::grant::GrantError;
use crate::module::LoadError;
use crate::signature::printable;
use std::path::PathBuf;

/// Why a library or symbol was not found, opened or closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DlError {
    /// Flags without a meaning.
    #[error(
        "invalid mode {0:#x}: one of RTLD_LAZY and RTLD_NOW, with RTLD_GLOBAL, RTLD_NOLOAD or RTLD_NODELETE"
    )]
    Flags(i32),
    /// More stack bytes than are ever copied.
    #[error("{0} bytes of stack arguments: at most {max}; give the function a signature", max = super::MAX_STACK_BYTES)]
    StackBytes(u32),
    /// No such file in any folder.
    #[error("{}: no such module in {folders}; name it with a slash, or set LG_LIBRARY_PATH", printable(name))]
    NotFound {
        /// What was looked for.
        name: String,
        /// Where, colons between.
        folders: String,
    },
    /// The file cannot be used.
    #[error("{}: {source}", printable(&path.to_string_lossy()))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An ordinary shared library.
    #[error("{} is an ordinary shared library, which the host would have to trust: build it with `lockgate cc -shared`", printable(&.0.to_string_lossy()))]
    NotConfined(PathBuf),
    /// It is no module, or one that breaks a rule.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its domain could not be made, or a constructor failed.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// `RTLD_NOLOAD`, and it is not open.
    #[error("{0} is not open")]
    NotOpen(String),
    /// Another thread opens it, and its constructors had not ended when this one's time was over.
    #[error("another thread is opening {0}, and its constructors have not ended in time")]
    Busy(String),
    /// Two threads, each of which waits for what the other opens.
    #[error("another thread is opening {0}, and its constructors wait for this thread")]
    Ring(String),
    /// `RTLD_NOW`, and there are imports that nothing answers.
    #[error("{library}: {}", .missing.join("; "))]
    Imports {
        /// The library.
        library: String,
        /// For each, its name and why.
        missing: Vec<String>,
    },
    /// It cannot join the domain.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// Not a handle, or one that was closed.
    #[error("invalid handle: it was closed as often as it was opened, or never opened")]
    Handle,
    /// The library was opened by a parent of this process.
    #[error("the parent process opened this library: a forked child cannot use it; open it there again")]
    Forked,
    /// The library has no such symbol.
    #[error("{library}: undefined symbol: {}{}", printable(symbol), near.as_ref().map_or(String::new(), |near| format!(" (did you mean {near}?)")))]
    Symbol {
        /// The library.
        library: String,
        /// The name.
        symbol: String,
        /// The symbol with the most similar name.
        near: Option<String>,
    },
    /// No open library has the symbol.
    #[error("undefined symbol: {name}: no library that is open with RTLD_GLOBAL exports it", name = printable(.0))]
    GlobalSymbol(String),
    /// The symbol is data.
    #[error("{library}: {symbol} is data of {size} bytes, not a function")]
    IsData {
        /// The library.
        library: String,
        /// The name.
        symbol: String,
        /// Its size.
        size: u64,
    },
    /// The symbol is a function.
    #[error("{library}: {symbol} is a function, not data")]
    IsFunction {
        /// The library.
        library: String,
        /// The name.
        symbol: String,
    },
    /// An address that no function of the library has.
    #[error("{library}: no function begins at {address:#x}, so the host cannot call it")]
    NoFunction {
        /// The library.
        library: String,
        /// The address.
        address: u64,
    },
    /// A function could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The library's heap.
    #[error(transparent)]
    Alloc(#[from] AllocError),
    /// Memory that is not the library's, or not with that right.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Memory could not be exposed.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// Nothing was exposed there.
    #[error("nothing at {0:#x} is exposed to {1}")]
    NotExposed(u64, String),
    /// A service that cannot be called by a domain.
    #[error("service `{0}`: {1}")]
    Service(String, String),
}
