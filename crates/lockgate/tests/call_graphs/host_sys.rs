//! What the host's threads compute under.

/// Runs `work` under these control words, with the x87's registers empty.
pub fn with_control_words(mxcsr: u32, x87: u16, work: impl FnOnce()) {
    let (mut own_mxcsr, mut own_x87) = (0_u32, 0_u16);
    // SAFETY: nothing of Rust minds how it rounds here; both words are restored.
    unsafe {
        core::arch::asm!(
            "stmxcsr [{om}]", "fnstcw [{ox}]", "ldmxcsr [{m}]", "fldcw [{x}]",
            om = in(reg) &mut own_mxcsr, ox = in(reg) &mut own_x87, m = in(reg) &mxcsr, x = in(reg) &x87,
        );
        work();
        core::arch::asm!("ldmxcsr [{om}]", "fldcw [{ox}]", om = in(reg) &own_mxcsr, ox = in(reg) &own_x87);
    }
}
