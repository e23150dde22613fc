//! What can be wrong with a region, a grant or a ring.
use super::Rights;
use crate::error::OfParent;

/// Why memory was not shared, or not reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The domain belongs to a parent of this process.
    #[error("{}", OfParent(domain))]
    Forked {
        /// The domain.
        domain: String,
    },
    /// A region or a block of no bytes.
    #[error("0 bytes of memory cannot be shared; give a size")]
    Empty,
    /// Memory that does not consist of whole pages.
    #[error(
        "{length} bytes at {at:#x} are not whole pages of {page} bytes: other data on the same pages would be exposed, too; align both ends", page = lockgate_abi::PAGE
    )]
    Unaligned {
        /// Address, or offset in the file.
        at: u64,
        /// Length in bytes.
        length: u64,
    },
    /// Host memory that no other process can map: a private mapping, the heap, a stack.
    #[error(
        "the memory at {at:#x} is private to the host and has no second address; allocate it as a region (Region::new, lg_region_new), or map \
         a memory file with MAP_SHARED"
    )]
    Private {
        /// Address.
        at: u64,
    },
    /// Addresses that are not one mapping of the host.
    #[error("{length} bytes at {at:#x} are not one mapping of the host's own; share each mapping by itself")]
    NotMapped {
        /// Address.
        at: u64,
        /// Length in bytes.
        length: u64,
    },
    /// Addresses of a domain.
    #[error(
        "{at:#x} lies in a domain's window: that memory is the domain's own; share a region with it instead"
    )]
    Window {
        /// Address.
        at: u64,
    },
    /// A file that is no ordinary or memory file, or ends before the range does.
    #[error(
        "this descriptor cannot be shared: {what}; use a memory file (memfd_create, shm_open) or an ordinary one"
    )]
    File {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A descriptor that cannot be told of wakes.
    #[error(
        "the descriptor cannot be told of wakes: {what}; give an eventfd with EFD_NONBLOCK, one for each word, 64 at most"
    )]
    Event {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The shared region of windows is full.
    #[error("no room for {length} bytes in the shared region of {size} that all domains have; drop regions",
        size = lockgate_abi::window::SHARED_END - lockgate_abi::window::SHARED)]
    NoRoom {
        /// Bytes asked for.
        length: u64,
    },
    /// The domain has many grants already.
    #[error("domain {domain} has {max} grants already; drop some, or put more into one region", max = super::MAX_GRANTS)]
    TooMany {
        /// The domain.
        domain: String,
    },
    /// The domain has the region already.
    #[error("domain {domain} has the region at offset {offset:#x} already; drop that grant, or downgrade it")]
    Overlap {
        /// The domain.
        domain: String,
        /// Window offset.
        offset: u64,
    },
    /// More rights than there are to give.
    #[error("cannot give the right to {asked}: the giver has the right to {held} only")]
    Upgrade {
        /// The rights asked for.
        asked: Rights,
        /// The rights that the region or the grant has.
        held: Rights,
    },
    /// The grant was revoked, or its domain was reset or is gone.
    #[error(
        "the grant of the region at offset {offset:#x} was revoked, or its domain is reset or gone; make a new one"
    )]
    Revoked {
        /// Window offset.
        offset: u64,
    },
    /// A part that is not inside the region, or not aligned for its type.
    #[error("{size} bytes at {at:#x} are not an aligned part of the {length} bytes there are")]
    Range {
        /// Bytes from the start.
        at: u64,
        /// Bytes asked for.
        size: u64,
        /// Bytes there are.
        length: u64,
    },
    /// The memory behind the region is gone: its file was truncated.
    #[error("the memory behind {size} bytes at {at:#x} of the region cannot be used: {reason}", reason = match rights {
        Rights::Read => "its file was truncated",
        Rights::ReadWrite => "its file was truncated, or allows reading only",
    })]
    Lost {
        /// Bytes from the start.
        at: u64,
        /// Bytes asked for.
        size: u64,
        /// What was tried.
        rights: Rights,
    },
    /// An arena of a parent of this process, which goes on using it.
    #[error("the arena belongs to the parent process, which goes on using it; make a new one")]
    Inherited,
    /// The arena was closed.
    #[error("the arena was closed; make a new one")]
    Closed,
    /// The arena has no room left.
    #[error(
        "no room for {size} bytes in the arena, of which {free} are free; free blocks, or make a larger arena"
    )]
    Full {
        /// Bytes asked for.
        size: u64,
        /// Bytes in no block. No piece of them is large enough.
        free: u64,
    },
    /// An alignment that no block can have.
    #[error("a block cannot be aligned to {0} bytes: give a power of two up to {page}", page = lockgate_abi::PAGE)]
    Alignment(u64),
    /// No block of the arena is there.
    #[error(
        "no block is at byte {at:#x} of the arena: it was freed, or its arena was reset, or it never was"
    )]
    Block {
        /// Bytes from the start of the arena.
        at: u64,
    },
    /// Host memory that is no arena's.
    #[error("{at:#x} lies in no arena of this process; allocate it in one (Arena::alloc, lg_arena_alloc)")]
    NotArena {
        /// Address.
        at: u64,
    },
    /// The domain has not got the arena.
    #[error("the arena is not open for domain {domain}; open it (Arena::open, lg_arena_open)")]
    NotOpen {
        /// The domain.
        domain: String,
    },
    /// The machine cannot run domains, so there is no domain to share with.
    #[error(transparent)]
    Host(#[from] crate::host::HostError),
    /// The kernel refused.
    #[error("cannot {what}: {source}; close regions or domains, or raise vm.max_map_count")]
    System {
        /// What was tried.
        what: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

impl GrantError {
    pub(super) fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> GrantError {
        move |error| GrantError::System { what, source: error.into() }
    }

    /// Fails if the rights that are `asked` for are more than those that are `held`.
    ///
    /// # Errors
    /// [`GrantError::Upgrade`].
    pub(super) fn unless_within(asked: Rights, held: Rights) -> Result<(), GrantError> {
        if asked > held { Err(GrantError::Upgrade { asked, held }) } else { Ok(()) }
    }
}

/// Why a ring cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// The other side's index is impossible: the other side is broken or hostile. Nothing was read or written.
    #[error(
        "the ring's other side claims {claimed} elements in a ring of {capacity}: it is broken or hostile; give the ring up"
    )]
    Corrupted {
        /// Elements in the ring, going by the other side's index.
        claimed: u32,
        /// Elements that fit.
        capacity: u32,
    },
    /// A number of elements that a ring cannot have.
    #[error("a ring cannot have {0} elements: use a power of two from 1 to 2^31")]
    Capacity(u32),
    /// An element without bytes.
    #[error("an element of a ring has at least one byte")]
    NoElement,
    /// The memory of the ring.
    #[error(transparent)]
    Grant(#[from] GrantError),
}
