//! Masks of signals: what a thread asks to have blocked, and what the kernel blocks (rule R12).
//!
//! The kernel ends the process at a fault whose signal is blocked, and a limit whose signal is blocked never comes. So a thread that
//! has called a domain has none of these blocked: the kernel gets the rest of what the thread asks for, and the thread is told all of
//! it ([`super::interpose_sys`]). Signals of these numbers that are sent reach it all the same.
use super::block_sys;
use super::kernel_signals_sys::{Action, FAULTS, FIRST, bit, lifelines};
use libc::c_int;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// By which `pthread_cancel` ends a thread that allows it at any moment.
pub(super) const CANCELS: c_int = 32;

/// libc's own two signals, which it lets no program block.
const LIBCS: u64 = bit(CANCELS) | bit(33);

/// Of the mask of each signal's handler, what the kernel does not get: the handler may leave by a jump, and the mask stays then.
static HELD: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// `sigprocmask` without the interposition; the mask before.
///
/// # Errors
/// The kernel's number of an error.
fn kernel(how: c_int, set: Option<u64>) -> Result<u64, c_int> {
    let mut before = 0_u64;
    let set = set.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both are masks as the kernel has them, of 8 bytes; errno is the thread's own, and `pthread_sigmask` leaves it alone.
    unsafe {
        let errno = &mut *libc::__errno_location();
        let was = *errno;
        let done = libc::syscall(libc::SYS_rt_sigprocmask, how, set, &raw mut before, size_of::<u64>());
        if done == 0 { Ok(before) } else { Err(std::mem::replace(errno, was)) }
    }
}

/// Which the kernel never blocks.
const UNBLOCKABLE: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP);

/// All signals but those that the library lives by, and libc's: what is held back of the host's.
pub(super) static HOSTS: AtomicU64 = AtomicU64::new(!fault_bits() & !LIBCS & !UNBLOCKABLE);

const fn fault_bits() -> u64 {
    let (mut bits, mut index) = (0, 0);
    while index < FAULTS.len() {
        bits |= bit(FAULTS[index]);
        index += 1;
    }
    bits
}

/// What the library lives by is known.
pub(super) fn settle_hosts() {
    HOSTS.store(!lifelines() & !LIBCS & !UNBLOCKABLE, Ordering::Release);
}

/// Blocks one signal.
pub(super) fn hold_one(signal: c_int) {
    let _ = kernel(libc::SIG_BLOCK, Some(bit(signal)));
}

/// Blocks the signals of faults, for code that cannot fault.
pub(super) fn hold_faults() {
    let _ = kernel(libc::SIG_BLOCK, Some(fault_bits()));
}

/// Lets the kernel tell of memory that is gone, on a thread of ours that looks at such. (What others send to the process goes to its first
/// thread, as long as that blocks none of it.)
pub(super) fn let_faults() {
    let _ = kernel(libc::SIG_UNBLOCK, Some(bit(libc::SIGSEGV)));
}

/// The mask is `mask` from here on.
pub(super) fn let_hosts(mask: u64) {
    let _ = kernel(libc::SIG_SETMASK, Some(mask));
}

/// The mask that was before signals were held back is what it will be again, but that a thread which was attached meanwhile has none of
/// ours blocked.
pub(super) fn settle_held() {
    // SAFETY: our own block.
    let block = unsafe { &mut *block_sys::block() };
    let ours = if block.state.is_null() { 0 } else { block.held_mask & lifelines() };
    block.masked |= ours & !waiting();
    block.held_mask &= !ours;
}

/// The mask of a handler of the program's for `signal` that asks for `mask` besides, and for its own signal if it `masks_itself`, where it
/// interrupts a thread whose mask is `interrupted`. The library lives by the others.
pub(super) fn in_handler(interrupted: u64, signal: c_int, mask: u64, masks_itself: bool) -> u64 {
    let more = mask & (!lifelines() | bit(signal)) & !LIBCS;
    interrupted | more | if masks_itself { bit(signal) } else { 0 }
}

/// Changes the calling thread's mask, as it asks for it; what it was, as it had asked for it.
///
/// # Errors
/// `EINVAL`: there is no such way to change it.
pub(super) fn change(how: c_int, set: Option<u64>) -> Result<u64, c_int> {
    let block = block_sys::block();
    // SAFETY: our own block.
    let ours = if unsafe { (*block).state.is_null() } { 0 } else { lifelines() };
    let set = set.map(|set| set & !LIBCS);
    // A kick waits for a handler's return, whatever that one asks for; if it was left by a jump, the kick comes now.
    let waits = waiting();
    let stays = if runs_in_handler() { waits } else { 0 };
    let kernels = |set: u64| match how {
        libc::SIG_UNBLOCK => set & !stays,
        libc::SIG_SETMASK => set & !ours | stays,
        _ => set & !ours,
    };
    let before = kernel(how, set.map(kernels))?;
    if set.is_some() && waits != stays {
        let _ = kernel(libc::SIG_UNBLOCK, Some(waits));
    }
    // SAFETY: as above.
    let asked = unsafe { &mut (*block).masked };
    let was = before & !(waits | waiting()) | *asked;
    if let Some(set) = set {
        *asked = match how {
            libc::SIG_BLOCK => *asked | set & ours,
            libc::SIG_UNBLOCK => *asked & !set,
            _ => set & ours,
        };
    }
    Ok(was)
}

/// Lets the signals through that the library lives by, if they are blocked; the calling thread goes on to see them so.
pub(super) fn unblock() {
    let ours = lifelines();
    if let Ok(before) = kernel(libc::SIG_UNBLOCK, Some(ours)) {
        // SAFETY: our own block.
        unsafe { (*block_sys::block()).masked |= before & ours & !waiting() };
    }
}

/// The signal that a kick waits as, behind a handler of the host's that is in its way; 0 if none does. That it is blocked is no wish of the program's.
fn waiting() -> u64 {
    // SAFETY: our own block, and the state in it while it is attached.
    let state = unsafe { (*block_sys::block()).state.as_ref() };
    if state.is_some_and(|state| state.kick_waits.load(Ordering::Acquire)) { bit(FIRST) } else { 0 }
}

/// Whether the calling thread is on its alternate stack, where the host's handlers run.
fn runs_in_handler() -> bool {
    let here = 0_u8;
    // SAFETY: our own block, and the state in it while it is attached.
    let state = unsafe { (*block_sys::block()).state.as_ref() };
    state.is_some_and(|state| state.on_alternate_stack((&raw const here).addr() as u64))
}

/// In a forked child, for which no kick waits: what waits is the parent's.
pub(super) fn forget_waiting() {
    let waiting = waiting();
    if waiting != 0 {
        // SAFETY: our own block, and the state in it.
        unsafe { (*(*block_sys::block()).state).kick_waits.store(false, Ordering::Release) };
        let _ = kernel(libc::SIG_UNBLOCK, Some(waiting));
    }
}

/// The same in work for which signals are held back, and in which nothing of the host's has run yet: the kernel has said what the mask was. (Within
/// other work that is not known.)
pub(super) fn unblock_in_hold() {
    // SAFETY: our own block.
    let block = unsafe { &*block_sys::block() };
    if block.held != 1 || block.held_mask & lifelines() != 0 {
        unblock();
    }
}

/// Runs `body`, which starts a thread, with every signal blocked: the new thread has them so from its first instruction. The
/// process's signals are for the host's threads. A handler that ran in one of ours could not tell whose call it interrupts, and
/// [`interrupt`](super::watch::interrupt) would find nothing there.
pub(crate) fn starting_a_thread<T>(body: impl FnOnce() -> T) -> T {
    let before = kernel(libc::SIG_SETMASK, Some(!LIBCS));
    let done = body();
    if before.is_ok() {
        let _ = kernel(libc::SIG_SETMASK, before.ok());
    }
    done
}

thread_local! {
    /// On a thread of ours, which has all signals blocked: the mask of the thread that started it.
    static STARTED_FROM: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The calling thread's mask, but for what waits for work of the library's, for [`serve`].
pub(crate) fn seen() -> Option<u64> {
    let now = change(libc::SIG_BLOCK, None).ok()?;
    // SAFETY: our own block.
    let block = unsafe { &*block_sys::block() };
    let mask = if block.held > 0 { block.held_mask | now & lifelines() } else { now };
    let hosts = HOSTS.load(Ordering::Relaxed);
    Some(if mask & hosts == hosts { mask & !block.unseen.mask } else { mask })
}

/// Says that the calling thread is ours, and runs functions of the host's: if one of these forks, the child's only thread is one of the
/// host's, with the mask that it would have had there.
pub(crate) fn serve(mask: Option<u64>) {
    STARTED_FROM.set(mask);
}

/// In a forked child.
pub(crate) fn leave_parent() {
    if let Some(mask) = STARTED_FROM.try_with(Cell::take).ok().flatten() {
        let _ = change(libc::SIG_SETMASK, Some(mask));
    }
}

/// What the kernel gets of the mask of a handler that a program installs. (It gets none of those for faults.)
pub(super) fn hold(signal: c_int, mask: u64) -> u64 {
    let ours = lifelines();
    match held(signal) {
        Some(held) if bit(signal) & ours == 0 => {
            held.store(mask & ours, Ordering::Relaxed);
            mask & !ours
        }
        _ => mask,
    }
}

/// What the kernel did not get.
pub(super) fn held_back(signal: c_int) -> u64 {
    held(signal).map_or(0, |held| held.load(Ordering::Relaxed))
}

/// A handler that was installed before the library's were, with what the kernel is to have of its mask.
pub(super) fn hold_more(signal: c_int, action: &mut Action) {
    let more = action.mask & lifelines();
    action.mask &= !more;
    if let Some(held) = held(signal) {
        held.fetch_or(more, Ordering::Relaxed);
    }
}

fn held(signal: c_int) -> Option<&'static AtomicU64> {
    HELD.get(usize::try_from(signal).ok()?.checked_sub(1)?)
}
