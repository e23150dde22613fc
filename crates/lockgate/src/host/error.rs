//! What a machine lacks.

/// What this machine or process lacks to run domains.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The processor or kernel lacks a feature.
    #[error("this machine cannot run domains: {feature} is missing ({why}); see `lockgate doctor`")]
    Feature {
        /// Name as in /proc/cpuinfo or kernel documentation.
        feature: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// Data would be executable (rule R4).
    #[error(
        "this process has the personality READ_IMPLIES_EXEC: module data would be executable; start it without (setarch, old linker flags)"
    )]
    ReadImpliesExec,
    /// Page 0 is mapped (rule R4).
    #[error(
        "address 0 is mapped in this process: a null return address would run it; set vm.mmap_min_addr to 65536 and do not map it"
    )]
    PageZero,
    /// A system call fails on which faults, limits and kills rest, or by which the process is judged.
    #[error(
        "this process may not call {call}, without which faults, time limits and kills of domains would not be handled, or the process \
         is not known to be fit for them: have its filter of system calls (seccomp) allow it"
    )]
    Refused {
        /// Its name.
        call: &'static str,
    },
}

/// What to do about an error of the system's: `otherwise`, unless its reason tells more.
pub(crate) fn remedy(error: &std::io::Error, otherwise: &'static str) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "raise the process's limit of open files (ulimit -n)",
        Some(libc::ENFILE) => "raise the system's limit of open files (fs.file-max)",
        Some(libc::EPERM | libc::ENOSYS) => "have the process's filter of system calls (seccomp) allow it",
        _ => otherwise,
    }
}
