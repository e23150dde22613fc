//! What can be wrong with several programs together.

/// Why programs cannot be run together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramsError {
    /// Two have one name.
    #[error("two programs are called {0}")]
    Twice(String),
    /// A program depends on one that is not there.
    #[error("{program} depends on {missing}, which is not a program of this file")]
    Missing {
        /// Who depends on it.
        program: String,
        /// What is not there.
        missing: String,
    },
    /// Programs wait for each other.
    #[error("programs depend on each other in a circle: {}", .0.join(" -> "))]
    Circle(Vec<String>),
    /// A program cannot export something.
    #[error("export {export} of {program}: {why}")]
    Export {
        /// The program.
        program: String,
        /// What it exports.
        export: String,
        /// Why it cannot.
        why: String,
    },
    /// A program cannot import something.
    #[error("import {import} of {program}: {why}")]
    Import {
        /// The program.
        program: String,
        /// The import of its module.
        import: String,
        /// Why it cannot.
        why: String,
    },
    /// A program that exports or imports something cannot be made.
    #[error("{program}: {why}")]
    Domain {
        /// The program.
        program: String,
        /// Why it cannot.
        why: String,
    },
    /// The machine has not enough of something for all of them.
    #[error("{count} programs together need {needed} {what}, and this process may have {limit}: {remedy}")]
    Limit {
        /// How many programs.
        count: usize,
        /// What they need.
        needed: u64,
        /// Of what.
        what: &'static str,
        /// What there is.
        limit: u64,
        /// What helps.
        remedy: &'static str,
    },
    /// The thread that reads their output cannot be started.
    #[error("cannot read what programs write: {0}")]
    Logs(std::io::Error),
}

/// That no program has this name, and which one may be meant.
pub(crate) fn no_program<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match lockgate::nearest(name, known) {
        Some(near) => format!("no program is called {name}; one is called {near}"),
        None => format!("no program is called {name}"),
    }
}
