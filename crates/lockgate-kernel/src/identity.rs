//! Whether two names, or descriptors, are those of one file.
use rustix::fs::Stat;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A file, whatever it is called: its device and inode. True as long as the file has a name or is open: the kernel uses numbers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Identity {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}
