//! Signals as the kernel has them, without the interposition ([`super::interpose_sys`]): which are ours, and who handles them.
use libc::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// Signals that faulting instructions raise. (System calls that a filter traps raise SIGSYS, which the library takes for kicks that come first.)
pub(super) const FAULTS: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, FIRST];
/// The kernel delivers it before all signals that no instruction raises. One that waits takes the place of another of that number: so it is one
/// that processes hardly use. (A breakpoint's SIGTRAP would be lost; to a reporter of crashes, as `faulthandler.enable` installs late, the others
/// would look like crashes.)
pub(super) const FIRST: c_int = libc::SIGSYS;
/// The signal that asks a thread to look at its state: time limits and kills. 0 before handlers are installed, and if the host has handlers
/// for all that there are.
pub(super) static KICK: AtomicI32 = AtomicI32::new(0);
pub(super) const SA_RESTORER: u64 = 0x0400_0000;

/// The kernel's struct sigaction.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Action {
    pub handler: usize,
    pub flags: u64,
    pub restorer: usize,
    pub mask: u64,
}

pub(super) static DEFAULT: Action = Action { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };

/// The bit of a signal in the kernel's masks.
pub(super) const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The signal that asks threads to look at their state; 0 if the host has them all.
pub(crate) fn kick_signal() -> c_int {
    KICK.load(Ordering::Acquire)
}

/// The signals that the library lives by: a thread that can be in a domain has none of them blocked.
pub(super) fn lifelines() -> u64 {
    let kick = Some(KICK.load(Ordering::Acquire)).filter(|&signal| signal != 0);
    FAULTS.into_iter().chain(kick).fold(0, |all, signal| all | bit(signal))
}

/// The kernel's action of a signal; `new` replaces it.
pub(super) fn kernel_action(signal: c_int, new: Option<&Action>) -> Action {
    let mut old = DEFAULT;
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both point to kernel-layout actions; 8 is the size of the mask.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, &mut old, size_of::<u64>()) };
    old
}

/// `sigaltstack`.
pub(super) unsafe fn kernel_sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: the caller's pointers, as sigaltstack(2) wants them.
    unsafe { libc::syscall(libc::SYS_sigaltstack, new, old) as c_int }
}
