//! What a change of window costs the processor: the floor of calls between domains.

/// Writes gs twice, its own value each time.
#[inline(always)]
pub fn write_gs_twice() {
    // SAFETY: leaves gs as it was. FSGSBASE is there: domains need it, too.
    unsafe {
        std::arch::asm!(
            "rdgsbase {base}",
            "wrgsbase {base}",
            "wrgsbase {base}",
            base = out(reg) _,
            options(nomem, nostack, preserves_flags)
        );
    }
}
