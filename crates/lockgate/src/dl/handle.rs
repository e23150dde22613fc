//! A handle: the number of an open library.

/// An open library: what dlopen's handle is. Copies are the same handle. It is good until it was closed as often as opened;
/// after that every use is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Library(u64);

/// An exported object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Where it lies in the library's window. The contents are the library's, and may change at any time.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// A C function pointer.
    Function(*const ()),
    /// Data.
    Object(Object),
}

impl Library {
    /// The library with this number, which may be none.
    pub fn from_number(number: u64) -> Library {
        Library(number)
    }

    /// A number that no other library of this process ever has.
    pub fn number(self) -> u64 {
        self.0
    }
}
