//! Which pages of a private mapping have been written since it was made, as the kernel's page map tells.
use super::Stride;
use crate::host::{PerProcess, kept};
use lockgate_abi::PAGE;
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
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
    // "self" is who opens it: a forked child would read its parent's.
    static MAP: PerProcess<OnceLock<Option<File>>> = PerProcess::new(OnceLock::new);
    let open = || Some(File::from(kept(File::open("/proc/self/pagemap").ok()?.into()).ok()?));
    let map = MAP.get_or_init(open).as_ref().ok_or(Errno::NOSYS)?;
    scan(map, stride, range).map_or_else(|| read(map, stride, range), Ok)
}

/// Asks the kernel for just those pages (`PAGEMAP_SCAN`, Linux 6.7). `None` where it does not know the question.
fn scan(map: &File, stride: &Stride, range: &Range<u64>) -> Option<Vec<u64>> {
    /// `struct page_region` of linux/fs.h.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Region {
        start: u64,
        end: u64,
        categories: u64,
    }
    /// `struct pm_scan_arg`.
    #[repr(C)]
    #[derive(Default)]
    struct Argument {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        regions: u64,
        region_count: u64,
        max_pages: u64,
        inverted: u64,
        all_of: u64,
        any_of: u64,
        returned: u64,
    }
    const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
    const IS_FILE: u64 = 1 << 2;
    const IS_PRESENT: u64 = 1 << 3;
    const IS_SWAPPED: u64 = 1 << 4;
    const REGIONS: usize = 32;

    let mut found = Vec::new();
    let mut regions = [Region::default(); REGIONS];
    let end = stride.base() + range.end;
    let mut at = stride.base() + range.start;
    while at < end {
        let mut argument = Argument {
            size: size_of::<Argument>() as u64,
            start: at,
            end,
            regions: regions.as_mut_ptr() as u64,
            region_count: REGIONS as u64,
            inverted: IS_FILE,
            all_of: IS_FILE,
            any_of: IS_PRESENT | IS_SWAPPED,
            returned: IS_PRESENT | IS_SWAPPED,
            ..Argument::default()
        };
        // SAFETY: the kernel reads the argument, writes its `walk_end`, and at most REGIONS regions.
        let count = unsafe { libc::ioctl(map.as_raw_fd(), PAGEMAP_SCAN, &raw mut argument) };
        let count = usize::try_from(count).ok()?;
        for region in &regions[..count] {
            let pages = region.start - stride.base()..region.end - stride.base();
            found.extend(pages.step_by(PAGE as usize));
        }
        if argument.walk_end <= at {
            return None;
        }
        at = argument.walk_end;
    }
    Some(found)
}

/// Reads the entry of every page.
fn read(map: &File, stride: &Stride, range: &Range<u64>) -> Result<Vec<u64>, Errno> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Backing;
    use lockgate_abi::window;
    use rustix::mm::ProtFlags;

    #[test]
    fn both_ways_find_the_pages_that_were_written() {
        let stride = Stride::take().expect("a stride");
        let range = window::IMAGE..window::IMAGE + 200 * PAGE;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        stride.map(range.start, range.end - range.start, rights, Backing::Anonymous).expect("memory");
        let pages: Vec<u64> =
            (0..200).filter(|n| n % 3 == 0 || *n > 190).map(|n| range.start + n * PAGE).collect();
        for page in &pages {
            stride.write(page + 8, &[1]).expect("writable");
        }
        let map = File::open("/proc/self/pagemap").expect("/proc is mounted");
        assert_eq!(read(&map, &stride, &range), Ok(pages.clone()));
        if let Some(found) = scan(&map, &stride, &range) {
            assert_eq!(found, pages);
        }
    }
}
