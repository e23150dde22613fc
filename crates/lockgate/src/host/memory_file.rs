//! Files in memory that the library makes for itself.
use super::kept;
use rustix::fs::{self, MemfdFlags};
use rustix::io::Errno;
use rustix::process::Resource;
use std::os::fd::OwnedFd;

/// One of `size` bytes of zeros. Of `flags` those in `wanted` are left out where the kernel does not know them.
///
/// # Errors
/// The kernel's: no memory, no descriptors, `memfd_create` forbidden. `EFBIG` if the process may not make files of that size
/// (`RLIMIT_FSIZE`, which counts for these, too): the kernel would end it by SIGXFSZ.
pub(crate) fn memory_file(
    name: &str,
    flags: MemfdFlags,
    wanted: MemfdFlags,
    size: u64,
) -> Result<OwnedFd, Errno> {
    if lockgate_kernel::limit(Resource::Fsize).is_some_and(|limit| limit < size) {
        return Err(Errno::FBIG);
    }
    let flags = flags | MemfdFlags::CLOEXEC;
    let file = kept(fs::memfd_create(name, flags | wanted).or_else(|_| fs::memfd_create(name, flags))?)?;
    fs::ftruncate(&file, size)?;
    Ok(file)
}
