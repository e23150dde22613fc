//! Section "Programs" of the header.
use crate::call::{guarded, value};
use crate::domain_sys::DomainObject;
use crate::handle::Handle;
use crate::module_sys::ModuleObject;
use crate::options_sys::OptionsObject;
use crate::text_sys::{put, slice_mut};
use lockgate::Domain;
use std::ffi::{c_char, c_int};

/// Runs a whole program.
///
/// # Safety
/// `status` is null or to be written.
pub unsafe extern "C" fn lg_run(
    module: Handle<ModuleObject>,
    options: Handle<OptionsObject>,
    status: *mut c_int,
) -> i32 {
    guarded(|| {
        let end = Domain::run(&module.get()?.module, options.options()?)?;
        // SAFETY: the caller's place.
        unsafe { put(status, end.outcome?, "status") }
    })
}

/// `struct lg_refused`.
#[repr(C)]
pub struct CRefused {
    number: u64,
    times: u64,
}

/// What the domain tried that was not granted: lines of text.
///
/// # Safety
/// `text` leads to room for `size` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_domain_denied(
    domain: Handle<DomainObject>,
    text: *mut c_char,
    size: usize,
) -> usize {
    value(0, || {
        // SAFETY: the caller's room.
        let room = unsafe { slice_mut(text.cast::<u8>(), size, "text")? };
        let denied = domain.with(|domain| Ok(domain.denied()))?;
        let lines: String = denied.iter().map(|(what, times)| format!("{what}: {times}\n")).collect();
        if let Some(most) = room.len().checked_sub(1) {
            let length = most.min(lines.len());
            room[..length].copy_from_slice(&lines.as_bytes()[..length]);
            room[length] = 0;
        }
        Ok(lines.len())
    })
}

/// System calls that do not exist for the domain and that it tried.
///
/// # Safety
/// `refused` leads to room for `capacity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_domain_refused_syscalls(
    domain: Handle<DomainObject>,
    refused: *mut CRefused,
    capacity: usize,
) -> usize {
    value(0, || {
        // SAFETY: the caller's room.
        let room = unsafe { slice_mut(refused, capacity, "refused")? };
        let tried = domain.with(|domain| Ok(domain.refused_syscalls()))?;
        for (place, (number, times)) in room.iter_mut().zip(&tried) {
            *place = CRefused { number: *number, times: *times };
        }
        Ok(tried.len())
    })
}
