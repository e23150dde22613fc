//! A domain's 8 GiB of address space: reserved as a whole before anything is mapped in it, never
//! unmapped (rule R1).
use lockgate_abi::{PAGE, window};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::copy_asm::{lockgate_blank, lockgate_copy, lockgate_load, lockgate_touch};
use crate::host::{PerProcess, peek, process};
use crate::syscall::Protection;

/// Strides reserved with one kernel call; neighbours merge into one kernel mapping.
const RESERVED_AT_ONCE: u64 = 16;

/// Index of the last stride that fits in 47 bits, plus one: also the number of entries of slot tables.
pub(crate) const MAX_STRIDES: usize = ((1_u64 << 47) / window::STRIDE) as usize;

/// Strides that no domain uses, as window bases.
static FREE: PerProcess<Mutex<Vec<u64>>> = PerProcess::new(Mutex::default);

/// Strides that were reserved with one call. A forked child has its parent's, too, and uses none of them: what was bound in the
/// parent finds no domain there, as little as memory.
struct Run {
    start: AtomicU64,
    end: AtomicU64,
    process: AtomicU64,
}

/// Every run that was ever reserved, in the order of that: they are never given back.
static RUNS: [Run; MAX_STRIDES] =
    [const { Run { start: AtomicU64::new(0), end: AtomicU64::new(0), process: AtomicU64::new(0) } };
        MAX_STRIDES];
/// How many there are. Changed under the lock of [`FREE`].
static RUN_COUNT: AtomicUsize = AtomicUsize::new(0);

fn runs() -> &'static [Run] {
    &RUNS[..RUN_COUNT.load(Ordering::Acquire)]
}

/// True if `address` lies in a stride that a parent of this process has reserved. Async-signal-safe.
pub(crate) fn is_inherited(address: u64) -> bool {
    let here =
        |run: &&Run| (run.start.load(Ordering::Relaxed)..run.end.load(Ordering::Relaxed)).contains(&address);
    runs().iter().find(here).is_some_and(|run| run.process.load(Ordering::Relaxed) != peek())
}

/// In a forked child: lets go of the memory of its parent's domains. Their place in the address space stays reserved (rule R1).
pub(crate) fn abandon() {
    for run in runs() {
        let (start, end) = (run.start.load(Ordering::Relaxed), run.end.load(Ordering::Relaxed));
        if !blot_out(start, end - start) {
            // Something in it is sealed for good; that cannot be entered, either: what leads there was made in the parent.
            for at in (start..end).step_by(window::STRIDE as usize) {
                blot_out(at, window::STRIDE);
            }
        }
    }
}

fn blot_out(start: u64, length: u64) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    let (at, none) = (start as *mut c_void, ProtFlags::empty());
    // SAFETY: strides of the parent's, in which nothing runs and no Rust object lives.
    let done = unsafe { mm::mmap_anonymous(at, length as usize, none, flags) };
    hide_from_cores(at, length);
    done.is_ok()
}

/// One stride in use. Everything that is mapped in it goes through these methods, which keep to its bounds;
/// no Rust reference ever points into it.
#[derive(Debug)]
pub(crate) struct Stride {
    base: u64,
    /// Sealed mappings can never be replaced: the stride is not used again.
    retired: AtomicBool,
    /// Who has taken it.
    process: u64,
}

/// What backs a mapping.
#[derive(Clone, Copy)]
pub(crate) enum Backing<'a> {
    /// Zeros.
    Anonymous,
    /// A sealed file from an offset, private.
    File(BorrowedFd<'a>, u64),
    /// A file of the module's own from an offset, shared with whoever else has it open.
    Shared(BorrowedFd<'a>, u64),
}

impl Stride {
    /// Takes a free stride, or reserves more of them.
    ///
    /// # Errors
    /// `ENOMEM` if the process has no address space or no kernel mappings left.
    pub fn take() -> Result<Stride, Errno> {
        let mut free = FREE.lock().unwrap_or_else(|e| e.into_inner());
        if free.is_empty() {
            reserve(&mut free)?;
        }
        let base = free.pop().ok_or(Errno::NOMEM)?;
        Ok(Stride { base, retired: AtomicBool::new(false), process: process() })
    }

    /// `W`.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Which of the [`MAX_STRIDES`] places in the address space it has: unique among living domains.
    pub fn index(&self) -> u32 {
        index_of(self.base)
    }

    /// Maps `[offset, offset + length)` over whatever is there.
    ///
    /// # Errors
    /// The kernel's, `ENOMEM` mostly.
    pub fn map(
        &self,
        offset: u64,
        length: u64,
        access: ProtFlags,
        backing: Backing<'_>,
    ) -> Result<(), Errno> {
        let at = self.address(offset, length);
        let sharing = match backing {
            Backing::Shared(..) => MapFlags::SHARED,
            _ => MapFlags::PRIVATE,
        };
        let flags = sharing | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: the range lies in this stride, which is ours alone; no Rust object lives there.
        unsafe {
            match backing {
                Backing::Anonymous => mm::mmap_anonymous(at, length as usize, access, flags)?,
                Backing::File(file, from) | Backing::Shared(file, from) => {
                    mm::mmap(at, length as usize, access, flags, file, from)?
                }
            };
        }
        Ok(())
    }

    /// Makes `[offset, offset + length)` inaccessible again; its contents are gone.
    ///
    /// # Errors
    /// The kernel's.
    pub fn clear(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let empty = || self.map(offset, length, ProtFlags::empty(), Backing::Anonymous);
        let hide = || hide_from_cores(self.address(offset, length), length);
        match empty() {
            // A process with a kernel mapping too many gets no other, not even one in place of three. It may change
            // rights, and neighbours with equal ones become one mapping.
            Err(Errno::NOMEM) => {
                self.protect(offset, length, Protection::None)?;
                hide();
                empty()?;
            }
            done => done?,
        }
        hide();
        Ok(())
    }

    /// Changes the rights of mapped pages.
    ///
    /// # Errors
    /// The kernel's.
    pub fn protect(&self, offset: u64, length: u64, access: Protection) -> Result<(), Errno> {
        let flags = match access {
            Protection::None => MprotectFlags::empty(),
            Protection::Read => MprotectFlags::READ,
            Protection::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
        };
        // SAFETY: as in `map`.
        unsafe { mm::mprotect(self.address(offset, length), length as usize, flags) }
    }

    /// Makes written pages code, which nobody writes to any more: those of a verified image.
    ///
    /// # Errors
    /// The kernel's.
    pub fn execute(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let flags = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: as in `map`.
        unsafe { mm::mprotect(self.address(offset, length), length as usize, flags) }
    }

    /// Lets the pages read as their backing again: zeros, or the file.
    ///
    /// # Errors
    /// The kernel's.
    pub fn discard(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: as in `map`; private pages are dropped, nothing else changes.
        unsafe { mm::madvise(self.address(offset, length), length as usize, Advice::LinuxDontNeed) }
    }

    /// Moves the pages of `[from, from + length)` to `to`; what they leave stays mapped, empty.
    ///
    /// # Errors
    /// The kernel's.
    pub fn relocate(&self, from: u64, to: u64, length: u64) -> Result<(), Errno> {
        let (from, to) = (self.address(from, length), self.address(to, length));
        let flags = MremapFlags::MAYMOVE | MremapFlags::DONTUNMAP;
        // SAFETY: both ranges lie in this stride; DONTUNMAP leaves no hole behind (rule R1).
        unsafe { mm::mremap_fixed(from, length as usize, length as usize, flags, to)? };
        Ok(())
    }

    /// Copies `[from, from + length)` to `to`; the two do not overlap.
    ///
    /// # Errors
    /// `EFAULT` if a page cannot be read or written.
    pub fn copy(&self, from: u64, to: u64, length: u64) -> Result<(), Errno> {
        let (from, to) = (self.address(from, length), self.address(to, length));
        // SAFETY: both ranges lie in this stride, which is ours alone; a fault there ends the copy.
        let left = unsafe { lockgate_copy(to, from, length as usize) };
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Has a forked child find zeros in mapped pages: whoever returns there, in a child that has not noticed that it is one, faults.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wipe_in_children(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: changes nothing here.
        unsafe { mm::madvise(self.address(offset, length), length as usize, Advice::LinuxWipeOnFork) }
    }

    /// Moves a mapping of the host's, `length` bytes at `from`, over `[offset, offset + length)`. If that fails the place is
    /// inaccessible, and the mapping may be gone.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Safety
    /// The mapping at `from` is the caller's own, and nothing refers to it.
    pub unsafe fn adopt(&self, from: *mut c_void, offset: u64, length: u64) -> Result<(), Errno> {
        let (to, size) = (self.address(offset, length), length as usize);
        // SAFETY: the source is the caller's to give; the target is as in `map`.
        let moved = unsafe { mm::mremap_fixed(from, size, size, MremapFlags::MAYMOVE, to) };
        if moved.is_err() {
            // The kernel may have emptied the place before it failed: no hole stays (rule R1).
            self.clear(offset, length)?;
        }
        moved.map(|_| ())
    }

    /// Forbids every later change of the mapping for good, where the kernel can (Linux 6.10). The stride is
    /// not used again.
    pub fn seal(&self, offset: u64, length: u64) -> bool {
        const MSEAL: libc::c_long = 462;
        let at = self.address(offset, length);
        // SAFETY: mseal changes no memory; the range is ours.
        let sealed = unsafe { libc::syscall(MSEAL, at, length, 0) } == 0;
        self.retired.fetch_or(sealed, Ordering::Relaxed);
        sealed
    }

    /// Copies out of the window; stops at the first page that cannot be read.
    ///
    /// # Errors
    /// `EFAULT`.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from = self.window_address(offset, into.len())?;
        // SAFETY: `into` is ours; faults on the window's side end the copy.
        let left = unsafe { lockgate_copy(into.as_mut_ptr().cast(), from, into.len()) };
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Copies 8-byte words out of the stride, control stacks included.
    ///
    /// # Errors
    /// `EFAULT`, if any cannot be read.
    pub fn read_words(&self, offset: u64, count: usize) -> Result<Box<[u64]>, Errno> {
        let length = count.checked_mul(size_of::<u64>()).ok_or(Errno::FAULT)?;
        match offset.checked_add(length as u64) {
            Some(end) if end <= window::STRIDE => {}
            _ => return Err(Errno::FAULT),
        }
        let mut words = vec![0_u64; count].into_boxed_slice();
        // SAFETY: `words` is ours; faults on the stride's side end the copy.
        let left = unsafe {
            let from = (self.base + offset) as *const c_void;
            lockgate_copy(words.as_mut_ptr().cast(), from, length)
        };
        if left == 0 { Ok(words) } else { Err(Errno::FAULT) }
    }

    /// Copies into the window; stops at the first page that cannot be written.
    ///
    /// # Errors
    /// `EFAULT`.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let to = self.window_address(offset, bytes.len())?;
        // SAFETY: `bytes` is ours; faults on the window's side end the copy.
        let left = unsafe { lockgate_copy(to, bytes.as_ptr().cast(), bytes.len()) };
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Whether every byte of a part of the window can be read, and written if `writable`. Nothing changes.
    ///
    /// # Errors
    /// `EFAULT` if not.
    pub fn probe(&self, offset: u64, length: usize, writable: bool) -> Result<(), Errno> {
        let first = self.window_address(offset, length)? as usize;
        let end = first + length;
        let pages = (first & !(PAGE as usize - 1)..end).step_by(PAGE as usize).map(|page| page.max(first));
        for at in pages {
            let mut byte = 0_u8;
            // SAFETY: inside the window; faults end the copy and the touch, which change nothing of the domain's.
            let reached = unsafe {
                let at = at as *mut c_void;
                match writable {
                    true => lockgate_touch(at) != 0,
                    false => lockgate_copy((&raw mut byte).cast(), at, 1) == 0,
                }
            };
            if !reached {
                return Err(Errno::FAULT);
            }
        }
        Ok(())
    }

    /// Fills pages of the stride with zeros.
    ///
    /// # Errors
    /// `EFAULT` if one cannot be written.
    pub fn blank(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let to = self.address(offset, length);
        // SAFETY: pages of this stride, which is ours alone; a fault there ends it.
        let left = unsafe { lockgate_blank(to, length as usize) };
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Loads an aligned word of the window in one access.
    ///
    /// # Errors
    /// `EINVAL` if it is not aligned, `EFAULT` if it cannot be read.
    pub fn load_u32(&self, offset: u64) -> Result<u32, Errno> {
        let at = self.window_address(offset, 4)?;
        if !offset.is_multiple_of(4) {
            return Err(Errno::INVAL);
        }
        // SAFETY: the load is aligned, and a fault comes back as `ok == 0`.
        let loaded = unsafe { lockgate_load(at.cast()) };
        if loaded.ok == 0 { Err(Errno::FAULT) } else { Ok(loaded.word as u32) }
    }

    fn address(&self, offset: u64, length: u64) -> *mut c_void {
        let end = offset.checked_add(length).expect("a range of the stride");
        assert!(
            end <= window::STRIDE && offset.is_multiple_of(PAGE),
            "a range of the stride: {offset:#x}+{length:#x}"
        );
        (self.base + offset) as *mut c_void
    }

    fn window_address(&self, offset: u64, length: usize) -> Result<*mut c_void, Errno> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= window::SIZE => Ok((self.base + offset) as *mut c_void),
            _ => Err(Errno::FAULT),
        }
    }
}

impl Drop for Stride {
    fn drop(&mut self) {
        if self.process != peek() {
            return; // a parent's, which this process let go of when it began
        }
        // One call gives every page back and leaves the reservation. If the kernel refuses (or parts are
        // sealed), the stride is lost, never handed out with old contents.
        if !*self.retired.get_mut() && self.clear(0, window::STRIDE).is_ok() {
            FREE.lock().unwrap_or_else(|e| e.into_inner()).push(self.base);
        }
    }
}

/// The index of the stride that `address` lies in.
pub(crate) fn index_of(address: u64) -> u32 {
    (address / window::STRIDE) as u32
}

/// True if any byte of `range` lies in a stride, in use or not.
pub(crate) fn in_a_stride(range: &Range<u64>) -> bool {
    runs().iter().any(|run| {
        range.start < run.end.load(Ordering::Relaxed) && run.start.load(Ordering::Relaxed) < range.end
    })
}

/// Keeps inaccessible memory out of core files: the kernel writes none of it anyway, but gdb's `gcore` would write
/// thousands of megabytes of zeros for each domain. All of it is marked, so that neighbours stay one kernel mapping.
fn hide_from_cores(at: *mut c_void, length: u64) {
    // SAFETY: changes nothing that a program can see.
    let marked = unsafe { mm::madvise(at, length as usize, Advice::LinuxDontDump) };
    debug_assert!(marked.is_ok());
}

/// Reserves a run of strides, inaccessible and unaccounted.
fn reserve(free: &mut Vec<u64>) -> Result<(), Errno> {
    let mut count = RESERVED_AT_ONCE;
    let (start, length) = loop {
        let length = (count + 1) * window::STRIDE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        match unsafe { mm::mmap_anonymous(std::ptr::null_mut(), length as usize, ProtFlags::empty(), flags) }
        {
            Ok(at) => break (at as u64, length),
            Err(_) if count > 1 => count /= 2,
            Err(error) => return Err(error),
        }
    };
    hide_from_cores(start as *mut c_void, length);
    let first = start.next_multiple_of(window::STRIDE);
    let end = first + count * window::STRIDE;
    // SAFETY: both remainders belong to the reservation just made and to no stride.
    unsafe {
        if first > start {
            mm::munmap(start as *mut c_void, (first - start) as usize)?;
        }
        if start + length > end {
            mm::munmap(end as *mut c_void, (start + length - end) as usize)?;
        }
    }
    let number = RUN_COUNT.load(Ordering::Relaxed);
    RUNS[number].start.store(first, Ordering::Relaxed);
    RUNS[number].end.store(end, Ordering::Relaxed);
    RUNS[number].process.store(process(), Ordering::Relaxed);
    RUN_COUNT.store(number + 1, Ordering::Release);
    // Popped from the end: upwards, so that a program with few domains keeps them together.
    free.extend((0..count).rev().map(|i| first + i * window::STRIDE));
    Ok(())
}
