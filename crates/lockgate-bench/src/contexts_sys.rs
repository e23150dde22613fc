//! Switches of the system's C library: what programs have natively.
use std::ptr;

/// Two contexts that take turns.
pub struct NativeContexts {
    own: libc::ucontext_t,
    other: libc::ucontext_t,
    stack: Vec<u8>,
}

const STACK: usize = 64 << 10;

extern "C" fn turns(low: libc::c_int, high: libc::c_int) {
    let at = (low as u32 as usize | (high as usize) << 32) as *mut NativeContexts;
    loop {
        // SAFETY: `switch` waits in `own`, and keeps both where they are.
        unsafe { libc::swapcontext(&raw mut (*at).other, &raw const (*at).own) };
    }
}

impl NativeContexts {
    pub fn new() -> Box<NativeContexts> {
        // SAFETY: zeroed structures for getcontext to fill, and a stack that lives as long as they; nothing of the context's is to be dropped.
        unsafe {
            let (own, other) = (std::mem::zeroed(), std::mem::zeroed());
            let mut made = Box::new(NativeContexts { own, other, stack: vec![0; STACK] });
            let at = ptr::from_mut(&mut *made) as usize;
            libc::getcontext(&raw mut made.other);
            made.other.uc_stack.ss_sp = made.stack.as_mut_ptr().cast();
            made.other.uc_stack.ss_size = STACK;
            let begin: extern "C" fn() = std::mem::transmute(turns as extern "C" fn(_, _));
            libc::makecontext(&raw mut made.other, begin, 2, at as u32, (at >> 32) as u32);
            made
        }
    }

    /// So many switches, there and back.
    pub fn switch(&mut self, count: u32) {
        for _ in 0..count / 2 {
            // SAFETY: made in `new`; the other side comes back at once.
            unsafe { libc::swapcontext(&raw mut self.own, &raw const self.other) };
        }
    }
}
