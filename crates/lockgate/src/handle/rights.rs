//! What a holder may do with a handle.
use std::ops::BitOr;

/// What the holder of a handle may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandleRights(u32);

impl HandleRights {
    /// To name the object in calls of its owner.
    pub const USE: HandleRights = HandleRights(1);
    /// To give it to other domains, with the same rights or fewer.
    pub const PASS_ON: HandleRights = HandleRights(2);

    /// Rights that the owner has made up, in 16 bits: for example to write to a file, and not only read it.
    pub const fn of_owner(bits: u16) -> HandleRights {
        HandleRights((bits as u32) << 16)
    }

    /// Whether these rights have all of `others`.
    pub const fn contain(self, others: HandleRights) -> bool {
        self.0 & others.0 == others.0
    }

    /// The rights of these that `held` has not.
    pub(super) fn beyond(self, held: HandleRights) -> u32 {
        self.0 & !held.0
    }
}

impl BitOr for HandleRights {
    type Output = HandleRights;

    fn bitor(self, other: HandleRights) -> HandleRights {
        HandleRights(self.0 | other.0)
    }
}
