//! System calls of Linux that rustix does not offer, with types, one file each; how descriptors are used without a lock ([`Lookup`]);
//! what a file is, whatever it is called ([`Identity`]); and locks that outlive a panic ([`locked`]).
mod access_sys;
mod barrier_sys;
mod counted_sys;
mod deadly_sys;
mod descriptor;
mod environment_sys;
mod file_systems;
mod identity;
mod limit_sys;
mod lock_sys;
mod locked;
mod lookup;
mod slice_sys;
mod socket_option_sys;
mod sync_range_sys;

pub use access_sys::access_of_handle;
pub use barrier_sys::{barrier, try_barrier};
pub use counted_sys::{Counted, Use};
pub use deadly_sys::{DEADLY, NO_SIGNAL, block_deadly, without_signals};
pub use descriptor::kept;
pub use environment_sys::{is_privileged, variable};
pub use file_systems::has_page_cache;
pub use identity::Identity;
pub use limit_sys::limit;
pub use lock_sys::{Command, record_lock};
pub use locked::locked;
pub use lookup::{Left, Looked, Lookup};
pub use slice_sys::ask_for_short_turns;
pub use socket_option_sys::{Peer, peer, set_socket_option, socket_option, takes_descriptors};
pub use sync_range_sys::sync_range;

use rustix::io::Errno;
/// What protocols between threads are made of: `tests/models` has loom's in its place.
use std::sync;

/// The error of the libc call that has just failed.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
