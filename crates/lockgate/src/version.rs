//! Versions of entry points.
use std::fmt;

/// Version of an entry point. A new major version is another contract; a new minor version keeps the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Contract.
    pub major: u16,
    /// Revision of it.
    pub minor: u16,
}

impl Version {
    /// `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Version {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
