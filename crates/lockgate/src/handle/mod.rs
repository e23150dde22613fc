//! Handles: numbers by which a domain lets others name its objects, instead of pointers.
//!
//! A [`Handle`] means something only together with the domain that holds it: the runtime has a table for each holder, with the owner's
//! object, its type and the holder's [`HandleRights`]. [`Domain::give_handle`](crate::Domain::give_handle) makes one;
//! [`Domain::resolve_handle`](crate::Domain::resolve_handle) gives the owner's number of the object back. A holder may pass it on with
//! the same rights or fewer, and release it; its owner and its givers may revoke it with all that was passed on from it.
//! `docs/handles.md` tells what holds and why.

mod book;
mod error;
mod number;
mod rights;

pub use book::ObjectInUse;
pub(crate) use book::{Party, end_domain, give, held, pass_on, release, resolve, revoke, take_released};
pub use error::{HandleError, HandleGone};
pub use number::{Handle, MAX_DEPTH, MAX_HANDLES, MAX_HANDLES_FROM, MAX_OBJECTS};
pub use rights::HandleRights;
