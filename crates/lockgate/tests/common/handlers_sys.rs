//! Handlers that nobody asks to run on the alternate stack.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "rt_sigaction(2) and tgkill(2) with the kernel's structures and handlers of this file"
)]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The kernel's struct sigaction: handler, flags, restorer, mask.
type Action = [u64; 4];

const HANDLER: usize = 0;
const FLAGS: usize = 1;
const MASK: usize = 3;

/// What each handler does, by its number.
static WORK: std::sync::OnceLock<fn(usize, u64)> = std::sync::OnceLock::new();
/// How many handlers have run to their ends.
pub static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Of the domain in whose code handlers write right below rsp, if there is one.
static OVERWRITTEN: AtomicU64 = AtomicU64::new(0);

/// Has each handler that interrupts code of the domain at this base write words from above rsp to where the kernel leaves a red zone,
/// which ordinary code has below rsp, and code of domains has not.
pub fn overwrite_below(base: u64) {
    OVERWRITTEN.store(base, Ordering::Relaxed);
}

extern "C" fn handle(signal: libc::c_int, _: *const libc::siginfo_t, context: *const libc::ucontext_t) {
    const RED_ZONE: u64 = 128;
    let here = 0_u8;
    let base = OVERWRITTEN.load(Ordering::Relaxed);
    if base != 0 {
        // (The kernel passes it whether or not it was asked for.)
        let get = |register: i32| unsafe { (*context).uc_mcontext.gregs[register as usize] as u64 };
        let (rip, rsp) = (get(libc::REG_RIP), get(libc::REG_RSP));
        if rip.wrapping_sub(base) < lockgate_abi::window::SIZE {
            for at in (8..=RED_ZONE).step_by(8) {
                unsafe { *((rsp - at) as *mut u64) = *((rsp + at % 32) as *const u64) };
            }
        }
    }
    if let Some(work) = WORK.get() {
        work(signal as usize, &raw const here as u64);
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

fn action(signal: i32, new: Option<&Action>) -> Action {
    let mut old = [0; 4];
    let new = new.map_or(std::ptr::null(), |new| new.as_ptr());
    let done =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old.as_mut_ptr(), size_of::<u64>()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    old
}

/// Signals that have no handler yet, real-time ones and `SIGUSR1`: as many as asked for.
pub fn free_signals(count: usize) -> Vec<i32> {
    let all = [libc::SIGUSR1].into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
    let free: Vec<i32> = all.filter(|signal| action(*signal, None)[0] == 0).take(count).collect();
    assert_eq!(free.len(), count, "signals without a handler");
    free
}

/// Has all of them handled by `work`, which is told the signal and an address of its stack, by system calls that nobody hears of.
pub fn handle_all(signals: &[i32], work: fn(usize, u64)) {
    assert!(WORK.set(work).is_ok(), "once");
    unsafe {
        let mut like: libc::sigaction = std::mem::zeroed();
        like.sa_sigaction = handle as *const () as usize;
        like.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const like, std::ptr::null_mut()), 0);
    }
    let mut like = action(libc::SIGUSR2, None);
    (like[HANDLER], like[MASK]) = (handle as *const () as u64, 0);
    like[FLAGS] &= !(libc::SA_ONSTACK as u64);
    for signal in signals {
        action(*signal, Some(&like));
    }
}

/// Has them run where the thread is, whatever the library has asked for meanwhile.
pub fn off_alternate_stack(signals: &[i32]) {
    for &signal in signals {
        let mut now = action(signal, None);
        if now[FLAGS] & libc::SA_ONSTACK as u64 != 0 {
            now[FLAGS] &= !(libc::SA_ONSTACK as u64);
            action(signal, Some(&now));
        }
    }
}

/// This thread, for [`raise`].
pub fn thread_number() -> i32 {
    unsafe { libc::gettid() }
}

/// Sends a signal to a thread of this process.
pub fn raise(thread: i32, signal: i32) {
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// Tells the thread that raises signals to end, whatever ends the work: a wrong result, too.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while another thread raises these signals on the calling one, again and again: one to three at a time, which interrupt each other; the
/// work goes on in between. [`handle_all`] has them handled.
pub fn under_fire<T>(signals: &[i32], work: impl FnOnce() -> T) -> T {
    let (own, over) = (thread_number(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut sent = HANDLED.load(Ordering::Relaxed);
            for burst in (1..=3).flat_map(|size| signals.chunks(size)).cycle() {
                off_alternate_stack(burst);
                burst.iter().for_each(|signal| raise(own, *signal));
                sent += burst.len() as u64;
                while HANDLED.load(Ordering::Relaxed) < sent && !over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                if over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _over = Over(&over);
        work()
    })
}

/// Has `signal` handled by `handler` as any program would, behind the library's.
pub fn handle_behind(signal: i32, handler: extern "C" fn(libc::c_int)) {
    unsafe { libc::signal(signal, handler as *const () as usize) };
}

/// By nothing of the host's any more.
pub fn restore(signal: i32) {
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Has `signal` handled by `handler` in front of all others, on whatever stack the thread is, by system calls that nobody hears of: as if the
/// library stood in for no function of libc's and never looked at handlers.
pub fn handle_in_front(signal: i32, handler: extern "C" fn(libc::c_int)) {
    const SA_RESTORER: u64 = 0x0400_0000;
    let like = action(libc::SIGSEGV, None); // the library's own: it has the address of a `rt_sigreturn`
    let flags = SA_RESTORER | (libc::SA_NODEFER | libc::SA_RESTART) as u64;
    action(signal, Some(&[handler as *const () as u64, flags, like[2], 0]));
}

/// True if the kernel would not move the calling thread to another stack for `signal`.
pub fn is_off_alternate_stack(signal: i32) -> bool {
    action(signal, None)[FLAGS] & libc::SA_ONSTACK as u64 == 0
}
