//! What `lanes` runs in a process of its own, and `slow.txt` names.
use std::fmt;

/// Tests that run in one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The crate.
    pub package: String,
    /// `lib` for unit tests of a library; the name of a program for its own; that of a suite.
    pub name: String,
    /// It is in the crate's folder `tests`.
    pub is_integration: bool,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.package, self.name)
    }
}

impl Target {
    /// A suite of this target: a module of its root file.
    pub fn suite(&self, module: &str) -> Target {
        Target { name: module.to_owned(), ..self.clone() }
    }
}
