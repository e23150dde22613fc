//! Arguments and results, copied out of a domain's memory and into it.
use super::SyscallContext;
use super::wire::word;
use rustix::io::Errno;
use std::time::Duration;

/// Longest path that Linux takes, the terminating zero included.
const PATH_MAX: usize = 4096;
const PAGE: u64 = lockgate_abi::PAGE;

impl SyscallContext<'_> {
    /// Copies `N` bytes out of the domain.
    pub(super) fn array<const N: usize>(&self, at: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        self.memory.read(at, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies `N` 64-bit words out of the domain.
    pub(super) fn words<const N: usize>(&self, at: u64) -> Result<[u64; N], Errno> {
        let mut bytes = vec![0; N * 8];
        self.memory.read(at, &mut bytes)?;
        Ok(std::array::from_fn(|i| word(&bytes, i * 8)))
    }

    /// Copies a `struct timespec` that stands for a duration.
    pub(super) fn timespec(&self, at: u64) -> Result<Duration, Errno> {
        let [seconds, nanoseconds] = self.words(at)?;
        if (seconds as i64) < 0 || nanoseconds >= 1_000_000_000 {
            return Err(Errno::INVAL);
        }
        Ok(Duration::new(seconds, nanoseconds as u32))
    }

    /// Copies a zero-terminated path, without the zero.
    pub(super) fn path(&self, at: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        while path.len() < PATH_MAX {
            // Page by page: the page after the string's last one need not be there.
            let from = at.checked_add(path.len() as u64).ok_or(Errno::FAULT)?;
            let length = (PAGE - from % PAGE).min((PATH_MAX - path.len()) as u64) as usize;
            let start = path.len();
            path.resize(start + length, 0);
            self.memory.read(from, &mut path[start..])?;
            if let Some(end) = path[start..].iter().position(|&byte| byte == 0) {
                path.truncate(start + end);
                return Ok(path);
            }
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Copies a result into the domain; a null pointer means that the caller does not want it.
    pub(super) fn give(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        if at == 0 { Ok(()) } else { self.memory.write(at, bytes) }
    }
}
