//! Work of the library's that no handler of the host's interrupts ([decision 0069](../../../../docs/decisions/0069-no-handler-interrupts-a-service.md)).
//!
//! A handler that interrupts a call may leave it by `siglongjmp`, over all frames in between, or end its thread. Frames of proxies and gates
//! hold nothing that the records do not tell of; those of services hold locks, memory, and books that are half written, and none of Rust's
//! can be unwound by `pthread_exit`. So gates and slow paths call what has any of these by `lockgate_undisturbed` (in
//! [`undisturbed_asm`](super::undisturbed_asm)): signals wait, all but those that the library lives by, whose handlers are its own. A thread that
//! is cancelled finds out later, too. What waits for others is [`asleep`] or another of the calls of [`Disturbed`], and holds no lock then.
use super::kernel_signals_sys::{FAULTS, bit};
use super::layout::Unseen;
use super::{block_sys, mask_sys, thread_sys};
use crate::host::{cancellation, frame_address};
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use lockgate_syscall::Sleep;
use rustix::event::{PollFd, Timespec};
use rustix::fd::{AsRawFd as _, BorrowedFd};
use rustix::io::Errno;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of what the kernel knows of a signal (its `struct kernel_siginfo`); the rest of a `siginfo_t` is zeros.
const KNOWN: usize = 48;
/// Room in the frame of the outermost `lockgate_undisturbed`: for one of each of [`FAULTS`].
pub(super) const ROOM: usize = FAULTS.len() * KNOWN + 8;

unsafe extern "C-unwind" {
    fn lockgate_undisturbed_call(function: *const (), first: usize, second: usize, third: usize) -> usize;
    fn lockgate_disturbed(function: *const (), argument: *const c_void) -> usize;
}

unsafe extern "C" {
    fn lockgate_kernel_call();
    fn lockgate_held_from();
    fn lockgate_held_to();
    fn lockgate_let_from();
    fn lockgate_let_to();
}

/// The host's `errno`, which a call that returns leaves as it was: what serves a domain makes system calls of its own, and waits for locks.
pub(super) struct KeptErrno(c_int);

impl KeptErrno {
    pub fn new() -> KeptErrno {
        // SAFETY: the calling thread's.
        KeptErrno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// Calls `function`, of the library's own, while no handler of the host's runs on the calling thread, and a `pthread_cancel` of it waits.
///
/// # Safety
/// It is an `extern "C"` function of at most these arguments, and they are what it asks for.
pub(super) unsafe fn undisturbed(function: *const (), arguments: [usize; 3]) -> usize {
    let [first, second, third] = arguments;
    // SAFETY: the caller's promise.
    unsafe { lockgate_undisturbed_call(function, first, second, third) }
}

/// Calls `function` with the host's handlers let in, which may leave it by a jump or end the thread: what lies between the gate and here is lost
/// then, so it has no lock, and what must not be lost is where `repair` finds it. Within work that is itself
/// part of other work (a domain's start, when an import is bound), signals go on waiting.
///
/// # Safety
/// It is a function of one argument, which is what it asks for. It has no frame of Rust's, which could not be unwound.
pub unsafe fn disturbed(function: *const (), argument: *const c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { lockgate_disturbed(function, argument) }
}

/// Calls `function` while handlers and cancellations wait as they do, as [`disturbed`] does: what it calls of the host's may leave it by a jump, or end
/// the thread, and then nothing of the thread's says that they wait. (A jump that keeps the mask leaves them waiting, in fact, and each
/// leaves cancellation switched off: until the thread calls from outside of the work that was left, [`ends_unseen`].)
///
/// # Safety
/// As there.
pub(crate) unsafe fn unseen(function: *const (), argument: *const c_void) -> usize {
    // SAFETY: our own block; the caller's promise.
    unsafe {
        let block = block_sys::block();
        if (*block).held != 1 {
            return disturbed(function, argument);
        }
        let more = mask_sys::HOSTS.load(Ordering::Acquire) & !(*block).held_mask;
        let this = Unseen { at: (*block).held_at, mask: more, cancel: (*block).held_cancel };
        let outer = std::mem::replace(&mut (*block).unseen, this);
        (*block).held_mask |= more;
        (*block).held_cancel = cancellation::DISABLE;
        let result = disturbed(function, argument);
        (*block).unseen.ends(&mut (*block).held_mask, &mut (*block).held_cancel);
        (*block).unseen = outer;
        result
    }
}

/// In work of the library's: if a jump has left the [`unseen`] work that the thread was in, as a caller at `rsp` tells, then what waited for that
/// comes again behind this work.
pub(super) fn ends_unseen(state: &thread_sys::ThreadState, rsp: u64) {
    // SAFETY: our own block.
    let block = unsafe { &mut *block_sys::block() };
    let at = block.unseen.at;
    if at == 0 || block.held == 0 || !thread_sys::is_gone(state, at, rsp) {
        return;
    }
    // The program may have set the mask since, by the jump too: then it is as it wants it.
    let hosts = mask_sys::HOSTS.load(Ordering::Acquire);
    if block.held_mask & hosts != hosts {
        block.unseen.mask = 0;
    }
    block.unseen.ends(&mut block.held_mask, &mut block.held_cancel);
    block.unseen = Unseen::default();
}

impl Unseen {
    /// What waited for it only waits no more.
    fn ends(&self, mask: &mut u64, cancel: &mut c_int) {
        *mask &= !self.mask;
        if *cancel == cancellation::DISABLE {
            *cancel = self.cancel;
        }
    }
}

/// A system call of the host's in which the thread sleeps, as [`disturbed`] says; in it the signals in `more` are blocked besides.
///
/// # Safety
/// The arguments are what the call asks for.
unsafe fn kernel(number: libc::c_long, arguments: [usize; 5], more: u64) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = arguments;
    let words = [number as usize, first, second, third, fourth, fifth, 0];
    // SAFETY: our own block; the caller's promise.
    let result = unsafe {
        let block = block_sys::block();
        let more = more & !(*block).held_mask;
        (*block).held_mask |= more;
        let result = disturbed(lockgate_kernel_call as *const (), words.as_ptr().cast()) as isize;
        (*block).held_mask &= !more;
        result
    };
    match result {
        0.. => Ok(result as usize),
        error => Err(Errno::from_raw_os_error(-error as i32)),
    }
}

/// Sleeps at `word` while that is `value`, until woken, or so long at most. (A thread that wakes looks again in any case.)
pub(crate) fn asleep(word: &AtomicU32, value: u32, left: Option<&Timespec>) {
    let _ = futex_wait(ptr::from_ref(word) as usize, libc::FUTEX_PRIVATE_FLAG, value, left);
}

/// The same at an address, where a word may be; `flags` besides the operation.
fn futex_wait(address: usize, flags: i32, value: u32, left: Option<&Timespec>) -> Result<(), Errno> {
    let operation = libc::FUTEX_WAIT | flags;
    let left = left.map_or(0, |left| ptr::from_ref(left) as usize);
    let arguments = [address, operation as usize, value as usize, left, 0];
    // SAFETY: the kernel only compares the word, if one is there; the time is there until the call is over.
    unsafe { kernel(libc::SYS_futex, arguments, 0) }.map(drop)
}

/// How threads in services sleep.
#[derive(Debug)]
pub(super) struct Disturbed;

impl Sleep for Disturbed {
    fn rests(&self) {}

    fn has_waited(&self) {}

    fn wait(&self, word: &AtomicU32, value: u32, left: Option<&Timespec>) {
        asleep(word, value, left);
    }

    fn wait_shared(&self, address: u64, value: u32, left: Option<&Timespec>) -> Result<(), Errno> {
        futex_wait(address as usize, 0, value, left)
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno> {
        let mut left = timeout.copied();
        let left = left.as_mut().map_or(0, |left| ptr::from_mut(left) as usize);
        let arguments = [descriptors.as_mut_ptr() as usize, descriptors.len(), left, 0, 0];
        // SAFETY: descriptors are as the kernel has them, and live until the call is over; the kernel may write the time that is left.
        unsafe { kernel(libc::SYS_ppoll, arguments, 0) }
    }

    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
        let arguments = [fd.as_raw_fd() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0];
        // SAFETY: room for so many bytes.
        unsafe { kernel(libc::SYS_read, arguments, 0) }
    }

    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8], blocked: &[c_int]) -> Result<usize, Errno> {
        let arguments = [fd.as_raw_fd() as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0];
        let blocked = blocked.iter().fold(0, |all, &signal| all | bit(signal));
        // SAFETY: so many bytes.
        unsafe { kernel(libc::SYS_write, arguments, blocked) }
    }
}

/// True if a fault's signal, which was sent, is kept for later. The kernel cannot hold it back: a copy of a module's memory may fault.
/// Where the thread is about to let signals in, it begins anew.
///
/// # Safety
/// The kernel's arguments of a handler.
pub(super) unsafe fn postpones(signal: c_int, info: *const siginfo_t, frame: &mut ucontext_t) -> bool {
    let own = frame.uc_mcontext.gregs[libc::REG_RBX as usize] as u64;
    let rip = &mut frame.uc_mcontext.gregs[libc::REG_RIP as usize];
    let is_in = |range: Range<unsafe extern "C" fn()>| {
        (range.start as usize..range.end as usize).contains(&(*rip as usize))
    };
    let (holds, lets) =
        (is_in(lockgate_held_from..lockgate_held_to), is_in(lockgate_let_from..lockgate_let_to));
    // SAFETY: our own block, and the frame that it names, which is there while signals are held back.
    unsafe {
        let block = block_sys::block();
        if !holds && !lets && (*block).held == 0 {
            return false;
        }
        if holds {
            (*block).held_at = own; // which is not there yet
        }
        let own = bit(signal);
        let index = FAULTS.iter().position(|&fault| fault == signal);
        // (A second one comes to nothing, as it would if the first one waited in the kernel.)
        if let Some(index) = index.filter(|_| (*block).postponed & own == 0) {
            let place = ((*block).held_at as *mut [u8; KNOWN]).add(index);
            place.write_unaligned(info.cast::<[u8; KNOWN]>().read_unaligned());
            (*block).postponed |= own;
        }
    }
    if lets {
        *rip = lockgate_let_from as *const () as i64;
    }
    true
}

/// Has the kernel hold what was postponed, as it was sent, until the thread's mask is what it was: handlers come in the order, and with the
/// masks, that they would have had.
pub(super) unsafe extern "C" fn lockgate_send_again() {
    mask_sys::hold_faults();
    // SAFETY: our own block, and the frame that it names; signals to the thread itself, with what it was told of them.
    unsafe {
        let block = block_sys::block();
        let postponed = std::mem::take(&mut (*block).postponed);
        for (index, &signal) in FAULTS.iter().enumerate() {
            if postponed & bit(signal) == 0 {
                continue;
            }
            let mut information: siginfo_t = std::mem::zeroed();
            let place = ((*block).held_at as *const [u8; KNOWN]).add(index);
            (&raw mut information).cast::<[u8; KNOWN]>().write_unaligned(place.read_unaligned());
            let (process, thread) = (libc::getpid(), libc::gettid());
            let sent =
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, &raw const information);
            if sent != 0 {
                libc::syscall(libc::SYS_tgkill, process, thread, signal);
            }
        }
    }
}

/// What the mask will be: a thread that was attached meanwhile has none of ours blocked.
pub(super) extern "C" fn lockgate_settle() {
    debug_assert!(is_ours(), "another frame has put itself in the place of the one that holds signals back");
    mask_sys::settle_held();
}

/// Whether the frame that holds signals back is on the stack that the thread runs on, as far as the alternate one is concerned.
fn is_ours() -> bool {
    // SAFETY: our own block.
    let held_at = unsafe { (*block_sys::block()).held_at };
    let here = frame_address();
    thread_sys::current()
        .is_none_or(|state| state.on_alternate_stack(held_at) == state.on_alternate_stack(here))
}

/// True if a jump has left the work for which signals are held back, as a caller at `rsp` tells: they come again then, from here on.
pub(super) unsafe extern "C" fn lockgate_is_left(rsp: u64) -> bool {
    // SAFETY: our own block.
    let held_at = unsafe { (*block_sys::block()).held_at };
    let is_left = thread_sys::is_left(held_at, rsp);
    if is_left {
        forget();
    }
    is_left
}

/// Whatever held signals back is no more: they come again.
pub(super) fn forget() {
    // SAFETY: our own block.
    unsafe {
        let block = block_sys::block();
        if (*block).held == 0 {
            return;
        }
        let postponed = std::mem::take(&mut (*block).postponed);
        mask_sys::settle_held();
        (*block).held = 0;
        cancellation::restore((*block).held_cancel);
        mask_sys::let_hosts((*block).held_mask);
        for signal in FAULTS.into_iter().filter(|&signal| postponed & bit(signal) != 0) {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
        }
    }
}
