//! What a domain may use beyond memory, and what it uses (docs/limits.md).
use super::options::DomainOptions;
use crate::host::environment;
use crate::space::{MAPPINGS, MAX_MAPPINGS};
use lockgate_abi::stack;
use std::time::Duration;

/// Limits of what is counted, and CPU time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub threads: u32,
    pub max_guest_threads: u32,
    pub descriptors: u32,
    pub mappings: u32,
    pub cpu_time: Option<Duration>,
    pub measured: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            threads: stack::SLOTS as u32,
            max_guest_threads: 0,
            descriptors: DomainOptions::DESCRIPTORS,
            mappings: DomainOptions::MAPPINGS,
            cpu_time: None,
            measured: false,
        }
    }
}

impl Limits {
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self, depth: Option<u32>) -> Result<(), String> {
        let within = |what: &str, value: u32, most: u32| match value {
            1.. if value <= most => Ok(()),
            _ => Err(format!("the {what} limit is {value}: it must be between 1 and {most}")),
        };
        within("thread", self.threads, stack::SLOTS as u32)?;
        if self.max_guest_threads >= self.threads {
            let (own, all) = (self.max_guest_threads, self.threads);
            return Err(format!(
                "the limit of guest threads is {own}: it must be below the thread limit, {all}"
            ));
        }
        within("descriptor", self.descriptors, DomainOptions::MOST_DESCRIPTORS)?;
        within("mapping", self.mappings, DomainOptions::MOST_MAPPINGS)?;
        within("depth", depth.unwrap_or(u32::MAX), u32::MAX)?;
        if self.cpu_time.is_some_and(|limit| limit.is_zero()) {
            return Err("the CPU time limit is zero: it must be at least a nanosecond".to_owned());
        }
        Ok(())
    }
}

impl DomainOptions {
    /// The largest [`max_guest_threads`](DomainOptions::max_guest_threads): one place is the host's.
    pub const MOST_GUEST_THREADS: u32 = stack::SLOTS as u32 - 1;
    /// The [`descriptor_limit`](DomainOptions::descriptor_limit) of options that say nothing else.
    pub const DESCRIPTORS: u32 = lockgate_syscall::DESCRIPTORS;
    /// The largest one.
    pub const MOST_DESCRIPTORS: u32 = lockgate_syscall::MAX_DESCRIPTORS;
    /// The [`mapping_limit`](DomainOptions::mapping_limit) of options that say nothing else.
    pub const MAPPINGS: u32 = MAPPINGS;
    /// The largest one.
    pub const MOST_MAPPINGS: u32 = MAX_MAPPINGS;

    /// Most threads that may have a place in the domain at once, 1–63. Others get
    /// [`CallError::Threads`](crate::CallError::Threads).
    pub fn thread_limit(mut self, threads: u32) -> Self {
        self.limits.threads = threads;
        self
    }

    /// Most threads at once that the module may start itself (`pthread_create`); none by default. They count against the
    /// [thread limit](DomainOptions::thread_limit), and the domain's time limit is that of their lives. They end with the domain's
    /// handle.
    pub fn max_guest_threads(mut self, threads: u32) -> Self {
        self.limits.max_guest_threads = threads;
        self
    }

    /// Descriptors that the domain may have open at once, 1–65,536; granted streams count. The process's own limit holds, too.
    pub fn descriptor_limit(mut self, descriptors: u32) -> Self {
        self.limits.descriptors = descriptors;
        self
    }

    /// Separate mappings that the domain may have at once, 1–16,384; 1,024 by default. Beyond it `mmap`, `mprotect`, `munmap` and their like
    /// fail with `ENOMEM`. Neighbours with equal rights are one mapping; files that are mapped as shared are one each.
    ///
    /// The kernel may need two of its own for each, and a process has 65,530 (`vm.max_map_count`) for all of its domains and itself: a host
    /// that gives several domains many mappings must raise that.
    pub fn mapping_limit(mut self, mappings: u32) -> Self {
        self.limits.mappings = mappings;
        self
    }

    /// Largest number of calls, of any domains, nested in one another on a thread, this domain's included:
    /// 1 lets it be called from outside all domains only. Deeper calls get [`CallError::Depth`](crate::CallError::Depth).
    pub fn depth_limit(mut self, depth: u32) -> Self {
        self.terms.depth = Some(depth);
        self
    }

    /// CPU time that all calls of the domain may use together. Then its calls in progress end
    /// ([`FaultKind::CpuTime`](crate::FaultKind::CpuTime)), and later ones are refused
    /// ([`CallError::CpuTime`](crate::CallError::CpuTime)) until the domain is reset.
    ///
    /// Measured as by [`measure_cpu_time`](DomainOptions::measure_cpu_time), and so only a few milliseconds precise.
    pub fn cpu_limit(mut self, limit: Duration) -> Self {
        self.limits.cpu_time = Some(limit);
        self
    }

    /// Measures the CPU time that calls of the domain use ([`Usage::cpu_time`]): a sample every few milliseconds, taken by
    /// another thread. Calls pay nothing.
    pub fn measure_cpu_time(mut self) -> Self {
        self.limits.measured = true;
        self
    }

    pub(super) fn is_measured(&self) -> bool {
        self.limits.measured || self.limits.cpu_time.is_some() || environment::measures()
    }
}

/// What a domain uses at one moment.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Memory: image, stacks of all threads, heap and mappings, bytes.
    pub memory: u64,
    /// The most that it ever was since the domain's start or reset, bytes.
    pub peak_memory: u64,
    /// Its limit, bytes.
    pub memory_limit: u64,
    /// Threads that have a place in the domain.
    pub threads: u32,
    /// Open descriptors.
    pub descriptors: u32,
    /// Calls in progress, on all threads; those that wait for the host or for another domain count.
    pub calls: u32,
    /// CPU time that calls have used, host functions and system calls on the domain's behalf included, other
    /// domains' not; `None` if it is not measured.
    pub cpu_time: Option<Duration>,
}
