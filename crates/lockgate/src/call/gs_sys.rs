//! Where the calling thread's gs points: to the window of a domain, or to memory of the runtime's that answers proxies in its place.

/// Where gs points on a thread that is in no window: the word that proxies read through it is this one.
static NO_WINDOW: u64 = 0;

/// Takes the calling thread's gs out of the window at `base`, which is going, or gives a new thread's, which points nowhere
/// (0), its first value. Proxies would notice without, by a fault (rule R19), but debuggers stop there.
pub(crate) fn leave_window(base: u64) {
    // SAFETY: reads gs.
    unsafe {
        let gs: u64;
        core::arch::asm!("rdgsbase {}", out(reg) gs, options(nomem, nostack, preserves_flags));
        if gs == base {
            leave_any_window();
        }
    }
}

/// The same wherever gs points: for a thread that ends.
pub(super) fn leave_any_window() {
    point_gs_at((&raw const NO_WINDOW) as u64);
}

/// Proxies read the word at this address through gs.
pub(super) fn point_gs_at(address: u64) {
    let gs = address.wrapping_sub(lockgate_abi::header::W);
    // SAFETY: gs belongs to Lockgate; no domain runs on the thread, and one in whose gate it is looks at gs when it goes on.
    unsafe { core::arch::asm!("wrgsbase {}", in(reg) gs, options(nomem, nostack, preserves_flags)) };
}
