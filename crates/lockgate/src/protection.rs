//! Rights and places of module memory.
use std::fmt;

/// Rights of module memory. Nothing that a module asks for is ever executable (rule R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Inaccessible, but reserved and counted.
    None,
    /// Readable.
    Read,
    /// Readable and writable.
    ReadWrite,
}

/// Where a new mapping goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere free; the address is a wish.
    Anywhere,
    /// Exactly there, replacing what the domain itself mapped (`MAP_FIXED`).
    Fixed,
    /// Exactly there, `EEXIST` if anything is mapped (`MAP_FIXED_NOREPLACE`).
    FixedNoReplace,
}

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

/// What becomes of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct Resize {
    /// Where it is.
    pub at: u64,
    /// Bytes that it has.
    pub length: u64,
    /// Bytes that it is to have.
    pub new_length: u64,
    /// It may go elsewhere if there is no room behind it.
    pub may_move: bool,
}
