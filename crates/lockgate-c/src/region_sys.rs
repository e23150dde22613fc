//! Section "Shared memory" of the header.
use crate::call::{freed, guarded, made, value};
use crate::domain_sys::DomainObject;
use crate::error::{Failure, Status};
use crate::handle::{Handle, Handled};
use crate::policy::{rights, rights_number};
use crate::text_sys::{borrow, slice, slice_mut};
use lockgate::{Grant, Held, Region};
use lockgate_kernel::locked;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;
use std::time::Duration;

/// What `lg_region` stands for.
pub struct RegionObject(Region);

impl RegionObject {
    pub(crate) fn new(region: Region) -> RegionObject {
        RegionObject(region)
    }
}

impl Handled for RegionObject {
    const WHAT: &'static str = "a region";
}

/// What `lg_grant` stands for.
pub struct GrantObject(Mutex<Option<Grant>>);

impl Handled for GrantObject {
    const WHAT: &'static str = "a grant";
}

impl Held for GrantObject {
    fn let_go(&self) {
        self.revoke();
    }

    fn is_over(&self) -> bool {
        let _still = lockgate::still();
        locked(&self.0).is_none()
    }
}

impl GrantObject {
    fn new(grant: Grant) -> GrantObject {
        GrantObject(Mutex::new(Some(grant)))
    }

    /// Ends the grant, if it has not ended yet.
    fn revoke(&self) {
        let taken = {
            let _still = lockgate::still();
            locked(&self.0).take()
        };
        if let Some(grant) = taken {
            grant.revoke();
        }
    }

    /// What `body` makes of the grant. No other thread revokes it meanwhile.
    fn with<R>(&self, body: impl FnOnce(&Grant) -> Result<R, Failure>) -> Result<R, Failure> {
        let _still = lockgate::still();
        let grant = locked(&self.0);
        let revoked = || {
            let why =
                "the grant was revoked by another thread, or was lent for a call that was left by a jump";
            Failure::new(Status::GrantRevoked, why)
        };
        body(grant.as_ref().ok_or_else(revoked)?)
    }
}

/// A region of zeros.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_new(length: u64) -> Handle<RegionObject> {
    made(|| Ok(RegionObject(Region::new(length)?)))
}

/// A part of a file.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_from_file(
    descriptor: c_int,
    from: u64,
    length: u64,
    most: i32,
) -> Handle<RegionObject> {
    made(|| Ok(RegionObject(Region::from_file(borrow(descriptor)?, from, length, rights(most)?)?)))
}

/// Memory of the host's that is mapped already.
///
/// # Safety
/// The program does not unmap the memory before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_region_from_host(
    at: *mut c_void,
    length: u64,
    most: i32,
) -> Handle<RegionObject> {
    // SAFETY: the caller's promise; C knows no references that others may not change.
    made(|| Ok(RegionObject(unsafe { Region::from_host(at.cast(), length, rights(most)?)? })))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_free(region: Handle<RegionObject>) -> i32 {
    freed(region)
}

/// Bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_length(region: Handle<RegionObject>) -> u64 {
    value(0, || Ok(region.get()?.0.length()))
}

/// Offset in every window.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_offset(region: Handle<RegionObject>) -> u64 {
    value(0, || Ok(region.get()?.0.offset()))
}

/// The most that can be granted.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_rights(region: Handle<RegionObject>) -> i32 {
    value(0, || Ok(rights_number(region.get()?.0.rights())))
}

/// Where the host has it.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_address(region: Handle<RegionObject>) -> *mut c_void {
    value(ptr::null_mut(), || Ok(region.get()?.0.host_address().cast()))
}

/// Copies out of a region.
///
/// # Safety
/// `to` leads to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_region_read(
    region: Handle<RegionObject>,
    to: *mut c_void,
    at: u64,
    size: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's room.
        let to = unsafe { slice_mut(to.cast::<u8>(), size, "to")? };
        Ok(region.get()?.0.slice::<u8>(at, size as u64)?.copy_into(0, to)?)
    })
}

/// Copies into a region.
///
/// # Safety
/// `from` leads to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_region_write(
    region: Handle<RegionObject>,
    at: u64,
    from: *const c_void,
    size: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: the caller's bytes.
        let from = unsafe { slice(from.cast::<u8>(), size, "from")? };
        Ok(region.get()?.0.slice::<u8>(at, size as u64)?.write(0, from)?)
    })
}

/// Sleeps at a word.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_wait(
    region: Handle<RegionObject>,
    at: u64,
    value: u32,
    milliseconds: i64,
) -> i32 {
    guarded(|| {
        let timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        match region.get()?.0.wait(at, value, timeout)? {
            true => Ok(()),
            false => Err(Failure::new(Status::Pending, "the word was not woken in time")),
        }
    })
}

/// Wakes who sleeps there.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_wake(region: Handle<RegionObject>, at: u64) -> usize {
    value(0, || Ok(region.get()?.0.wake(at)?))
}

/// Has a descriptor told of wakes.
#[unsafe(no_mangle)]
pub extern "C" fn lg_region_notify(region: Handle<RegionObject>, at: u64, event: c_int) -> i32 {
    guarded(|| {
        let event = if event == -1 { None } else { Some(borrow(event)?) };
        Ok(region.get()?.0.notify(at, event)?)
    })
}

/// Shares a region with a domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_new(
    domain: Handle<DomainObject>,
    region: Handle<RegionObject>,
    asked: i32,
) -> Handle<GrantObject> {
    made(|| {
        let (region, rights) = (region.get()?, rights(asked)?);
        domain.with(|domain| Ok(GrantObject::new(domain.grant(&region.0, rights)?)))
    })
}

/// Shares a region with a domain for calls of the thread: [`lend`] with the caller's rsp, by which calls that were left by a jump are told.
///
/// # Safety
/// As for any function of C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn lg_lend(
    domain: Handle<DomainObject>,
    region: Handle<RegionObject>,
    asked: i32,
) -> Handle<GrantObject> {
    core::arch::naked_asm!("endbr64", "lea rcx, [rsp + 8]", "jmp {lend}", lend = sym lend)
}

extern "C" fn lend(
    domain: Handle<DomainObject>,
    region: Handle<RegionObject>,
    asked: i32,
    rsp: u64,
) -> Handle<GrantObject> {
    value(Handle::NULL, || {
        let (region, rights) = (region.get()?, rights(asked)?);
        // (Calls that were left may have the region still.)
        lockgate::let_go_of_left(rsp)?;
        let grant = domain.with(|domain| Ok(GrantObject::new(domain.grant(&region.0, rights)?)))?;
        let handle = Handle::new(grant);
        lockgate::hold(rsp, handle.get()?).inspect_err(|_| drop(handle.take()))?;
        Ok(handle)
    })
}

/// Passes a grant on.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_pass_on(
    grant: Handle<GrantObject>,
    to: Handle<DomainObject>,
    asked: i32,
) -> Handle<GrantObject> {
    made(|| {
        let rights = rights(asked)?;
        let grant = grant.get()?;
        to.with(|to| grant.with(|grant| Ok(GrantObject::new(grant.pass_on(to, rights)?))))
    })
}

/// Takes rights away.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_downgrade(grant: Handle<GrantObject>, to: i32) -> i32 {
    guarded(|| {
        let rights = rights(to)?;
        grant.get()?.with(|grant| Ok(grant.downgrade(rights)?))
    })
}

/// What the grant allows now.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_rights(grant: Handle<GrantObject>) -> i32 {
    value(0, || grant.get()?.with(|grant| Ok(rights_number(grant.rights()?))))
}

/// The module's pointer to a byte of the region.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_pointer(grant: Handle<GrantObject>, at: u64) -> *mut c_void {
    value(ptr::null_mut(), || {
        grant.get()?.with(|grant| Ok(grant.pointer::<u8>(at)?.address() as *mut c_void))
    })
}

/// Revokes a grant, and what was passed on from it.
#[unsafe(no_mangle)]
pub extern "C" fn lg_grant_free(grant: Handle<GrantObject>) -> i32 {
    guarded(|| {
        if grant.is_null() {
            return Ok(());
        }
        grant.take()?.revoke();
        Ok(())
    })
}
