//! What attacks and checks need of the host's own side.
use std::sync::atomic::{AtomicU64, Ordering};

/// Sets the personality READ_IMPLIES_EXEC for this process.
pub fn make_data_executable() {
    // SAFETY: changes what later mappings may do, nothing that exists.
    unsafe { libc::personality(0x0040_0000) };
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// Runs `work` while SIGALRM comes every millisecond; returns how many were handled.
pub fn signal_storm(work: impl FnOnce()) -> u64 {
    let every = |microseconds| libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: microseconds },
        it_value: libc::timeval { tv_sec: 0, tv_usec: microseconds },
    };
    let before = HANDLED.load(Ordering::Relaxed);
    // SAFETY: installs a handler that counts; the timer is stopped before the return.
    unsafe {
        libc::signal(libc::SIGALRM, count as extern "C" fn(libc::c_int) as *const () as usize);
        libc::setitimer(libc::ITIMER_REAL, &every(1000), std::ptr::null_mut());
        work();
        libc::setitimer(libc::ITIMER_REAL, &every(0), std::ptr::null_mut());
    }
    HANDLED.load(Ordering::Relaxed) - before
}

/// Runs `work` with known values in the callee-saved registers; true if they are the same afterwards.
pub fn callee_saved_survive(work: impl FnOnce()) -> bool {
    extern "C" fn run<F: FnOnce()>(work: *mut Option<F>) {
        // SAFETY: the caller's own option.
        if let Some(work) = unsafe { (*work).take() } {
            work();
        }
    }
    fn runner<F: FnOnce()>(_: &Option<F>) -> extern "C" fn(*mut Option<F>) {
        run::<F>
    }
    let mut work = Some(work);
    let function = runner(&work);
    let kept: u64;
    // SAFETY: saves the callee-saved registers around a call that follows the C ABI; the stack is aligned.
    unsafe {
        core::arch::asm!(
            "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
            "mov rbp, rsp",
            "and rsp, -16",
            "push rbp", "push rbp",
            "mov rbx, 0x1111", "mov rbp, 0x2222", "mov r12, 0x3333", "mov r13, 0x4444", "mov r14, 0x5555", "mov r15, 0x6666",
            "call rax",
            "xor eax, eax",
            "cmp rbx, 0x1111", "jne 2f", "cmp rbp, 0x2222", "jne 2f", "cmp r12, 0x3333", "jne 2f",
            "cmp r13, 0x4444", "jne 2f", "cmp r14, 0x5555", "jne 2f", "cmp r15, 0x6666", "jne 2f",
            "mov eax, 1",
            "2:",
            "pop rsp",
            "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
            inout("rax") function => kept,
            inout("rdi") &raw mut work => _,
            clobber_abi("C"),
        );
    }
    kept == 1
}
