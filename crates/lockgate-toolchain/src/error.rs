//! What can go wrong while building a module: what, where, and how to fix it.

use lockgate_outside::printable;
use std::path::{Path, PathBuf};

/// Why a module was not built. Nothing was left at the output's path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program or library that the driver needs is not on this machine.
    #[error("{what} not found; {remedy}")]
    Missing {
        /// What was looked for, and where.
        what: String,
        /// What to install or set.
        remedy: String,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {error}", printable(&path.to_string_lossy()))]
    Io {
        /// "read", "write", ….
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A program that the driver started failed; what it printed says why.
    #[error("{program} failed:\n{}", stderr.trim_end())]
    Program {
        /// Its name.
        program: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Not a C prototype or a name.
    #[error(
        "`{text}` is neither a C prototype nor a name: {reason}; write for example 'double cbrt(double)'"
    )]
    Prototype {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An export's prototype is not what its object was compiled from.
    #[error(
        "--export '{given}' contradicts the debug information of its object: {found}; \
         correct the prototype, or give the name alone"
    )]
    Contradiction {
        /// The prototype that was given.
        given: String,
        /// The one that debug information has.
        found: String,
    },
    /// An input that cannot become part of a module.
    #[error("{name}: {reason}")]
    Input {
        /// Its name.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The rewriter refused an input.
    #[error(transparent)]
    Rewrite(#[from] lockgate_rewrite::Error),
    /// Symbols that nothing defines.
    #[error("undefined: {}; {}", readable(.0), remedy(.0))]
    Undefined(Vec<String>),
    /// Thread-local variables of a module that joins a domain.
    #[error(
        "thread-local: {}; a module that joins a domain has none of its own: keep them in the base, behind a function that returns \
         their address, or use pthread_getspecific", readable(.0)
    )]
    ThreadLocal(Vec<String>),
    /// Exports that nothing defines as a function.
    #[error("nothing to export: {}; --export names functions and objects that a file or library defines; in assembly, say which of the two a symbol is: \
             `.type NAME, @function`", .0.join(", "))]
    MissingExports(Vec<String>),
    /// The linker's output cannot be laid out as a module.
    #[error("{0}; see docs/code-model.md, \"Files\"")]
    Layout(String),
    /// The finished file is not a module: a defect of this driver or a damaged input.
    #[error("the linked file is not a module: {0}")]
    Parse(#[from] lockgate_verify::ParseError),
    /// The verifier rejected the module.
    #[error("rejected: {rejection}{}", kept.as_deref().map(kept_at).unwrap_or_default())]
    Rejected {
        /// The rule, the place, the reason.
        rejection: Box<lockgate_verify::Rejection>,
        /// Where the rejected module lies, if it was to be kept.
        kept: Option<PathBuf>,
    },
}

/// Symbols as their source has them.
fn readable(symbols: &[String]) -> String {
    let readable = |symbol: &String| {
        lockgate_outside::demangled_short(symbol, lockgate_outside::ROOM).unwrap_or(symbol.clone())
    };
    symbols.iter().map(readable).collect::<Vec<_>>().join(", ")
}

/// What to do about symbols that nothing defines. What compilers make of `-fsanitize=` calls a library of theirs, which is for processes.
fn remedy(symbols: &[String]) -> &'static str {
    let begins =
        |prefixes: &[&str]| symbols.iter().any(|name| prefixes.iter().any(|one| name.starts_with(one)));
    if begins(&["__asan_", "__hwasan_", "__lsan_", "__msan_", "__tsan_", "__sanitizer_"]) {
        return "modules have no sanitizer's library: compile without -fsanitize=address, thread, memory and leak; a domain's bad access is a \
                fault of its call";
    }
    if begins(&["__ubsan_"]) {
        return "modules have no sanitizer's library: compile with -fsanitize-undefined-trap-on-error, too (clang: -fsanitize-trap=all), and a \
                check that fails is a trap, which the report names with its line";
    }
    "add the object or library that defines them, or import them from the host with --gate 'PROTOTYPE'"
}

fn kept_at(path: &Path) -> String {
    format!("; kept as {}", path.display())
}

impl Error {
    /// For `map_err`: an [`Error::Io`] about `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |error| Error::Io { action, path, error }
    }

    pub(crate) fn input(name: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Input { name: name.into(), reason: reason.into() }
    }
}
