//! Why a handle was not made, or not honoured.
use crate::error::OfParent;

/// Why a handle was not made, or not honoured.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The domain belongs to a parent of this process.
    #[error("{}", OfParent(domain))]
    Forked {
        /// The domain.
        domain: String,
    },
    /// The domain was killed.
    #[error("{domain} was killed: it neither gives nor gets handles, and its objects have none")]
    Ended {
        /// The domain.
        domain: String,
    },
    /// A number that the holder was never given, or that has long lost its meaning.
    #[error(
        "{holder} holds no handle {number:#x}; pass the number on as it was given (a handle is good for its holder only)"
    )]
    Unknown {
        /// Whose handle it was said to be.
        holder: String,
        /// The handle's number.
        number: u64,
    },
    /// The holder had this handle, and has it no more.
    #[error("the handle {number:#x} of {holder} is gone: {why}; ask the owner for another one")]
    Gone {
        /// Whose handle it was.
        holder: String,
        /// The handle's number.
        number: u64,
        /// What has ended it.
        why: HandleGone,
    },
    /// The object is another domain's.
    #[error(
        "the handle {number:#x} of {holder} is for an object of another domain than {owner}; pass it to its owner only"
    )]
    NotOwner {
        /// Whose handle it is.
        holder: String,
        /// The handle's number.
        number: u64,
        /// Whose object it was said to be.
        owner: String,
    },
    /// The object is of another type.
    #[error("the handle {number:#x} is for an object of type {is}, where one of type {asked} is wanted")]
    Type {
        /// The handle's number.
        number: u64,
        /// The object's type.
        is: u16,
        /// The type that was asked for.
        asked: u16,
    },
    /// The holder lacks rights.
    #[error(
        "the handle {number:#x} of {holder} lacks the rights {missing:#x} (1: use, 2: pass on, the others are its owner's)"
    )]
    Rights {
        /// Whose handle it is.
        holder: String,
        /// The handle's number.
        number: u64,
        /// The bits of the rights that are missing.
        missing: u32,
    },
    /// The domain has not given the handle.
    #[error("{giver} has not given {holder} the handle {number:#x}: who has given a handle revokes it")]
    NotGiver {
        /// Who wanted to revoke it.
        giver: String,
        /// Whose handle it is.
        holder: String,
        /// The handle's number.
        number: u64,
    },
    /// The holder's table is full, or the giver's part of it.
    #[error(
        "{holder} has no room for another handle from {giver}: it may hold {total} handles, {from} of one giver; release some",
        total = super::MAX_HANDLES, from = super::MAX_HANDLES_FROM
    )]
    TooMany {
        /// Who was to get it.
        holder: String,
        /// Who gives it.
        giver: String,
    },
    /// The owner has as many objects with handles as it may.
    #[error(
        "{owner} has {most} objects with handles already; take those that were released (Domain::take_released)",
        most = super::MAX_OBJECTS
    )]
    TooManyObjects {
        /// The owner.
        owner: String,
    },
    /// The handle was passed on too often.
    #[error("the handle {number:#x} came through {most} domains already; ask its owner for one", most = super::MAX_DEPTH)]
    TooDeep {
        /// The handle's number.
        number: u64,
    },
    /// A type that does not fit.
    #[error("{kind} is no type of an object: types are at most {most}", most = super::Handle::MAX_TYPE)]
    NoType {
        /// The type that was given.
        kind: u16,
    },
}

/// What has ended a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleGone {
    /// Its holder.
    #[error("its holder has released it")]
    Released,
    /// Its owner, or another one who has given it.
    #[error("it was revoked")]
    Revoked,
    /// Its owner's end.
    #[error("its owner has ended, or was reset")]
    OwnerEnded,
}
