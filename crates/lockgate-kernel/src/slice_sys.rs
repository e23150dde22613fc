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

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> Attributes {
        let mut attributes = Attributes::default();
        // SAFETY: as above.
        let status = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
        assert_eq!(status, 0);
        attributes
    }

    /// Red if anything but the turn is written: a thread of a process that is nice would not be, or the kernel would refuse it all.
    #[test]
    fn turns_are_all_that_changes() {
        let thread = std::thread::spawn(|| {
            // SAFETY: only the calling thread is nicer.
            assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) }, 0);
            let before = attributes();
            ask_for_short_turns(Duration::from_micros(200)).expect("an ordinary thread may");
            let after = attributes();
            assert_eq!((after.nice, after.policy, after.flags), (7, before.policy, before.flags));
            // Kernels that know no turns of ordinary threads say 0.
            assert!(after.runtime == 200_000 || before.runtime == 0, "{} ns", after.runtime);
        });
        thread.join().expect("no panic");
    }
}
