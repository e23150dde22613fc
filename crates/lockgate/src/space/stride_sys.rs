//! A domain's 8 GiB of address space: reserved as a whole before anything is mapped in it, never
//! unmapped (rule R1).
use lockgate_abi::{PAGE, window};
use lockgate_kernel::has_page_cache;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::ffi::c_void;
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::ranges::Ranges;
use crate::copy_asm::{
    copy_from_host, copy_to_host, lockgate_blank, lockgate_copy, lockgate_load, lockgate_touch,
};
use crate::host::maps::{Mapping, mappings};
use crate::host::{Owner, PerProcess, end_process, locked, peek, process};
use lockgate_syscall::Protection;

/// Strides reserved with one kernel call; neighbours merge into one kernel mapping.
const RESERVED_AT_ONCE: u64 = 16;

/// Index of the last stride that fits in 47 bits, plus one: also the number of entries of slot tables.
pub(crate) const MAX_STRIDES: usize = ((1_u64 << 47) / window::STRIDE) as usize;

/// Strides that no domain uses, as window bases.
static FREE: PerProcess<Mutex<Vec<u64>>> = PerProcess::new(Mutex::default);

/// Strides that were reserved with one call, and the guards around them. A forked child has its parent's, too, and uses none of them: what was bound in the
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
        // SAFETY: strides of the parent's, in which nothing runs.
        let blot_out = |at: u64, length| unsafe { blot_out(at as *mut c_void, length) }.is_ok();
        if !blot_out(start, end - start) {
            // Something in it is sealed for good; that cannot be entered, either: what leads there was made in the parent.
            for at in (start..end).step_by(window::STRIDE as usize) {
                blot_out(at, window::STRIDE.min(end - at));
            }
        }
    }
}

/// Puts the reservation's own memory, inaccessible and without contents, over whatever is there.
///
/// # Errors
/// The kernel's; older ones may have emptied the place all the same ([`Stride::refused`]).
///
/// # Safety
/// The range lies in strides, and no thread uses what is there any more.
unsafe fn blot_out(at: *mut c_void, length: u64) -> Result<(), Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller's promise; no Rust object lives in strides.
    unsafe { mm::mmap_anonymous(at, length as usize, ProtFlags::empty(), flags)? };
    hide_from_cores(at, length);
    Ok(())
}

/// False if the kernel would not make a reservation one mapping for good ([`unite`]): pieces of it that were apart may then
/// stay apart.
static UNITED: AtomicBool = AtomicBool::new(true);

/// One stride in use. Everything that is mapped in it goes through these methods, which keep to its bounds;
/// no Rust reference ever points into it.
///
/// Its own memory is never mapped again, only opened and closed by rights: no such change leaves a hole, whatever becomes of it.
/// What takes the place of a part of it is made elsewhere first (docs/decisions/0058-nothing-that-can-fail-runs-over-the-reservation.md).
#[derive(Debug)]
pub(crate) struct Stride {
    base: u64,
    /// Sealed mappings can never be replaced: the stride is not used again.
    retired: AtomicBool,
    /// Where files are, or were in the case of a failure, and not the reservation's own memory.
    files: Mutex<Ranges>,
    /// Who has taken it.
    owner: Owner,
}

/// What backs a mapping.
#[derive(Clone, Copy)]
pub(crate) enum Backing<'a> {
    /// Zeros: the reservation's own memory.
    Anonymous,
    /// The same, writable whatever the rights: the caller is about to fill it, and then says so.
    Copy,
    /// A sealed file from an offset, private. No thread has been in the window yet.
    Image(BorrowedFd<'a>, u64),
    /// The same in a window that threads are in.
    Joining(BorrowedFd<'a>, u64),
    /// A file from an offset, shared with all others that have it open.
    Shared(BorrowedFd<'a>, u64),
}

/// A file's mapping that is made but not in a window: what could refuse it has not.
#[derive(Debug)]
pub(crate) struct Staged {
    at: *mut c_void,
    length: u64,
}

/// What a place is after the kernel refused to put something there.
enum Refused {
    /// What it was.
    Untouched,
    /// Inaccessible: the kernel had emptied it.
    Emptied,
    /// Not ours, perhaps.
    Lost,
}

impl Stride {
    /// Takes a free stride, or reserves more of them.
    ///
    /// # Errors
    /// `ENOMEM` if the process has no address space or no kernel mappings left.
    pub fn take() -> Result<Stride, Errno> {
        let mut free = locked(&FREE);
        if free.is_empty() {
            reserve(&mut free)?;
        }
        let base = free.pop().ok_or(Errno::NOMEM)?;
        Ok(Stride { base, retired: AtomicBool::new(false), files: Mutex::default(), owner: Owner::this() })
    }

    /// `W`.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Which of the [`MAX_STRIDES`] places in the address space it has: unique among living domains.
    pub fn index(&self) -> u32 {
        index_of(self.base)
    }

    /// Whether neighbours with equal rights are one kernel mapping again, however they came to be.
    pub fn united() -> bool {
        UNITED.load(Ordering::Relaxed)
    }

    /// Maps `[offset, offset + length)`, which is closed. On an error it is closed still.
    ///
    /// # Errors
    /// The kernel's, `ENOMEM` mostly; a file's, if it cannot be mapped.
    pub fn map(
        &self,
        offset: u64,
        length: u64,
        access: ProtFlags,
        backing: Backing<'_>,
    ) -> Result<(), Errno> {
        match backing {
            Backing::Anonymous | Backing::Copy => self.open(offset, length, access),
            Backing::Image(file, from) => {
                let at = self.address(offset, length);
                self.file(offset, length);
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                // SAFETY: the range lies in this stride, which is ours alone; no Rust object lives there.
                let mapped = unsafe { mm::mmap(at, length as usize, access, flags, file, from) };
                mapped.map(drop).inspect_err(|_| match self.refused(offset, length) {
                    Refused::Untouched | Refused::Emptied => self.own(offset, length),
                    // No code of a domain has run here, and none will.
                    Refused::Lost => self.retired.store(true, Ordering::Relaxed),
                })
            }
            Backing::Joining(file, from) => {
                self.adopt(Staged::new(length, access, MapFlags::PRIVATE, file, from)?, offset)
            }
            Backing::Shared(file, from) => self.adopt(Staged::shared(length, access, file, from)?, offset),
        }
    }

    /// Opens the reservation's own memory, which is closed: it reads as zeros.
    fn open(&self, offset: u64, length: u64, access: ProtFlags) -> Result<(), Errno> {
        let at = self.address(offset, length);
        if access.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in this stride, which is ours alone; no Rust object lives there.
        let opened = unsafe { mm::mprotect(at, length as usize, rights_of(access)) };
        if opened.is_err() {
            // The kernel may have opened a part. To close that again it has nothing to cut.
            self.clear(offset, length).unwrap_or_else(|error| give_up("memory cannot be closed", error));
            return opened;
        }
        self.show(offset, length);
        Ok(())
    }

    /// Makes `[offset, offset + length)` inaccessible again; its contents are gone.
    ///
    /// # Errors
    /// The kernel's: it may have no mapping for what is left on both sides. A part may be inaccessible then.
    pub fn clear(&self, offset: u64, length: u64) -> Result<(), Errno> {
        self.protect(offset, length, Protection::None)?;
        self.hide(offset, length);
        let range = offset..offset + length;
        let replaced: Vec<_> = match Stride::united() {
            true => self.files().pieces(range.clone()).map(|(piece, _)| piece).collect(),
            false => vec![range.clone()],
        };
        for piece in &replaced {
            self.replace(piece.start, piece.end - piece.start)?;
        }
        // (A mapping that is new as a whole, that of a grant that is revoked, has no pages.)
        if replaced == [range] { Ok(()) } else { self.discard(offset, length) }
    }

    /// Puts memory of the reservation's own, inaccessible, where a file is, which is inaccessible already.
    fn replace(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: as in `map`.
        if let Err(error) = unsafe { blot_out(self.address(offset, length), length) } {
            match self.refused(offset, length) {
                Refused::Emptied => {}
                Refused::Untouched => return Err(error),
                Refused::Lost => give_up("a part of a domain's window is lost", error),
            }
        }
        self.own(offset, length);
        Ok(())
    }

    /// Lets all pages of a place where a file was be pages of one kernel mapping with its neighbours', or at least among themselves
    /// ([`unite`]), so that the module cannot make a mapping of each. The place is closed.
    ///
    /// # Errors
    /// The kernel's. The place is closed.
    pub fn settle(&self, offset: u64, length: u64) -> Result<(), Errno> {
        if !Stride::united() {
            return Ok(());
        }
        self.open(offset, length, ProtFlags::READ | ProtFlags::WRITE)?;
        let touched = self.write(offset, &[0]);
        self.clear(offset, length).and(touched)
    }

    /// Changes the rights of mapped pages. On an error those of some may have changed.
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

    /// Makes written pages code, which is not written to any more: those of a verified image.
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
        let (at, size) = (self.address(offset, length), length as usize);
        // SAFETY: as in `map`; private pages are dropped, nothing else changes.
        let dropped = || unsafe { mm::madvise(at, size, Advice::LinuxDontNeed) };
        match dropped() {
            // The host has locked all of its memory (mlockall). Domains' is not locked.
            Err(Errno::INVAL) => {
                // SAFETY: changes nothing that a program can see.
                unsafe { mm::munlock(at, size)? };
                dropped()
            }
            done => done,
        }
    }

    /// Waits until what was written to a shared file here is on the disk.
    ///
    /// # Errors
    /// The kernel's; `ENOMEM` if another thread has unmapped it meanwhile.
    pub fn sync(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: changes nothing that a program can see.
        unsafe { mm::msync(self.address(offset, length), length as usize, mm::MsyncFlags::SYNC) }
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

    /// Has a forked child find zeros in mapped pages: a thread that returns there, in a child that has not noticed that it is one, faults.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wipe_in_children(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: changes nothing here.
        unsafe { mm::madvise(self.address(offset, length), length as usize, Advice::LinuxWipeOnFork) }
    }

    /// The opposite, for what is about to be closed: the kernel joins it with its neighbours only if they are alike.
    ///
    /// # Errors
    /// The kernel's.
    pub fn keep_in_children(&self, offset: u64, length: u64) -> Result<(), Errno> {
        // SAFETY: changes nothing here.
        unsafe { mm::madvise(self.address(offset, length), length as usize, Advice::LinuxKeepOnFork) }
    }

    /// Moves what is staged over `[offset, offset + its length)`, which is closed. On an error it is closed still.
    ///
    /// # Errors
    /// The kernel's.
    pub fn adopt(&self, staged: Staged, offset: u64) -> Result<(), Errno> {
        let (to, size) = (self.address(offset, staged.length), staged.length as usize);
        self.file(offset, staged.length);
        // SAFETY: nothing refers to the source, which is one mapping for the kernel; the target is as in `map`.
        let moved = unsafe { mm::mremap_fixed(staged.at, size, size, MremapFlags::MAYMOVE, to) };
        match moved {
            // It is nowhere else any more.
            Ok(_) => std::mem::forget(staged),
            Err(error) => match self.refused(offset, staged.length) {
                Refused::Untouched | Refused::Emptied => self.own(offset, staged.length),
                Refused::Lost => give_up("a part of a domain's window is lost", error),
            },
        }
        moved.map(drop)
    }

    /// What a closed place is after the kernel refused to put something there. Kernels before 6.12 may have emptied it (a cgroup has no
    /// memory left for the new mapping's description, say); it is filled again at once.
    fn refused(&self, offset: u64, length: u64) -> Refused {
        let at = self.address(offset, length);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE | MapFlags::NORESERVE;
        // SAFETY: replaces nothing.
        match unsafe { mm::mmap_anonymous(at, length as usize, ProtFlags::empty(), flags) } {
            Ok(_) => {
                self.hide(offset, length);
                Refused::Emptied
            }
            Err(Errno::EXIST) => {
                let start = self.base + offset;
                if is_closed(&(start..start + length)) { Refused::Untouched } else { Refused::Lost }
            }
            Err(_) => Refused::Lost,
        }
    }

    /// Where the kernel's mappings of this stride begin, in order.
    ///
    /// # Errors
    /// Without `/proc`.
    pub fn borders(&self) -> io::Result<Vec<u64>> {
        let mut borders = Vec::new();
        for mapping in mappings()? {
            let start = mapping?.range.start;
            if (self.base..self.base + window::STRIDE).contains(&start) {
                borders.push(start - self.base);
            }
        }
        Ok(borders)
    }

    /// Keeps inaccessible memory out of core files: the kernel would write none of it, but for its mark ([`unite`]), and gdb's `gcore`
    /// thousands of megabytes of zeros for each domain. All of it is marked, so that neighbours stay one kernel mapping.
    pub fn hide(&self, offset: u64, length: u64) {
        hide_from_cores(self.address(offset, length), length);
    }

    /// Takes what is opened into core files.
    pub fn show(&self, offset: u64, length: u64) {
        // SAFETY: changes nothing that a program can see.
        let marked =
            unsafe { mm::madvise(self.address(offset, length), length as usize, Advice::LinuxDoDump) };
        // A debugger sees less then, no more.
        let _ = marked;
    }

    fn files(&self) -> MutexGuard<'_, Ranges> {
        locked(&self.files)
    }

    fn file(&self, offset: u64, length: u64) {
        self.files().insert(offset..offset + length, Protection::Read);
    }

    fn own(&self, offset: u64, length: u64) {
        self.files().remove(offset..offset + length);
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
        let left = unsafe { copy_to_host(into, from) };
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
        let left = unsafe { copy_from_host(to, bytes) };
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Writes two words of a control stack on which nothing runs.
    ///
    /// # Errors
    /// `EFAULT`.
    pub fn begin_stack(&self, offset: u64, words: [u64; 2]) -> Result<(), Errno> {
        assert!(
            (window::CONTROL..window::CONTROL_END - 16).contains(&offset),
            "in the control area: {offset:#x}"
        );
        // SAFETY: `words` is ours; in this stride, whose faults end the copy.
        let left = unsafe {
            lockgate_copy((self.base + offset) as *mut c_void, words.as_ptr().cast(), size_of_val(&words))
        };
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

    /// Wakes all who sleep in the kernel at an aligned word of memory that others share: of this window and of theirs.
    pub fn wake_shared(&self, offset: u64) {
        let Ok(at) = self.window_address(offset, 4) else { return };
        if !(window::SHARED..window::SHARED_END).contains(&offset) {
            return;
        }
        // SAFETY: the kernel looks at no bytes, only for what is mapped there.
        unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAKE, i32::MAX) };
    }

    fn address(&self, offset: u64, length: u64) -> *mut c_void {
        let end = offset.checked_add(length).expect("a range of the stride");
        assert!(
            end <= window::STRIDE && offset.is_multiple_of(PAGE),
            "a range of the stride: {offset:#x}+{length:#x}"
        );
        (self.base + offset) as *mut c_void
    }

    pub(super) fn window_address(&self, offset: u64, length: usize) -> Result<*mut c_void, Errno> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= window::SIZE => Ok((self.base + offset) as *mut c_void),
            _ => Err(Errno::FAULT),
        }
    }
}

impl Staged {
    /// `length` bytes of a file from an offset, shared.
    ///
    /// # Errors
    /// `ENODEV` if its file system is none that is known to be good; else the kernel's.
    pub fn shared(length: u64, access: ProtFlags, file: BorrowedFd<'_>, from: u64) -> Result<Staged, Errno> {
        match has_page_cache(file)? {
            true => Staged::new(length, access, MapFlags::SHARED, file, from),
            false => Err(Errno::NODEV),
        }
    }

    fn new(
        length: u64,
        access: ProtFlags,
        sharing: MapFlags,
        file: BorrowedFd<'_>,
        from: u64,
    ) -> Result<Staged, Errno> {
        let flags = sharing | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { mm::mmap(ptr::null_mut(), length as usize, access, flags, file, from)? };
        Ok(Staged { at, length })
    }

    /// Where it is now.
    pub fn at(&self) -> *mut c_void {
        self.at
    }

    /// A mapping of the host's.
    ///
    /// # Safety
    /// It is the caller's to give, one mapping for the kernel, and nothing refers to it.
    pub unsafe fn of_host(at: *mut c_void, length: u64) -> Staged {
        Staged { at, length }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it.
        let unmapped = unsafe { mm::munmap(self.at, self.length as usize) };
        // No pointer reaches it: it costs address space at worst.
        let _ = unmapped;
    }
}

impl Drop for Stride {
    fn drop(&mut self) {
        if !self.owner.may_drop() {
            return; // a parent's, which this process let go of when it began
        }
        // One call gives every page back and leaves the reservation. If the kernel refuses (or parts are
        // sealed), the stride is lost, never handed out with old contents.
        if !*self.retired.get_mut() && self.empty().is_ok() {
            locked(&FREE).push(self.base);
        }
    }
}

impl Stride {
    /// Makes all of it the reservation's own memory, untouched.
    fn empty(&mut self) -> Result<(), Errno> {
        // SAFETY: no thread is in the window, and none will be before this has succeeded.
        match unsafe { blot_out(self.base as *mut c_void, window::STRIDE) } {
            Err(error) if !matches!(self.refused(0, window::STRIDE), Refused::Emptied) => Err(error),
            _ => Ok(()),
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

fn rights_of(access: ProtFlags) -> MprotectFlags {
    MprotectFlags::from_bits_retain(access.bits())
}

fn hide_from_cores(at: *mut c_void, length: u64) {
    // SAFETY: changes nothing that a program can see.
    let marked = unsafe { mm::madvise(at, length as usize, Advice::LinuxDontDump) };
    // Core files are longer then.
    let _ = marked;
}

/// Whether all of `range` is closed memory of ours: inaccessible, and marked as no other code marks an inaccessible mapping.
fn is_closed(range: &Range<u64>) -> bool {
    let Ok(mappings) = std::fs::File::open("/proc/self/smaps") else { return false };
    closed_in(BufReader::new(mappings), range)
}

/// The same, from what the kernel says (proc_pid_smaps(5)).
fn closed_in(smaps: impl BufRead, range: &Range<u64>) -> bool {
    let mut at = range.start;
    let mut current: Option<Mapping> = None;
    for line in smaps.lines() {
        let Ok(line) = line else { return false };
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let Some(mapping) = current.take() else { continue };
            if mapping.range.end <= at {
                continue;
            }
            if mapping.range.start > at
                || !mapping.is_closed()
                || !flags.split_whitespace().any(|flag| flag == "dd")
            {
                return false;
            }
            at = mapping.range.end;
            if at >= range.end {
                return true;
            }
        } else if let Some(mapping) = Mapping::parse(&line) {
            current = Some(mapping);
        }
    }
    false
}

/// The promise that a window holds nothing but the domain's own cannot be kept.
fn give_up(what: &str, error: Errno) -> ! {
    end_process(format_args!("{what} ({error}): another's memory may lie within a domain's reach"));
}

/// What the alignment of a run's first stride takes, so that a page at least is left over below the run and above it.
const AROUND: u64 = window::STRIDE + PAGE;

/// The first stride of a run in a mapping that begins at `start`.
fn first_after(start: u64) -> u64 {
    (start + PAGE).next_multiple_of(window::STRIDE)
}

/// Reserves a run of strides, inaccessible and unaccounted. What alignment leaves over below and above stays reserved: the kernel puts the
/// host's next mapping into the nearest gap.
fn reserve(free: &mut Vec<u64>) -> Result<(), Errno> {
    let mut count = RESERVED_AT_ONCE;
    let (start, length) = loop {
        let length = count * window::STRIDE + AROUND;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        match unsafe { mm::mmap_anonymous(ptr::null_mut(), length as usize, ProtFlags::empty(), flags) } {
            Ok(at) => break (at as u64, length),
            Err(_) if count > 1 => count /= 2,
            Err(error) => return Err(error),
        }
    };
    let first = first_after(start);
    match unite(start as *mut c_void, length as usize) {
        Ok(true) => (),
        Ok(false) => UNITED.store(false, Ordering::Relaxed),
        Err(error) => {
            // SAFETY: the mapping has just been made, and no other code knows of it. (If it stays, no window lies in it.)
            let _ = unsafe { mm::munmap(start as *mut c_void, length as usize) };
            return Err(error);
        }
    }
    let number = RUN_COUNT.load(Ordering::Relaxed);
    RUNS[number].start.store(start, Ordering::Relaxed);
    RUNS[number].end.store(start + length, Ordering::Relaxed);
    RUNS[number].process.store(process(), Ordering::Relaxed);
    RUN_COUNT.store(number + 1, Ordering::Release);
    hide_from_cores(start as *mut c_void, length);
    // Popped from the end: upwards, so that a program with few domains keeps them together.
    free.extend((0..count).rev().map(|i| first + i * window::STRIDE));
    Ok(())
}

/// Lets a new reservation be one mapping for good. The kernel joins neighbours with equal rights unless each had its first page before
/// they met: it keeps track of pages in one object (`anon_vma`) for each mapping that had none. So this one gets its object now, by its first
/// page, and all that is ever cut out of it has the same.
///
/// Returns whether that is so. The kernel refuses where it counts all writable memory as used (`vm.overcommit_memory` 2, `RLIMIT_DATA`).
///
/// # Errors
/// The kernel's: the reservation can be accessed, and must not be used.
fn unite(at: *mut c_void, length: usize) -> Result<bool, Errno> {
    // SAFETY: the mapping has just been made, and no other code knows of it.
    unsafe {
        // Where the host locks what it maps (mlockall), it would all become memory.
        if mm::munlock(at, length).is_err() {
            return Ok(false);
        }
        let united = mm::mprotect(at, length, MprotectFlags::READ | MprotectFlags::WRITE)
            .map(|()| lockgate_touch(at))
            .and_then(|_| mm::madvise(at, length, Advice::LinuxDontNeed));
        mm::mprotect(at, length, MprotectFlags::empty())?;
        Ok(united.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only what is closed, all of it, and by us.
    #[test]
    fn what_the_kernel_says_is_understood() {
        let line = |range: &str, rights: &str, flags: &str| {
            format!("{range} {rights} 00000000 00:00 0 \nSize: 4 kB\nVmFlags: {flags} \n")
        };
        let ours = line("1000-3000", "---p", "mr mw me nr dd");
        let closed = |smaps: &str| closed_in(smaps.as_bytes(), &(0x1000..0x4000));
        for (next, expected) in [
            (line("3000-5000", "---p", "mr mw me dd"), true),
            (line("3000-4000", "---p", "dd"), true),
            (line("3000-4000", "---p", "mr mw me nr"), false),
            (line("3000-4000", "r--p", "rd mr mw me dd"), false),
            (line("3800-5000", "---p", "mr mw me dd"), false),
            (String::new(), false),
        ] {
            assert_eq!(closed(&format!("{}{ours}{next}", line("0-1000", "rw-p", "rd"))), expected, "{next}");
        }
        assert!(!closed(&line("2000-5000", "---p", "dd")));
    }

    /// Wherever the kernel puts a run, something is left over on both sides of it.
    #[test]
    fn every_run_has_a_page_below_and_above() {
        for start in [0, PAGE, 2 * PAGE, window::STRIDE - PAGE, window::STRIDE - 2 * PAGE] {
            let start = 5 * window::STRIDE + start;
            let (first, end) = (first_after(start), start + window::STRIDE + AROUND);
            assert!(first % window::STRIDE == 0 && first >= start + PAGE, "{start:#x}");
            assert!(first + window::STRIDE + PAGE <= end, "{start:#x}");
        }
    }

    /// Where it cannot be told what is there it is not taken for ours.
    #[test]
    fn a_place_is_told_from_anothers() {
        let stride = Stride::take().expect("address space");
        let (at, length) = (window::IMAGE, 4 * PAGE);
        let range = stride.base() + at..stride.base() + at + length;
        assert!(is_closed(&range));
        stride.map(at + PAGE, PAGE, ProtFlags::READ, Backing::Anonymous).expect("memory");
        assert!(!is_closed(&range));
        stride.clear(at + PAGE, PAGE).expect("room");
        assert!(is_closed(&range));
        assert!(matches!(stride.refused(at, length), Refused::Untouched));
    }
}
