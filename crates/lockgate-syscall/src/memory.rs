//! What the emulated calls need of a domain's window. The runtime implements it; tests use a plain buffer.
use rustix::fd::BorrowedFd;
use rustix::io::Errno;

/// Number of bytes copied at a time between the domain and a host descriptor.
pub(crate) const CHUNK: usize = 64 << 10;

/// Rights of module memory. Nothing that a module asks for is ever executable (rule R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Inaccessible, but reserved and counted.
    None,
    /// Readable.
    Read,
    /// Readable and writable.
    ReadWrite,
}

/// Where a new mapping goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere free; the address is a wish.
    Anywhere,
    /// Exactly there, replacing what the domain itself mapped (`MAP_FIXED`).
    Fixed,
    /// Exactly there, `EEXIST` if anything is mapped (`MAP_FIXED_NOREPLACE`).
    FixedNoReplace,
}

/// What becomes of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct Resize {
    /// Where it is.
    pub at: u64,
    /// Bytes that it has.
    pub length: u64,
    /// Bytes that it is to have.
    pub new_length: u64,
    /// It may go elsewhere if there is no room behind it.
    pub may_move: bool,
}

/// What the kernel moves between a file of the host's and a domain's memory itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// `read` of a file that never waits.
    Read,
    /// `pread` there.
    ReadAt(u64),
    /// `read` of a stream, without waiting.
    ReadNow,
    /// `write` to a file that never waits.
    Write,
    /// `pwrite` there.
    WriteAt(u64),
    /// `write` to a stream, without waiting; no signal is sent.
    WriteNow,
    /// `recv` of a socket, without waiting.
    Receive,
    /// `send` to a socket, without waiting; no signal is sent.
    Send,
    /// `epoll_wait`, for no longer than so many milliseconds.
    Events(u32),
}

/// Bytes of an event (`struct epoll_event`, which is packed): what happened, then what the program calls it.
pub const EVENT: usize = 12;

/// Most parts of the memory that one exchange takes.
pub const PARTS: usize = 8;

/// A domain's memory, seen by its emulated system calls.
///
/// Addresses are the module's own pointers (window base plus offset). Implementations check every
/// range for overflow and for the window's bounds, survive pages that another thread unmaps meanwhile
/// (rule R23), and refuse services on sealed ranges and stack guards (rules R2, R3).
pub trait Memory {
    /// Copies `into.len()` bytes out of the domain, once.
    ///
    /// # Errors
    /// `EFAULT` if any byte is not readable module memory.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno>;

    /// Copies `bytes` into the domain.
    ///
    /// # Errors
    /// `EFAULT` if any byte is not writable module memory; a prefix may have been written.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Errno>;

    /// Has the kernel fill, or take, parts of the memory, each an address and a length in bytes, at most [`PARTS`]; returns the kernel's answer.
    /// Events are counted: a part has room for as many as its length says, of [`EVENT`] bytes each. It neither locks nor allocates, has nothing to drop,
    /// and may be left by a jump.
    ///
    /// # Errors
    /// The kernel's; `EFAULT` for what is not module memory; `ENOSYS` where this way is not to be had, now or ever.
    fn exchange(&self, how: Exchange, file: BorrowedFd<'_>, parts: &[(u64, u64)]) -> Result<u64, Errno>;

    /// How many bytes from `at` on, `length` at most, can be written. Nothing changes.
    fn writable(&self, at: u64, length: u64) -> u64;

    /// Loads the aligned word at `at` in one atomic access (sequentially consistent).
    ///
    /// # Errors
    /// `EINVAL` if `at` is not a multiple of 4, `EFAULT` if the word is not readable.
    fn load_u32(&self, at: u64) -> Result<u32, Errno>;

    /// Wakes all who sleep in the kernel at the word at `at`, if others share that: this domain's threads, and theirs.
    fn wake_shared(&self, at: u64);

    /// Moves the end of the heap to `to` if that is possible; returns the end.
    fn brk(&self, to: u64) -> u64;

    /// Maps `length` bytes of zeros.
    ///
    /// # Errors
    /// `ENOMEM` over the quota or out of space, `EINVAL` for bad ranges, `EPERM` for ranges that are not the
    /// module's to map, `EEXIST` for [`Placement::FixedNoReplace`].
    fn map(&self, at: u64, length: u64, placement: Placement, protection: Protection) -> Result<u64, Errno>;

    /// Maps `length` bytes of a file from an offset, a multiple of the page size, shared with all others that have it
    /// open.
    ///
    /// # Errors
    /// As for [`map`](Memory::map), and `EACCES` for rights that the descriptor does not have.
    fn map_shared(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        protection: Protection,
        file: (BorrowedFd<'_>, u64),
    ) -> Result<u64, Errno>;

    /// Maps `length` bytes for the copy of a file, which the caller writes there; then it calls [`copied`](Memory::copied), and not before
    /// that are the rights what they should be. Whatever could be refused is refused here, before anything changes.
    ///
    /// # Errors
    /// As for [`map`](Memory::map).
    fn map_copy(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        protection: Protection,
    ) -> Result<u64, Errno>;

    /// The copy is there.
    ///
    /// # Errors
    /// The kernel's: the copy is gone.
    fn copied(&self, at: u64, length: u64) -> Result<(), Errno>;

    /// Takes `[at, at + length)` away.
    ///
    /// # Errors
    /// `EINVAL` or `EPERM`, as for [`map`](Memory::map).
    fn unmap(&self, at: u64, length: u64) -> Result<(), Errno>;

    /// Changes the rights of mapped pages.
    ///
    /// # Errors
    /// `ENOMEM` where nothing is mapped, `EINVAL` or `EPERM` as for [`map`](Memory::map).
    fn protect(&self, at: u64, length: u64, protection: Protection) -> Result<(), Errno>;

    /// Resizes a mapping. Moving it takes time: `go_on` is asked again and again. Returns its address.
    ///
    /// # Errors
    /// `ENOMEM` if it does not fit, `EFAULT` where nothing is mapped, `EINVAL` or `EPERM` as for
    /// [`map`](Memory::map); `EINTR` if `go_on` says no: nothing has changed.
    fn remap(&self, resize: Resize, go_on: &mut dyn FnMut() -> bool) -> Result<u64, Errno>;

    /// Lets the kernel drop the pages' contents (`MADV_DONTNEED`): they read as zero afterwards. With `lazily` (`MADV_FREE`) they may
    /// read as before, too.
    ///
    /// # Errors
    /// `EINVAL` or `EPERM` as for [`map`](Memory::map); `EINVAL` for the copy of a file: which parts of it the file has still is unknown.
    fn discard(&self, at: u64, length: u64, lazily: bool) -> Result<(), Errno>;

    /// Looks whether the pages are mapped; with `wait`, returns once the disk has what was written to shared files there (`MS_SYNC`).
    ///
    /// # Errors
    /// `ENOMEM` if any page is not mapped, `EINVAL` or `EPERM` as for [`map`](Memory::map); the kernel's.
    fn sync(&self, at: u64, length: u64, wait: bool) -> Result<(), Errno>;

    /// Memory quota and bytes in use, in this order.
    fn usage(&self) -> (u64, u64);
}
