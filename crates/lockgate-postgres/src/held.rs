//! What a process holds of the system.

use anyhow::Context as _;
use std::fs;
use std::path::Path;

/// Amounts at one moment, or their growth between two.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Held {
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

impl Held {
    /// What process `process` (a number, or `self`) holds now: memory as the field `resident` of its /proc/PID/status says, and the
    /// descriptors whose paths count.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(process: &str, resident: &str, counts: impl Fn(&Path) -> bool) -> anyhow::Result<Held> {
        let folder = format!("/proc/{process}");
        let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).context(folder.clone());
        let status = read("status")?;
        let field = |key: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            number.with_context(|| format!("{folder}/status has no {key}"))
        };
        let files = fs::read_dir(format!("{folder}/fd"))?;
        let files = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        Ok(Held {
            resident_kib: field(resident)?,
            descriptors: files.filter(|path| counts(path)).count() as u64,
            mappings: read("maps")?.lines().filter(|line| !line.contains(" ---p ")).count() as u64,
            threads: field("Threads")?,
        })
    }

    /// The larger amounts of two.
    #[must_use]
    pub fn most(self, other: Held) -> Held {
        Held {
            resident_kib: self.resident_kib.max(other.resident_kib),
            descriptors: self.descriptors.max(other.descriptors),
            mappings: self.mappings.max(other.mappings),
            threads: self.threads.max(other.threads),
        }
    }

    /// How much more this is than `before`; less counts as nothing.
    #[must_use]
    pub fn since(self, before: Held) -> Held {
        Held {
            resident_kib: self.resident_kib.saturating_sub(before.resident_kib),
            descriptors: self.descriptors.saturating_sub(before.descriptors),
            mappings: self.mappings.saturating_sub(before.mappings),
            threads: self.threads.saturating_sub(before.threads),
        }
    }
}
