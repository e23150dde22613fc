//! Which pages of a private mapping have been written since it was made, as the kernel's page map tells.
use super::Stride;
use lockgate_abi::PAGE;
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

// Bits of an entry (Linux, Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// A page of the file behind the mapping, not a copy.
const OF_FILE: u64 = 1 << 61;

/// Window offsets of the pages in `range` that hold a copy of their own.
///
/// # Errors
/// `ENOSYS` where the kernel has no page map for this process.
pub(crate) fn written(stride: &Stride, range: &Range<u64>) -> Result<Vec<u64>, Errno> {
    static MAP: OnceLock<Option<File>> = OnceLock::new();
    let map = MAP.get_or_init(|| File::open("/proc/self/pagemap").ok()).as_ref().ok_or(Errno::NOSYS)?;
    let count = (range.end - range.start) / PAGE;
    let mut entries = vec![0; count as usize * 8];
    map.read_exact_at(&mut entries, (stride.base() + range.start) / PAGE * 8).map_err(|_| Errno::NOSYS)?;
    let own = |entry: u64| entry & (PRESENT | SWAPPED) != 0 && entry & OF_FILE == 0;
    Ok(entries
        .chunks_exact(8)
        .zip((range.start..).step_by(PAGE as usize))
        .filter(|(bytes, _)| own(u64::from_le_bytes((*bytes).try_into().expect("eight bytes"))))
        .map(|(_, at)| at)
        .collect())
}
