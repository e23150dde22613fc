//! Checks and set-up of the process (rules R4, R11), and what becomes of domains after a fork.
use crate::call::{prepare_gates, signals_sys, thread_sys};
use crate::error::HostError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);
static PREPARED: OnceLock<Result<u64, HostError>> = OnceLock::new();

/// Makes the process ready for domains; the same answer every time.
///
/// # Errors
/// [`HostError`] says what is missing.
pub(crate) fn prepare() -> Result<(), HostError> {
    PREPARED.get_or_init(check).clone().map(|_| ())
}

/// State components that XSAVE may keep, after [`prepare`].
pub(crate) fn components() -> u64 {
    PREPARED.get().and_then(|p| p.as_ref().ok()).copied().unwrap_or_default()
}

/// True for a program that has more rights than its caller (set-user-ID and the like): its environment is not to be trusted.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: a query.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// True in a forked child: the watcher and the other threads are gone, so calls are refused.
pub(crate) fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

fn check() -> Result<u64, HostError> {
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
    if unsafe { libc::personality(0xffff_ffff) } & READ_IMPLIES_EXEC != 0 {
        return Err(HostError::ReadImpliesExec);
    }
    if page_zero_is_mapped() {
        return Err(HostError::PageZero);
    }
    signals_sys::install();
    // SAFETY: the handler only stores.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    Ok(prepare_gates())
}

fn page_zero_is_mapped() -> bool {
    let mut resident = 0_u8;
    // SAFETY: mincore writes one byte for one page; it fails with ENOMEM where nothing is mapped.
    let result = unsafe { libc::mincore(std::ptr::null_mut(), 4096, &mut resident) };
    result == 0
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    // SAFETY: our own block: the next call takes the slow way, which refuses.
    unsafe { (*thread_sys::block()).alternate_size = u64::MAX };
}
