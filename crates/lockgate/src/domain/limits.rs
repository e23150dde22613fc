//! What a domain may use beyond memory, and what it uses (docs/limits.md).
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
    /// Of a call that goes on without its caller; none does if that is zero.
    pub detached: Duration,
}

/// [`Limits::detached`] where nothing is said.
const DETACHED: Duration = Duration::from_secs(60);

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            threads: stack::SLOTS as u32,
            max_guest_threads: 0,
            descriptors: lockgate_syscall::DESCRIPTORS,
            mappings: MAPPINGS,
            cpu_time: None,
            measured: false,
            detached: DETACHED,
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
        within("descriptor", self.descriptors, lockgate_syscall::MAX_DESCRIPTORS)?;
        within("mapping", self.mappings, MAX_MAPPINGS)?;
        within("depth", depth.unwrap_or(u32::MAX), u32::MAX)?;
        if self.cpu_time.is_some_and(|limit| limit.is_zero()) {
            return Err("the CPU time limit is zero: it must be at least a nanosecond".to_owned());
        }
        Ok(())
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
    /// Calls in progress that go on without their callers ([`Expiry::Detach`](crate::Expiry::Detach)).
    pub detached: u32,
    /// Those that have ended since the domain's start or reset.
    pub detached_ended: u64,
    /// Those of them that did not return: [`Domain::detached_fault`](crate::Domain::detached_fault) is the last fault among them.
    pub detached_failed: u64,
    /// So many of them, in the order in which their callers have left them, have all ended. A caller that gets
    /// [`CallError::Detached`](crate::CallError::Detached) and reads `detached + detached_ended` knows that its own call is among so many: once this is
    /// as much, the call has ended, and what was made in the domain for it can be freed.
    pub detached_settled: u64,
}
