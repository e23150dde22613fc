//! Rights of memory that is shared with domains.
use std::fmt;

/// What a grant allows. Greater rights include smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rights::Read => "read",
            Rights::ReadWrite => "read and write",
        })
    }
}
