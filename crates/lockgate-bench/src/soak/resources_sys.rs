//! What the process holds of the system.

use anyhow::Context as _;

/// Amounts at one moment, or their growth between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Resident memory, KiB.
    pub resident_kib: u64,
    /// Open file descriptors.
    pub descriptors: u64,
    /// Mappings of the kernel with memory that can be used: address space is reserved for as many domains as there ever were at once,
    /// and stays so.
    pub mappings: u64,
    /// Threads.
    pub threads: u64,
}

/// Has all threads of this process allocate from one arena. With glibc's default of eight for each processor, a few objects that live on in each
/// hold pages of all of them, and how many is chance: that would hide what grows because somebody holds it.
pub fn allocate_in_one_arena() {
    // SAFETY: a setting of the allocator's, which takes its own lock.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

impl Resources {
    /// What this process holds now, without memory that the allocator only keeps for later.
    pub fn now() -> anyhow::Result<Self> {
        // SAFETY: takes the allocator's own locks, and touches free memory only.
        unsafe { libc::malloc_trim(0) };
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let status = std::fs::read_to_string("/proc/self/status")?;
        let field = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            number.with_context(|| format!("/proc/self/status has no {key}"))
        };
        Ok(Self {
            resident_kib: field("VmRSS:")?,
            descriptors: std::fs::read_dir("/proc/self/fd")?.count() as u64,
            mappings: maps.lines().filter(|line| !line.contains(" ---p ")).count() as u64,
            threads: field("Threads:")?,
        })
    }

    /// How much more this is than `before`; less counts as nothing.
    pub fn growth_since(&self, before: &Self) -> Self {
        Self {
            resident_kib: self.resident_kib.saturating_sub(before.resident_kib),
            descriptors: self.descriptors.saturating_sub(before.descriptors),
            mappings: self.mappings.saturating_sub(before.mappings),
            threads: self.threads.saturating_sub(before.threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_shows() {
        let before = Resources::now().unwrap();
        // Many, because other tests open and close some meanwhile.
        let files: Vec<_> = (0..200).map(|_| std::fs::File::open("/proc/self/exe").unwrap()).collect();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        let growth = Resources::now().unwrap().growth_since(&before);
        assert!(growth.descriptors >= 100 && growth.resident_kib >= 60 << 10, "{growth:?}");
        assert_eq!(before.growth_since(&before).resident_kib, 0);
        drop((files, memory));
    }
}
