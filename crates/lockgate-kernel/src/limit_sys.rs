//! `getrlimit`, of which rustix's takes for granted that it succeeds.
use rustix::process::Resource;

/// The process's limit, if it has one, and may ask. (A filter of system calls may refuse `prlimit64`, which libc's function is, and not `getrlimit`,
/// or the reverse.)
pub fn limit(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: room for a limit, which is written only where the call succeeds.
    unsafe {
        if libc::getrlimit(resource as u32, &raw mut limit) != 0 {
            libc::syscall(libc::SYS_getrlimit, resource as u32, &raw mut limit);
        }
    }
    Some(limit.rlim_cur).filter(|&limit| limit != libc::RLIM_INFINITY)
}
