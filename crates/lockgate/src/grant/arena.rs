//! Arenas: memory that the host and domains share as long as the arena lives, in blocks.
//!
//! The books of an arena, which blocks there are and which domain has it, lie in the host's own memory. Nothing that a domain writes is read to
//! allocate, to free or to judge a pointer.
use super::allocator::Allocator;
use super::book::Window;
use super::handle::Grant;
use super::{GrantError, Region, Rights, SharedSlice};
use crate::host::{Owner, PerProcess};
use crate::memory::{Plain, Pointer};
use crate::space::Stride;
use lockgate_abi::PAGE;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// Memory that the host shares with domains for many calls, with an allocator.
///
/// A domain for which the arena is open can read it, or read and write it, until the arena is closed: all of it, at any time, blocks that were
/// freed and blocks of other calls included. So an arena is for memory that these domains may all see; for memory that a domain may see during
/// one call, lend a region ([`Domain::lend`](crate::Domain::lend)). An allocation, a pointer to pass and the release take some tens of
/// nanoseconds together and make no system call.
///
/// A block lies at one offset in all windows, so a pointer that one domain has stored in the arena is good in each other one.
///
/// All threads may use an arena at the same time. A forked child cannot use its parent's, which goes on using it
/// ([`GrantError::Inherited`]).
///
/// ```no_run
/// # fn f(parser: &lockgate::Domain, printer: &lockgate::Domain) -> Result<(), Box<dyn std::error::Error>> {
/// use lockgate::{Arena, Pointer, Rights};
///
/// let arena = Arena::new(1 << 20)?;
/// arena.open(parser, Rights::Read)?;
/// arena.open(printer, Rights::ReadWrite)?;
/// let parse = parser.bind::<extern "C" fn(Pointer<u8>, u64) -> u64>("parse")?;
/// for line in ["one", "two"] {
///     let block = arena.alloc(line.len() as u64)?;
///     block.slice::<u8>()?.write(0, line.as_bytes())?;
///     parse.call(block.pointer(parser)?, block.size())?;
/// } // the block is free again
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Arena(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    region: Region,
    /// The process that allocates in it.
    owner: Owner,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    /// None when the arena is closed.
    pool: Option<Allocator>,
    /// How often the arena was reset: blocks of before are none any more.
    generation: u64,
    /// By the index of the domain's stride.
    open: BTreeMap<u32, Open>,
}

/// A domain's right on the arena.
#[derive(Debug)]
struct Open {
    /// The domain, by identity: its index may be another's later.
    stride: Weak<Stride>,
    grant: Grant,
}

/// Every arena of the process that is not closed, by where the host has it.
static ARENAS: PerProcess<RwLock<BTreeMap<u64, Arc<Shared>>>> = PerProcess::new(RwLock::default);

/// A right that is not a valid one any more: dropped when no lock is held, since it is withdrawn then.
type Ended = Option<Open>;

impl Shared {
    /// The books, in which nothing waits and no system call is made.
    fn books(&self) -> Result<MutexGuard<'_, Books>, GrantError> {
        // A child never takes a lock that a thread of its parent's may have held.
        if !self.owner.is_here() {
            return Err(GrantError::Inherited);
        }
        Ok(self.books.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn host_address(&self) -> u64 {
        self.region.host_address() as u64
    }
}

impl Books {
    fn pool(&mut self) -> Result<&mut Allocator, GrantError> {
        self.pool.as_mut().ok_or(GrantError::Closed)
    }

    /// The domain's pointer to `size` bytes at byte `at`, if they lie in one block, and the domain has these rights on it.
    fn pointer(
        &mut self,
        domain: Window<'_>,
        at: u64,
        size: u64,
        rights: Rights,
    ) -> Result<Pointer<u8>, GrantError> {
        let pool = self.pool()?;
        let start = pool.block_around(at).ok_or(GrantError::Block { at })?;
        let length = pool.size(start).ok_or(GrantError::Block { at })?;
        if size > length - (at - start) {
            return Err(GrantError::Range { at: at - start, size, length });
        }
        self.granted(domain)?.pointer_for(at, rights)
    }

    /// The domain's right on the arena.
    fn granted(&self, domain: Window<'_>) -> Result<&Grant, GrantError> {
        let open = self.open.get(&domain.stride.index());
        let open = open.filter(|open| std::ptr::eq(open.stride.as_ptr(), Arc::as_ptr(domain.stride)));
        open.map(|open| &open.grant).ok_or_else(|| GrantError::NotOpen { domain: domain.name.to_owned() })
    }
}

impl Arena {
    /// An arena of at least `length` bytes: whole pages, all free, and zeros.
    ///
    /// # Errors
    /// As [`Region::new`].
    pub fn new(length: u64) -> Result<Arena, GrantError> {
        let region = Region::new(length)?;
        let pool = Some(Allocator::new(region.length()));
        let books = Mutex::new(Books { pool, generation: 0, open: BTreeMap::new() });
        let shared = Arc::new(Shared { region, owner: Owner::this(), books });
        let mut arenas = ARENAS.write().unwrap_or_else(PoisonError::into_inner);
        arenas.insert(shared.host_address(), shared.clone());
        Ok(Arena(shared))
    }

    /// The memory: where the host has it, and at which offset domains do.
    pub fn region(&self) -> &Region {
        &self.0.region
    }

    /// A block of `size` bytes, which begins at a cache line. It is free again when it is dropped. Its contents are those that the memory had:
    /// zeros, or what the host and the domains have left there.
    ///
    /// # Errors
    /// [`GrantError::Empty`] for no bytes, [`GrantError::Full`], [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn alloc(&self, size: u64) -> Result<Block, GrantError> {
        self.alloc_aligned(size, 1)
    }

    /// The same, at a multiple of `alignment`, a power of two up to a page.
    ///
    /// # Errors
    /// As [`alloc`](Arena::alloc); [`GrantError::Alignment`].
    pub fn alloc_aligned(&self, size: u64, alignment: u64) -> Result<Block, GrantError> {
        let (at, generation) = self.allocate(size, alignment)?;
        Ok(Block { arena: self.0.clone(), at, size, generation })
    }

    fn allocate(&self, size: u64, alignment: u64) -> Result<(u64, u64), GrantError> {
        if size == 0 {
            return Err(GrantError::Empty);
        }
        if !alignment.is_power_of_two() || alignment > PAGE {
            return Err(GrantError::Alignment(alignment));
        }
        let mut books = self.0.books()?;
        let pool = books.pool()?;
        let at =
            pool.allocate(size, alignment).ok_or_else(|| GrantError::Full { size, free: pool.free() })?;
        Ok((at, books.generation))
    }

    /// A block that has no owner in Rust: byte of the arena where it begins. It lives until [`free_at`](Arena::free_at), a reset or the
    /// closing of the arena.
    ///
    /// # Errors
    /// As [`alloc_aligned`](Arena::alloc_aligned).
    pub fn alloc_at(&self, size: u64, alignment: u64) -> Result<u64, GrantError> {
        Ok(self.allocate(size, alignment)?.0)
    }

    /// Frees the block that begins at byte `at`, which [`alloc_at`](Arena::alloc_at) has returned.
    ///
    /// # Errors
    /// [`GrantError::Block`] if no block begins there: it was freed, or never was. [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn free_at(&self, at: u64) -> Result<(), GrantError> {
        self.0.books()?.pool()?.release(at).ok_or(GrantError::Block { at })
    }

    /// Bytes that are in no block. One block of so many may not fit.
    ///
    /// # Errors
    /// [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn free(&self) -> Result<u64, GrantError> {
        Ok(self.0.books()?.pool()?.free())
    }

    /// Frees all blocks. Values of [`Block`] that are still there are of no block any more. Domains keep the arena.
    ///
    /// # Errors
    /// [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn reset(&self) -> Result<(), GrantError> {
        // Made, and dropped, without the lock.
        let new = Allocator::new(self.0.region.length());
        let old = {
            let mut books = self.0.books()?;
            books.generation += 1;
            std::mem::replace(books.pool()?, new)
        };
        drop(old);
        Ok(())
    }

    /// Takes the arena away from all domains, and ends its blocks. In force when it returns, also for threads that are in the domains. The
    /// host's memory of it goes with the last block and slice.
    pub fn close(&self) {
        let Ok(mut books) = self.0.books() else { return };
        let ended = (books.pool.take(), std::mem::take(&mut books.open));
        drop(books);
        ARENAS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0.host_address());
        drop(ended);
    }

    /// Gives the arena to a domain. See [`Arena::open`].
    pub(crate) fn open_for(&self, domain: Window<'_>, rights: Rights) -> Result<(), GrantError> {
        self.0.books()?.pool()?;
        // (The kernel maps it: without the lock. A second right of the same domain is refused there.)
        let grant = Grant::new(domain, &self.0.region, rights)?;
        let open = Open { stride: Arc::downgrade(domain.stride), grant };
        let ended: (Ended, Vec<Open>);
        {
            let mut books = self.0.books()?;
            if let Err(closed) = books.pool() {
                drop(books);
                drop(open);
                return Err(closed);
            }
            // Those of domains that are gone, or were reset.
            let dead = |open: &Open| open.grant.rights().is_err();
            let gone: Vec<u32> =
                books.open.iter().filter(|(_, open)| dead(open)).map(|(index, _)| *index).collect();
            let gone = gone.iter().filter_map(|index| books.open.remove(index)).collect();
            ended = (books.open.insert(domain.stride.index(), open), gone);
        }
        drop(ended);
        Ok(())
    }

    /// Takes the arena away from a domain. See [`Arena::shut`].
    pub(crate) fn shut_for(&self, domain: Window<'_>) -> Result<(), GrantError> {
        let ended: Ended = {
            let mut books = self.0.books()?;
            books.pool()?;
            let index = domain.stride.index();
            let its = |open: &&Open| std::ptr::eq(open.stride.as_ptr(), Arc::as_ptr(domain.stride));
            let is_open = books.open.get(&index).filter(its).is_some();
            is_open.then(|| books.open.remove(&index)).flatten()
        };
        let ended = ended.filter(|open| open.grant.rights().is_ok());
        ended.map(drop).ok_or_else(|| GrantError::NotOpen { domain: domain.name.to_owned() })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.close();
    }
}

/// A domain's pointer to `size` bytes that the host has at the address `host`, in a block of an arena that is open for the domain with these
/// rights.
///
/// # Errors
/// [`GrantError::NotArena`], [`GrantError::Block`], [`GrantError::Range`], [`GrantError::NotOpen`], [`GrantError::Upgrade`],
/// [`GrantError::Revoked`].
pub(crate) fn pointer_to(
    domain: Window<'_>,
    host: u64,
    size: u64,
    rights: Rights,
) -> Result<Pointer<u8>, GrantError> {
    let arenas = ARENAS.read().unwrap_or_else(PoisonError::into_inner);
    let (start, arena) = arenas.range(..=host).next_back().ok_or(GrantError::NotArena { at: host })?;
    let at = host - start;
    if at >= arena.region.length() {
        return Err(GrantError::NotArena { at: host });
    }
    arena.books()?.pointer(domain, at, size, rights)
}

/// A part of an [`Arena`], as long as it lives: dropping it frees it.
#[derive(Debug)]
pub struct Block {
    arena: Arc<Shared>,
    at: u64,
    size: u64,
    /// The arena's, when it was allocated.
    generation: u64,
}

impl Block {
    /// Bytes that were asked for.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Byte of the arena where it begins.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Where the host has it, for host code that works in place. Domains may change the bytes at any time: copy before you check
    /// ([`slice`](Block::slice) does). The address is another block's when this one is dropped.
    pub fn host_address(&self) -> *mut u8 {
        self.arena.region.host_address().wrapping_add(self.at as usize)
    }

    /// As many values as fit. (A slice that outlives its block reaches what lies in the arena then.)
    ///
    /// # Errors
    /// [`GrantError::Block`] if the arena was reset, [`GrantError::Closed`], [`GrantError::Inherited`].
    pub fn slice<T: Plain>(&self) -> Result<SharedSlice<T>, GrantError> {
        self.living(|_| Ok(()))?;
        let count = self.size.checked_div(size_of::<T>() as u64).unwrap_or(0);
        self.arena.region.slice(self.at, count)
    }

    /// The domain's pointer to its first byte. See [`Block::pointer`].
    pub(crate) fn pointer_for(&self, domain: Window<'_>) -> Result<Pointer<u8>, GrantError> {
        self.living(|books| books.granted(domain)?.pointer_for(self.at, Rights::Read))
    }

    /// What `body` finds while the block lives.
    fn living<R>(&self, body: impl FnOnce(&mut Books) -> Result<R, GrantError>) -> Result<R, GrantError> {
        let mut books = self.arena.books()?;
        books.pool()?;
        if books.generation != self.generation {
            return Err(GrantError::Block { at: self.at });
        }
        body(&mut books)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // (A block of before a reset, of a closed arena or of a parent's is none any more.)
        let _ = self.living(|books| books.pool()?.release(self.at).ok_or(GrantError::Block { at: self.at }));
    }
}
