//! `exit`, `exit_group`: the call into the domain ends. A domain's threads are the host's, so there is
//! no other thread to end.
use crate::syscall::SyscallContext;
use crate::syscall::context::{Halt, Reply};

/// `exit(status)` and `exit_group(status)`.
pub fn exit(_: &SyscallContext<'_>, [status, ..]: [u64; 6]) -> Reply {
    Err(Halt::Exit((status & 0xff) as i32))
}
