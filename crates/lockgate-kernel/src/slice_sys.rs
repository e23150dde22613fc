//! How long a thread computes at a stretch: `sched_getattr` and `sched_setattr`, which rustix does not offer.
use rustix::io::Errno;
use std::time::Duration;

/// The first version of the kernel's `struct sched_attr`.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of an ordinary thread: its slice, nanoseconds; from Linux 6.12 on.
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = size_of::<Attributes>() as u32;

/// Asks for turns of this length for the calling thread, if it is an ordinary one: it gets no more of the processors than before, but it waits for
/// the shorter turns only. Before Linux 6.12 nothing changes.
///
/// # Errors
/// The kernel's.
pub fn ask_for_short_turns(turn: Duration) -> Result<(), Errno> {
    let mut attributes = Attributes::default();
    // SAFETY: the calling thread's; the kernel writes as many bytes as there are.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) } != 0 {
        return Err(crate::last_error());
    }
    if attributes.policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    attributes.size = SIZE;
    attributes.runtime = turn.as_nanos() as u64;
    // SAFETY: the kernel reads what it is given; all else is as it was.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(crate::last_error()),
    }
}
