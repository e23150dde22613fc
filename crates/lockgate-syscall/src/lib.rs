//! Emulated system calls: the mechanism, apart from policy.
//!
//! A module cannot execute `syscall`; gate slot 0 brings its calls here with Linux's numbers and
//! registers. [`TABLE`] lists every call that exists, one line each; everything else answers `ENOSYS` and
//! is counted ([`Process::refused`]). What a call may reach is decided by [`Grants`]: nothing granted,
//! nothing reachable but memory, clocks, random numbers and exit.
//!
//! Rules that every file here keeps:
//! - arguments are copied out of the domain once, before they are looked at (no double fetch);
//! - a descriptor number of the domain is an index of its own table, never a number of the host;
//! - what was *opened* is checked, not what was *named* (rule R6);
//! - nothing blocks beyond the call's deadline or the domain's end.
#![forbid(unsafe_code)]

mod arguments;
mod caller;
mod context;
mod current;
mod descriptors;
mod directories;
mod directory;
mod endpoints;
mod grants;
mod last_words;
mod memory;
mod memory_files;
mod notifications;
mod outcome;
mod paths;
mod place;
mod process;
mod record_locks;
mod robust;
mod signal_files;
mod signal_state;
mod sockets;
mod table;
mod timers;
mod waits;
mod wire;

mod calls;

/// Descriptors that a domain may have if the host does not say how many.
pub const DESCRIPTORS: u32 = descriptors::LIMIT as u32;
/// Most descriptors that a domain may be given.
pub const MAX_DESCRIPTORS: u32 = descriptors::MOST as u32;

pub use caller::{ControlStack, InProgress, OwnFile, Sharing, Sleep, Thread, ThreadStart, Threads};
pub use calls::functions::NUMBER as FUNCTIONS;
pub use calls::quick::{Answer, Quick, is_quick, quick};
pub use context::SyscallContext;
pub use directory::pseudo_file_system;
pub use grants::{Access, GrantError, Grants};
pub use lockgate_kernel::Left;
pub use memory::{EVENT, Exchange, Memory, PARTS, Placement, Protection, Resize};
pub use outcome::{Fault, Outcome};
pub use process::{COUNTED_TOGETHER, MAX_UMASK, Process, Started, UMASK};
pub use signal_state::{Asked, Handler, INFO, Info, Next};
pub use table::{Class, Entry, TABLE, ends_turn, is_plain};

use rustix::io::Errno;

/// Emulates system call `number` with its six register arguments. The calling thread has the signals blocked that writes may send to it
/// ([`lockgate_kernel::DEADLY`]).
pub fn dispatch(ctx: &mut SyscallContext<'_>, number: u64, arguments: [u64; 6]) -> Outcome {
    let reply = ctx.check().and_then(|()| match table::find(number) {
        Some(entry) => (entry.run)(ctx, arguments),
        None => {
            ctx.process.count_refused(number);
            Err(Errno::NOSYS.into())
        }
    });
    outcome::outcome(reply)
}

/// The same of a call that [`is_plain`]; the value for rax. It takes no notice of the end of its call, which its gate does.
pub fn plain(ctx: &SyscallContext<'_>, number: u64, arguments: [u64; 6]) -> i64 {
    let reply = match table::find(number) {
        Some(entry) => (entry.run)(ctx, arguments),
        None => Err(Errno::NOSYS.into()),
    };
    match outcome::outcome(reply) {
        Outcome::Return(value) => value,
        Outcome::Exit(_) | Outcome::Fault(_) => -i64::from(Errno::NOSYS.raw_os_error()),
    }
}

/// Linux's name of a system call, emulated or not, as far as its headers of 2022 went: for reports.
pub fn name(number: u64) -> Option<&'static str> {
    let lines = include_str!("linux.txt").lines().filter(|line| !line.starts_with('#'));
    let mut names = lines.filter_map(|line| line.split_once(' '));
    names.find(|(listed, _)| listed.parse() == Ok(number)).map(|(_, name)| name)
}
