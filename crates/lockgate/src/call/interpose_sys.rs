//! What other code of the process means when it says `sigaction`, `signal`, `sigaltstack` or `pthread_sigmask`: these symbols come before libc's.
//!
//! Handlers get SA_ONSTACK, and run as if they had not where that matters ([`super::plain_handlers_sys`]); those for fault signals are chained; a
//! thread whose alternate stack was changed must be admitted again;
//! no thread that has called a domain, and no handler, blocks the signals that the library lives by (rules R11, R12). They are part of what is installed (`scripts/install-library.sh` exports them beside `lg_*`), and stand in for
//! libc's where the program was linked with the library. libc's own inner calls do not come here, nor do those of a process that got the
//! library by `dlopen`: for these there is [`check_handlers`](super::signals_sys::check_handlers). (A sanitizer has interceptors of its own,
//! which call these before it is ready.)
//!
//! They are as safe in handlers as libc's, and mean the same: `siginterrupt` is here because `signal` goes by it. (Red where they differ:
//! `crates/lockgate-c/tests/c/handlers.c`.)
//!
//! These are all by which glibc 2.36 lets a program install a handler, but `__sigaction`, which these are made with, and `sigvec`, with
//! which nothing can be linked any more; and all that change a mask. What blocks signals only while it waits (`sigsuspend`, `sigpause`,
//! `ppoll`, `pselect`, `epoll_pwait`) is libc's: no domain runs on the thread then, and the kernel puts the mask back; a handler that
//! leaves such a wait by `longjmp` is the one way to keep it. `siglongjmp` and `setcontext` are libc's, too: the masks that they bring back
//! were read from the kernel, and have ours blocked only if they are from before the thread's first call.
//! `pthread_attr_setsigmask_np` is about threads that have called nothing yet.
use super::kernel_signals_sys::{Action, SA_RESTORER, bit, kernel_sigaltstack};
use super::mask_sys::{change, held_back, hold};
use super::plain_handlers_sys::{as_asked, in_the_place_of};
use super::signals_sys::{is_installed, wants};
use super::{block_sys, thread_sys};
use libc::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// glibc's marks of `sysv_signal`: interrupted system calls are not begun anew.
const SA_INTERRUPT: c_int = 0x2000_0000;
/// What `sigset` takes and gives for a signal that is blocked.
const SIG_HOLD: usize = 2;

unsafe extern "C" {
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's pointers, as sigaction(2) wants them.
    unsafe { act(signal, new.as_ref(), old.as_mut()) }
}

/// The one way to a handler.
fn act(signal: c_int, new: Option<&libc::sigaction>, mut old: Option<&mut libc::sigaction>) -> c_int {
    if !is_installed() {
        // There is no domain yet.
        let done = libcs(signal, new, old);
        if done == 0 && new.is_some() && is_installed() {
            act(signal, new, None); // (There is now: its first thread may have looked before the handler was there.)
        }
        return done;
    }
    match wants(signal, new.map(to_kernel)) {
        Some(Ok(current)) => {
            if let Some(old) = old {
                *old = from_kernel(&current);
            }
            return 0;
        }
        Some(Err(error)) => return fail(error.raw_os_error()),
        None => {}
    }
    let mut new = new.copied();
    let held = held_back(signal);
    if let Some(new) = &mut new {
        if let Some(ours) = in_the_place_of(&to_kernel(new)) {
            (new.sa_sigaction, new.sa_flags) = (ours.handler, ours.flags as c_int);
            *mask_of(&mut new.sa_mask) = ours.mask;
        } else {
            if new.sa_sigaction != libc::SIG_DFL && new.sa_sigaction != libc::SIG_IGN {
                new.sa_flags |= libc::SA_ONSTACK;
            }
            let mask = mask_of(&mut new.sa_mask);
            *mask = hold(signal, *mask);
        }
    }
    let done = libcs(signal, new.as_ref(), old.as_deref_mut());
    if let Some(old) = old
        && done == 0
    {
        match as_asked(old.sa_sigaction) {
            Some(asked) => {
                (old.sa_sigaction, old.sa_flags) = (asked.handler, old.sa_flags & !libc::SA_ONSTACK);
                *mask_of(&mut old.sa_mask) = asked.mask;
            }
            None => *mask_of(&mut old.sa_mask) |= held,
        }
    }
    done
}

/// libc's `sigaction`.
fn libcs(signal: c_int, new: Option<&libc::sigaction>, old: Option<&mut libc::sigaction>) -> c_int {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    let old = old.map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: both are structures or null.
    unsafe { __sigaction(signal, new, old) }
}

/// The kernel's mask is the first 64 bits of libc's.
fn mask_of(set: &mut libc::sigset_t) -> &mut u64 {
    // SAFETY: it has 1,024, as aligned.
    unsafe { &mut *std::ptr::from_mut(set).cast() }
}

/// A handler by a number and flags, as the older functions have it; what was there.
fn install(number: c_int, handler: usize, flags: c_int, masks_itself: bool) -> usize {
    if handler == libc::SIG_ERR {
        fail(libc::EINVAL);
        return libc::SIG_ERR;
    }
    // SAFETY: zeroed is a valid sigaction; sigaddset refuses numbers that are none.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    (new.sa_sigaction, new.sa_flags) = (handler, flags);
    // SAFETY: the mask is our own.
    if masks_itself && unsafe { libc::sigaddset(&mut new.sa_mask, number) } != 0 {
        return libc::SIG_ERR;
    }
    if act(number, Some(&new), Some(&mut old)) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}

#[unsafe(no_mangle)]
extern "C" fn signal(number: c_int, handler: usize) -> usize {
    let interrupts = bit_of(number) & INTERRUPTS.load(Ordering::Relaxed) != 0;
    install(number, handler, if interrupts { 0 } else { libc::SA_RESTART }, true)
}

/// The signals whose handlers let system calls end (`siginterrupt`), also those that `signal` installs later: libc has a set of its own.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// The bit of a signal, of whose number nothing is known; 0 if there is none.
fn bit_of(number: c_int) -> u64 {
    if (1..=64).contains(&number) { bit(number) } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn siginterrupt(number: c_int, ends: c_int) -> c_int {
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    if act(number, None, Some(&mut action)) != 0 {
        return -1; // errno is set
    }
    if ends != 0 {
        INTERRUPTS.fetch_or(bit_of(number), Ordering::Relaxed);
        action.sa_flags &= !libc::SA_RESTART;
    } else {
        INTERRUPTS.fetch_and(!bit_of(number), Ordering::Relaxed);
        action.sa_flags |= libc::SA_RESTART;
    }
    act(number, Some(&action), None)
}

#[unsafe(no_mangle)]
extern "C" fn bsd_signal(number: c_int, handler: usize) -> usize {
    signal(number, handler)
}

#[unsafe(no_mangle)]
extern "C" fn ssignal(number: c_int, handler: usize) -> usize {
    signal(number, handler)
}

/// What `signal` is in programs that ask for System V's or for nothing beyond the C standard (`-std=c11 -D_XOPEN_SOURCE=700`).
#[unsafe(no_mangle)]
extern "C" fn __sysv_signal(number: c_int, handler: usize) -> usize {
    install(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER | SA_INTERRUPT, false)
}

#[unsafe(no_mangle)]
extern "C" fn sysv_signal(number: c_int, handler: usize) -> usize {
    __sysv_signal(number, handler)
}

#[unsafe(no_mangle)]
extern "C" fn sigset(number: c_int, handler: usize) -> usize {
    let Some(one) = only(number) else { return libc::SIG_ERR };
    let found = if handler == SIG_HOLD {
        // SAFETY: zeroed is a valid sigaction.
        let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
        if act(number, None, Some(&mut old)) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    } else {
        install(number, handler, 0, false)
    };
    if found == libc::SIG_ERR {
        return found;
    }
    let how = if handler == SIG_HOLD { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    match change(how, Some(one)) {
        Ok(before) if before & one != 0 => SIG_HOLD,
        _ => found,
    }
}

/// The mask that has one signal alone; or errno is set.
fn only(number: c_int) -> Option<u64> {
    // SAFETY: zeroed is an empty set; sigaddset refuses numbers that are none.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set of our own.
    (unsafe { libc::sigaddset(&mut set, number) } == 0).then(|| *mask_of(&mut set))
}

#[unsafe(no_mangle)]
extern "C" fn sigignore(number: c_int) -> c_int {
    if install(number, libc::SIG_IGN, 0, false) == libc::SIG_ERR { -1 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if !new.is_null() {
        if thread_sys::in_gate() {
            // The domain that called may not go on without it; the kernel refuses in the same way.
            return fail(libc::EPERM);
        }
        // SAFETY: our own block; the next call of a domain takes the slow path and installs our stack again.
        unsafe { (*block_sys::block()).alternate_size = u64::MAX };
    }
    // SAFETY: the caller's pointers.
    let done = unsafe { kernel_sigaltstack(new, old) };
    if done == 0 {
        // SAFETY: the kernel has just written there; our own block, and the state in it while the thread is attached.
        unsafe {
            if let (Some(told), Some(state)) = (old.as_mut(), (*block_sys::block()).state.as_ref()) {
                *told = state.alternate.as_asked(*told);
            }
        }
    }
    done // errno is set
}

/// Of what the thread asks for, the kernel gets all but the signals that the library lives by; the thread is told all of it.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's pointers, as pthread_sigmask(3) wants them; the kernel's mask is the first 64 bits.
    let (set, old) = unsafe { (set.cast::<u64>().as_ref(), old.cast::<u64>().as_mut()) };
    match change(how, set.copied()) {
        Ok(before) => {
            if let Some(old) = old {
                *old = before;
            }
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: as the caller says.
    match unsafe { pthread_sigmask(how, set, old) } {
        0 => 0,
        error => fail(error),
    }
}

#[unsafe(no_mangle)]
extern "C" fn sighold(number: c_int) -> c_int {
    block_one(libc::SIG_BLOCK, number)
}

#[unsafe(no_mangle)]
extern "C" fn sigrelse(number: c_int) -> c_int {
    block_one(libc::SIG_UNBLOCK, number)
}

fn block_one(how: c_int, number: c_int) -> c_int {
    match only(number).map(|one| change(how, Some(one))) {
        Some(Ok(_)) => 0,
        Some(Err(error)) => fail(error),
        None => -1,
    }
}

#[unsafe(no_mangle)]
extern "C" fn sigblock(mask: c_int) -> c_int {
    of_old(libc::SIG_BLOCK, mask)
}

#[unsafe(no_mangle)]
extern "C" fn sigsetmask(mask: c_int) -> c_int {
    of_old(libc::SIG_SETMASK, mask)
}

#[unsafe(no_mangle)]
extern "C" fn siggetmask() -> c_int {
    sigblock(0)
}

/// As BSD had it: the first 32 signals.
fn of_old(how: c_int, mask: c_int) -> c_int {
    change(how, Some(u64::from(mask as u32))).map_or_else(fail, |before| before as c_int)
}

fn fail(error: c_int) -> c_int {
    // SAFETY: errno is the thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn to_kernel(action: &libc::sigaction) -> Action {
    // SAFETY: the kernel's mask is the first 64 bits of libc's.
    let mask = unsafe { std::ptr::from_ref(&action.sa_mask).cast::<u64>().read() };
    Action { handler: action.sa_sigaction, flags: action.sa_flags as u32 as u64, restorer: 0, mask }
}

fn from_kernel(action: &Action) -> libc::sigaction {
    // SAFETY: zeroed is a valid sigaction, its mask at least 64 bits.
    unsafe {
        let mut out: libc::sigaction = std::mem::zeroed();
        out.sa_sigaction = action.handler;
        out.sa_flags = (action.flags & !SA_RESTORER) as c_int;
        (&raw mut out.sa_mask).cast::<u64>().write(action.mask);
        out
    }
}
