//! File systems of the kernel's own.
use rustix::fd::AsFd;
use rustix::io::Errno;

/// Magic numbers (linux/magic.h) of file systems of the kernel's own that keep their pages in its page cache, on this machine, and map any
/// part of a file of theirs at any page.
///
/// What is on no list is refused: a file system of some process (FUSE) may refuse a mapping, or let a thread wait for a page
/// without end, where no time limit can reach it; so may a server far away (NFS, 9p, CIFS); hugetlbfs has pages of another size.
const GOOD: [u64; 13] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
    0x0102_1994, // tmpfs, memory files
    0x8584_58f6, // ramfs
    0x794c_7630, // overlayfs: what containers have over one of these; the kernel does not tell over which, so the mounting administrator answers for it
    0xe0f5_e1e2, // EROFS
    0x7371_7368, // SquashFS
    0x9660,      // ISO 9660
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
];

/// Whether the file's pages are in the kernel's page cache: it may be mapped shared into windows, and no read or write of it waits for another process,
/// or holds pages of memory meanwhile.
///
/// # Errors
/// The kernel's.
pub fn has_page_cache(file: impl AsFd) -> Result<bool, Errno> {
    let magic = rustix::fs::fstatfs(file)?.f_type as u64;
    Ok(GOOD.contains(&magic))
}
