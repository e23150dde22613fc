//! Section "Arenas" of the header.
use crate::call::{guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::error::{self, Failure, Status};
use crate::handle::{Handle, Handled};
use crate::policy::rights;
use crate::region_sys::RegionObject;
use lockgate::{Arena, AtThreadEnd};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Weak};

/// What `lg_arena` stands for.
pub struct ArenaObject {
    arena: Arena,
    /// Where the host has it.
    host: usize,
}

impl Handled for ArenaObject {
    const WHAT: &'static str = "an arena";
}

impl ArenaObject {
    fn new(arena: Arena) -> ArenaObject {
        let host = arena.region().host_address().addr();
        ArenaObject { arena, host }
    }

    /// The host's address of byte `at`.
    fn address(&self, at: u64) -> *mut c_void {
        self.arena.region().host_address().wrapping_add(at as usize).cast()
    }
}

/// The arena that a thread has used last: an allocation costs less than a look into the table of handles, which is a lock.
struct Recent {
    bits: usize,
    arena: Weak<ArenaObject>,
}

thread_local! {
    /// Dropped as [`AtThreadEnd`] says.
    static RECENT: Cell<Option<ManuallyDrop<Box<Recent>>>> = const { Cell::new(None) };
}

static END: AtThreadEnd = AtThreadEnd::new(forget);

extern "C" fn forget(_: *mut c_void) {
    drop(RECENT.take().map(ManuallyDrop::into_inner));
}

/// The arena of a handle. A number that was a handle is never one again: the thread's last arena is this one, if it is there still.
fn get(handle: Handle<ArenaObject>) -> Result<Arc<ArenaObject>, Failure> {
    let recent = RECENT.take();
    let known = recent.as_ref().filter(|recent| recent.bits == handle.bits());
    if let Some(arena) = known.and_then(|recent| recent.arena.upgrade()) {
        RECENT.set(recent);
        return Ok(arena);
    }
    drop(recent.map(ManuallyDrop::into_inner));
    let arena = handle.get()?;
    let recent = Recent { bits: handle.bits(), arena: Arc::downgrade(&arena) };
    END.arm();
    RECENT.set(Some(ManuallyDrop::new(Box::new(recent))));
    Ok(arena)
}

/// What `body` returns, as [`value`] does. It comes to no cancellation point: that is not switched off.
fn briefly<R>(failed: R, body: impl FnOnce() -> Result<R, Failure>) -> R {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => value(failed, || Err(failure)),
        Err(payload) => value(failed, || std::panic::resume_unwind(payload)),
    }
}

/// A new arena.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_new(length: u64) -> Handle<ArenaObject> {
    made(|| Ok(ArenaObject::new(Arena::new(length)?)))
}

/// Ends an arena.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_close(arena: Handle<ArenaObject>) -> i32 {
    guarded(|| {
        if !arena.is_null() {
            arena.take()?.arena.close();
        }
        Ok(())
    })
}

/// Gives an arena to a domain; where the domain has its first byte.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_open(
    arena: Handle<ArenaObject>,
    domain: Handle<DomainObject>,
    asked: i32,
) -> *mut c_void {
    value(ptr::null_mut(), || {
        let (arena, rights) = (arena.get()?, rights(asked)?);
        domain.with(|domain| {
            arena.arena.open(domain, rights)?;
            Ok((domain.base() + arena.arena.region().offset()) as *mut c_void)
        })
    })
}

/// Takes an arena away from a domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_shut(arena: Handle<ArenaObject>, domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        let arena = arena.get()?;
        domain.with(|domain| Ok(arena.arena.shut(domain)?))
    })
}

/// A block.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_alloc(arena: Handle<ArenaObject>, size: usize) -> *mut c_void {
    lg_arena_alloc_aligned(arena, size, 1)
}

/// A block at a multiple of `alignment`.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_alloc_aligned(
    arena: Handle<ArenaObject>,
    size: usize,
    alignment: usize,
) -> *mut c_void {
    briefly(ptr::null_mut(), || {
        let arena = get(arena)?;
        let at = arena.arena.alloc_at(size as u64, alignment as u64)?;
        Ok(arena.address(at))
    })
}

/// Frees a block.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_free(arena: Handle<ArenaObject>, block: *mut c_void) -> i32 {
    briefly(None, || {
        if !block.is_null() {
            let arena = get(arena)?;
            // (Below the arena it is beyond its end.)
            arena.arena.free_at(block.addr().wrapping_sub(arena.host) as u64)?;
        }
        Ok(Some(Status::Ok as i32))
    })
    .unwrap_or_else(|| error::last_status() as i32)
}

/// Frees all blocks.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_reset(arena: Handle<ArenaObject>) -> i32 {
    guarded(|| Ok(arena.get()?.arena.reset()?))
}

/// Bytes in no block.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_room(arena: Handle<ArenaObject>) -> u64 {
    value(0, || Ok(arena.get()?.arena.free()?))
}

/// Where the host has it.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_address(arena: Handle<ArenaObject>) -> *mut c_void {
    value(ptr::null_mut(), || Ok(arena.get()?.address(0)))
}

/// Its memory.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_region(arena: Handle<ArenaObject>) -> Handle<RegionObject> {
    made(|| Ok(RegionObject::new(arena.get()?.arena.region().clone())))
}

/// A domain's pointer to a part of a block.
#[unsafe(no_mangle)]
pub extern "C" fn lg_arena_pointer(
    domain: Handle<DomainObject>,
    at: *const c_void,
    size: usize,
    asked: i32,
) -> *mut c_void {
    value(ptr::null_mut(), || {
        let rights = rights(asked)?;
        domain
            .with(|domain| Ok(domain.arena_pointer(at.cast(), size as u64, rights)?.address() as *mut c_void))
    })
}
