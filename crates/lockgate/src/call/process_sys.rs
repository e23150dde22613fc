//! Checks and set-up of the process (rules R4, R11), and what becomes of domains after a fork.
use super::{block_sys, gate_sys, kernel_signals_sys, mask_sys, signals_sys, thread_sys};
use crate::host::{HostError, PerProcess, locked, still, watch_forks};
use crate::space;
use crate::symbols::{self, ProcessFacts};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the process is ready, and whose turn it is to make it so.
static PREPARED: PerProcess<(AtomicBool, Mutex<()>)> = PerProcess::new(Default::default);

/// Makes the process ready for domains, once. What is missing may be there when it is next asked for.
///
/// # Errors
/// [`HostError`] says what is missing.
pub(crate) fn prepare() -> Result<(), HostError> {
    let (ready, turn) = PREPARED.get();
    if ready.load(Ordering::Acquire) {
        return Ok(());
    }
    let _turn = locked(turn);
    if !ready.load(Ordering::Acquire) {
        check()?;
        ready.store(true, Ordering::Release);
    }
    Ok(())
}

fn check() -> Result<(), HostError> {
    watch_forks(settle_in_child);
    {
        // A child must not find the table half made, by a thread that it does not have.
        let _still = still();
        lockgate_verify::prepare();
    }
    const HWCAP2_FSGSBASE: u64 = 2;
    // SAFETY: a query.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE == 0 {
        let why = "windows are addressed through gs; needs Linux 5.9 and a processor of 2012 or later";
        return Err(HostError::Feature { feature: "fsgsbase", why });
    }
    // (It comes with XSAVE, which gates need, too.)
    if !std::arch::is_x86_feature_detected!("avx") {
        let why = "gates keep and clear the module's vector registers with it";
        return Err(HostError::Feature { feature: "avx", why });
    }
    const READ_IMPLIES_EXEC: i32 = 0x0040_0000;
    // SAFETY: the value 0xffffffff queries.
    match unsafe { libc::personality(0xffff_ffff) } {
        -1 => return Err(HostError::Refused { call: "personality" }),
        now if now & READ_IMPLIES_EXEC != 0 => {
            return Err(HostError::ReadImpliesExec);
        }
        _ => {}
    }
    if page_zero_is_mapped() {
        return Err(HostError::PageZero);
    }
    signals_sys::install()?;
    gate_sys::prepare();
    Ok(())
}

fn page_zero_is_mapped() -> bool {
    let mut resident = 0_u8;
    // SAFETY: mincore writes one byte for one page; it fails with ENOMEM where nothing is mapped.
    let result = unsafe { libc::mincore(std::ptr::null_mut(), 4096, &mut resident) };
    result == 0
}

/// What a forked child does once, before it does anything else here: its parent's domains have no owner, their memory stays
/// reserved, and a call that the forking thread is in ends when it would go on. Takes no lock and no memory.
fn settle_in_child() {
    space::abandon();
    symbols::abandon();
    thread_sys::leave_parent();
    mask_sys::leave_parent();
    mask_sys::forget_waiting();
}

/// What debuggers must know.
pub(crate) fn for_debuggers() -> ProcessFacts {
    ProcessFacts { block: block_sys::block_offset(), kick: kernel_signals_sys::kick_signal() }
}
