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
}
