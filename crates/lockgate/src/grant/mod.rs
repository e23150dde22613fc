//! Grants: rights of domains on memory that they share with the host and with each other.
//!
//! A [`Region`] is memory that the host owns. [`Domain::grant`](crate::Domain::grant) maps it into a domain's window, for reading or for reading
//! and writing, always at the region's own offset: the low half of a pointer into it means the same in every
//! window that shares it. A [`Grant`] can be passed on to another domain with the same rights or fewer, downgraded, and
//! revoked with everything that was passed on from it. `docs/grants.md` tells what holds and why.
//!
//! ```no_run
//! # fn f(parser: &lockgate::Domain, printer: &lockgate::Domain) -> Result<(), Box<dyn std::error::Error>> {
//! use lockgate::{Pointer, Region, Rights};
//!
//! let region = Region::new(64 << 10)?;
//! let text = region.slice::<u8>(0, 64 << 10)?;
//! text.write(0, b"one two")?;
//! let grant = parser.grant(&region, Rights::ReadWrite)?;
//! let parse = parser.bind::<extern "C" fn(Pointer<u8>, u64) -> u64>("parse")?;
//! parse.call(grant.pointer(0)?, 7)?;
//! let onward = grant.pass_on(printer, Rights::Read)?;
//! grant.revoke(); // and `onward` with it, before this returns
//! # let _ = onward;
//! # Ok(())
//! # }
//! ```

mod allocator;
mod arena;
mod book;
mod error;
mod handle;
mod listeners;
mod memory_sys;
mod region_sys;
mod ring;
mod slice;
mod starts;

pub(crate) use arena::pointer_to as arena_pointer;
pub use arena::{Arena, Block};
pub(crate) use book::{Window, end_domain, has_any, pass_on_from, rights_at, shared_word, wait_for_givers};
pub use error::{GrantError, RingError};
pub use handle::Grant;
pub use region_sys::Region;
pub use ring::{Consumer, Producer, Ring};
pub use slice::SharedSlice;

pub use crate::protection::Rights;

/// Most grants of one domain. Each costs two kernel mappings, of which a process has 65,530 by default.
pub const MAX_GRANTS: usize = 64;

/// Most regions that one domain passes on to another by itself.
pub const MAX_PASSED_ON: usize = 16;
