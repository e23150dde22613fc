//! The memory behind a region, as the host sees it, and how it gets into a window.
use super::{GrantError, Rights};
use crate::call;
use crate::copy_asm::{copy_from_host, copy_to_host, lockgate_load, lockgate_store};
use crate::host::maps::mapping_at;
use crate::space::{Staged, Stride, in_a_stride};
use crate::stats;
use lockgate_kernel::has_page_cache;
use lockgate_syscall::Protection;
use lockgate_syscall::pseudo_file_system;
use rustix::fs::{self, FileType, OFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use rustix::thread::futex::Timespec;
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// Pages that the host has mapped, shared, and can map again.
#[derive(Debug)]
pub(super) struct Memory {
    at: *mut c_void,
    length: u64,
    rights: Rights,
    source: Source,
}

/// Where further mappings of the same pages come from.
#[derive(Debug)]
enum Source {
    /// A file, from an offset.
    File(OwnedFd, u64),
    /// The host's own mapping.
    Mapping,
}

// SAFETY: the pages are reached by guarded copies and single accesses of words only; no reference into them exists.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `length` bytes of zeros, whole pages. No file is behind them: a host that clients make have many regions does not run
    /// out of descriptors, and no other process finds a file to open, to truncate or to write under `/proc/PID/fd`.
    pub fn new(length: u64) -> Result<Memory, GrantError> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { mm::mmap_anonymous(ptr::null_mut(), length as usize, access, flags) };
        let at = at.map_err(GrantError::system("map the region"))?;
        Ok(Memory { at, length, rights: Rights::ReadWrite, source: Source::Mapping })
    }

    /// `length` bytes of a file from an offset, both whole pages.
    pub fn of_file(
        file: BorrowedFd<'_>,
        from: u64,
        length: u64,
        rights: Rights,
    ) -> Result<Memory, GrantError> {
        let ask = || GrantError::system("ask for the file's properties");
        let stat = fs::fstat(file).map_err(ask())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(GrantError::File { what: "it is no ordinary file" });
        }
        if pseudo_file_system(file).map_err(ask())?.is_some() {
            return Err(GrantError::File { what: "it lies on a file system of the kernel's own making" });
        }
        if !has_page_cache(file).map_err(ask())? {
            return Err(GrantError::File {
                what: "it lies on a file system that may refuse to map it, or never bring a page",
            });
        }
        if from.checked_add(length).is_none_or(|end| end > stat.st_size as u64) {
            return Err(GrantError::File { what: "the range ends beyond the end of the file" });
        }
        let flags = fs::fcntl_getfl(file).map_err(ask())?;
        if flags.contains(OFlags::PATH) {
            return Err(GrantError::File { what: "it is not open: O_PATH only says which file it is" });
        }
        if flags & OFlags::RWMODE == OFlags::WRONLY {
            return Err(GrantError::File { what: "it is open for writing only, and what is mapped is read" });
        }
        let upgrade = GrantError::Upgrade { asked: rights, held: Rights::Read };
        if flags & OFlags::RWMODE == OFlags::RDONLY && rights > Rights::Read {
            return Err(upgrade);
        }
        let file = file.try_clone_to_owned();
        let file = file.map_err(|source| GrantError::System { what: "keep the descriptor", source })?;
        let access = match rights {
            Rights::Read => ProtFlags::READ,
            Rights::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { mm::mmap(ptr::null_mut(), length as usize, access, MapFlags::SHARED, &file, from) };
        let at = match at {
            // A seal (`F_SEAL_WRITE`, `F_SEAL_FUTURE_WRITE`).
            Err(Errno::PERM) if rights > Rights::Read => return Err(upgrade),
            at => at.map_err(GrantError::system("map the region"))?,
        };
        Ok(Memory { at, length, rights, source: Source::File(file, from) })
    }

    /// A second mapping of the host's pages `[at, at + length)`.
    ///
    /// # Safety
    /// As for [`super::Region::from_host`].
    pub unsafe fn of_host(at: *mut c_void, length: u64, rights: Rights) -> Result<Memory, GrantError> {
        let start = at as u64;
        let end = start.checked_add(length).ok_or(GrantError::NotMapped { at: start, length })?;
        if in_a_stride(&(start..end)) {
            return Err(GrantError::Window { at: start });
        }
        // The calls' own code, and what other processes read about them.
        if call::is_code(&(start..end)) || stats::is_table(&(start..end)) {
            return Err(GrantError::NotMapped { at: start, length });
        }
        // The kernel itself would go on beyond the end of the mapping, with what the file has there.
        let mapping = mapping_at(start)
            .map_err(|source| GrantError::System { what: "read /proc/self/maps", source })?
            .filter(|mapping| end <= mapping.range.end)
            .ok_or(GrantError::NotMapped { at: start, length })?;
        if !mapping.is_shared() {
            return Err(GrantError::Private { at: start });
        }
        // SAFETY: the caller's promise; the original mapping stays as it is.
        let alias = unsafe { second_mapping(at, length) };
        let at = alias.map_err(GrantError::system("map the memory a second time"))?;
        let memory = Memory { at, length, rights, source: Source::Mapping };
        // Huge pages do not pass here, unless all of the length is such: the kernel cannot give rights to a part of one.
        match protect(at, length, rights) {
            Ok(()) => Ok(memory),
            Err(Errno::ACCESS) => Err(GrantError::Upgrade { asked: rights, held: Rights::Read }),
            Err(error) => Err(GrantError::system("set the rights of the memory")(error)),
        }
    }

    /// Where the host has it.
    pub fn address(&self) -> *mut u8 {
        self.at.cast()
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What the host itself may do with it.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Maps it into a window at `offset`. It is never there with more than `rights`, not for a moment.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map_into(&self, stride: &Stride, offset: u64, rights: Rights) -> Result<(), Errno> {
        let access = match rights {
            Rights::Read => ProtFlags::READ,
            Rights::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        let staged = match &self.source {
            Source::File(file, from) => Staged::shared(self.length, access, file.as_fd(), *from)?,
            Source::Mapping => {
                // SAFETY: the alias is our own mapping, and so is the second one.
                let staged = unsafe {
                    let at = second_mapping(self.at, self.length)?;
                    Staged::of_host(at, self.length)
                };
                protect(staged.at(), self.length, rights)?;
                staged
            }
        };
        stride.adopt(staged, offset)
    }

    /// Copies `into.len()` bytes out, each byte once.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), GrantError> {
        let from = self.part(at, into.len() as u64)?;
        // SAFETY: `into` is ours; the source lies in the mapping, and a fault there ends the copy.
        let left = unsafe { copy_to_host(into, from) };
        self.done(left == 0, at, into.len(), Rights::Read)
    }

    /// Copies `bytes` in.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<(), GrantError> {
        let to = self.part(at, bytes.len() as u64)?;
        self.allow_writing()?;
        // SAFETY: `bytes` is ours; the target lies in the mapping, and a fault there ends the copy.
        let left = unsafe { copy_from_host(to, bytes) };
        self.done(left == 0, at, bytes.len(), Rights::ReadWrite)
    }

    /// Loads the aligned word at `at` before all later accesses.
    pub fn load(&self, at: u64) -> Result<u32, GrantError> {
        let from = self.part(at, 4)?;
        // SAFETY: inside the mapping, aligned by the caller; a fault comes back as `ok == 0`.
        let loaded = unsafe { lockgate_load(from.cast()) };
        self.done(loaded.ok != 0, at, 4, Rights::Read)?;
        Ok(loaded.word as u32)
    }

    /// Stores the aligned word at `at` after all earlier accesses.
    pub fn store(&self, at: u64, word: u32) -> Result<(), GrantError> {
        let to = self.part(at, 4)?;
        self.allow_writing()?;
        // SAFETY: inside the mapping, aligned by the caller; a fault comes back as 0.
        let stored = unsafe { lockgate_store(to.cast(), word) };
        self.done(stored != 0, at, 4, Rights::ReadWrite)
    }

    /// Sleeps while the aligned word at `at` is `value`, until it is woken, by whichever process or domain, or so long at most. False if that time
    /// is over.
    ///
    /// # Errors
    /// The kernel's, too.
    pub fn wait(&self, at: u64, value: u32, left: Option<Duration>) -> Result<bool, GrantError> {
        let word = self.part(at, 4)?;
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let left = left.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the kernel compares a word of our mapping, as an access of its own; the time lives until it is over.
        match unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, value, left) } {
            0 => Ok(true),
            _ => match Errno::from_io_error(&std::io::Error::last_os_error()) {
                Some(Errno::AGAIN | Errno::INTR) => Ok(true),
                Some(Errno::TIMEDOUT) => Ok(false),
                Some(Errno::FAULT) => Err(GrantError::Lost { at, size: 4, rights: Rights::Read }),
                error => {
                    Err(GrantError::system("sleep at a word of the region")(error.unwrap_or(Errno::INVAL)))
                }
            },
        }
    }

    /// Wakes so many that sleep at the aligned word at `at`; returns how many.
    ///
    /// # Errors
    /// `EFAULT`: no memory is behind it.
    pub fn wake(&self, at: u64, most: usize) -> Result<usize, Errno> {
        let word = self.part(at, 4).map_err(|_| Errno::FAULT)?;
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        // SAFETY: the kernel looks at no bytes, only for what is mapped there.
        match unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, most) } {
            woken @ 0.. => Ok(woken as usize),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
        }
    }

    fn part(&self, at: u64, size: u64) -> Result<*mut c_void, GrantError> {
        match at.checked_add(size) {
            Some(end) if end <= self.length => Ok(self.at.wrapping_byte_add(at as usize)),
            _ => Err(GrantError::Range { at, size, length: self.length }),
        }
    }

    fn allow_writing(&self) -> Result<(), GrantError> {
        match self.rights {
            Rights::ReadWrite => Ok(()),
            held => Err(GrantError::Upgrade { asked: Rights::ReadWrite, held }),
        }
    }

    fn done(&self, done: bool, at: u64, size: usize, rights: Rights) -> Result<(), GrantError> {
        if done { Ok(()) } else { Err(GrantError::Lost { at, size: size as u64, rights }) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping; slices and rings keep the region, so no thread copies any more.
        let unmapped = unsafe { mm::munmap(self.at, self.length as usize) };
        // It costs address space at worst.
        let _ = unmapped;
    }
}

/// Maps the pages of a shared mapping, or a part of it, a second time, where the kernel likes (mremap(2): `old_size` 0).
unsafe fn second_mapping(at: *mut c_void, length: u64) -> Result<*mut c_void, Errno> {
    // SAFETY: leaves what is at `at` as it is.
    unsafe { mm::mremap(at, 0, length as usize, MremapFlags::MAYMOVE) }
}

fn protect(at: *mut c_void, length: u64, rights: Rights) -> Result<(), Errno> {
    let flags = match rights {
        Rights::Read => MprotectFlags::READ,
        Rights::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
    };
    // SAFETY: only for mappings that `second_mapping` has just made.
    unsafe { mm::mprotect(at, length as usize, flags) }
}

/// What the memory services call the same rights.
impl From<Rights> for Protection {
    fn from(rights: Rights) -> Protection {
        match rights {
            Rights::Read => Protection::Read,
            Rights::ReadWrite => Protection::ReadWrite,
        }
    }
}
