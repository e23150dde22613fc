//! What the machine must have for all programs together, looked at before the first one starts: in the middle it would be too late to say so plainly.

use crate::error::ProgramsError;
use crate::spec::Spec;
use lockgate_abi::window;
use rustix::process::Resource;

/// Kernel mappings of a domain (`vm.max_map_count` is of all): those of its window, and those of a thread, four of them for its stacks there, the
/// others for what the host's libc and the runtime have for it. (Counted, by `up_many.rs` of lockgate-cli.)
const MAPPINGS: (u64, u64) = (5, 18);

/// Those of each separate mapping that a domain is promised: what is mapped, and what is not.
const FOR_EACH: u64 = 2;

/// Descriptors of the process for each program: an input, both ends of two pipes.
const STREAMS: u64 = 5;

/// What the process needs beside its programs.
const PROCESS_DESCRIPTORS: u64 = 32;
const PROCESS_THREADS: u64 = 8;

/// Bytes that a process can map on x86-64 with four levels of page tables.
const ADDRESS_SPACE: u64 = 1 << 47;

/// Says what there is not enough of.
///
/// # Errors
/// [`ProgramsError::Limit`].
pub fn check(specs: &[Spec]) -> Result<(), ProgramsError> {
    let count = specs.len() as u64;
    let threads: u64 = specs.iter().map(|spec| 1 + u64::from(spec.threads)).sum();
    let promised: u64 = specs.iter().map(|spec| STREAMS + u64::from(spec.descriptors.unwrap_or(0))).sum();
    let separate: u64 = specs.iter().map(|spec| u64::from(spec.mappings.unwrap_or(0))).sum();
    let mappings = count * MAPPINGS.0 + threads * MAPPINGS.1 + separate * FOR_EACH;
    let limit = |resource| lockgate_kernel::limit(resource).unwrap_or(u64::MAX);
    let mapped = std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64);
    let checks = [
        (
            count * window::STRIDE,
            "bytes of address space",
            limit(Resource::As).min(ADDRESS_SPACE),
            "raise ulimit -v, or run fewer programs in one process",
        ),
        (
            mapped + mappings,
            "kernel mappings",
            number("/proc/sys/vm/max_map_count"),
            "raise vm.max_map_count, or run fewer programs in one process, or with fewer threads and mappings",
        ),
        (
            PROCESS_DESCRIPTORS + promised,
            "descriptors",
            limit(Resource::Nofile),
            "raise ulimit -n, or give them fewer descriptors",
        ),
        (
            PROCESS_THREADS + threads,
            "threads",
            limit(Resource::Nproc).min(number("/proc/sys/kernel/threads-max")),
            "raise ulimit -u, or give them fewer threads",
        ),
    ];
    for (needed, what, limit, remedy) in checks {
        if needed > limit {
            return Err(ProgramsError::Limit { count: specs.len(), needed, what, limit, remedy });
        }
    }
    Ok(())
}

/// A number in a file of the kernel's; none there is no limit.
fn number(path: &str) -> u64 {
    std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX)
}
