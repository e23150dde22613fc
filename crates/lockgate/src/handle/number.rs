//! A handle's number, and how many there may be.

/// Most handles that one domain holds.
pub const MAX_HANDLES: usize = 1 << 14;

/// Most handles that one domain has given another: none fills a table that is others' to fill.
pub const MAX_HANDLES_FROM: usize = 1 << 12;

/// Most objects of one domain for which there are handles, or that were released and not yet taken.
pub const MAX_OBJECTS: usize = 1 << 16;

/// Most domains through which a handle is passed on: so many steps at most find out who has given it.
pub const MAX_DEPTH: u32 = 16;

/// A number by which a domain names an object of another one: index (20 bits), type (12) and generation (32). It is good for its holder only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u64);

impl Handle {
    /// The largest type of an object.
    pub const MAX_TYPE: u16 = (1 << 12) - 1;

    pub(super) fn new(index: u32, kind: u16, generation: u32) -> Handle {
        Handle(u64::from(generation) << 32 | u64::from(kind) << 20 | u64::from(index))
    }

    /// A handle of any number, for example one that a module has said: it is checked where it is used.
    pub const fn from_number(number: u64) -> Handle {
        Handle(number)
    }

    /// Its number, which is never 0.
    pub const fn number(self) -> u64 {
        self.0
    }

    pub(super) fn index(self) -> u32 {
        self.0 as u32 & 0xF_FFFF
    }

    pub(super) fn kind(self) -> u16 {
        (self.0 >> 20) as u16 & Handle::MAX_TYPE
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
